// SPDX-License-Identifier: Apache-2.0
// YAML files of flows give the same flows as words.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "flow/flow.h"
#include "yaml_errors.h"

namespace xr::flow::flow_yaml_test {
namespace {

FlowFile file(const std::string &text) {
  auto result = parse_flows_yaml(text, "test.yaml");
  if (result.ok())
    return result.get();
  ADD_FAILURE() << text << "\n" << result.error().message << " (" << result.error().hint << ")";
  return {};
}

TEST(FlowYaml, TheWholeForm) {
  const FlowFile f = file(R"(
flows:
  - dst 192.0.2.2 write size 64k
  - {src: 192.0.2.1, dst: 192.0.2.2, qp: 0x20-0x2f, faults: [skip every 100, icrc probability 1%],
     rate: 10gbit l1, burst: 32 gap 1ms, read: , size: [64, 4096], seed: 5}
  - preset ipv4_rocev2_rc_send rate 1gbit
rate: 25gbit l1
stagger: 10ms
seed: 7
)");
  ASSERT_EQ(f.flows.size(), 3U);
  EXPECT_EQ(f.flows[0].text(), "dst 192.0.2.2 verb write size 64k seed 7");
  EXPECT_EQ(f.flows[1].text(),
            "src 192.0.2.1 dst 192.0.2.2 verb read qp 0x20 qps 16 size 64,4KiB rate 10gbit l1 "
            "burst 32 gap 1ms seed 5 fault skip every 100 fault icrc probability 0.01");
  EXPECT_EQ(f.flows[2].seed, 9U);
  EXPECT_EQ(f.rate.kind, congestion::Rate::Kind::BitsL1);
  EXPECT_EQ(f.rate.value, 25e9);
  EXPECT_EQ(f.rate.text, "25gbit");
  EXPECT_EQ(f.stagger_ns, 10'000'000U);
  EXPECT_EQ(f.seed, 7U);
}

struct Same {
  const char *map, *words;
};

TEST(FlowYaml, MapsAreWords) {
  constexpr Same kSame[] = {
      {"{}", ""},
      {"{dst: 192.0.2.2}", "dst 192.0.2.2"},
      {"{verb: write}", "verb write"},
      {"{write: true}", "verb write"},
      {"{v1: , poisson: }", "v1 poisson"},
      {"{rate: 10gbit, qp: 1-5, preset: ipv4_rocev2_rc_send, size: 64}",
       "src 10.10.10.10 dst 10.10.10.20 src-mac aa:aa:0a:0a:0a:0a dst-mac aa:aa:0a:0a:0a:14 qp 0x1 "
       "qps 5 src-qp 0x5 size 64 frame-size 4500 frames 1000 repeat 0 psn 0 port 4791 rate 10gbit"},
      {"{frames: 100, repeat: 5, send: }", "size 100KiB frames 100 repeat 5"},
      {"{opcode: [RC_ACKNOWLEDGE, cnp, 0x18], size: 64}", "opcode RC_ACKNOWLEDGE,CNP,0x18 size 64"},
      {"{se: true, migreq: 1, fecn: , padcnt: 2, tver: 1, pkey: 0x8001, resv6: 1, resv7: 2}",
       "se 1 migreq 1 padcnt 2 tver 1 pkey 0x8001 fecn 1 resv6 0x1 resv7 0x2"},
      {"{transport: rd, ee-context: 5, syndrome: 0x60}",
       "transport rd ee-context 0x5 syndrome 0x60"},
      {"{vlan: [7, 5/3]}", "vlan 7,5/3"},
      {"{size: '64:3,4096:1'}", "size 64:3,4KiB:1"},
      {"{faults: skip at 5}", "fault skip at 5"},
      {"{fault: 'skip at 5,6'}", "fault skip at 5,6"},
      {"{faults: []}", ""},
      {"{ramp: 10s from 10%, rate: 1gbit}", "rate 1gbit ramp 10s from 0.1"},
      {"''", ""},
  };
  for (const Same &same : kSame) {
    const FlowFile f = file(fmt::format("flows:\n  - {}\n", same.map));
    ASSERT_EQ(f.flows.size(), 1U) << same.map;
    EXPECT_EQ(f.flows[0].text(), same.words) << same.map;
  }
}

TEST(FlowYaml, NothingIsAFileToo) {
  EXPECT_TRUE(file("flows:\n").flows.empty());
  EXPECT_TRUE(file("flows: []\n").flows.empty());
  EXPECT_EQ(file("rate: 100kpps\n").rate.kind, congestion::Rate::Kind::Packets);
  EXPECT_EQ(file("rate: top\n").rate.kind, congestion::Rate::Kind::Top);
  EXPECT_EQ(file("flows: [{rate: top}]\n").flows.at(0).pacing.rate.kind,
            congestion::Rate::Kind::Top);
  EXPECT_FALSE(file("flows:\n").seed);
}

TEST(FlowYaml, SeedsOfFlows) {
  const FlowFile f = file("seed: 0\nflows: [write, seed 9, name seed, {seed: 4}]\n");
  ASSERT_EQ(f.flows.size(), 4U);
  EXPECT_EQ(f.flows[0].seed, 0U);
  EXPECT_EQ(f.flows[1].seed, 9U);
  EXPECT_EQ(f.flows[2].seed, 2U);
  EXPECT_EQ(f.flows[3].seed, 4U);
}

constexpr WrongFile kWrong[] = {
    {"", "test.yaml:1:", "flows"},
    {"- write\n", "test.yaml:1:", "flows"},
    {"flows:\n  - write\n  - wirte\n", "test.yaml:3:", "'wirte'"},
    {"flows:\n  - write\n  - wirte\n", "test.yaml:3:", "flow 2"},
    {"flows:\n  - verb: wirte\n", "test.yaml:2:", "'wirte'"},
    {"flows:\n  - dst: ::1\n    rat: 10gbit\n", "test.yaml:3:", "'rat'"},
    {"flows:\n  - {write: false}\n", "test.yaml:2:", "write"},
    {"flows:\n  - {size: {a: b}}\n", "test.yaml:2:", "size"},
    {"flows:\n  - {size: [[1]]}\n", "test.yaml:2:", "list"},
    {"flows:\n  - {faults: {skip: 5}}\n", "test.yaml:2:", "faults"},
    {"flows:\n  - {faults: [{skip: 5}]}\n", "test.yaml:2:", "fault"},
    {"flows:\n  - {faults: [skp every 5]}\n", "test.yaml:2:", "'skp'"},
    {"flows:\n  - {[a]: b}\n", "test.yaml:2:", "word"},
    {"flows:\n  - {qp: 1, qp: 2}\n", "test.yaml:2:", "qp"},
    {"flows:\n  - [write]\n", "test.yaml:2:", "flow"},
    {"flows: write\n", "test.yaml:1:", "flows"},
    {"flow:\n  - write\n", "test.yaml:1:", "'flow'"},
    {"flows: []\nflows: []\n", "test.yaml:2:", "flows"},
    {"seed: x\n", "test.yaml:1:", "'x'"},
    {"\nrate: 10gbps\n", "test.yaml:2:", "'10gbps'"},
    {"rate: 10gbit 5\n", "test.yaml:1:", "'5'"},
    {"rate: [1]\n", "test.yaml:1:", "rate"},
    {"rate: 10gbit l1 write\n", "test.yaml:1:", "rate"},
    {"stagger: 5\n", "test.yaml:1:", "'5'"},
    {"flows: [\n", "test.yaml:", ""},
};

TEST(FlowYaml, ErrorsHaveTheirLine) {
  for (const WrongFile &wrong : kWrong)
    expect_refused(wrong, parse_flows_yaml(wrong.text, "test.yaml"));
}

TEST(FlowYaml, Files) {
  const std::string path = testing::TempDir() + "flow_yaml_test.yaml";
  std::ofstream(path) << "flows:\n  - write\n";
  const auto good = load_flows(path);
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good.get().flows.size(), 1U);
  remove(path.c_str());
  const auto gone = load_flows(path);
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message.find(path), std::string::npos);
}

} // namespace
} // namespace xr::flow::flow_yaml_test
