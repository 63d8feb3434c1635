// SPDX-License-Identifier: Apache-2.0
// Captures of two or more places, made frame by frame, and their comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture_writer.h"
#include "compare/compare.h"
#include "frames.h"
#include "packet/icrc.h"

namespace xr::test {

constexpr uint64_t kStart = 1'700'000'000'000'000'000; // ns

// With a right iCRC.
inline Bytes bytes_of(const FrameBuilder &builder) {
  Frame frame = builder.build();
  const Parsed parsed = parse(frame);
  icrc_write(frame.bytes.data(), parsed.packet);
  return frame.bytes;
}

// An RC SEND ONLY from host 1 to host 2; `content` distinguishes packets with the same PSN.
inline FrameBuilder send(uint32_t psn, uint8_t content = 0) {
  return FrameBuilder(0x04).psn(psn & 0xffffff).payload(Bytes(64, content));
}

class Tap {
public:
  // `at_us` after kStart. Frames may be added in any order.
  Tap &see(double at_us, const Bytes &bytes, int64_t length = -1) {
    frames_.push_back({kStart + static_cast<uint64_t>(at_us * 1000), bytes, length});
    return *this;
  }
  Tap &see(double at_us, const FrameBuilder &builder) { return see(at_us, bytes_of(builder)); }

  FileBytes pcap(int64_t clock_ns = 0) const {
    auto sorted = frames_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Seen &a, const Seen &b) { return a.time_ns < b.time_ns; });
    PcapWriter writer(false, 1, 0xa1b23c4d);
    for (const Seen &seen : sorted) {
      const uint64_t ns = seen.time_ns + static_cast<uint64_t>(clock_ns);
      writer.packet(seen.bytes, static_cast<uint32_t>(ns / 1'000'000'000),
                    static_cast<uint32_t>(ns % 1'000'000'000), seen.length);
    }
    return writer.bytes;
  }
  size_t size() const { return frames_.size(); }

private:
  struct Seen {
    uint64_t time_ns;
    Bytes bytes;
    int64_t length; // on the wire; -1: that of the bytes
  };
  std::vector<Seen> frames_;
};

// A directory of files that go at the end.
class Files {
public:
  std::string add(const FileBytes &bytes) {
    paths_.push_back(testing::TempDir() + "taps_" + std::to_string(getpid()) + "_" +
                     std::to_string(paths_.size()));
    std::ofstream(paths_.back(), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return paths_.back();
  }
  ~Files() {
    for (const std::string &path : paths_)
      std::remove(path.c_str());
  }

private:
  std::vector<std::string> paths_;
};

inline Comparison compared(const std::vector<FileBytes> &captures, compare::Options options = {}) {
  Files files;
  std::vector<compare::Input> inputs;
  for (const FileBytes &capture : captures)
    inputs.push_back({files.add(capture), "tap", false, 0, {}});
  auto outcome = compare::compare(inputs, options);
  if (!outcome) {
    ADD_FAILURE() << outcome.error().message;
    return {};
  }
  // What holds for all.
  for (const ComparedStream &row : outcome->comparison.streams) {
    const ComparedCounts &c = row.counts;
    EXPECT_EQ(c.seen_from, c.matched + c.lost + c.outside_from);
    EXPECT_EQ(c.seen_to, c.matched + c.duplicated + c.only_to + c.outside_to);
  }
  return outcome->comparison;
}

inline Comparison compared(const Tap &a, const Tap &b, compare::Options options = {}) {
  return compared({a.pcap(), b.pcap()}, std::move(options));
}

constexpr double kDelay = 5; // us

// Host 1 to host 2: seen by `a`, and kDelay later by `b`.
inline void pass(Tap &a, Tap &b, double at, const FrameBuilder &builder) {
  a.see(at, builder);
  b.see(at + kDelay, builder);
}

// Packets of another stream that make both captures begin before and end after all others.
inline void frame_in(Tap &a, Tap &b, double from, double to) {
  pass(a, b, from, send(1).qp(0x99));
  pass(a, b, to, send(2).qp(0x99));
}

inline ComparedStream row_of(const Comparison &c, uint32_t qp, uint32_t kind = ROCE_KIND_REQUEST,
                             uint32_t leg = 0) {
  for (const ComparedStream &row : c.streams)
    if (roce_key_qp(&row.key) == qp && roce_key_kind(&row.key) == kind &&
        std::min(row.from, row.to) == leg)
      return row;
  ADD_FAILURE() << "no stream to QP " << qp;
  return {};
}

} // namespace xr::test
