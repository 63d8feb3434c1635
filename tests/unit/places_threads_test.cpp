// SPDX-License-Identifier: Apache-2.0
// The threads in which a run has its wire, responders and senders, without ports. Also run under
// ThreadSanitizer (tools/test thread).
#include <gtest/gtest.h>

#include <mutex>

#include "places/captures.h"
#include "places/endpoints.h"
#include "places/part.h"

namespace xr::test::places_threads_test {
namespace {

using namespace std::chrono_literals;
using namespace xr::places;

// Reports every 100 us, from the thread in which it runs; the counts are that thread's.
struct FakeRun {
  struct Report {
    uint64_t number = 0;
  };
  uint64_t most = UINT64_MAX; // reports; then it fails
  Report last = {};
  int closes = 0;

  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const Report &)> &on_report) {
    while (!stop) {
      if (++last.number > most)
        return Error{"the port is gone"};
      if (interval.count() && !on_report(last))
        return {};
      std::this_thread::sleep_for(100us);
    }
    return {};
  }
  Status close() {
    closes++;
    return {};
  }
};

// Like Endpoints: the report of each part is copied in its thread, and read by others.
struct Reported {
  Part<FakeRun> part;
  std::mutex mutex;
  FakeRun::Report report;

  explicit Reported(FakeRun run) { part.run.emplace(run); }
  void start() {
    part.start(1ns, [this](const FakeRun::Report &now) {
      const std::lock_guard lock(mutex);
      report = now;
    });
  }
  uint64_t number() {
    const std::lock_guard lock(mutex);
    return report.number;
  }
};

TEST(PlacesThreads, PartsReportUntilTheyAreClosed) {
  Reported wire(FakeRun{}), respond(FakeRun{});
  Part<FakeRun> never; // without a run
  wire.start();
  respond.start();
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; i++)
    readers.emplace_back([&] {
      for (uint64_t before = 0, now = 0; now < 50; before = now) {
        now = std::min(wire.number(), respond.number());
        EXPECT_GE(now, before);
        EXPECT_FALSE(wire.part.ended || respond.part.ended);
      }
    });
  for (std::thread &reader : readers)
    reader.join();
  for (int again = 0; again < 2; again++) {
    EXPECT_TRUE(wire.part.close());
    EXPECT_TRUE(respond.part.close());
    EXPECT_TRUE(never.close());
  }
  EXPECT_TRUE(wire.part.ended);
  EXPECT_EQ(wire.part.run->closes, 1);
  EXPECT_EQ(wire.number(), wire.part.run->last.number) << "the last report is whole";
}

TEST(PlacesThreads, AFailureIsSeenAndKept) {
  Reported send(FakeRun{.most = 20});
  send.start();
  while (!send.part.ended)
    std::this_thread::sleep_for(1ms);
  ASSERT_FALSE(send.part.status);
  EXPECT_EQ(send.part.status.error().message, "the port is gone");
  EXPECT_EQ(send.number(), 20U);
  const Status closed = send.part.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().message, "the port is gone");
}

// Receivers and senders are prepared in threads beside the wire's; ports that are not there.
TEST(PlacesThreads, PreparationFailsByName) {
  EndpointSetup setup;
  setup.ports.sender.ifname = "xr-no-sender";
  setup.ports.receiver.ifname = "xr-no-receiver";
  setup.peer_mac = packet::Mac{2};
  Plan plan;
  plan.flows.emplace_back();
  const auto made = Endpoints::prepare(plan, simulate::Scenario(), setup);
  ASSERT_FALSE(made.ok());
  EXPECT_FALSE(made.error().message.empty());
}

TEST(PlacesThreads, WithoutPortsThereIsNothingToStart) {
  auto made = Endpoints::prepare(Plan(), simulate::Scenario(), EndpointSetup());
  if (!made)
    GTEST_SKIP() << made.error().message; // the lock of attachments needs a privilege
  ASSERT_TRUE(made->start());
  ASSERT_TRUE(made->start_senders());
  EXPECT_TRUE(made->check());
  EXPECT_TRUE(made->sending());
  made->stop_senders();
  EXPECT_TRUE(made->close());
}

TEST(PlacesThreads, ACaptureOfNoPortFails) {
  Plan plan;
  plan.captures.emplace_back();
  RunPorts ports;
  ports.sender = ports.left = ports.right = ports.receiver = {"xr-no-port"};
  const auto started = Captures::start(plan, ports, "/nowhere");
  ASSERT_FALSE(started.ok());
  EXPECT_TRUE(started.error().message.starts_with("capture ")) << started.error().message;
}

} // namespace
} // namespace xr::test::places_threads_test
