// SPDX-License-Identifier: Apache-2.0
#include "snapshots.h"

#include <arpa/inet.h>
#include <string>

using namespace xr;

namespace {

void set_address(__u32 words[4], const std::string &text) {
  const bool v4 = text.find(':') == std::string::npos;
  inet_pton(AF_INET6, (v4 ? "::ffff:" + text : text).c_str(), words);
}

roce_key key(const char *src, const char *dst, uint32_t qp, roce_kind kind) {
  roce_key k{};
  set_address(k.src, src);
  set_address(k.dst, dst);
  k.qp_kind = qp | static_cast<uint32_t>(kind) << ROCE_KIND_SHIFT;
  return k;
}

roce_stream stream(const roce_key &key, unsigned opcode, uint64_t packets, uint64_t bytes) {
  roce_stream s{};
  s.key = key;
  s.packets = packets;
  s.bytes = bytes;
  s.flags = ((opcode >> 5) + 1u) << ROCE_STREAM_TRANSPORT_SHIFT;
  return s;
}

// Gives the stream a PSN space.
void track(roce_stream &s, uint32_t first, uint32_t next, uint32_t pmtu_code) {
  s.flags = s.flags | ROCE_STREAM_STARTED;
  s.first_psn = first;
  s.base = next;
  s.word = next | static_cast<uint64_t>(pmtu_code) << ROCE_WORD_PMTU_SHIFT;
}

void count(roce_stream &s, int counter, uint64_t n) {
  s.counter_low[counter] = static_cast<uint32_t>(n);
  s.counter_high[counter] = static_cast<uint16_t>(n >> 32);
}

roce_stream lossy_request() {
  roce_stream s = stream(key("192.0.2.1", "192.0.2.2", 17, ROCE_KIND_REQUEST), ROCE_RC_SEND_FIRST,
                         1002, 1'092'180);
  track(s, 16'776'000, 12, 3);
  s.messages = 250;
  count(s, ROCE_GAPS, 26);
  count(s, ROCE_SKIPPED, 31);
  count(s, ROCE_FILLED, 30);
  count(s, ROCE_DUPLICATES, 402);
  count(s, ROCE_REWINDS, 28);
  count(s, ROCE_REORDERED, 2);
  count(s, ROCE_JUMPS, 60);
  count(s, ROCE_JUMPED, 66);
  count(s, ROCE_STREAM_CE, 7);
  count(s, ROCE_HOLES_FORGOTTEN, 1);
  count(s, ROCE_LOST, 64);
  count(s, ROCE_LOST_UNSURE, 2);
  count(s, ROCE_LOST_AFTER, 1);
  count(s, ROCE_LATE, 2);
  count(s, ROCE_GO_BACKS, 28);
  return s;
}

roce_stream responses() {
  roce_stream s = stream(key("192.0.2.2", "192.0.2.1", 0xabcdef, ROCE_KIND_RESPONSE),
                         ROCE_RC_ACKNOWLEDGE, 333, 20'646);
  count(s, ROCE_STREAM_CNPS, 5);
  return s;
}

roce_stream datagrams() {
  roce_stream s = stream(key("2001:db8::1", "2001:db8::ff00:42:8329", 1, ROCE_KIND_DATAGRAM),
                         ROCE_UD_SEND_ONLY, 4, 1352);
  s.flags = s.flags | ROCE_STREAM_SRC_QP;
  s.src_qp = 0x2a;
  s.messages = 4;
  return s;
}

// What the fast path has not folded yet is counted too.
roce_stream huge_request() {
  roce_stream s = stream(key("2001:db8::1", "2001:db8::2", 0xfffffe, ROCE_KIND_REQUEST),
                         ROCE_UC_SEND_FIRST, 18'000'000'000'000ull, 74'000'000'000'000'000ull);
  track(s, 1, 100, 5);
  s.word = s.word + 10 + (uint64_t{41'860} << ROCE_WORD_BYTES_SHIFT);
  count(s, ROCE_GAPS, 281'474'976'710'655ull);
  count(s, ROCE_SKIPPED, 281'474'976'710'655ull);
  count(s, ROCE_RESYNCS, 3);
  return s;
}

roce_stream only_cnps() {
  roce_stream s = stream(key("192.0.2.9", "192.0.2.1", 99, ROCE_KIND_RESPONSE), 0, 12, 888);
  s.flags = 0;
  count(s, ROCE_STREAM_CNPS, 12);
  return s;
}

} // namespace

Snapshot empty_snapshot() {
  Snapshot s;
  s.name = "empty.pcap";
  return s;
}

Snapshot busy_capture() {
  Snapshot s;
  s.name = "loss.pcap";
  s.truncated = true;
  s.opcodes[ROCE_RC_SEND_FIRST] = {{1, 2, 400, 4}, 443'630};
  s.opcodes[ROCE_RC_SEND_LAST] = {{0, 0, 600, 3}, 657'270};
  s.opcodes[ROCE_RC_ACKNOWLEDGE] = {{328, 0, 0, 0}, 20'336};
  s.opcodes[ROCE_OPCODE_CNP] = {{5, 0, 0, 0}, 370};
  s.opcodes[0x18] = {{2, 0, 0, 0}, 160};
  s.opcodes[0xc1] = {{3, 0, 0, 0}, 243};
  s.opcodes[ROCE_OPCODE_COUNT_V1 + ROCE_RC_SEND_LAST] = {{9, 0, 0, 0}, 9'855};
  s.totals.frames[ROCE_CLASS_PFC] = 21;
  s.totals.frames[ROCE_CLASS_OTHER] = 18;
  s.totals.frames[ROCE_CLASS_MALFORMED] = 6;
  s.totals.frames[ROCE_CLASS_FRAGMENT] = 14;
  s.totals.cut = 8;
  s.totals.bytes = 3'776;
  for (unsigned i = 0; i < ROCE_AETH_COUNTS; i++)
    s.totals.aeth[i] = 1000 + i;
  s.icrc.checked = 1'357;
  s.icrc.bad = 13;
  s.icrc.zero = 19;
  s.streams = {lossy_request(), responses(), datagrams()};
  return s;
}

Snapshot busy_port() {
  Snapshot s;
  s.source = Snapshot::Source::Interface;
  s.name = "eth1";
  s.time_ns = 5'000'000'000;
  s.stream_capacity = 65'536;
  s.opcodes[ROCE_UC_SEND_FIRST] = {{0, 0, 18'000'000'000'010ull, 0}, 74'000'000'000'041'860ull};
  s.opcodes[ROCE_OPCODE_UD_SEND_ONLY] = {{4, 0, 0, 0}, 1352};
  s.opcodes[ROCE_OPCODE_CNP] = {{17, 0, 0, 0}, 1258};
  s.streams = {responses(), lossy_request(), huge_request(), only_cnps(), datagrams()};
  s.totals.streams_full = 4'200;
  s.totals.streams_contended = 3;
  s.totals.streams_forgotten = 11;
  s.totals.events_dropped = 123'456;
  s.totals.events_limited = 78'901;
  return s;
}

Snapshot a_second_later(const Snapshot &before) {
  Snapshot s = before;
  s.time_ns += 1'000'000'000;
  s.opcodes[ROCE_UC_SEND_FIRST].packets[2] += 812'345;
  s.opcodes[ROCE_UC_SEND_FIRST].packets[3] += 55;
  s.opcodes[ROCE_UC_SEND_FIRST].bytes += 812'400 * 4'186ull;
  s.opcodes[ROCE_OPCODE_CNP].packets[0] += 2;
  s.opcodes[ROCE_OPCODE_CNP].bytes += 148;
  s.streams[2].packets += 812'400;
  s.streams[2].bytes += 812'400 * 4'186ull;
  s.streams.push_back(datagrams());
  s.streams.back().key.dst[3] ^= 1; // one that was not there before
  return s;
}

EndpointRates controlled_rates() {
  EndpointRates rates;
  rates.qps = {{.qp = 17,
                .rate = 4e9,
                .target = 5e9,
                .mean = 3e9,
                .alpha = 0.2,
                .cnps = 40,
                .cuts = 38,
                .fast = 7,
                .additive = 2},
               {.qp = 18,
                .rate = 1e9,
                .target = 2e9,
                .mean = 1e9,
                .alpha = 0.4,
                .cnps = 60,
                .cnps_unused = 5,
                .cuts = 50,
                .hyper = 3}};
  rates.other_qps = {
      .qp = 0, .qps = 18, .rate = 5e9, .mean = 4e9, .alpha = 0.1, .cnps = 100, .cuts = 90};
  rates.jain = 0.875;
  return rates;
}

WirePortCounts busy_wire() {
  WirePortCounts w;
  w.version = WirePortCounts::kVersion;
  w.ready = 1;
  w.memory_frames = 16'384;
  w.memory_free = 12'000;
  w.in.taken = 5'000;
  w.in.left = 4'700;
  w.in.holding = 200;
  w.in.dropped_by_link = 90;
  w.in.dropped_by_rules = 10;
  w.in.ring_full = 7;
  w.in.lost_when_killed = 31;
  w.in.matched_again = 70;
  w.in.unmatched = 2;
  w.out.tx_dropped = 3;
  w.out.dropped_down = 6;
  w.out.carrier_downs = 4;
  w.out.held_down = 1;
  w.out.flap_by = FlapBy::Carrier;
  w.out.late.add(1'000, 99);
  w.out.late.add(9'000, 1);
  LinkCounts &link = w.link;
  link.started = 1'000;
  link.updated = 2'000'001'000;
  link.busy_ns = 500'000'000;
  link.paused_ns = 1'500'000;
  link.flaps = 5;
  link.backlog_most = 64'000;
  LinkClassCounts &c = link.classes[3];
  c.frames_in = 4'000;
  c.bytes_in = 4'096'000;
  c.frames_out = 3'800;
  c.bytes_out = 3'891'200;
  c.drops[static_cast<unsigned>(LinkDrop::Buffer)] = 60;
  c.drops[static_cast<unsigned>(LinkDrop::Aqm)] = 30;
  c.dropped_bytes = 92'160;
  c.marks = 41;
  c.backlog_frames = 20;
  c.backlog_bytes = 20'480;
  c.backlog_most = 64'000;
  c.xoff_received = 2;
  c.xon_received = 1;
  c.paused_ns = 1'500'000;
  c.xoff_sent = 5;
  link.sojourn.add(20'000, 98);
  link.sojourn.add(400'000, 2);
  link.backlog.add(0, 900);
  link.backlog.add(20'480, 100);
  return w;
}

WirePortCounts a_second_later(const WirePortCounts &before) {
  WirePortCounts w = before;
  w.link.updated += 1'000'000'000;
  w.link.busy_ns += 830'000'000;
  w.link.classes[3].frames_out += 1'000;
  w.link.classes[3].bytes_out += 1'024'000;
  w.link.classes[3].backlog_bytes = 10'240;
  return w;
}

std::vector<roce_event> one_event_of_each() {
  std::vector<roce_event> events;
  for (unsigned type = 0; type <= ROCE_EVENT_TYPES; type++) {
    roce_event e{};
    e.time_ns = type * 1'000'000;
    e.key = key("192.0.2.1", "192.0.2.2", 17, ROCE_KIND_REQUEST);
    e.type = static_cast<__u8>(type);
    e.opcode = ROCE_RC_SEND_MIDDLE;
    e.psn = 2;
    e.expected = type == ROCE_EVENT_GAP ? 0xffffff : 40;
    e.skipped = type == ROCE_EVENT_GAP ? 3 : 0;
    e.cpu = 1;
    if (type == ROCE_EVENT_NAK || type == ROCE_EVENT_RNR_NAK || type == ROCE_EVENT_CNP) {
      e.key = key("2001:db8::2", "2001:db8::1", 18, ROCE_KIND_RESPONSE);
      e.opcode = type == ROCE_EVENT_CNP ? ROCE_OPCODE_CNP : ROCE_RC_ACKNOWLEDGE;
    }
    if (type == ROCE_EVENT_NAK)
      e.syndrome = 0x60;
    if (type == ROCE_EVENT_RNR_NAK)
      e.syndrome = 0x2c;
    events.push_back(e);
  }
  return events;
}
