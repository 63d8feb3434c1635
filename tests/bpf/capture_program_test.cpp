// SPDX-License-Identifier: Apache-2.0
// The records that the program writes for captured packets: frame, tracking result, rule and
// outcome. The native compilation gives the same.
#include <set>

#include <tuple>

#include "bpf/impair_twins.h"
#include "roce/capture.h"

namespace xr::test {
namespace {

using B = FrameBuilder;

struct Record {
  roce_capture what{};
  Bytes bytes;
};

class Captured : public Twins {
public:
  Captured(uint32_t features, const std::vector<impair::Rule> &rules)
      : Twins(features | ROCE_FEATURE_CAPTURE) {
    if (error())
      return;
    begin(rules);
    const auto sample = [](void *to, int, void *data, __u32 size) {
      Record one;
      ASSERT_GE(size, sizeof(one.what));
      std::memcpy(&one.what, data, sizeof(one.what));
      const auto *bytes = static_cast<const uint8_t *>(data) + sizeof(one.what);
      if (one.what.parts & ROCE_CAPTURE_FRAME)
        one.bytes.assign(bytes, bytes + one.what.captured);
      static_cast<std::vector<Record> *>(to)->push_back(one);
    };
    rings_.reset(perf_buffer__new(bpf_map__fd(skeleton()->maps.capture_ring), 64, sample, nullptr,
                                  &records_, nullptr));
    EXPECT_TRUE(rings_) << std::strerror(errno);
    take({});
  }

  // All, or what differs from that.
  void take(const roce_capture_filter &wanted) {
    roce_capture_filter filter = wanted;
    const uint32_t zero = 0;
    filter.kinds = filter.kinds ? filter.kinds : ROCE_CAPTURE_ALL;
    filter.snap = filter.snap ? filter.snap : ROCE_CAPTURE_SNAP;
    EXPECT_EQ(0, bpf_map__update_elem(skeleton()->maps.capture_filter, &zero, sizeof(zero), &filter,
                                      sizeof(filter), 0));
  }

  // The records of one frame.
  std::vector<Record> records(const Bytes &frame) {
    records_.clear();
    pass(frame);
    perf_buffer__consume(rings_.get());
    return records_;
  }

  // The frame that this copy and outcome belong to.
  Record one(const Frame &frame, bool in_two) {
    const auto all = records(frame.bytes);
    EXPECT_EQ(all.size(), in_two ? 2u : 1u);
    if (all.empty())
      return {};
    EXPECT_EQ(all.front().bytes, frame.bytes);
    EXPECT_EQ(all.front().what.length, frame.bytes.size());
    EXPECT_EQ(all.front().what.number, all.back().what.number);
    EXPECT_EQ(all.front().what.time_ns, all.back().what.time_ns);
    EXPECT_EQ(all.front().what.parts | all.back().what.parts,
              ROCE_CAPTURE_FRAME | ROCE_CAPTURE_OUTCOME);
    const roce_trace &trace = all.back().what.trace, &native = native_trace();
    EXPECT_EQ(trace.rule, native.rule);
    EXPECT_EQ(trace.act, native.act);
    EXPECT_EQ(trace.found, native.found);
    Record record = all.front();
    record.what = all.back().what;
    return record;
  }

private:
  struct Free {
    void operator()(perf_buffer *rings) const { perf_buffer__free(rings); }
  };
  std::vector<Record> records_;
  std::unique_ptr<perf_buffer, Free> rings_;
};

struct Step {
  const char *what;
  B frame;
  uint32_t found = 0; // beside ROCE_FOUND_SLOW
  uint32_t kinds = ROCE_CAPTURE_DATA;
};

B at_psn(uint32_t psn) { return B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024); }

const std::vector<Step> &steps() {
  static const std::vector<Step> all = {
      {"first", at_psn(10), ROCE_FOUND_NEW},
      {"second", at_psn(11)},
      {"gap", at_psn(14), ROCE_FOUND_GAP | ROCE_FOUND_JUMP},
      {"in order", at_psn(15)},
      {"late", at_psn(12), ROCE_FOUND_FILLED},
      {"continues from there", at_psn(13), ROCE_FOUND_FILLED | ROCE_FOUND_REWIND},
      {"again", at_psn(14), ROCE_FOUND_DUPLICATE},
      {"marked", at_psn(16).ecn(3), ROCE_FOUND_JUMP | ROCE_FOUND_CE_RUN,
       ROCE_CAPTURE_DATA | ROCE_CAPTURE_CE},
      {"marked again", at_psn(17).ecn(3), 0, ROCE_CAPTURE_DATA | ROCE_CAPTURE_CE},
      {"far away", at_psn(500000), ROCE_FOUND_RESYNC},
      {"ACK", B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x12).syndrome(0x1f), ROCE_FOUND_NEW,
       ROCE_CAPTURE_ACK},
      {"NAK", B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x12).syndrome(0x60), ROCE_FOUND_NAK,
       ROCE_CAPTURE_NAK},
      {"RNR NAK", B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x12).syndrome(0x2c), ROCE_FOUND_RNR_NAK,
       ROCE_CAPTURE_NAK},
      {"CNP", B(ROCE_OPCODE_CNP).from(2).to(1).qp(0x99).payload(16),
       ROCE_FOUND_NEW | ROCE_FOUND_CNP | ROCE_FOUND_CNP_UNEXPLAINED, ROCE_CAPTURE_CNP},
      {"IPv6", B(ROCE_RC_SEND_ONLY).ipv6().qp(7), ROCE_FOUND_NEW},
      {"no RoCE", B(4).ethertype(0x0806), 0, ROCE_CAPTURE_OTHER},
      {"malformed", B(4).udp_length(20), 0, ROCE_CAPTURE_OTHER},
      {"a fragment", B(4).ip_fragment(0x2000), 0, ROCE_CAPTURE_OTHER},
  };
  return all;
}

// The first packet after a missing one, the NAK, and the first packet sent again.
TEST(CaptureProgram, TellsWhereAnEpisodeIs) {
  for (const uint32_t features : {0u, uint32_t{ROCE_FEATURE_RULES}}) {
    Captured program(features | ROCE_FEATURE_FOLLOW, {});
    LOAD_OR_SKIP(program);
    const B nak = B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(0x12).psn(12).syndrome(0x60);
    for (const auto &[what, step, shows] : {std::tuple("first", at_psn(10), false),
                                            {"second", at_psn(11), false},
                                            {"gap", at_psn(14), true},
                                            {"in order", at_psn(15), false},
                                            {"NAK", nak, true},
                                            {"on the way", at_psn(16), false},
                                            {"sent again", at_psn(12), true},
                                            {"filled", at_psn(13), false},
                                            {"again", at_psn(14), false},
                                            {"and again", at_psn(15), false},
                                            {"recovered", at_psn(16), false},
                                            {"new", at_psn(17), false}}) {
      SCOPED_TRACE(what);
      B frame = step;
      const Record got = program.one(frame.build(), features != 0);
      EXPECT_EQ((got.what.trace.found & ROCE_FOUND_EPISODE) != 0, shows);
    }
  }
}

TEST(CaptureProgram, TellsWhatTheTrackerFound) {
  for (const uint32_t features : {0u, uint32_t{ROCE_FEATURE_RULES}}) {
    Captured program(features, {});
    LOAD_OR_SKIP(program);
    uint64_t number = 0;
    for (const Step &step : steps()) {
      SCOPED_TRACE(step.what);
      B frame = step.frame;
      const Record got = program.one(frame.build(), features != 0);
      EXPECT_EQ(got.what.trace.found & ~static_cast<uint32_t>(ROCE_FOUND_SLOW), step.found);
      EXPECT_EQ(got.what.kinds, step.kinds);
      EXPECT_EQ(got.what.number, ++number);
      EXPECT_EQ(got.what.fate, static_cast<uint32_t>(ROCE_CAPTURE_PASSED));
      if (step.found & ROCE_FOUND_GAP) {
        EXPECT_EQ(got.what.expected, 12u);
        EXPECT_EQ(got.what.skipped, 2u);
        EXPECT_EQ(got.what.psn, 14u);
        EXPECT_EQ(roce_key_qp(&got.what.key), 0x11u);
        EXPECT_EQ(got.what.key.src[3], roce_swap32(0xc0000201));
      }
    }
    program.expect_same();
  }
}

TEST(CaptureProgram, TellsWhatRulesDid) {
  const struct {
    const char *what;
    std::vector<std::string> rules;
    B frame;
    uint32_t rule, act, fate;
  } cases[] = {
      {"no rule", {"psn 100-200 drop"}, at_psn(1), 0, 0, ROCE_CAPTURE_PASSED},
      {"let go", {"psn 0-9 every 2 drop"}, at_psn(1), 1, 0, ROCE_CAPTURE_PASSED},
      {"dropped",
       {"non-roce drop", "roce drop"},
       at_psn(1),
       2,
       ROCE_ACT_DROP,
       ROCE_CAPTURE_DROPPED},
      {"no RoCE dropped",
       {"non-roce drop"},
       B(4).ethertype(0x0806),
       1,
       ROCE_ACT_DROP,
       ROCE_CAPTURE_DROPPED},
      {"marked", {"roce ce"}, at_psn(1).ecn(2), 1, ROCE_ACT_CE, ROCE_CAPTURE_PASSED},
      {"not to be marked", {"roce ce"}, at_psn(1).ecn(0), 1, 0, ROCE_CAPTURE_PASSED},
      {"corrupted",
       {"roce corrupt payload"},
       at_psn(1),
       1,
       ROCE_ACT_CORRUPT_PAYLOAD,
       ROCE_CAPTURE_PASSED},
      {"rewritten", {"roce set dscp 3"}, at_psn(1), 1, ROCE_ACT_SET_DSCP, ROCE_CAPTURE_PASSED},
      {"policed",
       {"roce police 125kbit burst 100 excess drop"},
       at_psn(1),
       1,
       ROCE_ACT_DROP | ROCE_ACT_POLICE,
       ROCE_CAPTURE_DROPPED},
      {"sent back",
       {"roce cnp drop"},
       B(ROCE_UD_SEND_ONLY).qp(9).src_qp(0x1234),
       1,
       ROCE_ACT_DROP | ROCE_ACT_CNP,
       ROCE_CAPTURE_BACK_AS_CNP},
  };
  for (const auto &one : cases) {
    SCOPED_TRACE(one.what);
    const auto rules = rules_of(one.rules);
    Captured program(features_of(rules, false), rules);
    LOAD_OR_SKIP(program);
    B frame = one.frame;
    const Record got = program.one(frame.build(), true);
    EXPECT_EQ(got.what.trace.rule, one.rule);
    EXPECT_EQ(got.what.trace.act, one.act);
    EXPECT_EQ(got.what.fate, one.fate);
  }
}

TEST(CaptureProgram, BridgesForward) {
  const auto rules = rules_of({"psn 5 drop"});
  Captured program(features_of(rules, true), rules);
  LOAD_OR_SKIP(program);
  EXPECT_EQ(program.one(at_psn(4).build(), true).what.fate,
            static_cast<uint32_t>(ROCE_CAPTURE_FORWARDED));
  EXPECT_EQ(program.one(at_psn(5).build(), true).what.fate,
            static_cast<uint32_t>(ROCE_CAPTURE_DROPPED));
}

roce_capture_filter of_kinds(uint32_t kinds) {
  roce_capture_filter filter{};
  filter.kinds = kinds;
  return filter;
}

TEST(CaptureProgram, TakesWhatTheFilterWants) {
  Captured program(0, {});
  LOAD_OR_SKIP(program);
  const auto taken = [&](const roce_capture_filter &filter) {
    std::set<std::string> names;
    program.take(filter);
    for (const Step &step : steps()) {
      B frame = step.frame;
      if (!program.records(frame.build().bytes).empty())
        names.insert(step.what);
    }
    return names;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(taken(of_kinds(ROCE_CAPTURE_NAK)), (Names{"NAK", "RNR NAK"}));
  EXPECT_EQ(taken(of_kinds(ROCE_CAPTURE_CE | ROCE_CAPTURE_CNP)),
            (Names{"marked", "marked again", "CNP"}));
  EXPECT_EQ(taken(of_kinds(ROCE_CAPTURE_OTHER)), (Names{"no RoCE", "malformed", "a fragment"}));
  roce_capture_filter stream{};
  stream.stream = 1;
  stream.dest_qp = {0x12, 0x98};
  EXPECT_EQ(taken(stream), (Names{"ACK", "NAK", "RNR NAK"}));
  stream.dest_qp = {0, 0xffffff};
  for (int i = 0; i < 4; i++) { // 192.0.2.2
    stream.src.mask[i] = ~0U;
    stream.src.address[i] = i < 2 ? 0 : i == 2 ? ROCE_MAPPED_PREFIX : roce_swap32(0xc0000202);
  }
  EXPECT_EQ(taken(stream), (Names{"ACK", "NAK", "RNR NAK", "CNP"}));
}

TEST(CaptureProgram, CutsAndCopiesSeveralBuffers) {
  Captured program(0, {});
  LOAD_OR_SKIP(program);
  program.one(B(ROCE_RC_RDMA_WRITE_FIRST).psn(0).payload(4096).build(), false);
  program.one(B(ROCE_RC_RDMA_WRITE_LAST).psn(1).payload(8900).build(), false);
  roce_capture_filter cut{};
  cut.snap = 64;
  program.take(cut);
  const Frame frame = B(ROCE_RC_SEND_ONLY).psn(2).payload(8900).build();
  const auto got = program.records(frame.bytes);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].bytes, Bytes(frame.bytes.begin(), frame.bytes.begin() + 64));
  EXPECT_EQ(got[0].what.length, frame.bytes.size());
}

} // namespace
} // namespace xr::test
