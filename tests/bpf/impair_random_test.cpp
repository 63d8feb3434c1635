// SPDX-License-Identifier: Apache-2.0
// Random rule sets and random frames: the program in the kernel and the native compilation must
// agree on every outcome, every byte and every counter. XR_SEED repeats a run.
#include <algorithm>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "bpf/impair_twins.h"

namespace xr::test {
namespace {

using B = FrameBuilder;

struct Source {
  std::mt19937_64 engine;

  uint32_t number(uint32_t from, uint32_t to) {
    return std::uniform_int_distribution<uint32_t>(from, to)(engine);
  }
  bool chance(uint32_t n) { return number(1, n) == 1; }
  template <typename T> T one_of(std::initializer_list<T> all) {
    return all.begin()[number(0, static_cast<uint32_t>(all.size()) - 1)];
  }
};

// Values lie close together, so that conditions often hold.
constexpr uint8_t kOpcodes[] = {
    ROCE_RC_SEND_FIRST,      ROCE_RC_SEND_MIDDLE,        ROCE_RC_SEND_ONLY,
    ROCE_RC_RDMA_WRITE_ONLY, ROCE_RC_RDMA_READ_REQUEST,  ROCE_RC_RDMA_READ_RESPONSE_ONLY,
    ROCE_RC_ACKNOWLEDGE,     ROCE_RC_ATOMIC_ACKNOWLEDGE, ROCE_RC_FETCH_ADD,
    ROCE_UC_SEND_ONLY,       ROCE_UD_SEND_ONLY,          ROCE_XRC_SEND_ONLY,
    ROCE_OPCODE_CNP};

std::string match(Source &s) {
  switch (s.number(0, 17)) {
  case 0:
    return fmt::format("src 192.0.2.{}/{}", s.number(0, 1) * 2, 31);
  case 1:
    return fmt::format("dst 2001:db8::{}", s.number(1, 4));
  case 2:
    return fmt::format("dest-qp {},{}-{}", s.number(1, 4), 5, s.number(5, 6));
  case 3:
    return s.one_of<std::string>({"transport rc", "transport ud,uc", "transport xrc,cnp"});
  case 4:
    return "opcode " + s.one_of<std::string>({"data", "ack", "nak", "rnr-nak", "cnp", "read",
                                              "atomic", "SEND_ONLY", "RC_SEND_FIRST,data"});
  case 5:
    if (s.chance(3))
      return fmt::format("psn +{}-{}", s.number(0, 5), s.number(5, 40));
    return fmt::format("psn {}-{}", s.one_of({0xfffff0u, 0u, 250u}),
                       s.one_of({20u, 260u, 0xfffffu}));
  case 6:
    return "ecn " + s.one_of<std::string>({"ect", "ce", "not-ect", "ect0,ce"});
  case 7:
    return s.one_of<std::string>({"dscp 26", "dscp 0-25"});
  case 8:
    return "vlan " + s.one_of<std::string>({"any", "none", "100", "0-99"});
  case 9:
    return fmt::format("size {}-{}", s.number(60, 200), s.number(200, 5000));
  case 10:
    return s.one_of<std::string>({"roce", "non-roce"});
  case 11:
    return s.one_of<std::string>(
        {"se 1", "migreq 0", "padcnt 1-3", "padcnt 0,2", "tver 0", "tver 1-15", "tver 0-1"});
  case 12:
    return s.one_of<std::string>({"fecn 1", "becn 0", "resv6 16", "resv6 0-15"});
  case 13:
    return s.one_of<std::string>({"ack-req 1", "ack-req 0", "resv7 0", "resv7 1-127"});
  case 14:
    return s.one_of<std::string>({"pkey 0xffff", "pkey 0x7fff-0x8001", "pkey 1"});
  case 15:
  case 16:
    return s.one_of<std::string>(
        {"src-port 0-40000", "dst-port 4791", "dst-port 4789", "roce-version 1", "roce-version 2",
         "inner-vlan 0-2000", "pcp 0-3", "mpls 16", "src-mac 00:00:00:00:00:00/1",
         "dst-mac 00:00:00:00:00:00/00:00:00:00:00:01", "bytes 12 0800", "bytes 14 45/ff",
         "bytes 60 70707070", "bytes 1000 70/7f", "bytes 4000 70"});
  default:
    return s.one_of<std::string>({"ipv4", "ipv6"});
  }
}

std::string event(Source &s) {
  std::string words =
      s.chance(2) ? fmt::format("qp {}", s.number(1, 12)) : fmt::format("qp {:#x}", s.number(1, 6));
  words += s.chance(3) ? " psn all" : fmt::format(" psn {}-{}", s.number(1, 10), s.number(10, 40));
  return s.chance(2) ? words + fmt::format(" iter {}", s.number(1, 3)) : words;
}

std::string select(Source &s) {
  switch (s.number(0, 11)) {
  case 0:
    return fmt::format("every {}", s.number(1, 5));
  case 1:
    return fmt::format("positions {},{},{}", s.number(1, 3), s.number(4, 9), s.number(10, 20));
  case 2:
    return fmt::format("probability {}", s.one_of({"0.5", "10%", "1e-2", "1"}));
  case 3:
    return fmt::format("burst {}-{} every {}", s.number(1, 2), s.number(2, 4), s.number(5, 9));
  case 4:
    return fmt::format("burst {} probability 20%", s.number(1, 5));
  case 5:
    return "gilbert 20% 40% 90% 10%";
  case 6:
    return fmt::format("ber {} -4", s.number(1, 9));
  case 7:
    return s.one_of<std::string>({"distance uniform 1 9", "distance poisson 4",
                                  "distance gaussian 5 2", "distance gamma 2 2",
                                  "distance table 1,2,5"});
  case 8:
    return fmt::format("ppm {}", s.one_of({0.0, 125000.0, 333333.333, 700001.0, 1e6}));
  default:
    return "";
  }
}

std::string action(Source &s, bool bridge) {
  switch (s.number(0, bridge ? 13 : 11)) {
  case 0:
  case 1:
    return "drop";
  case 2:
    return s.one_of<std::string>({"ce", "ce force"});
  case 3:
    return "corrupt icrc";
  case 4:
    return "corrupt payload";
  case 5:
    return s.one_of<std::string>({"corrupt bit", "corrupt bit 77", "corrupt bit 5000",
                                  "corrupt ip-checksum", "corrupt udp-checksum",
                                  "corrupt udp-checksum set becn 1 set dscp 9"});
  case 6:
    return "corrupt header " +
           s.one_of<std::string>({"opcode", "psn", "dest-qp", "va", "syndrome", "src-qp", "imm"});
  case 7:
    return fmt::format("set dscp {}", s.number(0, 63));
  case 8:
    return s.one_of<std::string>({"set ecn ce set becn 1", "set fecn 1", "set becn 0 set dscp 1"});
  case 9:
    return "set becn 1 corrupt payload ce";
  case 10: // an interval that no two frames share, or that all do
    return s.one_of<std::string>({"cnp drop interval 1ns", "cnp interval 1h scope stream drop",
                                  "cnp interval 1h scope pair drop",
                                  "cnp interval 1h scope port drop"});
  case 11:
    return s.one_of<std::string>({"police 100gbit burst 1M", "red 1M 2M 1% rate 100gbit"});
  case 12:
    return s.one_of<std::string>({"duplicate", "duplicate ce", "duplicate corrupt payload"});
  default:
    return s.one_of<std::string>({"cnp interval 1ns", "cnp interval 1h", "ce cnp interval 1h"});
  }
}

std::string rule(Source &s, bool bridge) {
  std::string words;
  const std::string act = action(s, bridge);
  if (s.chance(4))
    words += event(s) + " ";
  for (uint32_t n = s.number(0, 2); n > 0; n--) {
    const std::string one = match(s);
    const std::string kind = one.substr(0, one.find_first_of(" -"));
    if (words.find(kind) == std::string::npos &&
        !(kind == "dest" && words.find("qp") != std::string::npos))
      words += (s.chance(4) && one != "non-roce" ? "not " : "") + one + " ";
  }
  words += select(s) + " " + act;
  if (s.chance(4)) // a period that no run outlives
    words += fmt::format(" limit {}{}", s.number(1, 5), s.chance(2) ? " per 1h" : "");
  if (s.chance(10))
    words += " disabled";
  return words + fmt::format(" seed {}", s.number(0, 1000));
}

std::vector<impair::Rule> rule_set(Source &s, bool bridge, std::string &text) {
  std::vector<impair::Rule> rules;
  text.clear();
  for (uint32_t n = s.chance(8) ? 64 : s.number(1, 8); rules.size() < n;) {
    const std::string words = rule(s, bridge);
    auto one = impair::parse({words});
    if (!one.ok()) // what cannot go together
      continue;
    rules.push_back(*one);
    rules.back().compiled.slot = static_cast<uint32_t>(rules.size()) - 1 + s.number(0, 0);
    text += "\n  " + words;
  }
  return rules;
}

struct Psns {
  std::array<uint32_t, 512> next{};
  explicit Psns(Source &s) {
    for (uint32_t &psn : next)
      psn = s.one_of({0u, 0xfffff8u, 250u, 1000u});
  }
};

Bytes frame(Source &s, Psns &psns) {
  B b(kOpcodes[s.number(0, std::size(kOpcodes) - 1)]);
  const uint32_t qp = s.number(1, 6), host = s.number(0, 1), net = s.number(0, 9);
  b.qp(qp).from(static_cast<uint8_t>(1 + host)).to(static_cast<uint8_t>(2 - host));
  if (net >= 5)
    b.ipv6();
  if (net == 9)
    b.v1();
  uint32_t &psn = psns.next[qp | host << 3 | (net >= 5) << 4];
  if (s.chance(12)) // a loss, or a retransmission
    psn += s.one_of({2u, 0xfffffeu, 0xfffffbu});
  b.psn(psn & 0xffffff);
  psn++;
  b.ecn(static_cast<uint8_t>(s.number(0, 3))).dma_len(s.number(0, 5000));
  b.syndrome(s.one_of<uint8_t>({0x1f, 0x60, 0x61, 0x2c})).src_qp(s.number(1, 6));
  b.flags(s.one_of<uint8_t>({0, 0x40, 0x80, 0xc0}));
  b.marks(s.one_of<uint8_t>({0, 0x10, 0x40, 0x80, 0xc5}));
  b.ack(s.one_of<uint8_t>({0, 0x80, 1, 0xff}));
  b.pkey(s.one_of<uint16_t>({0xffff, 0x7fff, 0x8000, 1}));
  b.pad(s.one_of<uint8_t>({0, 0, 1, 2, 3}));
  if (s.chance(3))
    b.vlan(0x8100);
  if (s.chance(8))
    b.vlan(0x88a8);
  b.payload(s.one_of({0u, 16u, 64u, 1024u, 3000u}));
  if (s.chance(16))
    b.ip_options(2);
  if (s.chance(16))
    b.ethertype(0x0806);
  if (s.chance(16))
    b.port(4789);
  if (s.chance(20))
    b.tver(1);
  if (s.chance(20))
    b.trailer(s.number(1, 8));
  Bytes bytes = finished(b.build(), s.chance(2));
  if (s.chance(16))
    bytes.resize(
        std::max<size_t>(14, bytes.size() - s.number(1, static_cast<uint32_t>(bytes.size()) - 14)));
  return bytes;
}

void differ(uint32_t features, bool bridge, uint32_t sets) {
  const char *given = std::getenv("XR_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  fmt::print("seed {}\n", seed);
  SCOPED_TRACE(fmt::format("XR_SEED={}", seed));
  Source s{std::mt19937_64(seed)};
  Twins twins(features);
  LOAD_OR_SKIP(twins);
  for (uint32_t qp = 1; qp <= 3; qp++)
    for (const char *host : {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"})
      twins.peer(fmt::format("{} {} -> {}", host, qp, qp + 100));
  uint64_t fates[5] = {};
  for (uint32_t i = 0; i < sets && !testing::Test::HasFailure(); i++) {
    std::string text;
    const std::vector<impair::Rule> rules = rule_set(s, bridge, text);
    SCOPED_TRACE(fmt::format("set {}:{}", i, text));
    if (i % 4)
      twins.rules(rules);
    else
      twins.begin(rules);
    Psns psns(s);
    for (uint32_t n = 0; n < 200 && !testing::Test::HasFailure(); n++) {
      SCOPED_TRACE(fmt::format("frame {}", n));
      fates[static_cast<int>(twins.pass(frame(s, psns)).fate)]++;
    }
    twins.expect_same(true);
  }
  fmt::print("went on {}, dropped {}, twice {}, with a CNP {}, as a CNP {}\n", fates[0], fates[1],
             fates[2], fates[3], fates[4]);
}

constexpr uint32_t kPort =
    ROCE_FEATURE_RULES | ROCE_FEATURE_EVENTS | ROCE_FEATURE_EDIT | ROCE_FEATURE_CNP;

TEST(ImpairRandom, APort) { differ(kPort, false, 100); }
TEST(ImpairRandom, ABridge) {
  differ(kPort | ROCE_FEATURE_FORWARD | ROCE_FEATURE_CLONE, true, 100);
}

} // namespace
} // namespace xr::test
