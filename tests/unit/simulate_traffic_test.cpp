// SPDX-License-Identifier: Apache-2.0
#include "simulate/traffic.h"

#include <cmath>
#include <map>
#include <set>

#include "simulate_scenarios.h"

namespace xr::simulate::simulate_traffic_test {
namespace {

TEST(SimulateTraffic, SizesFollowTheirDistribution) {
  const auto web = size_distribution("websearch").get();
  EXPECT_EQ(size_of(web, 0), 1U);
  EXPECT_EQ(size_of(web, 0.15), 10'000U);
  EXPECT_EQ(size_of(web, 0.175), 15'000U);
  EXPECT_EQ(size_of(web, 0.97), 10'000'000U);
  EXPECT_NEAR(mean_size(web), 1'711'250, 1); // by hand from the points
  const auto hadoop = size_distribution("hadoop").get();
  EXPECT_EQ(size_of(hadoop, 0.5), 700U);
  EXPECT_LE(size_of(hadoop, 0.999999), 10'000'000U);
  EXPECT_EQ(size_distribution("mail").error().hint, "websearch or hadoop");
}

TEST(SimulateTraffic, PoissonHasItsLoadAndRandomGaps) {
  PoissonTraffic traffic;
  traffic.sources = traffic.destinations = {"host-1", "host-2", "host-3", "host-4"};
  traffic.sizes = size_distribution("hadoop").get();
  traffic.load = 0.5;
  traffic.rate = 10 * kGbit;
  traffic.until_ns = 1000 * kMs;
  const auto flows = poisson(traffic, {}).get();
  double bytes = 0;
  std::map<std::string, std::vector<double>> starts;
  uint64_t last = 0;
  for (const FlowSetup &flow : flows) {
    EXPECT_NE(flow.src, flow.dst);
    EXPECT_GE(flow.start_ns, last);
    last = flow.start_ns;
    EXPECT_EQ(flow.flow.messages, 1U);
    bytes += static_cast<double>(flow.flow.size.parts[0].bytes);
    starts[flow.src].push_back(static_cast<double>(flow.start_ns));
  }
  EXPECT_NEAR(bytes * 8, 4 * 0.5 * 10e9, 0.1 * 4 * 0.5 * 10e9);
  ASSERT_EQ(starts.size(), 4U);
  for (const auto &[source, times] : starts) { // standard deviation of the gaps is their mean
    double sum = 0, squares = 0;
    for (size_t i = 1; i < times.size(); i++) {
      sum += times[i] - times[i - 1];
      squares += (times[i] - times[i - 1]) * (times[i] - times[i - 1]);
    }
    const double n = static_cast<double>(times.size() - 1), mean = sum / n;
    EXPECT_NEAR(std::sqrt(squares / n - mean * mean) / mean, 1, 0.05) << source;
  }
  EXPECT_EQ(poisson(traffic, {}).get().size(), flows.size());
  traffic.seed = 2;
  EXPECT_NE(poisson(traffic, {}).get()[0].start_ns, flows[0].start_ns);
}

TEST(SimulateTraffic, IncastsComeTogether) {
  Incast many;
  for (int i = 1; i <= 10; i++)
    many.sources.push_back("host-" + std::to_string(i));
  many.destination = "host-3";
  many.degree = 4;
  many.bytes = 64'000;
  many.from_ns = kMs;
  many.until_ns = 4 * kMs;
  many.every_ns = kMs;
  FlowSetup like;
  like.name = "burst";
  const auto flows = incast(many, like).get();
  ASSERT_EQ(flows.size(), 12U);
  std::set<std::set<std::string>> groups;
  for (size_t round = 0; round < 3; round++) {
    std::set<std::string> sources;
    for (size_t i = 0; i < 4; i++) {
      const FlowSetup &flow = flows[4 * round + i];
      EXPECT_EQ(flow.start_ns, (round + 1) * kMs);
      EXPECT_EQ(flow.dst, "host-3");
      sources.insert(flow.src);
    }
    EXPECT_EQ(sources.size(), 4U);
    EXPECT_FALSE(sources.contains("host-3"));
    groups.insert(sources);
  }
  EXPECT_GT(groups.size(), 1U);
  many.degree = 10; // nine are left
  EXPECT_EQ(incast(many, like).error().message, "an incast of 10 has 9 sources");
}

TEST(SimulateTraffic, OnOffAndListsAreRows) {
  FlowSetup like;
  like.src = "sender-1";
  like.dst = "receiver";
  const auto periods = on_off({.bytes = 1000, .until_ns = 3 * kMs, .period_ns = kMs}, like).get();
  ASSERT_EQ(periods.size(), 3U);
  EXPECT_EQ(periods[2].start_ns, 2 * kMs);

  const auto rows =
      listed_flows("# a comment\nhost-1 host-2 64k 10us\n\nhost-2\thost-1 1M 0s # x\n", like);
  ASSERT_EQ(rows.get().size(), 2U);
  EXPECT_EQ(rows.get()[0].start_ns, 10 * kUs);
  EXPECT_EQ(rows.get()[1].src, "host-2");
  EXPECT_EQ(listed_flows("a b 64k", like).error().message, "line 1: 3 words instead of 4 or 5");
  const auto named = listed_flows("a b endless 0s first", like).get();
  EXPECT_EQ(named[0].name, "first");
  EXPECT_EQ(named[0].flow.messages, 0U);
  EXPECT_EQ(listed_flows("a b 1k 0s a/b", like).error().message.substr(0, 8), "line 1: ");
  EXPECT_TRUE(listed_flows("\na b x 1us", like).error().message.starts_with("line 2: "));
}

TEST(SimulateTraffic, FinishesAndIsSlowerThanAlone) {
  PoissonTraffic traffic;
  Scenario scenario;
  scenario.topology = {
      .kind = Topology::Kind::LeafSpine, .leaves = 2, .spines = 2, .hosts = 4, .rate = 10 * kGbit};
  scenario.duration_ns = 30 * kMs;
  scenario.queue = queue_words("buffer 10M red 5k 200k 1%");
  for (int i = 1; i <= 8; i++)
    traffic.sources.push_back("host-" + std::to_string(i));
  traffic.destinations = traffic.sources;
  traffic.sizes = size_distribution("hadoop").get();
  traffic.rate = 10 * kGbit;
  traffic.until_ns = 10 * kMs;
  FlowSetup like;
  like.flow = flow_words("write pmtu 1024 cc dcqcn preset paper");
  scenario.flows = poisson(traffic, like).get();
  ASSERT_GT(scenario.flows.size(), 50U);
  const ExperimentMeasurement all = run(scenario);
  size_t over = 0;
  for (const ExperimentFlow &flow : all.flows) {
    over += flow.end_ns.has_value();
    EXPECT_GE(flow.slowdown.value_or(1), 0.999) << flow.name;
  }
  EXPECT_GE(over, all.flows.size() - 3);
}

} // namespace
} // namespace xr::simulate::simulate_traffic_test
