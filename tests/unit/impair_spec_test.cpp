// SPDX-License-Identifier: Apache-2.0
// A rule as a value: words and value are there and back the same, whatever the rule; and what
// changes a field changes the words.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "parse/words.h"
#include "sanitized.h"

namespace xr::impair::impair_spec_test {
namespace {

class RandomWords {
public:
  explicit RandomWords(uint64_t seed) : engine_(seed) {}

  std::vector<std::string> rule() {
    std::vector<std::string> parts;
    for (auto draw : kConditions)
      if (one_in(8))
        parts.push_back((one_in(3) ? "not " : "") + (this->*draw)());
    if (one_in(8))
      parts.push_back(event());
    if (one_in(2))
      parts.push_back(selector());
    if (one_in(4))
      parts.push_back(one_in(2) ? "for " + time() : fmt::format("repeat 1us {}", time()));
    if (one_in(4))
      parts.push_back(fmt::format("limit {}{}", number(1, 99), one_in(2) ? " per " + time() : ""));
    parts.push_back(action());
    if (one_in(3))
      parts.push_back(second_action());
    if (one_in(2))
      parts.push_back(fmt::format("seed {}", number(0, UINT64_MAX)));
    if (one_in(4))
      parts.push_back(fmt::format("name n{}", number(0, 999)));
    if (one_in(8))
      parts.emplace_back("disabled");
    std::shuffle(parts.begin(), parts.end(), engine_);
    if (one_in(8))
      parts.emplace_back("next");
    return parts;
  }

private:
  using Draw = std::string (RandomWords::*)();

  uint64_t number(uint64_t from, uint64_t to) {
    return std::uniform_int_distribution<uint64_t>(from, to)(engine_);
  }
  bool one_in(uint64_t n) { return number(1, n) == 1; }
  const char *any(std::initializer_list<const char *> list) {
    return list.begin()[number(0, list.size() - 1)];
  }
  std::string range(uint64_t from, uint64_t to) {
    const uint64_t a = number(from, to);
    return one_in(2) ? std::to_string(a) : fmt::format("{}-{:#x}", a, number(a, to));
  }
  std::string list(uint64_t from, uint64_t to) {
    std::string all = range(from, to);
    for (uint64_t n = number(0, 3); n; n--)
      all += "," + range(from, to);
    return all;
  }
  std::string time() { return fmt::format("{}{}", number(1, 9999), any({"us", "ms"})); }
  std::string bits() { return fmt::format("{}{}", number(1, 999), any({"mbit", "gbit", "g"})); }
  std::string bytes() { return fmt::format("{}{}", number(100, 900), any({"", "k", "Ki", "M"})); }
  std::string p() { return any({"1%", "0.25", "3e-5", "100ppm", "0", "1"}); }

  std::string address() {
    return any({"192.0.2.1", "192.0.2.0/24", "0.0.0.0/0", "2001:db8::/32", "2001:db8::1", "::/0"});
  }
  std::string src() { return "src " + address(); }
  std::string dst() { return "dst " + address(); }
  std::string dest_qp() { return "dest-qp " + list(0, 0xffffff); }
  std::string transport() { return any({"transport rc", "transport uc,ud", "transport xrc,cnp"}); }
  std::string opcode() {
    return any({"opcode data", "opcode nak,RC_SEND_ONLY", "opcode send_only,0x18", "opcode cm"});
  }
  std::string psn() { return "psn " + range(0, 0xffffff); }
  std::string ecn() { return any({"ecn ce", "ecn ect0,ect1", "ecn ect", "ecn not-ect,CE"}); }
  std::string dscp() { return "dscp " + list(0, 63); }
  std::string vlan() {
    return one_in(3) ? any({"vlan any", "vlan none"}) : "vlan " + range(0, 4095);
  }
  std::string size() { return fmt::format("size {}-{}", number(0, 900), one_in(2) ? "" : "1500"); }
  std::string kind() { return any({"roce", "non-roce"}); }
  std::string family() { return any({"ipv4", "ipv6"}); }
  std::string bth() {
    return any({"se 1", "migreq 0", "padcnt 1-3", "tver 0", "fecn 1", "becn 0", "resv6 3,9",
                "ack-req 1", "resv7 1-9"});
  }
  std::string pkey() { return "pkey " + range(0, 0xffff); }
  std::string mac() {
    return any({"src-mac 02:00:00:00:00:01", "dst-mac 02:00:00:00:00:00/40",
                "dst-mac 02:00:00:00:00:00/ff:00:00:00:00:ff"});
  }
  std::string outer() {
    return fmt::format("{} {}", any({"inner-vlan", "mpls", "src-port", "dst-port"}),
                       range(0, 4000));
  }
  std::string pcp() { return "pcp " + list(0, 7); }
  std::string version() { return any({"roce-version 1", "roce-version 2"}); }
  std::string raw() { return any({"bytes 12 0800", "bytes 6 0A0b/ff0f", "bytes 9 40/c0"}); }
  static constexpr Draw kConditions[] = {
      &RandomWords::src,    &RandomWords::dst,     &RandomWords::dest_qp, &RandomWords::transport,
      &RandomWords::opcode, &RandomWords::psn,     &RandomWords::ecn,     &RandomWords::dscp,
      &RandomWords::vlan,   &RandomWords::size,    &RandomWords::kind,    &RandomWords::family,
      &RandomWords::bth,    &RandomWords::pkey,    &RandomWords::mac,     &RandomWords::outer,
      &RandomWords::pcp,    &RandomWords::version, &RandomWords::raw,
  };

  std::string event() {
    const std::string iteration = one_in(2) ? fmt::format(" iter {}", number(1, 9)) : "";
    if (one_in(2))
      return "psn +" + range(0, 5000) + iteration;
    return fmt::format("qp {} psn {}{}", one_in(2) ? "0x11" : "3",
                       one_in(4) ? "all" : range(1, 5000), iteration);
  }
  std::string selector() {
    switch (number(0, 8)) {
    case 0:
      return fmt::format("every {}", number(1, UINT32_MAX));
    case 1:
      return "positions 1,5,900";
    case 2:
      return "probability " + p();
    case 3:
      return fmt::format("ppm {}", static_cast<double>(number(0, 1000000)) / 8);
    case 4:
      return fmt::format("burst {} every 9999", range(1, 9999));
    case 5:
      return fmt::format("burst {} probability {}", range(1, 9999), p());
    case 6:
      return fmt::format("gilbert {}{}", p(), one_in(2) ? " " + p() + " " + p() : "");
    case 7:
      return fmt::format("ber {} -{}", number(1, 99), number(4, 12));
    default:
      return any({"distance uniform 1 20", "distance gaussian 30 2.5", "distance poisson 7",
                  "distance gamma 2 30", "distance table 5,9,5", "always"});
    }
  }
  std::string hold() {
    switch (number(0, 5)) {
    case 0:
      return fmt::format("delay {} jitter {} 2us{}", time(), any({"gaussian 1us", "uniform 1us"}),
                         one_in(2) ? " unordered" : "");
    case 1:
      return "delay " + any_jitter();
    case 2:
      return fmt::format("accumulate {}", one_in(2) ? time() : std::to_string(number(1, 65535)));
    case 3:
      return fmt::format("reorder depth {}{}", number(1, 511),
                         one_in(2) ? " timeout " + time() : "");
    case 4:
      return fmt::format("reorder skip {} take {} hold {}", number(0, 99), number(1, 200),
                         number(1, 200));
    default:
      return fmt::format("shape {}{} burst {} queue {}", bits(), one_in(2) ? " l1" : "", bytes(),
                         bytes());
    }
  }
  std::string any_jitter() {
    return any({"poisson 5us", "gamma 2.5 30us", "table 1us,0s,3ms", "step 5ms 1ms every 10s", "0s",
                "3us"});
  }
  std::string action() {
    switch (number(0, 5)) {
    case 0:
      return any({"drop", "ce", "ce force", "corrupt icrc", "corrupt payload", "corrupt bit 77",
                  "corrupt bit", "corrupt header psn", "corrupt udp-checksum", "duplicate"});
    case 1:
      return hold();
    case 2:
      return fmt::format("red {} {}M {} rate {}{}{}", bytes(), number(901, 999), p(), bits(),
                         one_in(2) ? " force" : "",
                         one_in(2) ? fmt::format(" max {}M", number(999, 2000)) : "");
    case 3:
      return fmt::format("police {} burst {}{}{}", bits(), bytes(), one_in(2) ? " l1" : "",
                         any({"", " excess ce", " excess drop"}));
    case 4:
      return fmt::format("cnp{}{}{}", one_in(2) ? " interval " + time() : "",
                         any({"", " scope pair", " scope port"}), one_in(2) ? " dscp 46" : "");
    default:
      return fmt::format("set {}", any({"dscp 46", "ecn ect1", "fecn 1", "becn 0"}));
    }
  }
  std::string second_action() {
    return any({"drop", "ce", "duplicate", "cnp", "set dscp 9", "corrupt icrc"});
  }

  std::mt19937_64 engine_;
};

TEST(ImpairSpec, WordsOfAnyRuleMakeThatRule) {
  constexpr size_t kWanted = kSanitized ? 10'000 : 100'000;
  RandomWords random(32);
  size_t sound = 0;
  for (size_t drawn = 0; sound < kWanted && drawn < 20 * kWanted; drawn++) {
    const std::vector<std::string> words = random.rule();
    const auto spec = parse_spec(words); // many contradict themselves
    if (!spec)
      continue;
    sound++;
    const auto again = parse_spec(parse::split(spec.get().text()));
    ASSERT_TRUE(again.ok()) << fmt::format("{}", fmt::join(words, " ")) << " | "
                            << spec.get().text() << ": " << again.error().message;
    RuleSpec expected = spec.get();
    expected.seeded = expected.chance(); // the text has the seed that was drawn
    if (!expected.chance())
      expected.seed = 0;
    RuleSpec back = again.get();
    back.seeded = back.chance();
    ASSERT_EQ(back, expected) << fmt::format("{}", fmt::join(words, " ")) << " | " << back.text();
    ASSERT_EQ(back.text(), spec.get().text());
  }
  EXPECT_EQ(sound, kWanted);
}

TEST(ImpairSpec, AChangedFieldChangesTheWords) {
  auto spec = parse_spec({"qp 3 psn 5 police 1gbit burst 64k limit 4 per 1s"});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  RuleSpec rule = spec.get();
  rule.event->by_number = false;
  rule.event->qp = 0x11;
  rule.actions.police.rate = 2'000'000;
  rule.limit.period_ns = 5'000'000;
  rule.name = "slower";
  EXPECT_EQ(rule.text(), "qp 0x11 psn 5 limit 4 per 5ms police 2mbit burst 64k name slower");
  const Rule compiled = compile(rule);
  EXPECT_EQ(compiled.compiled.event.qp_number, static_cast<uint32_t>(ROCE_QP_BY_NUMBER));
  EXPECT_EQ(compiled.compiled.qp[0].from, 0x11U);
  EXPECT_EQ(compiled.compiled.select.limit_ns, 5'000'000U);
  EXPECT_NE(rule, spec.get());
}

} // namespace
} // namespace xr::impair::impair_spec_test
