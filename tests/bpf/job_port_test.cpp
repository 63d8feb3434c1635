// SPDX-License-Identifier: Apache-2.0
// Ports attached with --job: what AttachedPort::job() reads of the frames that entered.
#include "lane.h"
#include "roce/config.h"
#include "unit/frames.h"
#include "wire_checks.h"

namespace xr::datapath {
namespace {

using B = test::FrameBuilder;

constexpr uint8_t kWriteFirst = 0x06, kWriteMiddle = 0x07, kWriteLast = 0x08, kWriteOnly = 0x0a;

class JobPort : public Lane {
protected:
  AttachOptions with_job() {
    AttachOptions options = small();
    options.job = true;
    return options;
  }

  void send(const char *from, const std::vector<B> &frames) {
    inside([&] {
      Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_ifindex = static_cast<int>(if_nametoindex(from));
      for (const B &builder : frames) {
        const test::Bytes frame = test::finished(builder.build(), false);
        ASSERT_EQ(sendto(fd.get(), frame.data(), frame.size(), 0,
                         reinterpret_cast<const sockaddr *>(&to), sizeof(to)),
                  static_cast<ssize_t>(frame.size()));
      }
    });
  }

  // The messages of its only pair, when as many have come, or after a second.
  static JobBursts::Pair pair_of(const AttachedPort &port, uint64_t awaited) {
    JobBursts::Pair pair;
    for (int i = 0; i < 100; i++) {
      auto job = port.job();
      if (!job.ok() || job->pairs.size() > 1) {
        ADD_FAILURE() << (job.ok() ? "several pairs" : job.error().message);
        break;
      }
      if (!job->pairs.empty())
        pair = job->pairs.front();
      if (sum_of(pair).messages >= awaited)
        break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return pair;
  }

  static JobBursts::Burst sum_of(const JobBursts::Pair &pair) {
    JobBursts::Burst sum = pair.open;
    for (const JobBursts::Burst &burst : pair.ended) {
      sum.bytes += burst.bytes;
      sum.messages += burst.messages;
    }
    return sum;
  }
};

const std::vector<B> kMessage = {B(kWriteFirst).psn(1).payload(1024),
                                 B(kWriteMiddle).psn(2).payload(1024),
                                 B(kWriteLast).psn(3).payload(200)};

TEST_F(JobPort, ReadsItsBursts) {
  ASSERT_OK(attach({"xr0", netns_}, with_job()));
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  EXPECT_TRUE(port->status().features & ROCE_FEATURE_JOB);
  EXPECT_TRUE(pair_of(*port, 0).ended.empty());
  send("peer0", kMessage);
  EXPECT_EQ(sum_of(pair_of(*port, 1)).bytes, 2248u);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send("peer0", {B(kWriteOnly).psn(4).payload(64), B(kWriteOnly).psn(5).payload(1000)});
  const JobBursts::Pair pair = pair_of(*port, 2);
  EXPECT_EQ(pair.src[3], roce_swap32(0xc0000201));
  EXPECT_EQ(pair.dst[3], roce_swap32(0xc0000202));
  EXPECT_EQ(pair.cts, 1u);
  EXPECT_GE(pair.count, 1u);
  EXPECT_EQ(pair.open.bytes, 1000u);
  EXPECT_EQ(sum_of(pair).bytes, 3248u);
  ASSERT_FALSE(pair.ended.empty());
  EXPECT_GE(pair.open.first_ns, pair.ended.back().last_ns + 20'000'000);
}

TEST_F(JobPort, SaysHowToAttachIt) {
  ASSERT_OK(attach({"xr0", netns_}, small()));
  auto port = AttachedPort::open({"xr0", netns_});
  ASSERT_OK(port);
  const auto job = port->job();
  ASSERT_FALSE(job.ok());
  EXPECT_NE(job.error().hint.find("--job"), std::string::npos) << job.error().hint;
  AttachOptions untracked = with_job();
  untracked.track = false;
  EXPECT_REFUSED(attach({"peer0", netns_}, untracked), "--no-track");
}

// Both ports of a tap keep one table.
TEST_F(JobPort, SharesTheTableOfATap) {
  ASSERT_OK(attach({"xr0", netns_}, with_job()));
  AttachOptions other = small();
  other.one_with = "xr0";
  ASSERT_OK(attach({"peer0", netns_}, other));
  auto first = AttachedPort::open({"xr0", netns_});
  auto second = AttachedPort::open({"peer0", netns_});
  ASSERT_OK(first);
  ASSERT_OK(second);
  send("peer0", kMessage);
  send("xr0", kMessage); // from the other side; the same hosts
  EXPECT_EQ(sum_of(pair_of(*first, 2)).bytes, 2 * 2248u);
  EXPECT_EQ(sum_of(pair_of(*second, 2)).bytes, 2 * 2248u);
}

} // namespace
} // namespace xr::datapath
