// SPDX-License-Identifier: Apache-2.0
// Parsing of flows: every word and its canonical text, the resulting flow, presets, errors about
// wrong words, and flows that do not fit a port.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/draw.h"
#include "flow/flow.h"
#include "packet/template.h"
#include "parse/words.h"
#include "requester/frames.h"

namespace xr::flow::flow_parse_test {
namespace {

Flow flow(const std::string &text) {
  auto result = parse_flow(parse::split(text));
  if (result.ok())
    return result.get();
  ADD_FAILURE() << text << ": " << result.error().message << " (" << result.error().hint << ")";
  return {};
}

Error failure(const std::string &text) {
  auto result = parse_flow(parse::split(text));
  if (!result)
    return result.error();
  ADD_FAILURE() << text << " was understood as " << result.get().text();
  return {};
}

// Everything that a flow has, so that a word that is lost in text() shows.
std::string all_of(const Flow &f) {
  std::string s = fmt::format("{} {} {} ", f.name, f.src_given, f.dst_given);
  for (const auto *mac : {&f.src_mac, &f.dst_mac})
    s += *mac ? packet::mac_text(**mac) + " " : "- ";
  for (const auto *address : {&f.path.src, &f.path.dst})
    for (const uint32_t word : *address)
      s += fmt::format("{:x} ", word);
  for (const packet::Tag &tag : f.path.tags)
    s += fmt::format("tag {:x}:{:x} ", tag.tpid, tag.tci);
  s += fmt::format("| {} {} {} {} {} | {} {} {} {} {} {} | {}", unsigned(f.path.network),
                   f.path.tos, f.path.ttl, f.path.flow_label, f.path.src_port, f.transport,
                   unsigned(f.verb), f.qp, f.qps, f.src_qp ? int64_t{*f.src_qp} : -1, f.interleave,
                   unsigned(f.size.kind));
  for (const Sizes::Part &part : f.size.parts)
    s += fmt::format(" {}:{}", part.bytes, part.weight);
  s += fmt::format("| {} {} {} {} {} {} {} {}", f.pmtu, f.extra_pad, f.frame_size, f.messages,
                   f.duration_ns, f.psn ? int64_t{*f.psn} : -1, f.ack_every, unsigned(f.port));
  const congestion::Pacing &p = f.pacing;
  s += fmt::format("| {} {} {} {} {} {} {} {} {} {}", unsigned(p.rate.kind), p.rate.value,
                   p.rate.text, unsigned(p.shape), p.burst_packets, p.burst_gap_ns, p.bursts,
                   p.start_ns, p.ramp_ns, p.ramp_from);
  s += fmt::format("| {:x} {:x} {:x} {:x} {:x} {:x} {:x} {}", f.qkey, f.rkey, f.immediate, f.srq,
                   f.va, f.ee_context, f.syndrome, f.seed);
  s += fmt::format("| {} {} {} {} {} {} {} {} {} {:x}", f.bth.solicited, f.bth.mig_req, f.bth.fecn,
                   f.bth.becn ? int{*f.bth.becn} : -1, f.bth.ack_req ? int{*f.bth.ack_req} : -1,
                   f.bth.pad ? int{*f.bth.pad} : -1, f.bth.tver, f.bth.resv6, f.bth.resv7,
                   f.bth.pkey);
  s += fmt::format("| {} {} {} {:x}", f.stamp, f.frames, f.repeat ? int64_t(*f.repeat) : -1,
                   fmt::join(f.opcodes, ","));
  for (const Fault &fault : f.faults) {
    s += fmt::format("| {} {} {} {}", unsigned(fault.kind), unsigned(fault.when), fault.every,
                     fault.probability);
    for (const uint64_t position : fault.positions)
      s += fmt::format(" {}", position);
  }
  return s;
}

struct Pair {
  const char *words, *canonical; // null: the same
};

constexpr Pair kTexts[] = {
    {"", nullptr},
    {"name a-B_0.9", nullptr},
    {"src 192.0.2.1 dst 192.0.2.2", nullptr},
    {"src 2001:DB8::1 dst ::1", "src 2001:db8::1 dst ::1"},
    {"dst 192.0.2.2", nullptr},
    {"src-mac 02:00:00:00:00:0A dst-mac 02:00:00:00:00:02",
     "src-mac 02:00:00:00:00:0a dst-mac 02:00:00:00:00:02"},
    {"vlan 5", nullptr},
    {"vlan 5/3", nullptr},
    {"vlan 7/1,5", nullptr},
    {"vlan 0/7,4094/0", "vlan 0/7,4094"},
    {"vlan none", ""},
    {"v1", nullptr},
    {"v1 src 2001:db8::1 dst 2001:db8::2", "src 2001:db8::1 dst 2001:db8::2 v1"},
    {"transport uc", nullptr},
    {"transport UD", "transport ud size 1KiB"},
    {"transport ud size 64", nullptr},
    {"transport ud size 64KiB", nullptr},
    {"transport xrc", nullptr},
    {"transport rc", ""},
    {"transport rd", nullptr},
    {"opcode rc_send_only,cnp,0x18,17", "opcode RC_SEND_ONLY,CNP,0x18,RC_ACKNOWLEDGE size 1KiB"},
    {"opcode UD_SEND_ONLY size 64", nullptr},
    {"opcode 0xff size 64", nullptr},
    {"frames 100", "size 100KiB frames 100 repeat 1"},
    {"frames 100 repeat 5 transport ud", "transport ud size 1KiB frames 100 repeat 5"},
    {"frames 1000 repeat 0", "size 1024k frames 1000 repeat 0"},
    {"frames 6 repeat 2 size 1k,2k", "size 1k,2k frames 6 repeat 2"},
    {"frames 7 read", "verb read size 64KiB frames 7 repeat 1"},
    {"frames 7 messages 9", "size 7KiB frames 7 messages 9"},
    {"frames 9 opcode 4,17", "opcode RC_SEND_ONLY,RC_ACKNOWLEDGE size 1KiB frames 9 repeat 1"},
    {"se", "se 1"},
    {"se 0", ""},
    {"migreq 1", nullptr},
    {"padcnt 0", nullptr},
    {"padcnt 3", nullptr},
    {"tver 15", nullptr},
    {"pkey 0x7fff", nullptr},
    {"fecn 1", nullptr},
    {"becn", "becn 1"},
    {"becn 0", nullptr},
    {"resv6 63", "resv6 0x3f"},
    {"ack-req 1", nullptr},
    {"ack-req 0", nullptr},
    {"resv7 127", "resv7 0x7f"},
    {"ee-context 0xffffff", nullptr},
    {"syndrome 0x60", nullptr},
    {"padcnt 1 frame-size 1519", "frame-size 1519 padcnt 1"},
    {"verb send", ""},
    {"send", ""},
    {"write", "verb write"},
    {"verb write-imm", nullptr},
    {"send-imm", "verb send-imm"},
    {"send-inv", "verb send-inv"},
    {"read", "verb read"},
    {"cmp-swap", "verb cmp-swap"},
    {"fetch-add", "verb fetch-add"},
    {"flush", "verb flush"},
    {"atomic-write", "verb atomic-write"},
    {"qp 17", ""},
    {"qp 0x12", nullptr},
    {"qp 0x20-0x2f", "qp 0x20 qps 16"},
    {"qp 5-5", "qp 0x5"},
    {"qps 100", nullptr},
    {"src-qp 17", "src-qp 0x11"},
    {"by packet", ""},
    {"by message", nullptr},
    {"size 64Ki", ""},
    {"size 0", nullptr},
    {"size 64k", nullptr},
    {"size 1M,64,0,4096", "size 1M,64,0,4KiB"},
    {"size 64-9000", "size 64-9k"},
    {"size 64k-64Ki", "size 64k-64KiB"},
    {"size 64:3,1M:0.5", "size 64:3,1M:0.5"},
    {"pmtu 256", nullptr},
    {"pmtu 1024", ""},
    {"pmtu 4096", nullptr},
    {"frame-size 1518", nullptr},
    {"messages 1000", nullptr},
    {"for 90s", nullptr},
    {"for 120s", "for 2m"},
    {"psn 0", nullptr},
    {"psn 0xffffff", "psn 16777215"},
    {"ack-every 16", nullptr},
    {"port hash", ""},
    {"port vary", nullptr},
    {"port 49152", nullptr},
    {"port 1", nullptr},
    {"dscp 46", nullptr},
    {"ecn not-ect dscp 26", "dscp 26 ecn not-ect"},
    {"ecn ect1", nullptr},
    {"ecn CE", "ecn ce"},
    {"ecn ect0", ""},
    {"ttl 1", nullptr},
    {"flow-label 0xfffff", nullptr},
    {"rate 10gbit", nullptr},
    {"rate 10gbit l1", nullptr},
    {"rate 500mbit l2", "rate 500mbit"},
    {"rate 100kpps", nullptr},
    {"rate 1.5mpps", nullptr},
    {"rate 0.5pps", nullptr},
    {"rate 50%", nullptr},
    {"rate 33.3%", nullptr},
    {"top", ""},
    {"rate top", ""},
    {"rate TOP", ""},
    {"poisson rate 1mpps", "rate 1mpps poisson"},
    {"cc fixed 10gbit l1 qps 2", "qps 2 cc fixed 10gbit l1"},
    {"cc fixed 10gbit burst=4", nullptr},
    {"cc dcqcn", "cc dcqcn preset paper"},
    {"cc dcqcn preset nvidia qps 2", "qps 2 cc dcqcn preset nvidia"},
    {"cc dcqcn line 10gbit l1 rai=10mbit g=1/16 burst=8 qps 2",
     "qps 2 cc dcqcn preset paper g=1/16 rai=10mbit line 10gbit l1 burst=8"},
    {"cc dcqcn preset otg rai=0.1% np=echo clamp=off",
     "cc dcqcn preset otg clamp=off rai=0.1% np=echo"},
    {"cc timely", nullptr},
    {"cc timely t-low=20us line 40gbit", nullptr},
    {"burst 32 gap 1000us", "burst 32 gap 1ms"},
    {"burst 32 gap 1ms count 10 rate 10gbit", "rate 10gbit burst 32 gap 1ms count 10"},
    {"burst 32 gap 0s", nullptr},
    {"start 1s", nullptr},
    {"start 0s", ""},
    {"ramp 10s", nullptr},
    {"ramp 10s from 10%", "ramp 10s from 0.1"},
    {"ramp 10s from 0", "ramp 10s"},
    {"qkey 1234", "qkey 0x4d2"},
    {"rkey 0xffffffff", nullptr},
    {"va 0xffffffffffffffff", nullptr},
    {"imm 7", "imm 0x7"},
    {"srq 5", "srq 0x5"},
    {"seed 18446744073709551615", nullptr},
    {"size 4k stamp", nullptr},
    {"fault skip at 1,5,9", nullptr},
    {"fault repeat every 100", nullptr},
    {"fault reorder probability 1%", "fault reorder probability 0.01"},
    {"fault ICRC probability 50ppm fault pad every 3", "fault icrc probability 5e-05 fault pad "
                                                       "every 3"},
    {"fault ghost-ack at 0xff", "fault ghost-ack at 255"},
    {"fault skip every 5 fault skip every 7", nullptr},
    {"seed 9 srq 1 imm 1 va 1 rkey 1 qkey 1 ramp 1s start 1s rate 1gbit flow-label 1 ttl 1 ecn ce "
     "dscp 1 port 1 ack-every 1 psn 1 for 1s messages 1 pmtu 256 size 1 by message src-qp 1 qps 2 "
     "qp 1 write transport uc vlan 1 dst-mac 02:00:00:00:00:02 src-mac 02:00:00:00:00:01 dst ::2 "
     "src ::1 name x fault skip every 2",
     "name x src ::1 dst ::2 src-mac 02:00:00:00:00:01 dst-mac 02:00:00:00:00:02 vlan 1 transport "
     "uc verb write qp 0x1 qps 2 src-qp 0x1 by message size 1 pmtu 256 messages 1 for 1s psn 1 "
     "ack-every 1 port 1 dscp 1 ecn ce ttl 1 flow-label 0x1 rate 1gbit start 1s ramp 1s qkey 0x1 "
     "rkey 0x1 va 0x1 imm 0x1 srq 0x1 seed 9 fault skip every 2"},
};

TEST(FlowParse, ThereAndBack) {
  for (const Pair &pair : kTexts) {
    const Flow there = flow(pair.words);
    EXPECT_EQ(there.text(), pair.canonical ? pair.canonical : pair.words);
    EXPECT_EQ(all_of(flow(there.text())), all_of(there)) << pair.words;
  }
}

TEST(FlowParse, RandomFlowsThereAndBack) {
  std::vector<std::string> words;
  for (const Pair &pair : kTexts)
    words.emplace_back(pair.words);
  std::mt19937 random(11);
  int understood = 0;
  for (int i = 0; i < 20'000; i++) {
    std::string text;
    for (unsigned n = random() % 7; n > 0; n--)
      text += words[random() % words.size()] + " ";
    const auto there = parse_flow({text});
    if (!there)
      continue;
    understood++;
    const auto back = parse_flow({there.get().text()});
    ASSERT_TRUE(back.ok()) << text << ": " << back.error().message;
    ASSERT_EQ(all_of(back.get()), all_of(there.get())) << text;
    ASSERT_EQ(back.get().text(), there.get().text());
  }
  EXPECT_GT(understood, 10'000);
}

TEST(FlowParse, Defaults) {
  const Flow f = flow("dst 192.0.2.2");
  EXPECT_EQ(f.path.tos, ROCE_ECN_ECT0);
  EXPECT_EQ(f.path.ttl, 64);
  EXPECT_EQ(f.size.of(0, 0), 65536U);
  EXPECT_EQ(f.pmtu, 1024U);
  EXPECT_EQ(f.path.network, packet::Network::Ipv4);
  EXPECT_EQ(flow("dst 2001:db8::1").path.network, packet::Network::Ipv6);
  EXPECT_EQ(flow("dst 192.0.2.2 v1").path.network, packet::Network::V1);
  EXPECT_EQ(flow("vlan 7/1,5/2").path.tags[0].tpid, ROCE_ETHERTYPE_QINQ);
  EXPECT_EQ(flow("vlan 7/1,5/2").path.tags[1].tci, 2 << 13 | 5);
  EXPECT_EQ(flow("vlan 5").path.tags[0].tpid, ROCE_ETHERTYPE_VLAN);
}

TEST(FlowParse, OnTopOfAnother) {
  const Flow base = flow("dst 192.0.2.2 write rate 1gbit frame-size 1518 vlan 5");
  const auto both = parse_flow({"read", "rate", "2gbit", "vlan", "none"}, base);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both.get().text(), "dst 192.0.2.2 verb read frame-size 1518 rate 2gbit");
  EXPECT_EQ(both.get().pmtu + both.get().extra_pad, 1518U - 62);
  const auto plain = parse_flow({"pmtu 512"}, base);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.get().frame_size, 0U);
  EXPECT_EQ(plain.get().extra_pad, 0U);
}

struct Wrong {
  const char *words;
  const char *named; // is in the message
};

constexpr Wrong kWrong[] = {
    {"wirte", "'wirte'"},
    {"RATE 1gbit", "'RATE'"},
    {"l1", "'l1'"},
    {"gap 1ms", "'gap'"},
    {"every 5", "'every'"},
    {"name", "name"},
    {"name a/b", "'a/b'"},
    {"name abcdefghijklmnopqrstuvwxyz0123456", "'abcdefghijklmnopqrstuvwxyz0123456'"},
    {"write read", "write"},
    {"write verb write", "write"},
    {"dst 192.0.2", "'192.0.2'"},
    {"dst 192.0.2.0/24", "'192.0.2.0/24'"},
    {"dst 192.0.2.1 dst 192.0.2.1", "twice"},
    {"dst", "dst"},
    {"src-mac 02:00:00:00:00", "'02:00:00:00:00'"},
    {"vlan 4095", "'4095'"},
    {"vlan 5/8", "'5/8'"},
    {"vlan 5,", "VLAN"},
    {"vlan 1,2,3", "'1,2,3'"},
    {"transport tcp", "'tcp'"},
    {"transport rds", "'rds'"},
    {"opcode SEND_ONLY", "'SEND_ONLY'"},
    {"opcode 256", "'256'"},
    {"opcode 4 write", "opcode"},
    {"write opcode 4", "write"},
    {"opcode 4 transport rc", "opcode"},
    {"transport rc opcode 4", "transport"},
    {"frames 0", "'0'"},
    {"repeat 5", "frames"},
    {"frames 5 repeat 1 messages 2", "repeat"},
    {"frames 5 size 2k", "multiple of the 2 packets"},
    {"frames 5 size 1k,2k", "multiple of the 3 packets"},
    {"frames 6 size 1-2k", "different numbers"},
    {"padcnt 4", "'4'"},
    {"tver 16", "'16'"},
    {"pkey 0x10000", "'0x10000'"},
    {"resv6 64", "'64'"},
    {"resv7 128", "'128'"},
    {"se 2", "'2'"},
    {"ack-req 1 ack-every 2", "ack-req"},
    {"ee-context 0x1000000", "'0x1000000'"},
    {"syndrome 256", "'256'"},
    {"verb wriet", "'wriet'"},
    {"qp 0x1000000", "'0x1000000'"},
    {"qp 9-5", "'9-5'"},
    {"qp 0-0xffffff", "'0-0xffffff'"},
    {"qp 1-5 qps 7", "qps"},
    {"qps 7 qp 1-5", "qp"},
    {"qps 0", "'0'"},
    {"by qp", "'qp'"},
    {"size 64x", "'64x'"},
    {"size 64-", "size"},
    {"size 9-5", "'9-5'"},
    {"size 5,,6", "size"},
    {"size 64:1,65", "'65'"},
    {"size 64:0", "'0'"},
    {"size 64:-1", "size"},
    {"size -5", "'-5'"},
    {"pmtu 1000", "'1000'"},
    {"pmtu 1024 frame-size 1518", "pmtu"},
    {"frame-size 63", "'63'"},
    {"frame-size 64", "64"},
    {"frame-size 9619", "'9619'"},
    {"messages 0", "'0'"},
    {"for 5", "'5'"},
    {"for 0s", "'0s'"},
    {"psn 16777216", "'16777216'"},
    {"ack-every 0", "'0'"},
    {"port 0", "'0'"},
    {"port 65536", "'65536'"},
    {"port varied", "'varied'"},
    {"dscp 64", "'64'"},
    {"ecn ect2", "'ect2'"},
    {"ttl 0", "'0'"},
    {"flow-label 0x100000", "'0x100000'"},
    {"rate", "rate"},
    {"rate 10gbps", "'10gbps'"},
    {"rate 10parsec", "'10parsec'"},
    {"rate 0pps", "'0pps'"},
    {"rate 2000mpps", "'2000mpps'"},
    {"rate 0%", "'0%'"},
    {"rate 101%", "'101%'"},
    {"rate 50% l2", "'50%'"},
    {"rate 1kpps l1", "'1kpps'"},
    {"rate 1gbit top", "top"},
    {"rate top rate 1gbit", "rate"},
    {"rate top l1", "'top'"},
    {"rate fast", "'fast' is not a rate"},
    {"poisson burst 3 gap 1ms", "burst"},
    {"burst 0 gap 1ms", "'0'"},
    {"cc 1gbit", "fixed"},
    {"cc fixed", "rate"},
    {"cc fixed top", "top"},
    {"cc dcqcn preset nvidea", "'nvidea' is not a preset"},
    {"cc dcqcn ria=10mbit", "'ria' is not a parameter"},
    {"cc dcqcn line top", "line"},
    {"cc dcqcn line 1mpps", "line"},
    {"cc dcqcn g=2", "'2' is outside"},
    {"cc dcqcn rai=10mbit preset nvidia", "preset comes first"},
    {"cc dcqcn burst=0", "'0'"},
    {"cc timely rai=10mbit", "'rai' is not a parameter"},
    {"burst 3", "gap"},
    {"burst 3 1ms", "'1ms'"},
    {"burst 3 gap 1", "'1'"},
    {"burst 3 gap 1ms count 0", "'0'"},
    {"start 1", "'1'"},
    {"ramp 0s", "'0s'"},
    {"ramp 1s from 200%", "'200%'"},
    {"qkey 0x100000000", "'0x100000000'"},
    {"va -1", "'-1'"},
    {"srq 0x1000000", "'0x1000000'"},
    {"seed x", "'x'"},
    {"fault", "fault"},
    {"fault lose every 5", "'lose'"},
    {"fault skip", "when"},
    {"fault skip 5", "'5'"},
    {"fault skip every 0", "'0'"},
    {"fault skip at 0", "'0'"},
    {"fault skip at 5,5", "'5'"},
    {"fault skip at 5,3", "'3'"},
    {"fault skip probability 2", "'2'"},
    {"preset nothing", "'nothing'"},
    {"preset", "preset"},
    {"write preset ipv4_rocev2_rc_send", "preset"},
};

TEST(FlowParse, WrongWordsAreNamed) {
  for (const Wrong &wrong : kWrong) {
    const Error error = failure(wrong.words);
    EXPECT_NE(error.message.find(wrong.named), std::string::npos)
        << wrong.words << ": " << error.message;
    EXPECT_FALSE(error.hint.empty()) << wrong.words << ": " << error.message;
  }
}

TEST(FlowParse, HintsAreNear) {
  constexpr Pair kHints[] = {
      {"wirte", "write"},
      {"transport xcr", "xrc"},
      {"rat 10gbit", "rate"},
      {"fault skp every 5", "skip"},
      {"fault skip evry 5", "every"},
      {"preset ipv4_rocev2_rc_sned", "ipv4_rocev2_rc_send"},
      {"size 9-5", "5-9"},
      {"frame-size 64", "66"},
      {"rate 10gbps", "10gbit"},
      {"rate tip", "50% or top"},
      {"rate", "50% or top"},
      {"gap 5ms", "burst"},
  };
  for (const Pair &pair : kHints) {
    const Error error = failure(pair.words);
    EXPECT_NE(error.hint.find(pair.canonical), std::string::npos)
        << pair.words << ": " << error.hint;
  }
}

TEST(FlowParse, FramesOfTheSizeAskedFor) {
  for (const char *path : {"src 192.0.2.1 dst 192.0.2.2", "src ::1 dst ::2", "src ::1 dst ::2 v1",
                           "src 192.0.2.1 dst 192.0.2.2 vlan 7,5"})
    for (const char *transport : {"rc", "uc", "ud", "xrc"})
      for (const uint32_t size : {100U, 101U, 102U, 103U, 1518U, 4500U, 9618U}) {
        const Flow f = flow(fmt::format("{} transport {} frame-size {}", path, transport, size));
        EXPECT_EQ(f.pmtu % 4, 0U);
        EXPECT_LT(f.extra_pad, 4U);
        requester::FlowFrames frames(f);
        for (uint32_t i = 0; i < (f.transport == ROCE_UD ? 1 : 3); i++) {
          const uint64_t bytes = f.transport == ROCE_UD ? f.pmtu : uint64_t{3} * f.pmtu;
          const auto segment = packet::segment(f.transport, f.verb, bytes, f.pmtu, i);
          EXPECT_EQ(frames.of(segment.opcode, segment.payload)->bytes().size() + 4, size)
              << f.text();
        }
      }
}

TEST(FlowPreset, FramesAndMessages) {
  ASSERT_EQ(preset_names().size(), 4U);
  for (const std::string &name : preset_names()) {
    const auto made = preset(name);
    ASSERT_TRUE(made.ok()) << made.error().message;
    const Flow &f = made.get();
    const bool ud = f.transport == ROCE_UD;
    EXPECT_EQ(ud, name.find("ud") != std::string::npos);
    const uint64_t size = f.size.of(0, 0);
    EXPECT_EQ(packet::packets_of(f.verb, size, f.pmtu), ud ? 1U : 1000U);
    EXPECT_EQ(size % f.pmtu, 0U);
    requester::FlowFrames frames(f);
    for (const uint32_t index : ud ? std::vector<uint32_t>{0} : std::vector<uint32_t>{0, 1, 999}) {
      const auto segment = packet::segment(f.transport, f.verb, size, f.pmtu, index);
      EXPECT_EQ(frames.of(segment.opcode, segment.payload)->bytes().size(), 4496U) << name;
    }
    const std::string ends =
        name.starts_with("ipv4") ? "src 10.10.10.10 dst 10.10.10.20" : "src 2000::10 dst 2000::20";
    EXPECT_TRUE(f.text().starts_with(
        ends + " src-mac aa:aa:0a:0a:0a:0a dst-mac aa:aa:0a:0a:0a:14 " +
        (ud ? "transport ud qp 0xb src-qp 0xa size 44" : "qp 0x5 src-qp 0x5 size 44")))
        << f.text();
    EXPECT_TRUE(f.text().ends_with(
        std::string("frame-size 4500 frames 1000 repeat 0 psn 0 port 4791 rate 40%") +
        (ud ? " qkey 0x4d2" : "")))
        << f.text();
    EXPECT_TRUE(check_flow(f, 4500).ok());
    EXPECT_FALSE(check_flow(f, 1500).ok());
  }
}

TEST(FlowPreset, EverythingCanBeSaidOtherwise) {
  const Flow f = flow("preset ipv4_rocev2_rc_send dst 10.0.0.1 qp 9 rate 1gbit psn 77 write");
  EXPECT_EQ(f.qp, 9U);
  EXPECT_EQ(f.psn, 77U);
  EXPECT_EQ(f.pacing.rate.text, "1gbit");
  EXPECT_EQ(f.verb, packet::Verb::Write);
  EXPECT_EQ(f.src_qp, 5U);
  const Flow small = flow("preset ipv4_rocev2_rc_send frame-size 1500");
  EXPECT_EQ(packet::packets_of(small.verb, small.size.of(0, 0), small.pmtu), 1000U);
  const Flow pmtu = flow("preset ipv6_rocev2_ud_send pmtu 1024");
  EXPECT_EQ(pmtu.size.of(0, 0), 1024U);
  EXPECT_EQ(pmtu.extra_pad, 0U);
  EXPECT_EQ(flow("preset ipv4_rocev2_rc_send size 64").size.of(0, 0), 64U);
  EXPECT_EQ(flow("preset ipv4_rocev2_rc_send messages 2").messages, 2U);
  EXPECT_EQ(flow("preset ipv4_rocev2_ud_send repeat 2").messages, 2000U);
  EXPECT_EQ(flow("preset ipv4_rocev2_ud_send frames 20").messages, 0U);
  const Flow twenty = flow("preset ipv4_rocev2_rc_send frames 20 repeat 3");
  EXPECT_EQ(packet::packets_of(twenty.verb, twenty.size.of(0, 0), twenty.pmtu), 20U);
  EXPECT_EQ(twenty.messages, 3U);
  // the frames stay as large with a tag and over IPv6
  const Flow tagged = flow("preset ipv4_rocev2_rc_send vlan 5 src ::1 dst ::2");
  requester::FlowFrames frames(tagged);
  EXPECT_EQ(frames.of(ROCE_RC_SEND_MIDDLE, tagged.pmtu)->bytes().size(), 4496U);
}

TEST(FlowFrames, SequencesBecomeMessages) {
  struct Case {
    const char *words;
    uint64_t messages, packets;
  };
  for (const Case &one : {Case{"frames 100", 1, 100},
                          {"frames 1", 1, 1},
                          {"frames 100 repeat 5 write", 5, 100},
                          {"frames 100 repeat 0", 0, 100},
                          {"frames 100 repeat 5 transport ud", 500, 1},
                          {"frames 100 repeat 5 size 10k", 50, 10},
                          {"frames 9 repeat 2 size 1k,1025,100", 0, 1},
                          {"frames 8 repeat 2 size 1k,1025,100", 12, 1},
                          {"frames 8 repeat 2 size 1025-2048", 8, 2},
                          {"frames 8 repeat 2 cmp-swap", 16, 1},
                          {"frames 3 repeat 2 opcode 4,17", 6, 1},
                          {"frames 100 messages 7", 7, 100}}) {
    auto made = parse_flow(parse::split(one.words));
    if (!one.messages && std::string(one.words).find("repeat 0") == std::string::npos) {
      EXPECT_FALSE(made.ok()) << one.words;
      continue;
    }
    ASSERT_TRUE(made.ok()) << one.words << ": " << made.error().message;
    EXPECT_EQ(made->messages, one.messages) << one.words;
    EXPECT_EQ(made->packets_of(made->size.of(0, 0)), one.packets) << one.words;
  }
}

TEST(FlowHeaders, EveryBitIsInThem) {
  const packet::Headers h =
      flow(
          "se migreq tver 9 pkey 0x1234 fecn becn resv6 0x2a resv7 0x55 ee-context 7 syndrome 0x62")
          .headers(ROCE_RD_ACKNOWLEDGE);
  EXPECT_TRUE(h.solicited && h.mig_req && h.fecn && h.becn);
  EXPECT_EQ(h.tver, 9);
  EXPECT_EQ(h.pkey, 0x1234);
  EXPECT_EQ(h.resv6, 0x2a);
  EXPECT_EQ(h.resv7, 0x55);
  EXPECT_EQ(h.ee_context, 7U);
  EXPECT_EQ(h.syndrome, 0x62);
  const Flow plain;
  EXPECT_TRUE(plain.headers(ROCE_OPCODE_CNP).becn);
  EXPECT_FALSE(plain.headers(ROCE_RC_SEND_ONLY).becn);
  EXPECT_FALSE(flow("becn 0").headers(ROCE_OPCODE_CNP).becn);
  EXPECT_EQ(plain.pad_of(1021), 3U);
  EXPECT_EQ(flow("padcnt 1").pad_of(1021), 1U);
}

constexpr const char *kGood = "src 192.0.2.1 dst 192.0.2.2 ";

TEST(FlowCheck, GoodFlows) {
  for (const char *words : {"",
                            "read",
                            "transport xrc fetch-add",
                            "transport ud",
                            "transport uc write-imm",
                            "pmtu 1024",
                            "size 2000000000 read",
                            "fault ghost-ack every 5",
                            "rate 1gbit ramp 1s",
                            "rate 1kpps poisson",
                            "burst 3 gap 1ms",
                            "vlan 7,5 pmtu 1024",
                            "qp 0xffffff",
                            "size 0",
                            "rate 1gbit ramp 1s poisson",
                            "transport ud size 64-1024",
                            "transport rd fetch-add",
                            "transport rd fault ghost-ack every 5",
                            "opcode CNP,RC_ACKNOWLEDGE,0xff",
                            "tver 1",
                            "stamp",
                            "stamp write size 32,1056,2k",
                            "stamp transport ud size 32-1024",
                            "stamp opcode RC_SEND_ONLY,RC_ACKNOWLEDGE,CNP size 32",
                            "opcode UC_SEND_ONLY,UD_SEND_ONLY size 1-1024"}) {
    const Status status = check_flow(flow(std::string(kGood) + words), 1500);
    EXPECT_TRUE(status.ok()) << words << ": " << status.error().message;
  }
  EXPECT_TRUE(check_flow(flow("src 192.0.2.1 dst 239.0.0.1 transport ud qp 0xffffff"), 1500).ok());
  EXPECT_TRUE(check_flow(flow("src ::1 dst 192.0.2.1 v1"), 1500).ok());
  EXPECT_TRUE(check_flow(flow("src ::1 dst ff0e::1 opcode UD_SEND_ONLY,100"), 1500).ok());
}

constexpr Wrong kContradictions[] = {
    {"", "destination"},
    {"src 192.0.2.1", "destination"},
    {"dst 192.0.2.1", "source"},
    {"src 192.0.2.1 dst ::1", "families"},
    {"src ::1 dst 192.0.2.1", "families"},
    {"src 239.0.0.1 dst 192.0.2.1", "multicast"},
    {"src 192.0.2.1 dst 239.0.0.1", "multicast"},
    {"src ::1 dst ff02::1 v1", "multicast"},
    {"src ::1 dst ::2 transport uc read", "uc has no read"},
    {"src ::1 dst ::2 transport ud write", "ud has no write"},
    {"src ::1 dst ::2 transport uc fetch-add", "fetch-add"},
    {"src ::1 dst ::2 transport ud size 2000", "2000"},
    {"src ::1 dst ::2 transport ud size 5-1025", "1025"},
    {"src ::1 dst ::2 size 2147483649", "2147483649"},
    {"src ::1 dst ::2 qp 0xffffff qps 2", "0xffffff"},
    {"src ::1 dst ::2 src-qp 0xffffff qps 2", "src-qp"},
    {"src ::1 dst ::2 pmtu 4096", "1500"},
    {"src ::1 dst ::2 pmtu 2048 size 1500", "1500"},
    {"src ::1 dst ::2 burst 3 gap 1ms ramp 1s rate 1gbit", "burst"},
    {"src ::1 dst ::2 poisson", "rate"},
    {"src ::1 dst ::2 ramp 1s", "rate"},
    {"src ::1 dst ::2 transport uc fault ghost-ack every 5", "ghost-ack"},
    {"src ::1 dst ::2 transport rd send-inv", "rd has no send-inv"},
    {"src ::1 dst ::2 opcode 4 size 1025", "1025"},
    {"src ::1 dst ::2 opcode 4,CNP v1", "CNP"},
    {"src ::1 dst ff02::1 opcode UD_SEND_ONLY,RC_SEND_ONLY", "multicast"},
    {"src ::1 dst ::2 stamp read", "read"},
    {"src ::1 dst ::2 stamp size 31", "31"},
    {"src ::1 dst ::2 stamp size 1k,1055", "31"},
    {"src ::1 dst ::2 stamp size 64-2k", " 1 byte"},
    {"src ::1 dst ::2 stamp opcode RC_ACKNOWLEDGE", " 0 byte"},
    {"src ::1 dst ::2 stamp opcode RC_ACKNOWLEDGE,4 size 16", "16"},
};

TEST(FlowCheck, Contradictions) {
  for (const Wrong &wrong : kContradictions) {
    const Status status = check_flow(flow(wrong.words), 1500);
    ASSERT_FALSE(status.ok()) << wrong.words;
    EXPECT_NE(status.error().message.find(wrong.named), std::string::npos)
        << wrong.words << ": " << status.error().message;
    EXPECT_FALSE(status.error().hint.empty()) << wrong.words;
  }
}

TEST(FlowCheck, WhatCannotBeReliable) {
  for (const char *words : {"", "transport xrc", "ack-req 1", "padcnt 3 fecn resv6 9 pkey 5"})
    EXPECT_TRUE(check_reliable(flow(words)).ok()) << words;
  for (const auto &[words, named] : {std::pair{"transport rd", "RC and XRC"},
                                     {"transport ud", "RC and XRC"},
                                     {"opcode RC_SEND_ONLY", "opcode"},
                                     {"tver 1", "tver"},
                                     {"ack-req 0", "ack-req"}}) {
    const Status status = check_reliable(flow(words));
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_NE(status.error().message.find(named), std::string::npos) << status.error().message;
  }
}

TEST(FlowCheck, MtuToTheByte) {
  // IPv4, UDP, BTH, iCRC: 44 bytes; RETH 16 more, which FIRST has and MIDDLE has not
  for (const auto &[words, needed] :
       {std::pair{"pmtu 4096", 4140U},
        {"pmtu 4096 write", 4156U},
        {"pmtu 4096 write-imm size 4096", 4160U},
        {"pmtu 4096 vlan 5,7", 4140U},
        {"pmtu 4096 size 64", 108U},
        {"pmtu 4096 size 61", 108U},
        {"read", 60U},
        {"transport ud pmtu 4096", 4148U},
        {"write-imm pmtu 4096 size 1-9999", 4160U},
        {"frame-size 1518", 1500U},
        {"transport xrc pmtu 256", 304U},
        {"transport rd pmtu 256", 312U},
        {"pmtu 256 padcnt 3", 303U},
        {"size 64 opcode CNP,RC_COMPARE_SWAP", 72U},
        {"size 64 opcode RC_SEND_ONLY,0x18,RC_RDMA_WRITE_ONLY", 124U}}) {
    const Flow f = flow(std::string(kGood) + words);
    EXPECT_TRUE(check_flow(f, needed).ok()) << words;
    EXPECT_FALSE(check_flow(f, needed - 1).ok()) << words;
  }
  const auto hint = [](const char *words, uint32_t mtu) {
    return check_flow(flow(std::string(kGood) + words), mtu).error().hint;
  };
  EXPECT_NE(hint("pmtu 4096", 1500).find("1024"), std::string::npos);
  EXPECT_NE(hint("pmtu 4096 write", 1500).find("1024"), std::string::npos);
  EXPECT_NE(hint("pmtu 4096", 2091).find("1024"), std::string::npos);
  EXPECT_NE(hint("pmtu 4096", 2092).find("2048"), std::string::npos);
  EXPECT_NE(hint("pmtu 256", 100).find("MTU"), std::string::npos);
}

TEST(FlowDraws, SizesFollowFromSeedAndNumber) {
  const Sizes list = flow("size 1,2,3").size, mix = flow("size 10:1,20:3").size,
              uniform = flow("size 5-8").size;
  EXPECT_EQ(list.of(0, 9), 1U);
  EXPECT_EQ(list.of(5, 9), 3U);
  EXPECT_EQ(mix.largest(), 20U);
  int tens = 0, seen[4] = {};
  constexpr int kDraws = 40'000;
  for (int i = 0; i < kDraws; i++) {
    tens += mix.of(i, 7) == 10;
    const uint64_t size = uniform.of(i, 7);
    ASSERT_TRUE(size >= 5 && size <= 8);
    seen[size - 5]++;
  }
  EXPECT_NEAR(tens, kDraws / 4.0, 4 * std::sqrt(kDraws * 3.0 / 16));
  for (const int count : seen)
    EXPECT_NEAR(count, kDraws / 4.0, 4 * std::sqrt(kDraws * 3.0 / 16));
  EXPECT_EQ(uniform.of(123, 7), uniform.of(123, 7));
}

// A part has the draws from the sum of the weights before it, to below that and its own.
TEST(FlowDraws, WeightsAtTheirBoundary) {
  constexpr double kStep = 0x1p-53; // of draws; weights of whole steps, 1 in sum, are exact
  Sizes mix;
  mix.kind = Sizes::Kind::Mix;
  for (uint64_t number = 0; number < 20; number++) {
    const double drawn = draw_real(7, number);
    mix.parts = {{.bytes = 10, .weight = drawn}, {.bytes = 20, .weight = 1 - drawn}};
    EXPECT_EQ(mix.of(number, 7), 20U) << drawn;
    mix.parts = {{.bytes = 10, .weight = drawn + kStep},
                 {.bytes = 20, .weight = 1 - drawn - kStep}};
    EXPECT_EQ(mix.of(number, 7), 10U) << drawn;
  }
}

TEST(FlowDraws, PortsAndPsns) {
  const Flow f = flow(std::string(kGood) + "qps 1000");
  Flow other = f;
  other.path.dst[3] ^= 1;
  std::vector<uint16_t> ports;
  int same = 0, psns = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    ports.push_back(f.source_port(i));
    ASSERT_GE(ports.back(), 0xc000);
    same += other.source_port(i) == ports.back();
    psns += f.first_psn(i) == f.first_psn(0);
    ASSERT_LE(f.first_psn(i), 0xffffffU);
  }
  std::sort(ports.begin(), ports.end());
  EXPECT_GT(std::unique(ports.begin(), ports.end()) - ports.begin(), 930); // of 16,384
  EXPECT_LT(same, 5);
  EXPECT_EQ(psns, 1);
  EXPECT_EQ(flow("psn 5 qps 9").first_psn(8), 5U);
  EXPECT_EQ(flow("port 777").source_port(3), 777);
}

} // namespace
} // namespace xr::flow::flow_parse_test
