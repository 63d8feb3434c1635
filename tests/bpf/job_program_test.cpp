// SPDX-License-Identifier: Apache-2.0
// Bursts by pair of hosts in the kernel: random frames through the program, a frame a call, and
// what it kept compared with the native compilation over the same frames.
#include <chrono>
#include <random>
#include <thread>

#include "bpf/impair_twins.h"
#include "roce/table.h"

namespace xr::test {
namespace {

using B = FrameBuilder;

constexpr uint8_t kSendMiddle = 0x01, kSendOnly = 0x04;
constexpr uint32_t kFollow = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP;

JobBursts in_kernel(const Twins &twins) {
  JobBursts job;
  for (uint32_t i = 0; i < ROCE_JOB_PAIRS; i++) {
    roce_job_pair record{};
    EXPECT_EQ(0, bpf_map__lookup_elem(twins.skeleton()->maps.job_pairs, &i, sizeof(i), &record,
                                      sizeof(record), 0));
    EXPECT_EQ(record.lock, 0u);
    job.add(record, record.count);
  }
  job.full = twins.totals().job_full;
  return job;
}

void expect_same(const JobBursts::Burst &native, const JobBursts::Burst &kernel) {
  EXPECT_EQ(native.bytes, kernel.bytes);
  EXPECT_EQ(native.messages, kernel.messages);
  EXPECT_EQ(native.last_ns != 0, kernel.last_ns != 0);
  EXPECT_LE(kernel.first_ns, kernel.last_ns);
}

// But for times.
void expect_same(const JobBursts &native, const JobBursts &kernel) {
  EXPECT_EQ(native.full, kernel.full);
  ASSERT_EQ(native.pairs.size(), kernel.pairs.size());
  for (size_t i = 0; i < native.pairs.size(); i++) {
    const JobBursts::Pair &a = native.pairs[i], &b = kernel.pairs[i];
    SCOPED_TRACE(fmt::format("pair {}", i));
    EXPECT_EQ(a.src, b.src);
    EXPECT_EQ(a.dst, b.dst);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.cts, b.cts);
    ASSERT_EQ(a.ended.size(), b.ended.size());
    for (size_t n = 0; n < a.ended.size(); n++)
      expect_same(a.ended[n], b.ended[n]);
    expect_same(a.open, b.open);
  }
}

// Frames of some streams, each with messages of random kinds and lengths.
class Senders {
public:
  explicit Senders(uint32_t seed) : random_(seed) {
    for (uint32_t i = 0; i < 24; i++)
      streams_.push_back({.host = static_cast<uint8_t>(1 + i % 3),
                          .peer = static_cast<uint8_t>(4 + i % 2),
                          .network = static_cast<int>(i / 6), // FrameBuilder::over
                          .qp = 0x11 + i});
  }

  Bytes next() {
    Stream &stream = streams_[random_() % streams_.size()];
    if (random_() % 40)
      stream.psn++; // else it is sent again
    B frame(opcode(stream));
    frame.over(stream.network).tags(static_cast<int>(random_() % 8 / 6));
    frame.from(stream.host).to(stream.peer).qp(stream.qp).psn(stream.psn);
    return finished(frame.payload(4 * (random_() % 300)).build(), stream.network == 1);
  }

private:
  struct Stream {
    uint8_t host = 0, peer = 0;
    int network = 0;
    uint32_t qp = 0, psn = 0, left = 0; // packets of the current message
    bool write = false;
  };

  uint8_t opcode(Stream &stream) {
    static constexpr uint8_t kSingle[] = {0x04, 0x05, 0x0a, 0x0a, 0x0b, 0x0c,
                                          0x10, 0x11, 0x13, 0x17, 0x2a, 0x64};
    if (stream.left) {
      const uint8_t part = --stream.left ? 1 : 2;
      return static_cast<uint8_t>(part + (stream.write ? 6 : 0));
    }
    if (random_() % 2)
      return kSingle[random_() % std::size(kSingle)];
    stream.left = 1 + random_() % 6;
    stream.write = random_() % 2;
    return stream.write ? 6 : 0;
  }

  std::mt19937 random_;
  std::vector<Stream> streams_;
};

class JobProgram : public testing::TestWithParam<uint32_t> {};

// Both sides see pauses longer than ROCE_JOB_GAP_NS between any two frames, so that no clock
// decides which burst a message is in.
TEST_P(JobProgram, KeepsWhatTheNativeOneKeeps) {
  Twins twins(GetParam());
  LOAD_OR_SKIP(twins);
  Senders senders(GetParam());
  for (uint64_t i = 0; i < 3000; i++) {
    const Bytes frame = senders.next();
    Bytes native = frame, kernel = frame;
    twins.native().impair(native, 1'000'000'000 + i * 2 * ROCE_JOB_GAP_NS);
    twins.in_kernel(kernel);
    std::this_thread::sleep_for(std::chrono::nanoseconds(ROCE_JOB_GAP_NS));
  }
  const JobBursts native = twins.native().job();
  EXPECT_GE(native.pairs.size(), 12u);
  EXPECT_GT(native.pairs.front().count, JobBursts::kEnded);
  expect_same(native, in_kernel(twins));
}

INSTANTIATE_TEST_SUITE_P(
    Features, JobProgram,
    testing::Values(ROCE_FEATURE_JOB, ROCE_FEATURE_JOB | kFollow,
                    ROCE_FEATURE_JOB | ROCE_FEATURE_RULES | ROCE_FEATURE_CAPTURE,
                    ROCE_FEATURE_JOB | ROCE_FEATURE_DECAP | ROCE_FEATURE_CLASSES),
    [](const auto &info) { return fmt::format("x{:x}", info.param); });

// Times are those of the kernel's clock, and the pause between two bursts is in none.
TEST(JobProgramTimes, AreOfTheClock) {
  Twins twins(ROCE_FEATURE_JOB);
  LOAD_OR_SKIP(twins);
  constexpr uint64_t kPauseNs = 20'000'000;
  const uint64_t begin = monotonic_ns();
  for (uint32_t i = 0; i < 3; i++) {
    Bytes frame = finished(B(4).psn(i).payload(100).build(), false);
    twins.in_kernel(frame);
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPauseNs));
  }
  const JobBursts job = in_kernel(twins);
  ASSERT_EQ(job.pairs.size(), 1u);
  const JobBursts::Pair &pair = job.pairs.front();
  ASSERT_EQ(pair.ended.size(), 2u);
  EXPECT_GE(pair.ended[0].first_ns, begin);
  EXPECT_GE(pair.ended[1].first_ns, pair.ended[0].last_ns + kPauseNs);
  EXPECT_GE(pair.open.first_ns, pair.ended[1].last_ns + kPauseNs);
  EXPECT_LE(pair.open.last_ns, monotonic_ns());
}

// One call passes a frame often enough that nothing but a stop of this processor ends a burst.
TEST(JobProgramBursts, HaveManyMessages) {
  constexpr uint32_t kTimes = 50;
  uint64_t count = 1;
  for (int attempt = 0; attempt < 20 && count; attempt++) {
    Twins twins(ROCE_FEATURE_JOB);
    LOAD_OR_SKIP(twins);
    const Bytes frame = finished(B(4).payload(100).build(), false);
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = kTimes);
    ASSERT_EQ(0, bpf_prog_test_run_opts(bpf_program__fd(twins.skeleton()->progs.xdp_roce), &opts));
    const JobBursts job = in_kernel(twins);
    ASSERT_EQ(job.pairs.size(), 1u);
    count = job.pairs.front().count;
    uint64_t messages = job.pairs.front().open.messages, bytes = job.pairs.front().open.bytes;
    for (const JobBursts::Burst &burst : job.pairs.front().ended) {
      messages += burst.messages;
      bytes += burst.bytes;
    }
    EXPECT_EQ(messages, kTimes);
    EXPECT_EQ(bytes, kTimes * 100);
  }
  EXPECT_EQ(count, 0u);
}

// Several processors change the record of a pair at once: each packet is in a burst, or counted as
// contended.
TEST(JobProgramThreads, LoseNothing) {
  constexpr uint32_t kTimes = 20'000;
  Twins twins(ROCE_FEATURE_JOB);
  LOAD_OR_SKIP(twins);
  const auto run = [&twins](uint8_t opcode, uint32_t qp, int times) {
    const Bytes frame = finished(B(opcode).qp(qp).payload(100).build(), false);
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.data(),
                .data_size_in = static_cast<__u32>(frame.size()), .repeat = times);
    EXPECT_EQ(0, bpf_prog_test_run_opts(bpf_program__fd(twins.skeleton()->progs.xdp_roce), &opts));
  };
  for (uint32_t qp = 1; qp <= 4; qp++) // their streams
    run(qp % 2 ? kSendOnly : kSendMiddle, qp, 1);
  std::vector<std::thread> threads;
  for (uint32_t qp = 1; qp <= 4; qp++)
    threads.emplace_back(run, qp % 2 ? kSendOnly : kSendMiddle, qp, kTimes - 1);
  for (std::thread &thread : threads)
    thread.join();
  const JobBursts job = in_kernel(twins);
  ASSERT_EQ(job.pairs.size(), 1u);
  const JobBursts::Pair &pair = job.pairs.front();
  uint64_t messages = pair.open.messages, bytes = pair.open.bytes;
  for (const JobBursts::Burst &burst : pair.ended) {
    messages += burst.messages;
    bytes += burst.bytes;
  }
  const uint64_t contended = twins.totals().pairs_contended;
  if (pair.count > JobBursts::kEnded) { // the processors were stopped as often
    EXPECT_LE(messages, 2 * kTimes);
    return;
  }
  EXPECT_LE(messages, 2 * kTimes);
  EXPECT_GE(messages + contended, 2 * kTimes);
  EXPECT_EQ(bytes, (messages + 2 * kTimes) * 100);
}

// Pairs with the same home in the table: as many as are looked at have room.
TEST(JobProgramRoom, CountsPairsWithoutRoom) {
  Twins twins(ROCE_FEATURE_JOB);
  LOAD_OR_SKIP(twins);
  constexpr uint32_t kProbes = 16, kPairs = 20, kHome = 5;
  uint32_t pairs = 0;
  for (uint32_t i = 0; i < 65536 && pairs < kPairs; i++) {
    const uint32_t src[4] = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200 + i / 256)};
    const uint32_t dst[4] = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200 + i % 256)};
    const uint64_t hash = roce_mix(roce_hash_pair(src, dst, 1, Twins::kSeed));
    if ((hash & (ROCE_JOB_PAIRS - 1)) != kHome)
      continue;
    pairs++;
    for (uint32_t psn = 0; psn < 3; psn++) {
      const Bytes frame = finished(B(psn ? 1 : 4)
                                       .from(static_cast<uint8_t>(i / 256))
                                       .to(static_cast<uint8_t>(i))
                                       .psn(psn)
                                       .payload(100)
                                       .build(),
                                   false);
      twins.pass(frame);
    }
  }
  ASSERT_EQ(pairs, kPairs);
  const JobBursts job = in_kernel(twins);
  EXPECT_EQ(job.pairs.size(), kProbes);
  EXPECT_EQ(job.full, (kPairs - kProbes) * 3);
  expect_same(twins.native().job(), job);
}

} // namespace
} // namespace xr::test
