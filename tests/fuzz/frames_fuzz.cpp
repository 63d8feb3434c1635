// SPDX-License-Identifier: Apache-2.0
// A sequence of frames through parser, iCRC and accounting. The input: for each frame the bytes at
// hand and the bytes that a snap length cut off, 16 bits little-endian each, then the bytes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "analysis/analyzer.h"
#include "require.h"
#include "roce/holes.h"

using namespace xr;

namespace {

uint32_t le16(const uint8_t *p) { return p[0] | p[1] << 8; }

struct Sums {
  uint64_t frames = 0, bytes = 0;
};

void check_stream(const roce_stream &s) {
  REQUIRE(roce_stream_packets(&s) > 0);
  REQUIRE(roce_stream_counter(&s, ROCE_SKIPPED) >= roce_stream_counter(&s, ROCE_FILLED));
  REQUIRE(roce_stream_counter(&s, ROCE_SKIPPED) >= roce_stream_counter(&s, ROCE_GAPS));
  REQUIRE(roce_stream_counter(&s, ROCE_FILLED) >= roce_stream_counter(&s, ROCE_REORDERED));
  REQUIRE(roce_stream_counter(&s, ROCE_JUMPED) >= roce_stream_counter(&s, ROCE_JUMPS));
  REQUIRE(s.messages <= roce_stream_packets(&s));
  for (int c :
       {ROCE_GAPS, ROCE_DUPLICATES, ROCE_REWINDS, ROCE_JUMPS, ROCE_STREAM_CE, ROCE_STREAM_CNPS})
    REQUIRE(roce_stream_counter(&s, c) <= roce_stream_packets(&s));
  for (int i = 0; i < ROCE_HOLES; i++)
    REQUIRE(roce_hole_length(&s, i) < ROCE_RESYNC_DISTANCE);
}

void check_snapshot(const Snapshot &s, const Sums &sums) {
  uint64_t roce = 0, frames = 0, bytes = s.totals.bytes, in_streams = 0, answers = 0;
  for (const roce_opcode_count &c : s.opcodes) {
    for (uint64_t packets : c.packets)
      roce += packets;
    bytes += c.bytes;
  }
  for (uint64_t n : s.totals.frames)
    frames += n;
  for (uint64_t n : s.totals.aeth)
    answers += n;
  REQUIRE(s.totals.frames[ROCE_CLASS_V2] == 0 && s.totals.frames[ROCE_CLASS_V1] == 0);
  REQUIRE(roce + frames == sums.frames);
  REQUIRE(bytes == sums.bytes);
  REQUIRE(answers <= roce);
  REQUIRE(s.totals.cut <= s.totals.frames[ROCE_CLASS_OTHER]);
  REQUIRE(s.icrc.bad + s.icrc.zero <= s.icrc.checked && s.icrc.checked <= roce);
  for (const roce_stream &stream : s.streams) {
    check_stream(stream);
    in_streams += roce_stream_packets(&stream);
  }
  REQUIRE(in_streams <= roce);
}

// What the parser promises of a RoCE packet.
void check_parse(const NativeDatapath &accountant, const NativeDatapath::FrameView &frame) {
  roce_packet p, again;
  const roce_class class_ = accountant.parse(frame, p);
  REQUIRE(class_ >= 0 && class_ < ROCE_CLASS_MAX);
  if (class_ != ROCE_CLASS_V2 && class_ != ROCE_CLASS_V1)
    return;
  REQUIRE(p.l3 + ROCE_IPV4_LEN <= p.bth && p.bth + ROCE_BTH_LEN <= frame.captured);
  REQUIRE(p.bth + ROCE_BTH_LEN + ROCE_ICRC_LEN <= p.end && p.end <= frame.length);
  REQUIRE(p.bth + ROCE_BTH_LEN + ROCE_EXT_LEN(p.info) + p.payload + p.pad + ROCE_ICRC_LEN == p.end);
  // the network layer on its own gives the same
  const uint16_t ethertype = class_ == ROCE_CLASS_V1      ? ROCE_ETHERTYPE_ROCEV1
                             : frame.data[p.l3] >> 4 == 4 ? ROCE_ETHERTYPE_IPV4
                                                          : ROCE_ETHERTYPE_IPV6;
  REQUIRE(accountant.parse(frame, {p.l3, ethertype}, again) == class_);
  REQUIRE(again.psn == p.psn && again.bth == p.bth && again.end == p.end && again.cut == p.cut);
}

// Checks frames inside tunnels: sessions, and missing numbers.
void check_mirrors(const Snapshot &s, const Sums &sums) {
  uint64_t frames = 0, seen = s.totals.mirrors_full;
  for (const roce_opcode_count &c : s.opcodes)
    for (uint64_t packets : c.packets)
      frames += packets;
  for (uint64_t n : s.totals.frames)
    frames += n;
  REQUIRE(frames == sums.frames);
  for (uint64_t n : s.totals.tunnels)
    REQUIRE(n <= sums.frames);
  for (const roce_mirror &mirror : s.mirrors) {
    REQUIRE(mirror.late <= mirror.skipped && mirror.claimed <= mirror.skipped);
    REQUIRE(mirror.gaps <= mirror.skipped);
    seen += roce_mirror_frames(&mirror);
  }
  REQUIRE(seen <= sums.frames);
  REQUIRE(s.mirrored.size() == s.streams.size());
  for (size_t i = 0; i < s.streams.size(); i++) {
    const roce_mirrored &of = s.mirrored[i];
    REQUIRE(of.doubtful <= of.waiting);
    REQUIRE(of.mirror + of.network + of.waiting <=
            roce_stream_counter(&s.streams[i], ROCE_SKIPPED) -
                roce_stream_counter(&s.streams[i], ROCE_FILLED));
  }
}

// Each frame has its time by a stamp or not, and each stamp its source.
void check_times(const FrameTimes &times, const Sums &sums) {
  uint64_t stamps = times.sources_full, usable = 0;
  for (const StampSource &s : times.sources) {
    REQUIRE(s.unusable <= s.frames && s.backward <= s.frames);
    REQUIRE(s.delay_min_ns <= 0 && s.delay_max_ns >= 0);
    stamps += s.frames;
    usable += s.frames - s.unusable;
  }
  REQUIRE(stamps <= sums.frames);
  if (times.clock != FrameClock::Capture)
    REQUIRE(times.stamped == usable && times.stamped + times.unstamped == sums.frames);
}

void check_episodes(Analyzer &analyzer, const Sums &sums) {
  Episodes found;
  uint64_t counted = 0;
  analyzer.episodes(found);
  for (const PairRow &pair : found.pairs)
    for (const uint32_t episodes : pair.causes)
      counted += episodes;
  REQUIRE(counted == found.episodes.size());
  for (const EpisodeRow &row : found.episodes) {
    REQUIRE(row.episode.resent_needlessly <= row.episode.resent_packets);
    REQUIRE(row.episode.resent_packets <= sums.frames);
    REQUIRE(row.episode.resent_frame <= sums.frames);
  }
}

void check_latency(Analyzer &analyzer, const Sums &sums) {
  PassiveLatency found;
  uint64_t times = 0, of_streams = 0, of_buckets = 0;
  analyzer.passive_latency(found);
  for (const PassiveTimes &t : found.port) {
    REQUIRE(t.count && t.min <= t.p50 && t.p50 <= t.p99 && t.p99 <= t.max);
    times += t.count;
  }
  for (const PassiveRow &row : found.streams)
    of_streams += row.times.count;
  for (const PassiveBucket &bucket : found.histogram)
    of_buckets += bucket.count;
  REQUIRE(times == of_streams && times == of_buckets);
  REQUIRE(times <= 2 * sums.frames);
  REQUIRE(found.ambiguous + found.unanswered + found.full <= 2 * sums.frames);
  for (const Microburst &burst : analyzer.microbursts().windows)
    REQUIRE(burst.bytes <= sums.bytes && burst.frames <= sums.frames);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Small tables: most of an input's time would go to clearing memory.
  constexpr uint32_t kTable = 64, kSmallTable = 3;
  const bool follow = (size & 2) != 0;
  const bool time = (size & 4) != 0;
  Analyzer analyzer({.drop_bad_icrc = (size & 1) != 0,
                     .episodes = follow,
                     .passive_latency = time,
                     .microbursts = time}),
      decapped({.drop_bad_icrc = (size & 1) != 0,
                .decap = ROCE_TUNNELS_ALL,
                .clock = time ? FrameClock::Mirror : FrameClock::Capture,
                .user_tick_ns = size & 8});
  Analyzer trailed({.track = false, .clock = FrameClock::Trailer});
  NativeDatapath inner({.streams = kTable, .decap = ROCE_TUNNELS_ALL});
  NativeDatapath mine({.streams = kTable}), other({.streams = kTable, .hash_seed = 0x1234567}),
      full({.streams = kSmallTable});
  Sums sums;

  while (size >= 4) {
    const auto captured = static_cast<uint32_t>(std::min<size_t>(le16(data), size - 4));
    const uint32_t length = captured + le16(data + 2);
    data += 4;
    size -= 4;
    // A buffer of just this size, so that a read past it shows.
    const std::unique_ptr<uint8_t[]> bytes(new uint8_t[captured]);
    std::copy_n(data, captured, bytes.get());
    data += captured;
    size -= captured;
    sums.frames++;
    sums.bytes += length;
    const NativeDatapath::FrameView frame{bytes.get(), captured, length, sums.frames << 24};
    check_parse(other, frame);
    mine.frame(frame);
    other.frame(frame);
    full.frame(frame);
    analyzer.frame({frame.data, captured, length, frame.time_ns, Link::Ethernet});
    inner.frame(frame);
    decapped.frame({frame.data, captured, length, frame.time_ns, Link::Ethernet});
    trailed.frame({frame.data, captured, length, frame.time_ns, Link::Ethernet});
  }

  Snapshot first, second, few, analyzed;
  mine.snapshot(first);
  other.snapshot(second);
  full.snapshot(few);
  analyzer.snapshot(analyzed);
  if (follow)
    check_episodes(analyzer, sums);
  if (time)
    check_latency(analyzer, sums);
  Snapshot program, capture;
  inner.snapshot(program);
  decapped.snapshot(capture);
  check_mirrors(program, sums);
  check_mirrors(capture, sums);
  check_times(decapped.frame_times(), sums);
  check_times(trailed.frame_times(), sums);
  REQUIRE(!memcmp(program.opcodes.data(), capture.opcodes.data(), sizeof(program.opcodes)));
  REQUIRE(!memcmp(program.totals.tunnels, capture.totals.tunnels, sizeof(capture.totals.tunnels)));
  REQUIRE(program.totals.truncated == capture.totals.truncated);
  for (const Snapshot *s : {&first, &second, &few, &analyzed}) {
    check_snapshot(*s, sums);
    REQUIRE(!memcmp(s->opcodes.data(), first.opcodes.data(), sizeof(first.opcodes)));
  }
  REQUIRE(few.streams.size() <= kSmallTable);
  // The hash decides nothing but what finds no room.
  if (first.totals.streams_full || second.totals.streams_full)
    return 0;
  REQUIRE(first.streams.size() == second.streams.size());
  for (size_t i = 0; i < first.streams.size(); i++)
    REQUIRE(!memcmp(&first.streams[i], &second.streams[i], sizeof(roce_stream)));
  return 0;
}
