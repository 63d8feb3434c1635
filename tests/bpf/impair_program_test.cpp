// SPDX-License-Identifier: Apache-2.0
// Each action and each kind of condition: verdict and bytes, in the kernel and in the native
// compilation, over IPv4, IPv6 and RoCEv1, with up to two VLAN tags, with and without UDP checksum.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/clock.h"
#include "bpf/impair_twins.h"

namespace xr::test {
namespace {

using B = FrameBuilder;

enum Nets : unsigned { kV4 = 1, kV6 = 2, kV1 = 4, kV2 = kV4 | kV6, kAll = 7 };

// What a frame is wrapped in.
struct Wrap {
  unsigned net = kV4, tags = 0;
  bool udp_checksum = false;
};

Bytes wrapped(B frame, const Wrap &wrap) {
  if (wrap.net == kV6)
    frame.ipv6();
  if (wrap.net == kV1)
    frame.v1();
  if (wrap.tags == 2)
    frame.vlan(0x88a8);
  if (wrap.tags)
    frame.vlan(0x8100);
  return finished(frame.build(), wrap.udp_checksum);
}

// Before and after the rules.
struct Seen {
  Bytes before, after, cnp;
  roce_packet a, b;
  Wrap wrap;
  size_t index = 0;

  const uint8_t *bth_before() const { return before.data() + a.bth; }
  const uint8_t *bth_after() const { return after.data() + b.bth; }
};

using Check = std::function<void(const Seen &)>;

struct More {
  Check edited = nullptr; // each `e`
  std::string wrong = ""; // what an edit may leave wrong
  unsigned nets = kV2;
  bool bridge = false;
  std::vector<std::string> peers = {};
  uint32_t cnp_qp = 0x22;
  uint8_t cnp_dscp = 48;
  std::function<void(const roce_totals &)> totals = nullptr;
};

/*
 * One frame after the other. `fates` has a letter for each:
 *   .  forwarded as it was          e  forwarded, edited
 *   x  dropped                      2  forwarded twice
 *   b  back as CNP                  c  forwarded, and a copy goes back as CNP
 */
struct Row {
  const char *what;
  std::vector<std::string> rules;
  std::vector<B> in;
  std::string fates;
  std::vector<std::pair<uint64_t, uint64_t>> counts = {}; // of each rule: matched, acted
  More more = {};
};

std::vector<B> sends(uint32_t n, uint32_t payload = 64) {
  std::vector<B> frames;
  for (uint32_t i = 0; i < n; i++)
    frames.push_back(B(ROCE_RC_SEND_MIDDLE).psn(i).payload(payload));
  return frames;
}
std::vector<B> psns(std::initializer_list<uint32_t> list, uint32_t qp = 0x11) {
  std::vector<B> frames;
  for (uint32_t psn : list)
    frames.push_back(B(ROCE_RC_SEND_MIDDLE).psn(psn).qp(qp).payload(1024));
  return frames;
}
std::vector<B> operator+(std::vector<B> a, const std::vector<B> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
B send() { return B(ROCE_RC_SEND_ONLY).payload(64); }
B ecn(uint8_t codepoint) { return send().ecn(codepoint); }
B other() { return B(4).ethertype(0x0806).payload(64); }
B other_udp() { return B(4).port(4789).payload(64); }

// Bytes that differ, by offset; both have the same length.
std::vector<uint32_t> differing(const Seen &seen) {
  std::vector<uint32_t> offsets;
  EXPECT_EQ(seen.before.size(), seen.after.size());
  for (uint32_t i = 0; i < std::min(seen.before.size(), seen.after.size()); i++)
    if (seen.before[i] != seen.after[i])
      offsets.push_back(i);
  return offsets;
}
// The edited fields without checksums.
std::vector<uint32_t> edited(const Seen &seen) {
  std::vector<uint32_t> offsets = differing(seen);
  std::erase_if(offsets, [&](uint32_t at) {
    const uint32_t udp = seen.a.bth - 8;
    return seen.wrap.net != kV1 &&
           ((seen.wrap.udp_checksum && (at == udp + 6 || at == udp + 7)) ||
            (seen.wrap.net == kV4 && (at == seen.a.l3 + 10 || at == seen.a.l3 + 11)));
  });
  return offsets;
}
Check tos_becomes(uint8_t tos) {
  return [tos](const Seen &seen) {
    EXPECT_EQ(tos, seen.b.tos);
    for (uint32_t at : edited(seen))
      EXPECT_TRUE(at == seen.a.l3 || at == seen.a.l3 + 1) << at;
  };
}
Check bth4_becomes(uint8_t byte) {
  return [byte](const Seen &seen) {
    EXPECT_EQ(byte, seen.bth_after()[4]);
    EXPECT_EQ(std::vector<uint32_t>{seen.a.bth + 4}, edited(seen));
  };
}
// One bit, in [from, to) bits from the start of the header that is `ext` bytes after the BTH's.
Check one_bit_in(uint32_t ext, uint32_t from, uint32_t to) {
  return [=](const Seen &seen) {
    const std::vector<uint32_t> at = edited(seen);
    ASSERT_EQ(1u, at.size());
    const uint8_t flipped = seen.before[at[0]] ^ seen.after[at[0]];
    ASSERT_EQ(1, __builtin_popcount(flipped));
    const uint32_t bit =
        (at[0] - seen.a.bth - ext) * 8 + static_cast<uint32_t>(__builtin_clz(flipped)) - 24;
    EXPECT_GE(bit, from);
    EXPECT_LT(bit, to);
  };
}
Check payload_bit(uint32_t payload) { return one_bit_in(12, 0, payload * 8); }

std::vector<B> writes(uint32_t n) {
  std::vector<B> frames;
  for (uint32_t i = 0; i < n; i++)
    frames.push_back(B(ROCE_RC_RDMA_WRITE_ONLY).psn(i).dma_len(64).payload(64));
  return frames;
}

Row corrupt_header(const char *field, std::vector<B> in, uint32_t ext, uint32_t from, uint32_t to,
                   std::string wrong = "icrc ") {
  std::string fates(in.size(), 'e');
  return {field,
          {std::string("corrupt header ") + field + " seed 3"},
          std::move(in),
          std::move(fates),
          {},
          {.edited = one_bit_in(ext, from, to), .wrong = std::move(wrong), .nets = kAll}};
}

std::vector<Row> make_rows() {
  std::vector<Row> rows = {
      {"no rule that matches", {"dest-qp 0x99 drop"}, sends(3), "...", {{0, 0}}, {.nets = kAll}},
      {"drop",
       {"drop"},
       sends(2) + std::vector{other(), other_udp()},
       "xxxx",
       {{4, 4}},
       {.nets = kAll}},
      {"drop of large frames", {"drop"}, sends(2, 4096), "xx", {{2, 2}}, {.nets = kAll}},
      {"non-roce", {"non-roce drop"}, {send(), other(), other_udp()}, ".xx", {{2, 2}}},
      {"roce", {"roce drop"}, {send(), other(), other_udp()}, "x..", {{1, 1}}},
      {"size",
       {"size 1000- drop"},
       {send(), B(0).payload(1024), B(0).payload(8900)},
       ".xx",
       {{2, 2}},
       {.nets = kAll}},
      {"size of other frames", {"size 0-200 drop"}, {other(), other().payload(300)}, "x.", {}},
      {"psn", {"psn 5-6 drop"}, psns({4, 5, 6, 7}), ".xx.", {{2, 2}}, {.nets = kAll}},
      {"psn that wraps",
       {"psn 0xffffff-1 drop"},
       psns({0xfffffe, 0xffffff, 0, 1, 2}),
       ".xxx.",
       {{3, 3}},
       {.nets = kAll}},
      {"not psn",
       {"not psn 5-6 drop"},
       psns({4, 5, 6, 7}) + std::vector{other()},
       "x..x.",
       {{2, 2}}},
      {"opcode classes",
       {"opcode nak drop", "opcode ack,cnp drop", "opcode data drop"},
       {B(ROCE_RC_ACKNOWLEDGE).syndrome(0x60), B(ROCE_RC_ACKNOWLEDGE).syndrome(0x1f),
        B(ROCE_OPCODE_CNP).payload(16), send(), B(ROCE_RC_ACKNOWLEDGE).syndrome(0x2c)},
       "xxxx.",
       {{1, 1}, {2, 2}, {1, 1}},
       {.nets = kAll}},
      {"ecn", {"ecn ect0 drop"}, {ecn(0), ecn(1), ecn(2), ecn(3)}, "..x.", {{1, 1}}},
      {"dscp", {"dscp 26 drop"}, {send()}, "x", {{1, 1}}}, // 0x68 >> 2
      {"dest-qp",
       {"dest-qp 0x11,0x20-0x2f drop"},
       {send(), send().qp(0x12), send().qp(0x20), send().qp(0x2f), send().qp(0x30)},
       "x.xx.",
       {{3, 3}},
       {.nets = kAll}},
      {"src and dst",
       {"src 192.0.2.1 drop", "dst 2001:db8::2/127 drop"},
       {send(), send().from(2).to(1)},
       "",
       {},
       {.nets = kV2}},
      {"first match wins",
       {"dest-qp 0x11 every 2 drop", "drop"},
       sends(4) + psns({0, 1}, 0x12),
       ".x.xxx",
       {{4, 2}, {2, 2}},
       {.nets = kAll}},
      {"limit", {"drop limit 2", "drop"}, sends(4), "xx..", {{4, 2}, {0, 0}}, {.nets = kAll}},
      {"limit per period", {"drop limit 2 per 2h", "drop"}, sends(4), "xx..", {{4, 2}, {0, 0}}},
      {"a limit is not used up by what is not possible",
       {"corrupt payload limit 1 per 2h seed 1"},
       {B(ROCE_RC_ACKNOWLEDGE), send(), send()},
       ".e.",
       {{3, 1}},
       {.edited = payload_bit(64), .wrong = "icrc "}},
      {"ppm", {"ppm 400000 drop"}, sends(5), "..x.x", {{5, 2}}, {.nets = kAll}},
      {"psn from the first",
       {"psn +2-3 drop", "psn +0 ce"},
       psns({0xfffffe, 0xffffff, 0, 1, 2}) + psns({7, 8, 9}, 0x12),
       "e.xx.e.x",
       {{3, 3}, {2, 2}},
       {.edited = tos_becomes(0x6b)}},
      {"positions", {"positions 1,3,4 drop"}, sends(6), "x.xx..", {{6, 3}}},
      {"burst", {"burst 2 every 3 drop"}, sends(7), "..xx.xx", {{7, 4}}},

      {"ce",
       {"ce"},
       {ecn(0), ecn(1), ecn(2), ecn(3)},
       ".ee.",
       {{4, 2}},
       {.edited = tos_becomes(0x6b)}},
      {"ce of RoCEv1 and others", {"ce"}, {send(), other()}, "..", {{2, 0}}, {.nets = kV1}},
      {"ce force",
       {"ce force"},
       {ecn(0), ecn(1), ecn(2), ecn(3)},
       "eee.",
       {{4, 3}},
       {.edited = tos_becomes(0x6b)}},
      {"ce of large frames", {"ce"}, sends(2, 4096), "ee", {{2, 2}}, {.edited = tos_becomes(0x6b)}},
      {"set dscp",
       {"set dscp 0"},
       {ecn(1), ecn(3)},
       "ee",
       {{2, 2}},
       {.edited = [](const Seen &s) { tos_becomes(s.index ? 3 : 1)(s); }}},
      {"set dscp that is there", {"set dscp 26"}, {send()}, ".", {{1, 1}}},
      {"set ecn",
       {"set ecn not-ect"},
       {ecn(1), ecn(0)},
       "e.",
       {{2, 2}},
       {.edited = tos_becomes(0x68)}},
      {"set all",
       {"set dscp 63 set ecn ect1 set fecn 1 set becn 1"},
       {ecn(2)},
       "e",
       {{1, 1}},
       {.edited =
            [](const Seen &s) {
              EXPECT_EQ(0xfd, s.b.tos);
              EXPECT_EQ(0xd0, s.bth_after()[4]);
            },
        .totals = [](const roce_totals &t) { EXPECT_EQ(1u, t.rewritten); }}},
      {"set fecn",
       {"set fecn 1"},
       {send()},
       "e",
       {{1, 1}},
       {.edited = bth4_becomes(0x90), .nets = kAll}},
      {"set becn",
       {"set becn 1"},
       sends(2, 4096),
       "ee",
       {{2, 2}},
       {.edited = bth4_becomes(0x50), .nets = kAll}},
      {"set what is so", {"set fecn 0 set becn 0"}, {send()}, ".", {{1, 1}}, {.nets = kAll}},
      {"set and corrupt",
       {"set becn 1 corrupt icrc"},
       {send()},
       "e",
       {{1, 1}},
       {.edited = [](const Seen &s) { EXPECT_EQ(0x50, s.bth_after()[4]); },
        .wrong = "icrc ",
        .nets = kAll}},
      {"ce and corrupt",
       {"ce corrupt payload seed 1"},
       {ecn(0), ecn(2)},
       "ee",
       {{2, 2}},
       {.edited = [](const Seen &s) { EXPECT_EQ(s.index ? 0x6b : 0x68, s.b.tos); },
        .wrong = "icrc "}},

      {"corrupt icrc",
       {"corrupt icrc"},
       {send(), other()},
       "e.",
       {{2, 1}},
       {.edited =
            [](const Seen &s) {
              if (s.wrap.net == kV4)
                EXPECT_EQ((std::vector{s.a.l3 + 4, s.a.l3 + 5}), edited(s));
              else
                EXPECT_EQ((std::vector{s.a.bth + 8}), edited(s));
              EXPECT_EQ(s.a.psn, s.b.psn);
              EXPECT_EQ(s.a.ack_req, s.b.ack_req);
            },
        .wrong = "icrc ",
        .nets = kAll}},
      {"corrupt icrc of large frames",
       {"corrupt icrc"},
       sends(2, 4096),
       "ee",
       {{2, 2}},
       {.edited = [](const Seen &) {}, .wrong = "icrc ", .nets = kAll}},
      {"corrupt payload",
       {"corrupt payload seed 5"},
       sends(40),
       std::string(40, 'e'),
       {{40, 40}},
       {.edited = payload_bit(64), .wrong = "icrc ", .nets = kAll}},
      {"corrupt payload of large frames",
       {"corrupt payload seed 5"},
       sends(24, 4096),
       std::string(24, 'e'),
       {{24, 24}},
       {.edited = payload_bit(4096), .wrong = "icrc ", .nets = kAll}},
      {"corrupt payload where there is none",
       {"corrupt payload seed 5"},
       {B(ROCE_RC_ACKNOWLEDGE), send()},
       ".e",
       {{2, 1}},
       {.edited = payload_bit(64), .wrong = "icrc ", .nets = kAll}},
      {"corrupt bit",
       {"corrupt bit seed 6"},
       sends(24, 4096),
       std::string(24, 'e'),
       {{24, 24}},
       {.edited = one_bit_in(0, 0, (12 + 4096 + 4) * 8), .wrong = "any", .nets = kAll}},
      {"corrupt bit of other frames",
       {"corrupt bit seed 6"},
       {other(), other_udp()},
       "ee",
       {{2, 2}},
       {.edited = [](const Seen &s) { EXPECT_EQ(1u, differing(s).size()); }, .wrong = "any"}},
      {"corrupt bit N",
       {"corrupt bit 100"},
       {B(ROCE_RC_ACKNOWLEDGE), send(), other()},
       "ee.",
       {{3, 2}},
       {.edited = one_bit_in(0, 100, 101), .wrong = "icrc ", .nets = kAll}},
      {"corrupt bit N of large frames",
       {"corrupt bit 32000"},
       {send(), send().payload(4096)},
       ".e",
       {{2, 1}},
       {.edited = one_bit_in(0, 32000, 32001), .wrong = "icrc ", .nets = kAll}},
      {"corrupt udp-checksum",
       {"corrupt udp-checksum"},
       {send(), other()},
       "e.",
       {{2, 1}},
       {.edited = [](const Seen &s) { EXPECT_EQ(std::vector{s.a.bth - 1}, differing(s)); },
        .wrong = "udp "}},
      {"corrupt udp-checksum of RoCEv1",
       {"corrupt udp-checksum"},
       {send()},
       ".",
       {{1, 0}},
       {.nets = kV1}},
      {"corrupt ip-checksum",
       {"corrupt ip-checksum"},
       {send(), other()},
       "e.",
       {{2, 1}},
       {.edited = [](const Seen &s) { EXPECT_EQ(std::vector{s.a.l3 + 11}, differing(s)); },
        .wrong = "ip ",
        .nets = kV4}},
      {"corrupt ip-checksum of IPv6",
       {"corrupt ip-checksum"},
       {send()},
       ".",
       {{1, 0}},
       {.nets = kV6 | kV1}},
      {"ber",
       {"ber 5 -3 corrupt bit seed 8 limit 2"},
       sends(20, 1024),
       "",
       {},
       {.edited = [](const Seen &) {}, .wrong = "any"}},

      corrupt_header("opcode", sends(10), 0, 0, 8, "any"),
      corrupt_header("se", sends(2), 0, 8, 9),
      corrupt_header("migreq", sends(2), 0, 9, 10),
      corrupt_header("padcnt", sends(4), 0, 10, 12),
      corrupt_header("tver", sends(4), 0, 12, 16, "any"),
      corrupt_header("pkey", sends(8), 0, 16, 32),
      corrupt_header("dest-qp", sends(8), 0, 40, 64),
      corrupt_header("ackreq", sends(2), 0, 64, 65),
      corrupt_header("psn", sends(8), 0, 72, 96),
      corrupt_header("va", writes(8), 12, 0, 64),
      corrupt_header("rkey", writes(8), 12, 64, 96),
      corrupt_header("dmalen", writes(8), 12, 96, 128),
      corrupt_header("syndrome", {B(ROCE_RC_ACKNOWLEDGE), B(ROCE_RC_ATOMIC_ACKNOWLEDGE)}, 12, 0, 8),
      corrupt_header("msn", {B(ROCE_RC_ACKNOWLEDGE), B(ROCE_RC_ACKNOWLEDGE)}, 12, 8, 32),
      corrupt_header("qkey", {B(ROCE_UD_SEND_ONLY).qp(9).payload(64)}, 12, 0, 32),
      corrupt_header("src-qp", {B(ROCE_UD_SEND_ONLY).qp(9).payload(64)}, 12, 40, 64),
      corrupt_header("imm", {B(ROCE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE).dma_len(64).payload(64)}, 28,
                     0, 32),
      {"corrupt header that is not there",
       {"corrupt header va seed 1"},
       {send(), B(ROCE_RC_ACKNOWLEDGE)},
       "..",
       {{2, 0}},
       {.nets = kAll}},

      {"cnp drop, sender unknown",
       {"cnp drop"},
       {send()},
       "x",
       {{1, 1}},
       {.totals =
            [](const roce_totals &t) {
              EXPECT_EQ(1u, t.cnps_unknown_peer);
              EXPECT_EQ(1u, t.dropped_programmed);
              EXPECT_EQ(0u, t.cnps_sent);
            }}},
      {"cnp drop",
       {"cnp interval 1m drop"},
       sends(2) + psns({0}, 0x12),
       "bxb",
       {{3, 3}},
       {.peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22", "192.0.2.1 0x12 -> 0x22",
                  "2001:db8::1 0x12 -> 0x22"},
        .totals =
            [](const roce_totals &t) {
              EXPECT_EQ(2u, t.cnps_sent);
              EXPECT_EQ(1u, t.cnps_paced);
              EXPECT_EQ(3u, t.dropped_programmed);
            }}},
      {"cnp by pairs, of its own DSCP",
       {"cnp interval 1m scope pair dscp 5 drop"},
       sends(1) + psns({0}, 0x12),
       "bx",
       {{2, 2}},
       {.peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22", "192.0.2.1 0x12 -> 0x22",
                  "2001:db8::1 0x12 -> 0x22"},
        .cnp_dscp = 5}},
      {"cnp of datagrams",
       {"cnp drop"},
       {B(ROCE_UD_SEND_ONLY).qp(9).src_qp(0x1234).payload(8)},
       "b",
       {{1, 1}},
       {.cnp_qp = 0x1234}},
      {"cnp of a frame that is shorter",
       {"cnp interval 1us drop"},
       {B(ROCE_RC_SEND_ONLY), B(ROCE_RC_SEND_ONLY).trailer(2)},
       "bb",
       {{2, 2}},
       {.peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22"}}},
      {"cnp of large frames",
       {"cnp interval 1us drop"},
       {send().payload(4096), send().payload(8192)},
       "bb",
       {{2, 2}},
       {.peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22"}}},
      {"cnp drop of RoCEv1", {"cnp drop"}, {send()}, "x", {{1, 1}}, {.nets = kV1}},
      {"cnp with no way to send it",
       {"cnp interval 1us"},
       {send()},
       ".",
       {{1, 0}},
       {.peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22"},
        .totals = [](const roce_totals &t) { EXPECT_EQ(1u, t.not_cloned); }}},
      {"cnp beside",
       {"cnp interval 1m"},
       sends(2),
       "c.",
       {{2, 1}},
       {.bridge = true, .peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22"}}},
      {"cnp beside ce",
       {"ce cnp interval 1m"},
       {ecn(2)},
       "c",
       {{1, 1}},
       {.bridge = true, .peers = {"192.0.2.1 0x11 -> 0x22", "2001:db8::1 0x11 -> 0x22"}}},
      {"duplicate",
       {"duplicate limit 1"},
       {send(), send(), other()},
       "2..",
       {{3, 1}},
       {.nets = kAll,
        .bridge = true,
        .totals = [](const roce_totals &t) { EXPECT_EQ(1u, t.duplicated); }}},
      {"duplicate of other frames", {"duplicate"}, {other()}, "2", {{1, 1}}, {.bridge = true}},
      {"a bridge without rules for it",
       {"dest-qp 0x99 duplicate"},
       {send(), other()},
       "..",
       {{0, 0}},
       {.nets = kAll, .bridge = true}},

      {"an event",
       {"qp 1 psn 3 drop"},
       psns({100, 101, 102, 103}) + psns({7, 8, 9}, 0x12),
       "..x....",
       {{1, 1}},
       {.nets = kAll}},
      {"an event of the second QP",
       {"qp 2 psn 3 drop"},
       psns({100, 101, 102}) + psns({0xffffff, 0, 1, 2}, 0x12),
       ".....x.",
       {{1, 1}},
       {.nets = kAll}},
      {"an event by QPN",
       {"qp 0x12 psn 2-3 drop"},
       psns({0, 1, 2}) + psns({5, 6, 7, 8}, 0x12),
       "....xx.",
       {{2, 2}},
       {.nets = kAll}},
      {"all of a QP",
       {"qp 2 psn all drop"},
       psns({0, 1}) + psns({5, 6}, 0x12),
       "..xx",
       {{2, 2}},
       {.nets = kAll}},
      {"the first transmission",
       {"qp 1 psn 2 iter 1 drop"},
       psns({10, 11, 12, 11, 12, 13}),
       ".x....",
       {{1, 1}},
       {.nets = kAll}},
      {"the second transmission",
       {"qp 1 psn 2 iter 2 drop"},
       psns({10, 11, 12, 11, 12, 13, 11, 12}),
       "...x....",
       {{1, 1}},
       {.nets = kAll}},
      {"any transmission",
       {"qp 1 psn 2 drop"},
       psns({10, 11, 12, 11, 12, 13, 11, 12}),
       ".x.x..x.",
       {{3, 3}},
       {.nets = kAll}},
      {"events are of requests",
       {"qp 1 psn all drop"},
       {send(), B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x22), B(ROCE_UD_SEND_ONLY).qp(9)},
       "x..",
       {{1, 1}},
       {.nets = kAll}},
  };
  return rows;
}

const std::vector<Row> &rows() {
  static const std::vector<Row> table = make_rows();
  return table;
}

char letter(const Passed &passed, const Bytes &before) {
  switch (passed.fate) {
  case Fate::GoOn:
    return passed.bytes == before ? '.' : 'e';
  case Fate::Gone:
    return 'x';
  case Fate::Twice:
    return '2';
  case Fate::GoOnWithCnp:
    return 'c';
  case Fate::BackAsCnp:
    return 'b';
  }
  return '?';
}

void expect_sound(const Row &row, const Seen &seen) {
  if (parsed(seen.before).class_ != ROCE_CLASS_V2 && parsed(seen.before).class_ != ROCE_CLASS_V1)
    return;
  if (row.more.wrong == "any") { // but the checksums of network and UDP
    const uint8_t *ip = seen.after.data() + seen.a.l3;
    if (seen.wrap.net == kV4) {
      EXPECT_EQ(0xffffu, ones_sum(ip, 20));
    }
    if (seen.wrap.net != kV1 && seen.wrap.udp_checksum) {
      EXPECT_EQ(0xffffu, udp_sum(seen.after, seen.a));
    }
    return;
  }
  EXPECT_EQ(row.more.wrong, wrong_in(seen.after));
}

void look_at(const Row &row, const Passed &passed, const Bytes &before, const Wrap &wrap,
             size_t i) {
  Seen seen{
      before, passed.bytes, passed.cnp, parsed(before).packet, parsed(passed.bytes).packet, wrap,
      i};
  switch (letter(passed, before)) {
  case 'e':
    expect_sound(row, seen);
    if (row.more.edited)
      row.more.edited(seen);
    break;
  case 'b':
    expect_cnp(before, passed.bytes, row.more.cnp_qp, row.more.cnp_dscp);
    break;
  case 'c':
    expect_cnp(before, passed.cnp, row.more.cnp_qp, row.more.cnp_dscp);
    EXPECT_EQ("", wrong_in(passed.bytes));
    break;
  case '2':
    EXPECT_EQ(before, passed.bytes);
    break;
  default:
    break;
  }
}

void run(const Row &row, Twins &twins, const std::vector<impair::Rule> &rules, const Wrap &wrap) {
  SCOPED_TRACE(
      fmt::format("net {} tags {} UDP checksum {}", wrap.net, wrap.tags, wrap.udp_checksum));
  twins.begin(rules);
  std::string fates;
  for (size_t i = 0; i < row.in.size(); i++) {
    SCOPED_TRACE(fmt::format("frame {}", i));
    const Bytes before = wrapped(row.in[i], wrap);
    const Passed passed = twins.pass(before);
    fates += letter(passed, before);
    look_at(row, passed, before, wrap, i);
  }
  if (!row.fates.empty()) {
    EXPECT_EQ(row.fates, fates);
  }
  for (uint32_t i = 0; i < row.counts.size(); i++) {
    EXPECT_EQ(row.counts[i].first, twins.count(i).matched) << "rule " << i;
    EXPECT_EQ(row.counts[i].second, twins.count(i).acted) << "rule " << i;
  }
  if (row.more.totals)
    row.more.totals(twins.totals());
  twins.expect_same();
}

class ImpairProgram : public testing::TestWithParam<size_t> {};

TEST_P(ImpairProgram, Row) {
  const Row &row = rows()[GetParam()];
  SCOPED_TRACE(row.what);
  const std::vector<impair::Rule> rules = rules_of(row.rules);
  ASSERT_EQ(row.rules.size(), rules.size());
  Twins twins(features_of(rules, row.more.bridge), impair::make_ruleset(rules)->used);
  LOAD_OR_SKIP(twins);
  for (const std::string &peer : row.more.peers)
    twins.peer(peer);
  for (unsigned net : {kV4, kV6, kV1})
    for (unsigned tags : {0u, 1u, 2u})
      for (bool udp_checksum : {false, true})
        if (row.more.nets & net && !(net == kV1 && udp_checksum))
          run(row, twins, rules, {net, tags, udp_checksum});
}

INSTANTIATE_TEST_SUITE_P(Table, ImpairProgram, testing::Range<size_t>(0, rows().size()),
                         [](const auto &info) { return "row" + std::to_string(info.param); });

// Rows of their own: what depends on the frame's length, its tags, its family.

std::string fates_of(Twins &twins, const std::vector<Bytes> &frames) {
  std::string fates;
  for (const Bytes &frame : frames)
    fates += letter(twins.pass(frame), frame);
  return fates;
}

struct Case {
  const char *what;
  std::vector<std::string> rules;
  std::vector<Bytes> in;
  std::string fates;
  std::vector<std::pair<uint64_t, uint64_t>> counts;
};

Bytes plain(B frame) { return finished(frame.build(), true); }
Bytes tagged(uint16_t vid) {
  Bytes bytes = plain(send().vlan(0x8100));
  store16(bytes.data() + 14, 0x6000 | vid);
  return bytes;
}

TEST(ImpairCases, OfOneKind) {
  const Case cases[] = {
      {"vlan",
       {"vlan 5-6 drop"},
       {plain(send()), tagged(4), tagged(5), tagged(6), tagged(7), plain(other())},
       "..xx..",
       {{2, 2}}},
      {"vlan any", {"vlan any drop"}, {plain(send()), tagged(0), tagged(4095)}, ".xx", {{2, 2}}},
      {"vlan none",
       {"vlan none drop"},
       {plain(send()), tagged(0), plain(other())},
       "x.x",
       {{2, 2}}},
      {"not vlan", {"not vlan 5 drop"}, {plain(send()), tagged(5), tagged(6)}, "x.x", {{2, 2}}},
      {"not vlan any", {"not vlan any drop"}, {plain(send()), tagged(5)}, "x.", {{1, 1}}},
      {"the outer tag counts",
       {"vlan 100 drop"},
       {plain(send().vlan(0x88a8).vlan(0x8100))},
       "x",
       {{1, 1}}},
      {"ipv4",
       {"ipv4 drop"},
       {plain(send()), plain(send().ipv6()), plain(send().v1()), plain(other_udp())},
       "x...",
       {{1, 1}}},
      {"se",
       {"se 1 drop"},
       {plain(send()), plain(send().flags(0x80)), plain(send().ipv6().flags(0xc0)),
        plain(send().v1().flags(0x80)), plain(other())},
       ".xxx.",
       {{3, 3}}},
      {"migreq",
       {"migreq 0 drop"},
       {plain(send()), plain(send().flags(0)), plain(other())},
       ".x.",
       {{1, 1}}},
      {"padcnt",
       {"padcnt 1,3 drop"},
       {plain(send()), plain(send().pad(1)), plain(send().pad(2)), plain(send().pad(3)),
        plain(send().ip_options(3).pad(1))},
       ".x.xx",
       {{3, 3}}},
      {"tver",
       {"tver 1-14 drop"},
       {plain(send()), plain(send().tver(1)), plain(send().ipv6().tver(14)),
        plain(send().v1().tver(3)), plain(send().tver(15)), plain(other()),
        plain(send().tver(1).claim(2000))},
       ".xxx...",
       {{3, 3}}},
      {"not tver",
       {"not tver 0 drop"},
       {plain(send()), plain(send().tver(15)), plain(other_udp()), plain(send().claim(2000))},
       ".x..",
       {{1, 1}}},
      {"tver 0",
       {"tver 0 drop"},
       {plain(send()), plain(send().tver(1)), plain(other())},
       "x..",
       {{1, 1}}},
      {"tver is no RoCE",
       {"non-roce limit 1 drop", "roce drop"},
       {plain(send().tver(1)), plain(send())},
       "xx",
       {{1, 1}, {1, 1}}},
      {"pkey",
       {"pkey 0x8001 drop", "pkey 0x7ff0-0x8000 drop"},
       {plain(send()), plain(send().pkey(0x8001)), plain(send().pkey(0x8000)),
        plain(send().ipv6().pkey(0x7ff0)), plain(send().pkey(0x7fef)), plain(send().pkey(0x8101))},
       ".xxx..",
       {{1, 1}, {2, 2}}},
      {"not pkey",
       {"not pkey 0xffff drop"},
       {plain(send()), plain(send().pkey(0x7fff)), plain(other())},
       ".x.",
       {{1, 1}}},
      {"fecn, becn and what is beside them",
       {"fecn 1 drop", "becn 1 resv6 0 drop", "resv6 5 drop"},
       {plain(send()), plain(send().marks(0x80)), plain(send().marks(0x40)),
        plain(send().marks(0x41)), plain(send().ipv6().marks(5)), plain(send().v1().marks(0x45))},
       ".xx.xx",
       {{1, 1}, {1, 1}, {2, 2}}},
      {"ack-req and what is beside it",
       {"ack-req 0 drop", "resv7 0x7f drop"},
       {plain(send()), plain(send().ack(0)), plain(send().ack(0xff)), plain(send().ack(0x81))},
       ".xx.",
       {{1, 1}, {1, 1}}},
      {"a bit that a rule sets is not what it matches",
       {"becn 0 set becn 1", "becn 1 drop"},
       {plain(send().marks(0)), plain(send().marks(0x40))},
       "ex",
       {{1, 1}, {1, 1}}},
      {"ipv6",
       {"ipv6 drop"},
       {plain(send()), plain(send().ipv6()), plain(send().v1()), plain(other_udp().ipv6())},
       ".xx.",
       {{2, 2}}},
      {"src",
       {"src 192.0.2.0/31 drop", "src 2001:db8::/64 drop"},
       {plain(send()), plain(send().from(2).to(1)), plain(send().ipv6()),
        plain(send().ipv6().from(3))},
       "x.xx",
       {{1, 1}, {2, 2}}},
      {"not src",
       {"not src 192.0.2.1 drop"},
       {plain(send()), plain(send().from(2).to(1)), plain(send().ipv6()), plain(other())},
       ".xx.",
       {{2, 2}}},
      {"dst",
       {"dst 192.0.2.2 drop", "dst 2001:db8::2 drop"},
       {plain(send()), plain(send().from(2).to(1)), plain(send().ipv6()),
        plain(send().ipv6().to(3))},
       "x.x.",
       {{1, 1}, {1, 1}}},
      {"options and extension headers",
       {"ce"},
       {plain(send().ip_options(10)), plain(send().ipv6().extension(0).extension(60, 1))},
       "ee",
       {{2, 2}}},
      {"a padded frame",
       {"corrupt bit seed 2"},
       {plain(B(ROCE_RC_ACKNOWLEDGE).trailer(6)), plain(B(ROCE_RC_SEND_ONLY).pad(3).payload(1))},
       "ee",
       {{2, 2}}},
  };
  Twins twins(0xffffffffu & ~(ROCE_FEATURE_FORWARD | ROCE_FEATURE_CLONE | ROCE_FEATURE_NIC_TIME));
  LOAD_OR_SKIP(twins);
  for (const Case &one : cases) {
    SCOPED_TRACE(one.what);
    twins.begin(rules_of(one.rules));
    EXPECT_EQ(one.fates, fates_of(twins, one.in));
    for (uint32_t i = 0; i < one.counts.size(); i++) {
      EXPECT_EQ(one.counts[i].first, twins.count(i).matched) << "rule " << i;
      EXPECT_EQ(one.counts[i].second, twins.count(i).acted) << "rule " << i;
    }
    twins.expect_same();
  }
}

TEST(ImpairCases, PoliceAndRed) {
  Twins twins(ROCE_FEATURE_RULES | ROCE_FEATURE_EDIT);
  LOAD_OR_SKIP(twins);
  // So large that what drains between two of them does not matter: 200 ms each.
  const std::vector<Bytes> frames(5, plain(send().payload(3000)));
  ASSERT_EQ(3058u, frames[0].size());
  const Case cases[] = {
      {"police", {"police 125kbit burst 9200"}, {}, "...xx", {{5, 2}}},
      {"police L1", {"police 125kbit burst 7000 l1"}, {}, "..xxx", {{5, 3}}},
      {"police ce", {"police 125kbit burst 9200 excess ce"}, {}, "...ee", {{5, 2}}},
      {"police corrupt", {"police 125kbit burst 9200 corrupt icrc"}, {}, "...ee", {{5, 2}}},
      {"red", {"red 6200 7000 100% rate 125kbit"}, {}, "...ee", {}},
      {"red, full at once", {"red 0 1 100% rate 125kbit"}, {}, ".eeee", {{5, 4}}},
      {"red that holds little", {"red 100 200 0 rate 125kbit max 200"}, {}, ".....", {{5, 0}}},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(one.what);
    std::string fates;
    // Once more where the machine was so busy that something drained.
    for (int tries = 0; tries < 20; tries++) {
      twins.begin(rules_of(one.rules));
      const uint64_t begun = clock_ns(CLOCK_MONOTONIC);
      fates = fates_of(twins, frames);
      if (clock_ns(CLOCK_MONOTONIC) - begun < 100'000'000)
        break;
    }
    EXPECT_EQ(one.fates, fates);
    for (uint32_t i = 0; i < one.counts.size(); i++) {
      EXPECT_EQ(one.counts[i].first, twins.count(i).matched);
      EXPECT_EQ(one.counts[i].second, twins.count(i).acted);
    }
    if (one.what == std::string("police")) {
      EXPECT_EQ(2u, twins.totals().dropped_policed);
    }
    twins.expect_same(true);
  }
}

// CNPs for what a rule marked, and the rest of what comes of it, are the same in both: by the short
// way (marking alone), by the long one, and where nothing was marked.
TEST(ImpairCases, MarksExplainCnps) {
  Twins twins(ROCE_FEATURE_RULES | ROCE_FEATURE_EDIT);
  LOAD_OR_SKIP(twins);
  const auto from_a = [](uint8_t opcode) { return B(opcode).from(1).to(2).qp(0xb).payload(1000); };
  const auto from_b = [](uint8_t opcode) { return B(opcode).from(2).to(1).qp(0xa); };
  std::vector<Bytes> frames;
  for (uint32_t psn = 0; psn < 5; psn++) { // B's answers show which QP A has
    frames.push_back(plain(from_a(ROCE_RC_SEND_ONLY).psn(psn).ecn(2)));
    frames.push_back(plain(from_b(ROCE_RC_ACKNOWLEDGE).psn(psn).ecn(0)));
  }
  frames.push_back(plain(from_b(ROCE_OPCODE_CNP).payload(16).ecn(0)));
  const std::pair<const char *, bool> rules[] = {
      {"ce", true},
      {"red 0 1 100% rate 125kbit", true},
      {"police 125kbit burst 100 excess ce", true},
      {"ce set dscp 5", true},
      {"opcode data limit 3 ce", true},
      {"opcode data set ecn ce", true},
      {"dscp 63 ce", false},
      {"opcode data red 100M 200M 0 rate 10tbit", false},
      {"opcode data set ecn ect1", false},
  };
  for (const auto &[rule, marks] : rules) {
    SCOPED_TRACE(rule);
    twins.begin(rules_of({rule}));
    fates_of(twins, frames);
    EXPECT_EQ(marks ? 1u : 0u, twins.totals().cnps_after_ce);
    EXPECT_EQ(marks ? 0u : 1u, twins.totals().cnps_after_neither);
    twins.expect_same(true);
  }
}

// A clone of such a frame would share its bytes.
TEST(ImpairCases, FramesInSeveralBuffersAreNotCopied) {
  Twins twins(ROCE_FEATURE_RULES | ROCE_FEATURE_FORWARD | ROCE_FEATURE_CLONE | ROCE_FEATURE_CNP);
  LOAD_OR_SKIP(twins);
  twins.peer("192.0.2.1 0x11 -> 0x22");
  for (const char *words : {"duplicate", "cnp"}) {
    SCOPED_TRACE(words);
    twins.begin(rules_of({words}));
    const Bytes before = plain(send().payload(4096));
    Bytes frame = before;
    EXPECT_EQ(static_cast<uint32_t>(XDP_REDIRECT), twins.in_kernel(frame));
    EXPECT_EQ(before, frame);
    EXPECT_EQ(1u, twins.totals().not_cloned);
    EXPECT_EQ(0u, twins.totals().duplicated);
    EXPECT_EQ(1u, twins.count(0).matched);
    EXPECT_EQ(0u, twins.count(0).acted);
  }
}

} // namespace
} // namespace xr::test
