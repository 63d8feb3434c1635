// SPDX-License-Identifier: Apache-2.0
// Captures as frames that a test changes, and what following finds in them.
#pragma once

#include <filesystem>

#include <gtest/gtest.h>

#include "capture/analyzer.h"
#include "capture_writer.h"

namespace xr::test {

struct Taken {
  FileBytes bytes;
  uint64_t ns = 0;
  roce_packet packet{};

  uint32_t psn() const { return packet.psn; }
  bool is_ack() const { return packet.info & ROCE_OP_ACK; }
  bool is_request() const { return packet.info & ROCE_OP_REQUEST; }
  void put24(uint32_t offset, uint32_t value) {
    bytes[packet.bth + offset] = static_cast<uint8_t>(value >> 16);
    roce_put16(&bytes[packet.bth + offset + 1], roce_swap16(static_cast<uint16_t>(value)));
    icrc_write(bytes.data(), packet);
  }
  void put_psn(uint32_t psn) {
    put24(9, psn);
    packet.psn = psn & ROCE_PSN_MASK;
  }
  uint32_t msn() const { return roce_be24(&bytes[packet.bth + ROCE_BTH_LEN]); }
  void put_msn(uint32_t msn) { put24(ROCE_BTH_LEN + 1, msn); }
  void put_syndrome(uint8_t syndrome) {
    bytes[packet.bth + ROCE_BTH_LEN] = packet.syndrome = syndrome;
    icrc_write(bytes.data(), packet);
  }
};

using TakenFrames = std::vector<Taken>;

inline std::string path_of_capture(const std::string &name) {
  const std::string plain = std::string(XR_TEST_DATA "/") + name + ".pcap";
  return std::filesystem::exists(plain) ? plain : plain + ".gz";
}

// The frames with a BTH, without UD.
inline TakenFrames read_frames(const std::string &name) {
  TakenFrames frames;
  const NativeDatapath datapath({});
  Result<Reader> reader = Reader::open(path_of_capture(name));
  EXPECT_TRUE(reader.ok());
  for (CapturedFrame frame; reader->next(frame) == Next::Frame;) {
    Taken &f = frames.emplace_back();
    f.bytes.assign(frame.data, frame.data + frame.captured);
    f.ns = frame.time_ns;
    if (!roce_is_roce(datapath.parse({f.bytes.data(), frame.captured, frame.length}, f.packet)) ||
        f.packet.info & ROCE_OP_DATAGRAM)
      frames.pop_back();
  }
  return frames;
}

inline Episodes follow_any(const TakenFrames &frames) {
  PcapWriter file(false, 1, 0xa1b23c4d);
  for (const Taken &f : frames)
    file.packet(f.bytes, static_cast<uint32_t>(f.ns / 1'000'000'000),
                static_cast<uint32_t>(f.ns % 1'000'000'000));
  const TemporaryFile copy(file.bytes);
  AnalyzeRun run;
  run.options.episodes = true;
  Result<Analysis> done = analyze(copy.path(), run);
  EXPECT_TRUE(done.ok());
  return done->episodes;
}

// The same, when all answers belong to requests of the capture.
inline Episodes follow(const TakenFrames &frames) {
  Episodes found = follow_any(frames);
  EXPECT_EQ(found.unpaired, 0u);
  return found;
}

// The first frame from `from` on for which `is` holds.
template <typename Is> size_t find_frame(const TakenFrames &frames, const Is &is, size_t from = 0) {
  for (size_t i = from; i < frames.size(); i++)
    if (is(frames[i]))
      return i;
  ADD_FAILURE() << "no such frame";
  return frames.size() - 1;
}

inline bool is_nak(const Taken &f) { return f.is_ack() && f.packet.syndrome == 0x60; }
inline bool is_plain_ack(const Taken &f) {
  return f.is_ack() && !ROCE_SYNDROME_TYPE(f.packet.syndrome);
}

// Puts `f` before frame `place`, just after the frame before that.
inline void insert(TakenFrames &frames, size_t place, Taken f) {
  f.ns = frames[place - 1].ns + 1;
  frames.insert(frames.begin() + static_cast<ptrdiff_t>(place), std::move(f));
}

inline uint32_t count(const Episodes &e, roce_cause cause) {
  uint32_t n = 0;
  for (const EpisodeRow &row : e.episodes)
    n += row.episode.cause == cause;
  return n;
}

} // namespace xr::test
