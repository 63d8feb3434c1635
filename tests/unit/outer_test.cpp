// SPDX-License-Identifier: Apache-2.0
// Conditions on MAC addresses, PCP, inner tag, MPLS label, ports, the version of RoCE and raw
// bytes: frames that are put together here from their parts, so that what a rule must find is
// known without reading them.
#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "impair_port.h"

namespace xr::test::outer_test {
namespace {

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

enum class Net { V4, V6, V1, Other };
constexpr size_t kMostLabels = 4; // of a stack whose payload is looked at

// What a frame is made of.
struct Parts {
  uint64_t dst_mac = 0, src_mac = 0;
  std::vector<uint32_t> tcis; // outer first
  std::vector<uint32_t> labels;
  Net net = Net::V4;
  uint32_t options = 0; // words of IPv4 options; IPv6 extension headers
  uint8_t proto = ROCE_IPPROTO_UDP;
  bool fragment = false; // not the first
  uint32_t src_port = 0, dst_port = 0;

  bool ported() const {
    return (net == Net::V4 || net == Net::V6) && !fragment && tcis.size() <= ROCE_VLAN_MAX &&
           labels.size() <= kMostLabels &&
           (proto == ROCE_IPPROTO_TCP || proto == ROCE_IPPROTO_UDP || proto == ROCE_IPPROTO_SCTP);
  }
  bool labelled() const { return !labels.empty() && tcis.size() <= ROCE_VLAN_MAX; }
};

void put(Bytes &bytes, uint64_t value, unsigned length) {
  for (unsigned i = length; i > 0; i--)
    bytes.push_back(i > sizeof(value) ? 0 : static_cast<uint8_t>(value >> (8 * (i - 1))));
}

void put_ipv4(Bytes &bytes, const Parts &p) {
  bytes.push_back(static_cast<uint8_t>(0x45 + p.options));
  put(bytes, 0, 5);
  put(bytes, p.fragment ? 0x0001 : 0x4000, 2);
  put(bytes, 64, 1);
  bytes.push_back(p.proto);
  put(bytes, 0xc0000201c0000202, 10);
  put(bytes, 0, 4 * p.options);
}

void put_ipv6(Bytes &bytes, const Parts &p) {
  const uint8_t last = p.fragment ? ROCE_IPPROTO_FRAGMENT : p.proto;
  put(bytes, 0x60000000, 4);
  put(bytes, 0, 2);
  bytes.push_back(p.options ? static_cast<uint8_t>(ROCE_IPPROTO_DSTOPTS) : last);
  put(bytes, 64, 1);
  put(bytes, 0x20010db800000001, 16);
  put(bytes, 0x20010db800000002, 16);
  for (uint32_t i = 1; i <= p.options; i++) { // the first has 16 bytes
    bytes.push_back(i < p.options ? static_cast<uint8_t>(ROCE_IPPROTO_DSTOPTS) : last);
    put(bytes, i == 1 ? 1 : 0, 1);
    put(bytes, 0, i == 1 ? 14 : 6);
  }
  if (p.fragment) {
    bytes.push_back(p.proto);
    put(bytes, 0, 1);
    put(bytes, 8, 2);
    put(bytes, 0, 4);
  }
}

Bytes frame_of(const Parts &p) {
  Bytes bytes;
  put(bytes, p.dst_mac, 6);
  put(bytes, p.src_mac, 6);
  for (const uint32_t tci : p.tcis) {
    put(bytes, p.tcis.size() > 1 && &tci == &p.tcis.front() ? 0x88a8 : 0x8100, 2);
    put(bytes, tci, 2);
  }
  if (p.net == Net::V1 || p.net == Net::Other) {
    put(bytes, p.net == Net::V1 ? 0x8915 : 0x0806, 2);
    put(bytes, 0, 60);
    return bytes;
  }
  put(bytes, !p.labels.empty() ? 0x8847 : p.net == Net::V4 ? 0x0800 : 0x86dd, 2);
  for (const uint32_t &label : p.labels)
    put(bytes, label << 12 | (&label == &p.labels.back() ? 0x100 : 0) | 64, 4);
  p.net == Net::V4 ? put_ipv4(bytes, p) : put_ipv6(bytes, p);
  put(bytes, p.src_port, 2);
  put(bytes, p.dst_port, 2);
  put(bytes, 0, 20);
  return bytes;
}

uint64_t mac(Source &s) { return 0x020000000000 | s.number(0, 3) << 8 | s.number(0, 3); }

Parts draw(Source &s) {
  Parts p;
  p.dst_mac = mac(s);
  p.src_mac = mac(s);
  for (uint32_t n = s.one_of({0U, 0U, 1U, 2U, 3U}); n > 0; n--)
    p.tcis.push_back(s.number(0, 7) << 13 | s.one_of({0U, 5U, 100U, 4095U}));
  p.net = s.one_of({Net::V4, Net::V4, Net::V6, Net::V6, Net::Other});
  if (p.net != Net::Other && s.chance(3))
    for (uint32_t n = s.number(1, 5); n > 0; n--)
      p.labels.push_back(s.one_of({0U, 16U, 17U, 0xfffffU}));
  p.options = s.chance(3) ? s.number(1, 5) : 0;
  p.proto = s.one_of<uint8_t>({ROCE_IPPROTO_UDP, ROCE_IPPROTO_TCP, ROCE_IPPROTO_SCTP, 1});
  p.fragment = s.chance(8);
  p.src_port = s.one_of({0U, 80U, 81U, 65535U});
  p.dst_port = s.one_of({0U, 80U, 81U, 65535U});
  return p;
}

bool within(uint32_t x, uint32_t from, uint32_t to) { return from <= x && x <= to; }

// A condition in words, and whether it holds.
struct Condition {
  std::string words;
  bool holds;
};

std::string mac_text(uint64_t value) {
  std::string text;
  for (int i = 5; i >= 0; i--)
    text += fmt::format("{:02x}{}", value >> (8 * i) & 0xff, i ? ":" : "");
  return text;
}

Condition mac_condition(Source &s, bool src, const Parts &p) {
  const uint64_t has = src ? p.src_mac : p.dst_mac, given = mac(s);
  const char *name = src ? "src-mac" : "dst-mac";
  switch (s.number(0, 2)) {
  case 0:
    return {fmt::format("{} {}", name, mac_text(given)), has == given};
  case 1: {
    const unsigned bits = s.one_of({0U, 8U, 32U, 39U, 47U});
    const uint64_t cut = given >> (48 - bits) << (48 - bits);
    return {fmt::format("{} {}/{}", name, mac_text(cut), bits),
            has >> (48 - bits) == cut >> (48 - bits)};
  }
  default:
    return {fmt::format("{} {}/00:00:00:00:00:ff", name, mac_text(given & 0xff)),
            (has & 0xff) == (given & 0xff)};
  }
}

Condition range_condition(Source &s, const char *name, std::initializer_list<uint32_t> values,
                          bool there, uint32_t has) {
  const uint32_t a = s.one_of(values), b = s.one_of(values);
  const uint32_t from = std::min(a, b), to = std::max(a, b);
  return {from == to ? fmt::format("{} {}", name, from) : fmt::format("{} {}-{}", name, from, to),
          there && within(has, from, to)};
}

// Bytes at any offset, half of them as they are in the frame.
Condition bytes_condition(Source &s, const Bytes &frame) {
  const uint32_t length = s.number(1, 6);
  const auto offset = s.number(0, static_cast<uint32_t>(frame.size()) + 2);
  std::string value, mask;
  bool holds = offset + length <= frame.size();
  for (uint32_t i = 0; i < length; i++) {
    const unsigned m = s.one_of({0xffU, 0U, 0x0fU});
    const unsigned has = offset + i < frame.size() ? frame[offset + i] : 0;
    const unsigned v = (s.chance(8) ? s.number(0, 255) : has) & m;
    value += fmt::format("{:02x}", v);
    mask += fmt::format("{:02X}", m);
    holds = holds && (has & m) == v;
  }
  return {fmt::format("bytes {} {}/{}", offset, value, mask), holds};
}

Condition condition(Source &s, const Parts &p, const Bytes &frame) {
  const size_t tags = std::min<size_t>(p.tcis.size(), ROCE_VLAN_MAX);
  switch (s.number(0, 7)) {
  case 0:
    return mac_condition(s, true, p);
  case 1:
    return mac_condition(s, false, p);
  case 2: {
    const uint32_t from = s.number(0, 7), to = s.number(from, 7);
    return {fmt::format("pcp {}-{}", from, to), tags && within(p.tcis[0] >> 13, from, to)};
  }
  case 3:
    return range_condition(s, "inner-vlan", {0, 5, 100, 4095}, tags > 1,
                           tags > 1 ? p.tcis[1] & 0xfff : 0);
  case 4:
    return range_condition(s, s.chance(2) ? "mpls" : "mpls label", {0, 16, 17, 0xfffff},
                           p.labelled(), p.labelled() ? p.labels[0] : 0);
  case 5:
    return range_condition(s, "src-port", {0, 80, 81, 65535}, p.ported(), p.src_port);
  case 6:
    return range_condition(s, "dst-port", {0, 80, 81, 65535}, p.ported(), p.dst_port);
  default:
    return bytes_condition(s, frame);
  }
}

TEST(Outer, FindsWhatTheFrameIsMadeOf) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Source s{std::mt19937_64(seed)};
  uint64_t matched = 0, missed = 0;
  for (int i = 0; i < 4'000 && !testing::Test::HasFailure(); i++) {
    const Parts p = draw(s);
    const Bytes frame = frame_of(p);
    std::string words;
    bool all = true;
    for (uint32_t n = s.number(1, 2); n > 0; n--) {
      const Condition c = condition(s, p, frame);
      const std::string kind = c.words.substr(0, c.words.find(' '));
      if (words.find(kind) != std::string::npos)
        continue;
      const bool negated = s.chance(3);
      words += (negated ? "not " : "") + c.words + " ";
      all = all && c.holds != negated;
    }
    Port port({words + "drop"});
    Bytes bytes = frame;
    ASSERT_EQ(port.impair(bytes) == Fate::Gone, all)
        << words << " tags " << p.tcis.size() << " labels " << p.labels.size() << " net "
        << static_cast<int>(p.net) << " options " << p.options << " proto " << unsigned{p.proto};
    ASSERT_EQ(port.matched(), all ? 1U : 0U);
    (all ? matched : missed)++;
  }
  EXPECT_GT(matched, 400U);
  EXPECT_GT(missed, 400U);
}

// A frame that ends inside its headers has the fields before its end; no byte after its end is
// read.
TEST(Outer, FramesThatAreCut) {
  Source s{std::mt19937_64(3)};
  Port port({"src-port 0-65535 drop", "not mpls 0-1 not inner-vlan 7 not bytes 40 01 drop"});
  for (int i = 0; i < 300; i++) {
    const Parts p = draw(s);
    const Bytes whole = frame_of(p);
    for (size_t length = 14; length <= whole.size(); length++) {
      const uint64_t before = port.matched(0);
      Bytes bytes(whole.begin(), whole.begin() + static_cast<long>(length));
      bytes.shrink_to_fit(); // for the address sanitizer
      port.impair(bytes);
      if (length == whole.size()) {
        EXPECT_EQ(port.matched(0) - before, p.ported() ? 1U : 0U);
      }
    }
  }
}

TEST(Outer, VersionsOfRoce) {
  const auto finds = [](const std::string &words, FrameBuilder frame) {
    Port port({words + " drop"});
    Bytes bytes = finished(frame.build(), false);
    return port.impair(bytes) == Fate::Gone;
  };
  for (const int tags : {0, 1, 2}) {
    const FrameBuilder v2 = FrameBuilder(4).tags(tags), v1 = FrameBuilder(4).v1().tags(tags),
                       v6 = FrameBuilder(4).ipv6().tags(tags),
                       other = FrameBuilder(4).port(4789).tags(tags);
    for (const auto &[words, a, b] : {std::tuple{"roce-version 1", true, false},
                                      {"roce-version 2", false, true},
                                      {"not roce-version 1", false, true}}) {
      EXPECT_EQ(finds(words, v1), a);
      EXPECT_EQ(finds(words, v2), b);
      EXPECT_EQ(finds(words, v6), b);
      EXPECT_FALSE(finds(words, other));
    }
  }
}

// The first rule whose conditions are met applies, whichever way they are decided.
TEST(Outer, AmongOtherRules) {
  const std::vector<std::string> rules = {"dst-port 4791 src-port 1 drop", "opcode data psn 5 drop",
                                          "not src-port 1 psn 6 drop", "non-roce src-port 1 drop",
                                          "ce force"};
  Port port(rules);
  for (const uint32_t psn : {5U, 6U, 7U}) {
    Bytes bytes = finished(FrameBuilder(4).psn(psn).build(), false);
    EXPECT_EQ(port.impair(bytes), psn == 7 ? Fate::GoOn : Fate::Gone);
  }
  for (size_t i = 0; i < rules.size(); i++)
    EXPECT_EQ(port.matched(static_cast<uint32_t>(i)), i == 0 || i == 3 ? 0U : 1U) << rules[i];
}

} // namespace
} // namespace xr::test::outer_test
