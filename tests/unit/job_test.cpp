// SPDX-License-Identifier: Apache-2.0
// Collectives on idle links to the ns, by formulas that are written here once more; what waits for
// what; the reasons of late steps.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "job/collective.h"
#include "progress/progress.h"
#include "progress/summary.h"
#include "simulate/fluid.h"
#include "simulate/simulation.h"
#include "wire/link_words.h"

namespace xr::job_test {
namespace {

using job::Collective;
using job::Job;
using job::Need;
using job::Operation;
using progress::Way;

constexpr uint64_t kGbit = 1'000'000'000, kDelay = 500;
// RoCEv2 over IPv4: Ethernet 14, IPv4 20, UDP 8, BTH 12, iCRC 4; RETH 16, immediate 4 (IBA vol. 1).
constexpr uint64_t kHeaders = 58, kReth = 16, kImmediate = 4, kAeth = 4, kPmtu = 4096;
constexpr uint64_t kRate = 100 * kGbit;

std::vector<std::string> hosts(unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = 1; i <= count; i++)
    names.push_back("h" + std::to_string(i));
  return names;
}

simulate::Scenario one_switch(unsigned count) {
  simulate::Scenario scenario;
  scenario.topology.kind = simulate::Topology::Kind::Graph;
  scenario.topology.rate = kRate;
  scenario.topology.delay = kDelay;
  scenario.topology.graph.switches = {"s"};
  for (const std::string &host : hosts(count))
    scenario.topology.graph.links.push_back({.a = host, .b = "s", .rate = kRate, .delay = kDelay});
  scenario.duration_ns = 10 * kGbit;
  scenario.until_done = true;
  scenario.queue = wire::parse_link({"buffer", "100M"}).get();
  scenario.reliability.window = 65536;
  return scenario;
}

simulate::JobSetup setup_of(const Collective &collective) {
  auto job = job::expand(collective);
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().message);
  simulate::JobSetup setup{std::move(job).get(), {}};
  setup.like.flow.verb = packet::Verb::WriteImmediate;
  setup.like.flow.pmtu = kPmtu;
  return setup;
}

Collective collective(const char *kind, const char *algorithm, unsigned ranks, uint64_t size) {
  Collective c;
  c.name = "job";
  c.kind = kind;
  c.algorithm = algorithm;
  c.hosts = hosts(ranks);
  c.size = size;
  return c;
}

ExperimentMeasurement run(const simulate::Scenario &scenario) {
  auto simulation = simulate::Simulation::make(scenario);
  EXPECT_TRUE(simulation.ok()) << (simulation.ok() ? "" : simulation.error().message);
  (*simulation)->run_until(scenario.duration_ns);
  const simulate::FrameTotals &t = (*simulation)->totals();
  EXPECT_EQ(t.sent + t.made, t.received + t.dropped + t.in_flight);
  return (*simulation)->measure();
}

ExperimentJob run_job(const Collective &c) {
  simulate::Scenario scenario = one_switch(static_cast<unsigned>(c.hosts.size()));
  scenario.jobs.push_back(setup_of(c));
  const ExperimentMeasurement measured = run(scenario);
  EXPECT_EQ(measured.jobs.size(), 1U);
  EXPECT_EQ(measured.jobs[0].left, 0U);
  return measured.jobs[0];
}

double seconds_ns(uint64_t bytes) { return static_cast<double>(bytes) * 8e9 / kRate; }

// A message of whole packets: on the host's link, then its last packet on the switch's.
double message_ns(uint64_t bytes) {
  const uint64_t packets = bytes / kPmtu;
  return seconds_ns(bytes + packets * kHeaders + kReth + kImmediate) +
         seconds_ns(kPmtu + kHeaders + kImmediate) + 2 * kDelay;
}
// The ACK of a message goes before the next one: both become due when the message has come.
double ack_ns() { return seconds_ns(kHeaders + kAeth); }

// The parts of n ranks are whole packets, and the steps follow one another.
double steps_ns(const std::vector<uint64_t> &messages) {
  double sum = 0;
  for (const uint64_t bytes : messages)
    sum += message_ns(bytes);
  return sum + static_cast<double>(messages.size() - 1) * ack_ns();
}

uint64_t time_of(const ExperimentJob &job) {
  return *job.steps.front().end_ns - job.steps.front().start_ns;
}

TEST(JobRing, TakesTwiceNLessOneSteps) {
  for (const unsigned n : {2U, 4U, 8U, 16U}) {
    const uint64_t part = 16 * kPmtu;
    const ExperimentJob all = run_job(collective("all_reduce", "ring", n, n * part));
    const double expected = steps_ns(std::vector<uint64_t>(2 * (n - 1), part));
    EXPECT_NEAR(static_cast<double>(time_of(all)), expected, 2.0 * n) << n; // whole ns a message
    EXPECT_EQ(all.messages, 2 * (n - 1) * n);
    EXPECT_EQ(all.bytes, 2 * (n - 1) * n * part);
    const double algbw = static_cast<double>(n * part) * 8e9 / static_cast<double>(time_of(all));
    EXPECT_NEAR(all.steps[0].algbw_bps, algbw, algbw * 1e-9);
    EXPECT_NEAR(all.steps[0].busbw_bps, algbw * 2 * (n - 1) / n, algbw * 1e-9);
    EXPECT_EQ(all.steps[0].why, ExperimentJob::Why::Nothing);
    EXPECT_EQ(all.incast, 1U);
  }
}

TEST(JobRing, HalvesTakeHalf) {
  const uint64_t part = 8 * kPmtu;
  for (const char *kind : {"all_gather", "reduce_scatter"}) {
    const ExperimentJob half = run_job(collective(kind, "ring", 8, 8 * part));
    EXPECT_NEAR(static_cast<double>(time_of(half)), steps_ns(std::vector<uint64_t>(7, part)), 8);
  }
}

TEST(JobHalvingDoubling, TakesTwiceLogSteps) {
  const uint64_t size = 64 * kPmtu;
  const ExperimentJob job = run_job(collective("all_reduce", "halving-doubling", 8, size));
  EXPECT_NEAR(static_cast<double>(time_of(job)),
              steps_ns({size / 2, size / 4, size / 8, size / 8, size / 4, size / 2}), 8);
  EXPECT_EQ(job.bytes, 8 * 2 * (size / 2 + size / 4 + size / 8));
}

// Two ranks: half of the buffer in each of two trees, whose roots are different ranks. Up and down,
// each link carries one half at a time.
TEST(JobDoubleTree, OfTwoRanks) {
  const uint64_t half = 32 * kPmtu;
  const ExperimentJob job = run_job(collective("all_reduce", "double-binary-tree", 2, 2 * half));
  EXPECT_NEAR(static_cast<double>(time_of(job)), steps_ns({half, half}), 4);
}

// Each buffer goes up n - 1 edges and down n - 1 edges, half in each tree.
TEST(JobDoubleTree, MovesEachHalfOverEachEdgeTwice) {
  for (const unsigned n : {2U, 3U, 5U, 6U, 7U, 8U, 13U, 16U}) {
    Collective c = collective("all_reduce", "double-binary-tree", n, 64 * kPmtu);
    c.chunk = 8 * kPmtu;
    const ExperimentJob job = run_job(c);
    EXPECT_EQ(job.bytes, 2 * (n - 1) * 64 * kPmtu) << n;
    EXPECT_LE(job.incast, 4U) << n; // two children and a parent in each tree, at most
  }
}

TEST(JobAllToAll, FillsEachLink) {
  const unsigned n = 8;
  const uint64_t part = 32 * kPmtu;
  const ExperimentJob job = run_job(collective("all_to_all", "parallel", n, n * part));
  EXPECT_EQ(job.bytes, n * (n - 1) * part);
  EXPECT_EQ(job.incast, n - 1);
  // No rank can be faster than its link; the last packets of n - 1 senders wait for one another.
  const double least =
      seconds_ns((n - 1) * (part + part / kPmtu * kHeaders + kReth + kImmediate)) + 2 * kDelay;
  EXPECT_GE(static_cast<double>(time_of(job)), least);
  EXPECT_LE(static_cast<double>(time_of(job)), least + n * seconds_ns(kPmtu + 100) + 200);
}

TEST(JobAllToAll, PxnSendsWhatANodeHasTogether) {
  Collective c = collective("all_to_all", "pxn", 8, 8 * 4 * kPmtu);
  c.node = 2;
  const ExperimentJob job = run_job(c);
  EXPECT_EQ(job.bytes, 8ULL * 3 * 2 * 4 * kPmtu); // to its counterpart of 3 nodes, for 2 ranks each
  EXPECT_EQ(job.messages, 8 * 3U);
  c.local_rate = kGbit;
  EXPECT_GT(time_of(run_job(c)), time_of(job) + 4 * kPmtu * 8);
}

TEST(JobBroadcast, LeavesTheRoot) {
  Collective c = collective("broadcast", "", 4, 16 * kPmtu);
  c.root = 2;
  const ExperimentJob job = run_job(c);
  EXPECT_EQ(job.bytes, 3 * 16 * kPmtu);
  EXPECT_GE(static_cast<double>(time_of(job)), 3 * seconds_ns(16 * (kPmtu + kHeaders)));
}

uint64_t wire_bytes(uint64_t bytes) {
  return bytes + bytes / kPmtu * kHeaders + kReth + kImmediate;
}

ExperimentJob run_fluid(const Collective &c, uint64_t rate = kRate) {
  simulate::Scenario scenario = one_switch(static_cast<unsigned>(c.hosts.size()));
  scenario.topology.rate = rate;
  for (simulate::Graph::Link &link : scenario.topology.graph.links)
    link.rate = rate;
  scenario.fluid = true;
  scenario.jobs.push_back(setup_of(c));
  return run(scenario).jobs[0];
}

// 2 (n - 1) steps of a part's bytes at the rate, and the latency: of each link, and of the last
// packet on the second one. 8 Gbit/s: a byte is a ns.
TEST(JobFluid, RingIsByItsFormulaToTheNs) {
  for (const unsigned n : {2U, 4U, 8U, 16U}) {
    const uint64_t part = 16 * kPmtu;
    const ExperimentJob job = run_fluid(collective("all_reduce", "ring", n, n * part), 8 * kGbit);
    const uint64_t latency = 2 * kDelay + kPmtu + kHeaders + kReth + kImmediate;
    EXPECT_EQ(time_of(job), 2 * (n - 1) * (wire_bytes(part) + latency)) << n;
  }
}

TEST(JobFluid, AllToAllSharesLinks) {
  const unsigned n = 8;
  const uint64_t part = 32 * kPmtu;
  const ExperimentJob job = run_fluid(collective("all_to_all", "parallel", n, n * part), 8 * kGbit);
  const uint64_t latency = 2 * kDelay + kPmtu + kHeaders + kReth + kImmediate;
  EXPECT_NEAR(static_cast<double>(time_of(job)),
              static_cast<double>((n - 1) * wire_bytes(part) + latency), 1);
}

// A textbook's case: A and B share one link, B and C another one of twice the rate.
TEST(JobFluid, IsMaxMinFair) {
  simulate::Fluid fluid({10e9, 20e9});
  const std::vector<uint32_t> first{0}, both{0, 1}, second{1};
  fluid.begin(0, 0, first, 50'000, 0);
  fluid.begin(0, 1, both, 100'000, 0);
  fluid.begin(0, 2, second, 150'000, 0);
  const auto next = [&]() -> std::pair<uint64_t, uint32_t> {
    uint32_t flow = 0;
    uint64_t at = fluid.next();
    while (!fluid.take(at, flow))
      at = fluid.next();
    return {at, flow};
  };
  // 5, 5 and 15 Gbit/s; at 10 us the first and the third have ended, and the second has the link
  EXPECT_EQ(next(), (std::pair<uint64_t, uint32_t>{10'000, 0}));
  EXPECT_EQ(next(), (std::pair<uint64_t, uint32_t>{10'000, 2}));
  EXPECT_NEAR(fluid.sent_bits(10'000, 1), 50'000, 1);
  EXPECT_EQ(next(), (std::pair<uint64_t, uint32_t>{15'000, 1}));
  EXPECT_NEAR(fluid.link_bits(15'000, 0), 150'000, 1);
  EXPECT_EQ(fluid.next(), kNever);
}

TEST(JobFluid, IsNearThePackets) {
  for (const char *algorithm : {"ring", "halving-doubling", "double-binary-tree"}) {
    const Collective c = collective("all_reduce", algorithm, 8, 8 * 64 * kPmtu);
    const auto fluid = static_cast<double>(time_of(run_fluid(c)));
    EXPECT_NEAR(static_cast<double>(time_of(run_job(c))) / fluid, 1, 0.02) << algorithm;
  }
}

TEST(JobFluid, RefusesWhatHasNoPackets) {
  simulate::Scenario scenario = one_switch(2);
  scenario.jobs.push_back(setup_of(collective("broadcast", "", 2, 1000)));
  scenario.fluid = true;
  scenario.routing.kind = simulate::Routing::Kind::SprayRandom;
  EXPECT_FALSE(simulate::Simulation::make(scenario).ok());
}

// Whatever way it is cut, the same bytes arrive.
TEST(JobHabits, MoveTheSameBytes) {
  const uint64_t size = 1'000'003;
  for (const char *algorithm : {"ring", "bidirectional-ring"})
    for (const unsigned channels : {1U, 3U})
      for (const unsigned qps : {1U, 4U})
        for (const bool split : {false, true})
          for (const uint64_t chunk : {0U, 50'000U})
            for (const bool cts : {false, true}) {
              Collective c = collective("all_reduce", algorithm, 5, size);
              c.channels = channels;
              c.qps = qps;
              c.split = split;
              c.chunk = chunk;
              c.cts = cts;
              EXPECT_EQ(run_job(c).bytes, 2 * 4 * size);
            }
}

TEST(JobWhy, NamesTheRankThatComputesLonger) {
  Collective c = collective("all_reduce", "ring", 8, 8 * 16 * kPmtu);
  c.iterations = 6;
  c.compute_ns = 100'000;
  c.late = {{.rank = 3, .by_ns = 50'000, .from = 4}};
  for (const bool cts : {false, true}) {
    c.cts = cts;
    const ExperimentJob job = run_job(c);
    ASSERT_EQ(job.steps.size(), 6U);
    for (unsigned i = 0; i < 6; i++) {
      EXPECT_EQ(job.steps[i].why != ExperimentJob::Why::Nothing, i >= 3) << i;
      if (i >= 3) {
        EXPECT_EQ(job.steps[i].rank, 3U);
        EXPECT_EQ(job.steps[i].excess_ns, 50'000U);
      }
    }
    EXPECT_EQ(job.ranks[3].slowest, 3U);
  }
}

// A flow of others through the same queue.
TEST(JobWhy, NamesTheLinkThatIsCongested) {
  simulate::Scenario scenario = one_switch(5);
  Collective c = collective("all_reduce", "ring", 4, 4 * 256 * kPmtu);
  scenario.jobs.push_back(setup_of(c));
  simulate::FlowSetup other;
  other.src = "h5";
  other.dst = "h3";
  other.flow.verb = packet::Verb::Write;
  other.flow.size.parts = {{.bytes = 100 << 20, .weight = 1}};
  scenario.flows.push_back(other);
  const ExperimentJob job = run(scenario).jobs[0];
  EXPECT_EQ(job.steps[0].why, ExperimentJob::Why::CongestedLink);
  EXPECT_EQ(job.steps[0].rank, 1U);
  EXPECT_EQ(job.steps[0].where, "1-2 at s:h3");
}

// All links are about equally used: none is to blame.
TEST(JobWhy, ABalancedExchangeHasNoCongestedLink) {
  const ExperimentJob job = run_job(collective("all_to_all", "parallel", 8, 8 * 64 * kPmtu));
  EXPECT_EQ(job.steps[0].why, ExperimentJob::Why::SharedLinks);
  EXPECT_FALSE(job.steps[0].rank);
  EXPECT_EQ(job.steps[0].where, "");
}

// Two leaves and two spines: two flows on one uplink, none on the other, or one on each.
TEST(JobImbalance, IsTheMeanDistanceFromTheMean) {
  std::set<double> seen;
  for (uint64_t seed = 1; seed <= 16; seed++) {
    simulate::Scenario scenario;
    scenario.topology = {
        .kind = simulate::Topology::Kind::LeafSpine, .leaves = 2, .spines = 2, .hosts = 2};
    scenario.topology.rate = kRate;
    scenario.duration_ns = 100'000;
    scenario.seed = seed;
    for (const auto &[src, dst] : {std::pair{"host-1", "host-3"}, std::pair{"host-2", "host-4"}}) {
      simulate::FlowSetup setup;
      setup.src = src;
      setup.dst = dst;
      setup.flow.messages = 1;
      scenario.flows.push_back(setup);
    }
    const ExperimentMeasurement measured = run(scenario);
    ASSERT_TRUE(measured.flow_imbalance);
    seen.insert(*measured.flow_imbalance);
  }
  EXPECT_EQ(seen, (std::set<double>{0, 1}));
  EXPECT_FALSE(run(one_switch(2)).flow_imbalance);
}

TEST(JobOverlap, IsWhatComputesWhileItExchanges) {
  Job job;
  job.name = "both";
  job.hosts = hosts(2);
  job.steps.push_back({.name = "1"});
  job.add({.kind = Operation::Kind::Compute, .rank = 0, .step = 0, .amount = 5000});
  job.add(
      {.kind = Operation::Kind::Message, .rank = 0, .peer = 1, .step = 0, .amount = kPmtu * 64});
  simulate::Scenario scenario = one_switch(2);
  scenario.jobs.push_back({job, setup_of(collective("broadcast", "", 2, 1)).like});
  const ExperimentJob seen = run(scenario).jobs[0];
  const double exchange = static_cast<double>(seen.ranks[0].exchange_ns);
  EXPECT_NEAR(exchange, message_ns(kPmtu * 64), 2);
  EXPECT_NEAR(seen.steps[0].overlap, 5000 / (2 * exchange), 1e-3); // of rank 0 alone
}

// Own flows: one-shot, barrier, count, delay.
TEST(JobAfter, StartsFlowsWhenOthersAreThere) {
  simulate::Scenario scenario = one_switch(4);
  const auto flow = [&](const char *name, const char *src, const char *dst, uint64_t bytes) {
    simulate::FlowSetup setup;
    setup.name = name;
    setup.src = src;
    setup.dst = dst;
    setup.flow.verb = packet::Verb::Write;
    setup.flow.messages = 1;
    setup.flow.size.parts = {{.bytes = bytes, .weight = 1}};
    return setup;
  };
  using When = Need::When;
  scenario.flows = {flow("a", "h1", "h2", 100'000),  flow("b", "h3", "h4", 200'000),
                    flow("both", "h1", "h2", 1000),  flow("any", "h2", "h1", 1000),
                    flow("later", "h4", "h3", 1000), flow("sent", "h4", "h1", 1000)};
  scenario.flows[2].after = {{"a"}, {"b"}};
  scenario.flows[3].after = {{"a"}, {"b"}};
  scenario.flows[3].fewest = 1;
  scenario.flows[4].after = {{"b", When::Begun}};
  scenario.flows[4].after_ns = 5000;
  scenario.flows[5].after = {{"b", When::Sent}};
  const ExperimentMeasurement measured = run(scenario);
  const auto row = [&](size_t i) { return measured.flows[i]; };
  // END of a reliable flow is when its sender knows; the receiver had it a way back before
  const uint64_t back = 2 * kDelay + 2 * static_cast<uint64_t>(ack_ns());
  EXPECT_NEAR(static_cast<double>(row(2).start_ns), static_cast<double>(*row(1).end_ns - back), 4);
  EXPECT_NEAR(static_cast<double>(row(3).start_ns), static_cast<double>(*row(0).end_ns - back), 4);
  EXPECT_EQ(row(4).start_ns, 5000U);
  EXPECT_EQ(row(5).start_ns, *row(1).end_ns);
}

TEST(JobAfter, RefusesWhatIsNotThere) {
  simulate::Scenario scenario = one_switch(2);
  simulate::FlowSetup setup;
  setup.src = "h1";
  setup.dst = "h2";
  setup.after = {{"nobody"}};
  scenario.flows = {setup};
  EXPECT_FALSE(simulate::Simulation::make(scenario).ok());
}

TEST(JobErrors, HaveHints) {
  for (const auto &[kind, algorithm, ranks, size] :
       std::vector<std::tuple<const char *, const char *, unsigned, uint64_t>>{
           {"all_reduce", "halving-doubling", 6, 100},
           {"all_reduce", "tree", 4, 100},
           {"gossip", "", 4, 100},
           {"broadcast", "", 1, 100},
           {"broadcast", "", 4, 0}}) {
    const auto job = job::expand(collective(kind, algorithm, ranks, size));
    ASSERT_FALSE(job.ok()) << kind;
    EXPECT_FALSE(job.error().hint.empty()) << kind;
  }
}

TEST(JobPlacement, IsByItsSeed) {
  const auto all = hosts(16);
  EXPECT_EQ(job::place("linear", 4, all, 1).get(), hosts(4));
  const auto one = job::place("random", 16, all, 1).get(),
             same = job::place("random 1", 16, all, 9).get();
  EXPECT_EQ(one, same);
  EXPECT_NE(one, all);
  EXPECT_EQ(std::set<std::string>(one.begin(), one.end()).size(), 16U);
  EXPECT_FALSE(job::place("linear", 17, all, 1).ok());
  EXPECT_FALSE(job::place("scattered", 4, all, 1).ok());
}

TEST(JobSkew, OfZipfSumsUp) {
  const auto rows = job::zipf_matrix(8, 1'000'000, 1.2, 7);
  uint64_t sum = 0, most = 0, least = UINT64_MAX;
  for (const uint64_t bytes : rows[0]) {
    sum += bytes;
    most = std::max(most, bytes);
    least = std::min(least, bytes);
  }
  EXPECT_EQ(sum, 1'000'000U);
  EXPECT_NEAR(static_cast<double>(most) / static_cast<double>(least), std::pow(8, 1.2), 0.1);
}

// Operations of one processor follow one another; those of others do not wait.
TEST(JobProgressTest, ProcessorsTakeTurns) {
  Job job;
  job.hosts = hosts(1);
  const auto compute = [&](uint32_t channel, uint64_t ns) {
    return job.add({.kind = Operation::Kind::Compute, .rank = 0, .channel = channel, .amount = ns});
  };
  const uint32_t a = compute(0, 10), b = compute(0, 20), c = compute(1, 5);
  const uint32_t begun = job.add({}, {{b, Need::When::Begun}});
  progress::JobProgress progress(job);
  progress.start(100);
  while (progress.wake_at() != kNever)
    progress.advance(progress.wake_at());
  EXPECT_TRUE(progress.done());
  EXPECT_EQ(progress.times(a).complete, 110U);
  EXPECT_EQ(progress.times(b).begun, 110U);
  EXPECT_EQ(progress.times(b).complete, 130U);
  EXPECT_EQ(progress.times(c).complete, 105U);
  EXPECT_EQ(progress.times(begun).complete, 110U);
}

// Two ranks that compute in turn, more often than a step has spans: these are parts of the step,
// with the share of each in which the rank did so.
TEST(JobSummary, MergesSpans) {
  constexpr uint64_t kTurns = 200, kLong = 30, kShort = 10, kMost = 128;
  Job job;
  job.hosts = hosts(100);
  job.steps.resize(1);
  std::vector<Need> before;
  for (uint64_t i = 0; i < 2 * kTurns; i++)
    before = {{job.add({.kind = Operation::Kind::Compute,
                        .rank = static_cast<uint32_t>(i % 2),
                        .step = 0,
                        .amount = i % 2 ? kShort : kLong},
                       before)}};
  progress::JobProgress progress(job);
  progress.start(100);
  while (progress.wake_at() != kNever)
    progress.advance(progress.wake_at());
  const ExperimentJob summary = progress::summarise(progress, [](uint32_t) { return Way(); });
  for (const uint32_t rank : {0U, 1U}) {
    uint64_t spans = 0, end = 100;
    double busy = 0;
    for (const ExperimentJob::Span &span : summary.spans) {
      if (span.rank != rank)
        continue;
      spans++;
      EXPECT_GE(span.from_ns, end);
      EXPECT_LE(span.share, 1);
      end = span.to_ns;
      busy += span.share * static_cast<double>(span.to_ns - span.from_ns);
    }
    EXPECT_LE(spans, kMost);
    EXPECT_GT(spans, kMost / 2);
    EXPECT_LE(end, 100 + kTurns * (kLong + kShort));
    EXPECT_NEAR(busy, static_cast<double>(kTurns * (rank ? kShort : kLong)), 0.01);
  }
}

} // namespace
} // namespace xr::job_test
