// SPDX-License-Identifier: Apache-2.0
// Captures as frames that a test changes, and what following finds in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture_writer.h"
#include "roce/cnp.h"

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
  // IPv4. Cuts the payload, or makes it longer.
  void put_payload(uint32_t length) {
    const auto by = static_cast<int32_t>(length - packet.payload);
    const auto end = bytes.begin() + packet.end - ROCE_ICRC_LEN;
    if (by < 0)
      bytes.erase(end + by, end);
    else
      bytes.insert(end, static_cast<size_t>(by), 0);
    for (const uint32_t at : {packet.l3 + 2u, packet.bth - 4u}) // lengths of IP and UDP
      roce_put16(&bytes[at], roce_swap16(static_cast<uint16_t>(roce_be16(&bytes[at]) + by)));
    const NativeDatapath datapath({});
    const auto size = static_cast<uint32_t>(bytes.size());
    EXPECT_EQ(ROCE_CLASS_V2, datapath.parse({bytes.data(), size, size}, packet));
    EXPECT_EQ(length, packet.payload);
    icrc_write(bytes.data(), packet);
  }
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

inline Analysis analyze_frames(const TakenFrames &frames, Copies copies = Copies::Keep) {
  PcapWriter file(false, 1, 0xa1b23c4d);
  for (const Taken &f : frames)
    file.packet(f.bytes, static_cast<uint32_t>(f.ns / 1'000'000'000),
                static_cast<uint32_t>(f.ns % 1'000'000'000));
  const TemporaryFile copy(file.bytes);
  AnalyzeRun run;
  run.options.episodes = run.options.passive_latency = true;
  run.copies = copies;
  Result<Analysis> done = analyze(copy.path(), run);
  EXPECT_TRUE(done.ok());
  return std::move(*done);
}

constexpr uint32_t kLikeAPort = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP;

// What a port finds, which skips packets (include/roce/skip.h).
inline Analysis analyze_like_a_port(const TakenFrames &frames, uint32_t features = kLikeAPort) {
  NativeDatapath::Options options;
  options.features = features;
  NativeDatapath datapath(options);
  for (size_t i = 0; i < frames.size(); i++) {
    const auto length = static_cast<uint32_t>(frames[i].bytes.size());
    const NativeDatapath::FrameView view{frames[i].bytes.data(), length, length, frames[i].ns,
                                         i + 1};
    roce_packet packet;
    const roce_class class_ = datapath.parse(view, packet);
    datapath.account(view, class_, packet);
  }
  Analysis done;
  datapath.snapshot(done.snapshot);
  datapath.episodes(done.episodes);
  datapath.latency(done.passive);
  return done;
}

// An episode without its times and frames: which of them there are, and in which order.
inline std::string text(const roce_episode &e) {
  const uint64_t times[] = {e.last_sent_ns, e.seen_ns,   e.nak_ns,
                            e.reread_ns,    e.resent_ns, e.recovered_ns};
  std::string order;
  for (const uint64_t one : times) {
    order += fmt::format(
        " {}",
        one ? std::ranges::count_if(times, [one](uint64_t other) { return other && other < one; })
            : -1);
  }
  return fmt::format("cause {} kind {} missing {} from {} to {} resent {} needlessly {} bytes {} "
                     "naks {} findings {:x} times{}",
                     e.cause, e.kind, e.missing, e.first_missing, e.end, e.resent_packets,
                     e.resent_needlessly, e.resent_bytes, e.naks, e.findings, order);
}

inline std::string text(const roce_finding &f) {
  return fmt::format("type {} psn {} value {} expected {}", f.type, f.psn, f.value, f.expected);
}

inline std::vector<std::string> texts(const auto &found) {
  std::vector<std::string> lines;
  for (const auto &one : found)
    lines.push_back(text(one));
  return lines;
}

inline Episodes follow_any(const TakenFrames &frames) { return analyze_frames(frames).episodes; }

// The episodes, when all answers belong to requests of the capture.
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

inline void mark(Taken &f) { f.bytes[f.packet.l3 + 1] |= ROCE_ECN_CE; }

// What the receiver of `request` sends to QP `qpn` of its sender.
inline Taken cnp_to(const Taken &request, uint32_t qpn) {
  roce_cnp cnp;
  roce_packet packet = request.packet;
  packet.ipv4 = 1; // the parser leaves it to rules
  roce_cnp_build(&cnp, &packet, qpn, 0, roce_swap16(ROCE_UDP_PORT), 0);
  Taken made;
  made.bytes.assign(request.bytes.begin() + 6, request.bytes.begin() + 12);
  made.bytes.insert(made.bytes.end(), request.bytes.begin(), request.bytes.begin() + 6);
  made.bytes.insert(made.bytes.end(), {0x08, 0x00});
  made.bytes.insert(made.bytes.end(), cnp.bytes, cnp.bytes + cnp.length);
  return made;
}

inline uint32_t count(const Episodes &e, roce_finding_type type) {
  return static_cast<uint32_t>(
      std::ranges::count(e.findings, type, [](const FindingRow &row) { return row.finding.type; }));
}

inline uint32_t count(const Episodes &e, roce_cause cause) {
  uint32_t n = 0;
  for (const EpisodeRow &row : e.episodes)
    n += row.episode.cause == cause;
  return n;
}

} // namespace xr::test
