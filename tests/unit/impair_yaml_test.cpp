// SPDX-License-Identifier: Apache-2.0
// YAML files of rules give the same rules as words.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "yaml_errors.h"

namespace xr::impair::impair_yaml_test {
namespace {

File file(const std::string &text) {
  auto result = parse_yaml(text, "test.yaml");
  if (result.ok())
    return result.get();
  ADD_FAILURE() << text << "\n" << result.error().message << " (" << result.error().hint << ")";
  return {};
}

std::vector<std::string> texts(const std::string &text) {
  std::vector<std::string> result;
  for (const Rule &rule : file(text).rules)
    result.push_back(rule.text());
  return result;
}

TEST(ImpairYaml, TheWholeForm) {
  const File f = file(R"(
seed: 7
peers:
  - {ip: 192.0.2.1, qp: 0x11, src_qp: 0x12}
  - 2001:db8::1 3 -> 4
rules:
  - opcode data probability 1% drop name loss
  - {match: {src: 192.0.2.0/24, opcode: [data, nak], not: {dest-qp: 17}}, select: {probability: 1%}, action: [drop], limit: 5, name: x}
  - every 3 drop
  - probability 1% drop seed 100
  - probability 2% drop
)");
  ASSERT_EQ(f.peers.size(), 2U);
  EXPECT_EQ(peer_text(f.peers[0]), "192.0.2.1 0x11 0x12");
  EXPECT_EQ(peer_text(f.peers[1]), "2001:db8::1 0x3 0x4");
  std::vector<std::string> texts;
  for (const Rule &rule : f.rules)
    texts.push_back(rule.text());
  const std::string second = "src 192.0.2.0/24 not dest-qp 0x11 opcode data,nak probability 1% "
                             "limit 5 drop seed 8 name x";
  EXPECT_EQ(texts, (std::vector<std::string>{"opcode data probability 1% drop seed 7 name loss",
                                             second, "every 3 drop", "probability 1% drop seed 100",
                                             "probability 2% drop seed 11"}));
}

// The example of docs/rules.md.
TEST(ImpairYaml, TheExampleOfTheDocuments) {
  std::ifstream page(std::string(XR_TEST_DATA) + "/../../docs/rules.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  const size_t from = text.find("```yaml\n") + 8, to = text.find("```", from);
  ASSERT_LT(from, to);
  const File f = file(text.substr(from, to - from));
  ASSERT_EQ(f.peers.size(), 2U);
  EXPECT_EQ(peer_text(f.peers[1]), "192.0.2.1 0x13 0x14");
  ASSERT_EQ(f.rules.size(), 2U);
  EXPECT_EQ(f.rules[0].text(), "opcode data probability 0.1% drop seed 7 name loss");
  EXPECT_EQ(f.rules[1].text(),
            "src 192.0.2.0/24 not dest-qp 0x11 opcode data,nak burst 3 every 1000 "
            "repeat 1s 10s limit 50 per 1s set ecn ce delay 1ms jitter uniform 0s "
            "100us seed 8 name slow next");
}

struct Same {
  const char *map, *words;
};

TEST(ImpairYaml, MapsAreWords) {
  constexpr Same kSame[] = {
      {"{action: drop}", "drop"},
      {"{action: [drop, cnp]}", "drop cnp"},
      {"{match: roce, action: drop}", "roce drop"},
      {"{match: [roce, not ipv4], action: drop}", "roce ipv6 drop"},
      {"{match: {roce: true, ipv4: }, action: drop}", "roce ipv4 drop"},
      {"{match: {roce: false}, action: drop}", "non-roce drop"},
      {"{match: {not: {src: 192.0.2.1, vlan: any}}, action: drop}",
       "not src 192.0.2.1 vlan none drop"},
      {"{match: {not: src 192.0.2.1}, action: drop}", "not src 192.0.2.1 drop"},
      {"{match: {dest-qp: [1, 5-9], dscp: [1, 2], ecn: [ect0, ce], transport: [rc]}, action: ce}",
       "dest-qp 0x1,0x5-0x9 transport rc ecn ect0,ce dscp 1,2 ce"},
      {"{match: {qp: 1, psn: 5, iter: 2}, action: drop}", "qp 1 psn 5 iter 2 drop"},
      {"{match: {se: 1, padcnt: [1, 3], resv6: [1], not: {tver: [1, 2]}, pkey: 0xffff}, action: "
       "ce}",
       "se 1 padcnt 1,3 not tver 1,2 pkey 0xffff resv6 1 ce"},
      {"{match: {qp: 1 psn 5-9}, action: drop}", "qp 1 psn 5-9 drop"},
      {"{match: {size: 64-}, select: {every: 3}, action: drop}", "size 64- every 3 drop"},
      {"{match: {bytes: {12: 0800/ff00}, pcp: [1, 3], src-mac: 02:00:00:00:00:01}, action: drop}",
       "src-mac 02:00:00:00:00:01 pcp 1,3 bytes 12 0800/ff00 drop"},
      {"{match: {psn: +4}, action: drop, limit: 5 per 1s}", "psn +4 limit 5 per 1s drop"},
      {"{action: drop, disabled: true}", "drop disabled"},
      {"{action: drop, disabled: false}", "drop"},
      {"{select: {positions: [1, 5, 9]}, action: drop}", "positions 1,5,9 drop"},
      {"{select: {burst: 3, every: 10}, action: drop}", "burst 3 every 10 drop"},
      {"{select: {gilbert: [1%, 20%]}, action: drop, seed: 5}", "gilbert 1% 20% drop seed 5"},
      {"{select: {distance: {table: [3, 4]}}, action: drop, seed: 5}",
       "distance table 3,4 drop seed 5"},
      {"{select: {distance: {gamma: [2, 30]}}, action: drop, seed: 5}",
       "distance gamma 2 30 drop seed 5"},
      {"{select: always, schedule: {repeat: [1s, 10s]}, action: drop}", "repeat 1s 10s drop"},
      {"{schedule: for 5s, action: {drop: }}", "for 5s drop"},
      {"{action: {cnp: {interval: 1ms, scope: pair}}}", "cnp interval 1ms scope pair"},
      {"{action: [{set: dscp 5}, {set: {ecn: ce}}]}", "set dscp 5 set ecn ce"},
      {"{action: {police: 1gbit, burst: 64k, excess: ce}}", "police 1gbit burst 64k excess ce"},
      {"{action: {delay: 1ms}}", "delay 1ms"},
      {"{action: {delay: 1ms, jitter: {gaussian: [0s, 100us]}, unordered: true}, seed: 5}",
       "delay 1ms jitter gaussian 0s 100us unordered seed 5"},
      {"{action: {delay: {table: [1ms, 2ms]}}, seed: 5}", "delay table 1ms,2ms seed 5"},
      {"{action: {delay: {step: [1ms, 2ms], every: 1s}}}", "delay step 1ms 2ms every 1s"},
      {"{action: {accumulate: 16, timeout: 1ms}}", "accumulate 16 timeout 1ms"},
      {"{select: {burst: 1, every: 1}, action: {reorder: {depth: 1}}}",
       "burst 1 every 1 reorder depth 1"},
      {"{action: [ce, {reorder: {skip: 1, take: 2, hold: 3}}]}", "ce reorder skip 1 take 2 hold 3"},
      {"{action: {shape: 1gbit l1, burst: 16k, queue: 1M}}", "shape 1gbit l1 burst 16k queue 1M"},
      {"{action: {corrupt: header va}, seed: 5}", "corrupt header va seed 5"},
  };
  for (const Same &same : kSame)
    EXPECT_EQ(texts(fmt::format("rules:\n  - {}\n", same.map)),
              std::vector<std::string>{same.words})
        << same.map;
}

TEST(ImpairYaml, NothingIsAFileToo) {
  EXPECT_TRUE(file("rules:\n").rules.empty());
  EXPECT_TRUE(file("rules: []\npeers:\n").rules.empty());
}

constexpr WrongFile kWrong[] = {
    {"", "test.yaml:1:", "rules"},
    {"- drop\n", "test.yaml:1:", "rules"},
    {"rules:\n  - drop\n  - drob\n", "test.yaml:3:", "'drob'"},
    {"rules:\n  - drop\n  - {action: drob}\n", "test.yaml:3:", "'drob'"},
    {"rules:\n  - match: {opcode: dat}\n    action: drop\n", "test.yaml:2:", "'dat'"},
    {"rules:\n  - {match: {opcode: data}, actoin: drop}\n", "test.yaml:2:", "'actoin'"},
    {"rules:\n  - [drop]\n", "test.yaml:2:", "rule"},
    {"rules: drop\n", "test.yaml:1:", "rules"},
    {"rule:\n  - drop\n", "test.yaml:1:", "'rule'"},
    {"rules:\n  - drop\nrules:\n  - drop\n", "test.yaml:3:", "rules"},
    {"rules:\n  - {action: drop, action: drop}\n", "test.yaml:2:", "drop"},
    {"rules:\n  - {match: {opcode: [[data]]}, action: drop}\n", "test.yaml:2:", "list"},
    {"rules:\n  - {match: {[a]: data}, action: drop}\n", "test.yaml:2:", "key"},
    {"rules:\n  - {match: &a [*a], action: drop}\n", "test.yaml:2:", "deep"},
    {"seed: x\nrules:\n  - drop\n", "test.yaml:1:", "'x'"},
    {"peers:\n  - {ip: 192.0.2.1, qp: 3}\n", "test.yaml:2:", "src_qp"},
    {"peers:\n  - {ip: 192.0.2, qp: 3, src_qp: 4}\n", "test.yaml:2:", "'192.0.2'"},
    {"peers:\n  - {ipp: 192.0.2.1, qp: 3, src_qp: 4}\n", "test.yaml:2:", "'ipp'"},
    {"peers:\n  - {qp: 3, qp: 3, src_qp: 4}\n", "test.yaml:2:", "qp"},
    {"peers: 3\n", "test.yaml:1:", "peers"},
    {"rules:\n  - {a\n", "test.yaml:3:", "flow"},
    {"rules:\n  - *x\n", "test.yaml:2:", ""},
};

TEST(ImpairYaml, WrongFilesAreNamed) {
  for (const WrongFile &wrong : kWrong)
    expect_refused(wrong, parse_yaml(wrong.text, "test.yaml"));
}

// Five lists or maps in each other are read, six are not.
TEST(ImpairYaml, DepthAtItsBoundary) {
  const auto lists = [](size_t depth) {
    return "rules:\n  - {match: " + std::string(depth, '[') + "opcode data" +
           std::string(depth, ']') + ", action: drop}\n";
  };
  const auto maps = [](size_t depth) {
    std::string inner = "data";
    for (size_t i = 1; i < depth; i++)
      inner = "{opcode: " + inner + "}";
    return "rules:\n  - {match: {opcode: " + inner + "}, action: drop}\n";
  };
  const auto too_deep = [](const std::string &text) {
    const auto result = parse_yaml(text, "test.yaml");
    return !result.ok() && result.error().message.find("too deep") != std::string::npos;
  };
  EXPECT_EQ(texts(lists(5)), texts("rules:\n  - opcode data drop\n"));
  EXPECT_TRUE(too_deep(lists(6)));
  EXPECT_FALSE(too_deep(maps(5))); // another error: the words mean nothing
  EXPECT_TRUE(too_deep(maps(6)));
  // In `not` it is counted from there.
  EXPECT_EQ(texts("rules:\n  - {match: {not: {src: [[[[192.0.2.1]]]]}}, action: drop}\n"),
            texts("rules:\n  - not src 192.0.2.1 drop\n"));
  EXPECT_TRUE(too_deep("rules:\n  - {match: {not: {src: [[[[[192.0.2.1]]]]]}}, action: drop}\n"));
}

TEST(ImpairYaml, AsManyRulesAsAPortHas) {
  std::string text = "rules:\n";
  for (int i = 0; i < ROCE_RULES; i++)
    text += "  - drop\n";
  EXPECT_EQ(file(text).rules.size(), size_t{ROCE_RULES});
  EXPECT_FALSE(parse_yaml(text + "  - drop\n", "test.yaml").ok());
}

// An alias of an alias of ... is refused, not written out.
TEST(ImpairYaml, AliasesDoNotExplode) {
  std::string text = "rules:\n  - {match: {a: &a0 [roce";
  for (int i = 0; i < 200; i++)
    text += ", roce";
  text += "], b: &b [*a0";
  for (int i = 0; i < 200; i++)
    text += ", *a0";
  text += "], c: [*b, *b, *b, *b, *b]}, action: drop}\n";
  EXPECT_FALSE(parse_yaml(text, "test.yaml").ok());
}

TEST(ImpairYaml, Files) {
  const std::string path = testing::TempDir() + "impair_yaml_test.yaml";
  std::ofstream(path) << "rules:\n  - drop\n";
  const auto good = load(path);
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good.get().rules.size(), 1U);
  remove(path.c_str());
  EXPECT_FALSE(load(testing::TempDir()).ok()); // a directory
  const auto gone = load(path);
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message.find(path), std::string::npos);
}

} // namespace
} // namespace xr::impair::impair_yaml_test
