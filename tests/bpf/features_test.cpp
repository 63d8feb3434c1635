// SPDX-License-Identifier: Apache-2.0
// Each set of features that a command attaches with: the kernel accepts the program, and frames of
// each kind have the same result as in the native compilation. Run for the built-in object, and for
// the object of each installed clang (XR_BPF_OBJECT).
#include <fmt/format.h>

#include "bpf/impair_twins.h"
#include "bpf/stack_depth.h"
#include "roce/capture.h"
#include "roce/steer.h"

namespace xr::test {
namespace {

using B = FrameBuilder;

constexpr uint32_t kRules = ROCE_FEATURES_OF_RULES & ~ROCE_FEATURES_OF_BRIDGES;

struct Set {
  const char *name;
  uint32_t features = 0;
  bool track = true;
  uint32_t uses = ~0u;
};

std::ostream &operator<<(std::ostream &out, const Set &set) { return out << set.name; }

const Set sets[] = {
    {"count", 0, false},
    {"track"},
    {"rules", kRules},
    {"rules_without_tables", kRules, true, 0},
    {"rules_that_only_drop", ROCE_FEATURE_RULES},
    {"sockets", ROCE_FEATURE_SOCKETS},
    {"capture", ROCE_FEATURE_CAPTURE},
    {"follow", ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP},
    {"latency", ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP},
    {"job", ROCE_FEATURE_JOB},
    {"port_following_with_all", kRules | ROCE_FEATURE_SOCKETS | ROCE_FEATURE_CAPTURE |
                                    ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP |
                                    ROCE_FEATURE_JOB},
    {"bridge", ROCE_FEATURE_FORWARD},
    {"bridge_with_clones", ROCE_FEATURE_FORWARD | ROCE_FEATURES_OF_RULES},
    {"port_with_all", kRules | ROCE_FEATURE_SOCKETS | ROCE_FEATURE_CAPTURE},
    {"bridge_with_all", ROCE_FEATURE_FORWARD | ROCE_FEATURES_OF_RULES | ROCE_FEATURE_CAPTURE},
    {"wire", ROCE_FEATURE_FORWARD | ROCE_FEATURE_HOLD},
    {"wire_with_all",
     ROCE_FEATURE_FORWARD | ROCE_FEATURES_OF_RULES | ROCE_FEATURE_CAPTURE | ROCE_FEATURE_HOLD},
    {"wire_following_with_all", ROCE_FEATURE_FORWARD | ROCE_FEATURES_OF_RULES |
                                    ROCE_FEATURE_CAPTURE | ROCE_FEATURE_HOLD | ROCE_FEATURE_FOLLOW |
                                    ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP | ROCE_FEATURE_JOB},
};

// Every opcode, over each network and with up to two tags; gaps, rewinds and duplicates; what is
// answered by CNPs; what is no RoCE, and what is malformed.
std::vector<Bytes> frames() {
  std::vector<B> all = frame_kinds();
  all.push_back(B(ROCE_UD_SEND_ONLY).qp(1).payload(256));
  if (kernel_has_frags()) // else frames are in one buffer, of less than a page
    all.push_back(B(ROCE_RC_SEND_ONLY).payload(4096));
  std::vector<Bytes> wrapped;
  for (int net = 0; net < 3; net++)
    for (int tags = 0; tags < 3; tags++)
      for (B frame : all) {
        if (net == 1)
          frame.ipv6();
        if (net == 2)
          frame.v1();
        frame.tags(tags);
        wrapped.push_back(finished(frame.build(), net == 1));
      }
  wrapped.push_back(finished(B(4).ip_options(10).build(), false));
  wrapped.push_back(finished(B(4).ipv6().extension(0).build(), false));
  return wrapped;
}

struct Words {
  std::vector<std::string> rules;
  uint32_t needs = ROCE_FEATURE_RULES;
};

// One of each kind of condition, selection and action, none of which a clock decides. Without
// tables no rule has a condition.
const std::vector<Words> &words() {
  constexpr uint32_t kEdit = ROCE_FEATURE_RULES | ROCE_FEATURE_EDIT;
  constexpr uint32_t kNext = kEdit | ROCE_FEATURE_NEXT;
  static const std::vector<Words> all = {
      {{"drop"}},
      {{"every 3 drop"}},
      {{"gilbert 10% 30% 1 0 drop seed 3"}},
      {{"ppm 333333.333 drop limit 40 per 2h"}},
      {{"ce"}, kEdit},
      {{"corrupt bit seed 2"}, kEdit},
      {{"every 2 corrupt bit 100", "corrupt udp-checksum"}, kEdit},
      {{"corrupt ip-checksum set dscp 3"}, kEdit},
      {{"cnp interval 1h drop"}, ROCE_FEATURE_RULES | ROCE_FEATURE_CNP},
      {{"duplicate"}, ROCE_FEATURE_RULES | ROCE_FEATURE_CLONE},
      {{"cnp interval 1h"}, ROCE_FEATURE_RULES | ROCE_FEATURE_CNP | ROCE_FEATURE_CLONE},
      {{"opcode nak drop", "opcode cm drop", "non-roce every 2 drop",
        "vlan any probability 20% drop", "dest-qp 0x20 opcode data set dscp 5",
        "dest-qp 0x20 psn 30-80 set becn 1", "not ipv6 ecn ect0 red 8000k 9000k 10% rate 125kbit",
        "src 192.0.2.2 corrupt icrc", "dst 2001:db8::2 size 1000- corrupt payload seed 5",
        "positions 2,4,7 drop"},
       kEdit},
      {{"src-port 0-1000 drop", "inner-vlan 0-4095 not src-mac 02:00:00:00:00:01 every 2 drop",
        "bytes 14 40/f0 size 1000- drop", "roce-version 1 drop", "not pcp 0 mpls 16 drop",
        "dst-port 4791 psn 3 ce"},
       kEdit},
      {{"qp 0x11 psn 2 drop", "qp 0x11 psn 5 iter 2 drop", "qp 0x11 psn 4 ce", "psn +2-4 drop"},
       kEdit | ROCE_FEATURE_EVENTS},
      {{"every 2 ce next"}, kNext},
      {{"every 5 drop next", "probability 40% ce seed 1 next", "every 2 set dscp 5 next",
        "dst 192.0.2.2 set becn 1 next", "opcode ack drop", "corrupt payload seed 2 next",
        "set ecn ect1 next", "not psn 30-80 corrupt icrc"},
       kNext},
      {{"duplicate next", "cnp interval 1h next", "every 3 drop next", "ce"},
       kNext | ROCE_FEATURE_CNP | ROCE_FEATURE_CLONE},
      {{"cnp interval 1h next", "every 2 drop"}, kNext | ROCE_FEATURE_CNP | ROCE_FEATURE_CLONE},
  };
  return all;
}

class Features : public testing::TestWithParam<Set> {};

TEST_P(Features, LoadAndAgree) {
  const Set &set = GetParam();
  Twins twins(set.features, set.uses, set.track);
  LOAD_OR_SKIP(twins);
  // Other kernels count more: half of their limit.
  const uint32_t instructions = verified(twins.skeleton()->progs.xdp_roce);
  EXPECT_LE(instructions, 500'000u);
  RecordProperty("verified_instructions", static_cast<int>(instructions));
  const std::vector<Bytes> in = frames();
  uint64_t records = 0;
  perf_buffer *ring = nullptr;
  if (set.features & ROCE_FEATURE_CAPTURE) {
    const auto one = [](void *count, int, void *, __u32) { ++*static_cast<uint64_t *>(count); };
    ring = perf_buffer__new(bpf_map__fd(twins.skeleton()->maps.capture_ring), 256, one, nullptr,
                            &records, nullptr);
    ASSERT_TRUE(ring) << std::strerror(errno);
    const uint32_t zero = 0;
    roce_capture_filter filter{};
    filter.kinds = ROCE_CAPTURE_ALL;
    filter.snap = 64;
    ASSERT_EQ(0, bpf_map__update_elem(twins.skeleton()->maps.capture_filter, &zero, sizeof(zero),
                                      &filter, sizeof(filter), 0));
  }
  for (const char *host : {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"})
    for (const char *qp : {"0x11", "0x20"})
      twins.peer(fmt::format("{} {} -> 0x22", host, qp));
  std::vector<Words> rules = {{{}, 0}};
  for (const Words &one : words())
    if ((set.features & one.needs) == one.needs && (set.uses || one.rules.size() == 1))
      rules.push_back(one);
  for (const Words &one : rules) {
    SCOPED_TRACE(one.rules.empty() ? "no rule" : one.rules.front());
    twins.begin(rules_of(one.rules));
    for (size_t i = 0; i < in.size() && !HasFailure(); i++) {
      SCOPED_TRACE(fmt::format("frame {}", i));
      records = 0;
      twins.pass(in[i]);
      if (ring) {
        perf_buffer__consume(ring);
        EXPECT_GE(records, 1u);
      }
    }
    twins.expect_same(true);
  }
  perf_buffer__free(ring);
}

INSTANTIATE_TEST_SUITE_P(Sets, Features, testing::ValuesIn(sets),
                         [](const auto &info) { return std::string(info.param.name); });

// A frame for an endpoint whose queue has no socket goes to the host, and is counted.
TEST(FeaturesOfSockets, FindTheEndpoint) {
  for (const uint32_t rules : {0u, kRules}) {
    Twins twins(ROCE_FEATURE_SOCKETS | rules);
    LOAD_OR_SKIP(twins);
    const uint32_t takes = ROCE_STEER_ROCE;
    const roce_endpoint to{{0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000202)}};
    ASSERT_EQ(0, bpf_map__update_elem(twins.skeleton()->maps.endpoints, &to, sizeof(to), &takes,
                                      sizeof(takes), 0));
    for (const auto &[frame, counted] : {std::pair(B(4), 1u),
                                         {B(4).to(3), 1u},
                                         {B(4).port(4789), 1u},
                                         {B(4).vlan(0x8100), 2u},
                                         {B(4), 3u}}) {
      Bytes bytes = finished(frame.build(), false);
      EXPECT_EQ(static_cast<uint32_t>(XDP_PASS), twins.in_kernel(bytes));
      EXPECT_EQ(counted, twins.totals().no_socket);
    }
  }
}

// With `others` a frame that is no endpoint's goes to the socket of its queue, which is counted
// where there is none only of frames that are asked for.
TEST(FeaturesOfSockets, TakeAllOtherFrames) {
  Twins twins(ROCE_FEATURE_SOCKETS);
  LOAD_OR_SKIP(twins);
  const uint32_t takes = ROCE_STEER_OTHERS;
  const roce_endpoint all{};
  uint64_t counted = 0;
  const auto pass = [&](const Frame &frame) {
    Bytes bytes = finished(frame, false);
    EXPECT_EQ(static_cast<uint32_t>(XDP_PASS), twins.in_kernel(bytes));
    return std::exchange(counted, twins.totals().no_socket) != twins.totals().no_socket;
  };
  const std::vector<Frame> frames = {B(4).build(), B(4).to(3).build(), B(4).port(4789).build()};
  for (const Frame &frame : frames)
    EXPECT_FALSE(pass(frame));
  ASSERT_EQ(0, bpf_map__update_elem(twins.skeleton()->maps.endpoints, &all, sizeof(all), &takes,
                                    sizeof(takes), 0));
  for (const Frame &frame : frames)
    EXPECT_TRUE(pass(frame));
}

// Kernel 6.1 refuses what needs more, although the kernel of this test may accept it.
TEST(FeaturesOfOldKernels, StackFits) {
  Twins twins(ROCE_FEATURE_CLONE); // which loads both programs
  LOAD_OR_SKIP(twins);
  for (const bpf_program *program :
       {twins.skeleton()->progs.xdp_roce, twins.skeleton()->progs.cnp_egress}) {
    StackDepth stack(program);
    EXPECT_LE(stack.most(), 512) << bpf_program__name(program) << ": " << stack.chain();
    EXPECT_GE(stack.most(), 128) << "the program was not read";
    RecordProperty(bpf_program__name(program), stack.chain());
  }
}

} // namespace
} // namespace xr::test
