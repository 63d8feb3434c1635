// SPDX-License-Identifier: Apache-2.0
// Statistics of every selector: from the words of a rule to the packets selected of a million.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "impair/rule.h"
#include "roce/match.h"
#include "roce/select.h"
#include "statistics.h"

// The environment of one rule.
struct roce_env {
  const uint32_t *points;
  size_t count;
  roce_rule_count counts;
  uint64_t now;
};

[[maybe_unused]] static roce_rule_count *roce_rule_count_at(roce_env *env, __u32) {
  return &env->counts;
}
static __u32 roce_rule_point(roce_env *env, __u32, __u32 index) {
  return index < env->count ? env->points[index] : 0;
}
static __u64 roce_clock(roce_env *env) { return env->now; }

uint32_t lowest_in_bpf(uint64_t word); // select_bpf.cpp

namespace xr::test::select_test {
namespace {

constexpr uint64_t kMany = 1'000'000;

impair::Rule rule_of(const std::string &words, uint64_t seed) {
  auto rule = impair::parse({words, fmt::format("seed {}", seed)});
  EXPECT_TRUE(rule.ok()) << words << ": " << rule.error().message;
  return rule ? *rule : impair::Rule{};
}

// A rule and the packets that it matches.
class Line {
public:
  explicit Line(const std::string &words, uint64_t seed = 1)
      : rule_(rule_of(words + " drop", seed)) {
    env_.points = rule_.points.data();
    env_.count = rule_.points.size();
  }

  bool next(uint32_t length = 1000) {
    __u64 n = 0;
    return roce_select(&env_, &rule_.compiled, &state_, &env_.counts, length, &n);
  }
  bool acts() { return next() && roce_within_limit(&env_, &rule_.compiled, &state_, &period_); }
  void undo() { roce_limit_return(&rule_.compiled, &state_, period_); }

  // Places, from 1, of those selected among the next `packets`.
  std::vector<uint64_t> places(uint64_t packets, uint32_t length = 1000) {
    std::vector<uint64_t> selected;
    for (uint64_t i = 1; i <= packets; i++)
      if (next(length))
        selected.push_back(i);
    return selected;
  }
  uint64_t count(uint64_t packets, uint32_t length = 1000) {
    uint64_t selected = 0;
    for (uint64_t i = 0; i < packets; i++)
      selected += next(length);
    return selected;
  }

  // More of them than a rule's words have room for.
  void points(const std::vector<uint32_t> &points) {
    rule_.points = points;
    rule_.compiled.select.points = static_cast<uint16_t>(points.size());
    env_.points = rule_.points.data();
    env_.count = points.size();
  }

  void start(uint64_t ns) { rule_.compiled.select.start_ns = ns; }
  void at(uint64_t ns) { env_.now = ns; }
  uint64_t matched() const { return env_.counts.matched; }
  const impair::Rule &rule() const { return rule_; }

private:
  impair::Rule rule_;
  roce_rule_state state_{};
  roce_env env_{};
  uint32_t period_ = 0;
};

// Runs of successive places: where they begin, and their lengths.
struct Streak {
  uint64_t begin, length;
  bool operator==(const Streak &) const = default;
};

std::vector<Streak> runs_of(const std::vector<uint64_t> &places) {
  std::vector<Streak> runs;
  for (const uint64_t place : places) {
    if (runs.empty() || place != runs.back().begin + runs.back().length)
      runs.push_back({place, 0});
    runs.back().length++;
  }
  return runs;
}

std::vector<uint64_t> distances_of(const std::vector<uint64_t> &places) {
  std::vector<uint64_t> distances(places.size());
  std::adjacent_difference(places.begin(), places.end(), distances.begin());
  return distances;
}

TEST(Select, Probability) {
  for (const double p : {0.5, 0.01, 1e-4})
    expect_usual(fmt::format("probability {}", p), [p](uint64_t seed) {
      Line line(fmt::format("probability {}", p), seed);
      const auto count = static_cast<double>(line.count(kMany));
      EXPECT_EQ(line.matched(), kMany);
      return z_of_count(count, kMany, p);
    });
  EXPECT_EQ(Line("probability 0").count(kMany), 0U);
  EXPECT_EQ(Line("probability 1").count(kMany), kMany);
  EXPECT_EQ(Line("always").count(kMany), kMany);
}

// Even in schedules, which take another way.
TEST(Select, ProbabilityOfAScheduleIsTheSame) {
  Line plain("probability 10%", 5), scheduled("probability 10% for 1h", 5);
  EXPECT_EQ(plain.places(10'000), scheduled.places(10'000));
}

TEST(Select, SuccessiveDrawsAreIndependent) {
  for (const size_t lag : {1, 2, 3, 4, 5, 8, 16, 64, 256, 1024})
    expect_usual(fmt::format("correlation at distance {}", lag), [lag](uint64_t seed) {
      Line line("probability 0.5", seed);
      std::vector<int> sign(kMany);
      for (int &s : sign)
        s = line.next() ? 1 : -1;
      int64_t sum = 0;
      for (size_t i = lag; i < sign.size(); i++)
        sum += sign[i] * sign[i - lag];
      return static_cast<double>(sum) / std::sqrt(static_cast<double>(kMany - lag));
    });
  expect_usual("eight in a row", [](uint64_t seed) {
    Line line("probability 0.5", seed);
    std::vector<uint64_t> bins(256);
    for (uint64_t i = 0; i < kMany / 8; i++) {
      unsigned pattern = 0;
      for (int bit = 0; bit < 8; bit++)
        pattern = pattern << 1 | line.next();
      bins[pattern]++;
    }
    return z_of_equal_bins(bins);
  });
}

// All draws for one packet, and those of rules with adjacent seeds, as in one file.
TEST(Select, DrawsForOnePacketAreIndependent) {
  const std::vector<std::pair<unsigned, unsigned>> kPairs = {{ROCE_DRAW_SELECT, ROCE_DRAW_SECOND},
                                                             {ROCE_DRAW_SELECT, ROCE_DRAW_MARK},
                                                             {ROCE_DRAW_SELECT, ROCE_DRAW_EDIT},
                                                             {ROCE_DRAW_SECOND, ROCE_DRAW_MARK},
                                                             {ROCE_DRAW_MARK, ROCE_DRAW_EDIT}};
  const auto bins_of = [](auto first, auto second) {
    std::vector<uint64_t> bins(256);
    for (uint64_t n = 1; n <= kMany; n++)
      bins[first(n) >> 60 << 4 | second(n) >> 60]++;
    return z_of_equal_bins(bins);
  };
  for (const auto &[a, b] : kPairs)
    expect_usual(fmt::format("draws {} and {}", a, b), [&, a = a, b = b](uint64_t seed) {
      return bins_of([=](uint64_t n) { return roce_random(seed, n, a); },
                     [=](uint64_t n) { return roce_random(seed, n, b); });
    });
  for (const uint64_t apart : {uint64_t{1}, uint64_t{2}, uint64_t{4}, uint64_t{1} << 63})
    expect_usual(fmt::format("seeds {} apart", apart), [&](uint64_t seed) {
      return bins_of([=](uint64_t n) { return roce_random(seed, n, ROCE_DRAW_SELECT); },
                     [=](uint64_t n) { return roce_random(seed + apart, n, ROCE_DRAW_SELECT); });
    });
  for (int bit = 0; bit < 64; bit++)
    expect_usual(fmt::format("bit {}", bit), [bit](uint64_t seed) {
      double ones = 0;
      for (uint64_t n = 1; n <= kMany / 10; n++)
        ones += static_cast<double>(roce_random(seed, n, ROCE_DRAW_EDIT) >> bit & 1);
      return z_of_count(ones, kMany / 10, 0.5);
    });
}

TEST(Select, EveryNth) {
  for (const uint64_t every : {1, 2, 3, 7, 100, 65536, 1'000'000, 1'000'001}) {
    const auto places = Line(fmt::format("every {}", every)).places(kMany);
    ASSERT_EQ(places.size(), kMany / every) << every;
    for (size_t i = 0; i < places.size(); i++)
      ASSERT_EQ(places[i], (i + 1) * every);
  }
}

std::string listed(const std::vector<uint64_t> &numbers) {
  std::string list;
  for (const uint64_t n : numbers)
    list += fmt::format("{}{}", list.empty() ? "" : ",", n);
  return list;
}

TEST(Select, Positions) {
  std::vector<std::vector<uint64_t>> lists = {
      {1}, {1, 2, 3}, {1'000'000}, {5, 9, 10, 999'999, 1'000'000}, {}};
  for (uint64_t i = 0; i < 40; i++)
    lists.back().push_back(1 + i * i * 7);
  for (const auto &list : lists)
    EXPECT_EQ(Line("positions " + listed(list)).places(2 * kMany), list);
}

TEST(Select, AsManyPositionsAsThereCanBe) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  std::vector<uint32_t> points(ROCE_RULE_POINTS);
  std::vector<uint64_t> places(ROCE_RULE_POINTS);
  for (size_t i = 0; i < points.size(); i++) {
    points[i] = static_cast<uint32_t>(1 + random() % 1900);
    places[i] = points[i] + (i ? places[i - 1] : 0);
  }
  Line line("positions 1");
  line.points(points);
  EXPECT_EQ(line.places(2 * kMany), places);
}

TEST(Select, BurstsEveryNth) {
  const auto runs = runs_of(Line("burst 3 every 100").places(kMany));
  ASSERT_EQ(runs.size(), kMany / 100);
  for (size_t i = 0; i + 1 < runs.size(); i++)
    ASSERT_EQ(runs[i], (Streak{(i + 1) * 100, 3}));
  EXPECT_EQ(runs_of(Line("burst 5 every 5").places(1000)), (std::vector<Streak>{{5, 996}}));
  EXPECT_EQ(runs_of(Line("burst 1 every 1").places(1000)), (std::vector<Streak>{{1, 1000}}));
  expect_usual("burst 2-9 every 20", [](uint64_t seed) {
    std::vector<uint64_t> bins(8);
    const auto runs = runs_of(Line("burst 2-9 every 20", seed).places(kMany));
    for (size_t i = 0; i + 1 < runs.size(); i++) {
      EXPECT_EQ(runs[i].begin, (i + 1) * 20);
      bins.at(runs[i].length - 2)++;
    }
    return z_of_equal_bins(bins);
  });
}

// Renewals: a run, and then as many packets as chance wants.
double z_of_runs(double runs, double p, double length, double variance) {
  const double cycle = length + (1 - p) / p, spread = (1 - p) / (p * p) + variance;
  return (runs - kMany / cycle) / std::sqrt(kMany * spread / (cycle * cycle * cycle));
}

TEST(Select, BurstsByChance) {
  expect_usual("burst 3 probability 1%", [](uint64_t seed) {
    double bursts = 0;
    for (const Streak &run : runs_of(Line("burst 3 probability 1%", seed).places(kMany))) {
      EXPECT_TRUE(run.length % 3 == 0 || run.begin + run.length > kMany) << run.begin;
      bursts += static_cast<double>(run.length) / 3; // some follow each other at once
    }
    return z_of_runs(bursts, 0.01, 3, 0);
  });
  for (const bool lengths : {false, true})
    expect_usual("burst 2-9 probability 0.1%", [lengths](uint64_t seed) {
      std::vector<uint64_t> bins(8);
      double selected = 0;
      for (const Streak &run : runs_of(Line("burst 2-9 probability 0.1%", seed).places(kMany))) {
        selected += static_cast<double>(run.length);
        if (run.length >= 2 && run.length <= 9)
          bins[run.length - 2]++;
      }
      const double variance = 63.0 / 12;
      // the runs' lengths vary in their sum too: a random sum's variance, about
      const double cycle = 5.5 + 999, expected = kMany / cycle;
      const double spread = std::sqrt(expected * (variance + 5.5 * 5.5));
      return lengths ? z_of_equal_bins(bins) : (selected - 5.5 * expected) / spread;
    });
  EXPECT_EQ(Line("burst 2 probability 1").count(1000), 1000U);
  EXPECT_EQ(Line("burst 2 probability 0").count(1000), 0U);
}

struct Gilbert {
  double p, r, bad, good; // 1-h, 1-k
  double share() const { return p / (p + r); }
  double loss() const { return share() * bad + (1 - share()) * good; }
  // of the number lost among n, by the chain's correlation 1-p-r from packet to packet
  double variance(double n) const {
    const double along = (1 - p - r) / (p + r), apart = bad - good;
    return n * (loss() * (1 - loss()) + 2 * share() * (1 - share()) * apart * apart * along);
  }
};

TEST(Select, GilbertElliottLosesAsMuchAsItsStationaryState) {
  for (const Gilbert &g :
       {Gilbert{0.01, 0.2, 1, 0}, Gilbert{0.02, 0.3, 0.5, 0.001}, Gilbert{0.001, 0.01, 0.9, 0},
        Gilbert{0.3, 0.7, 0.25, 0.75}, Gilbert{0.5, 0.5, 0, 1}}) {
    const auto words = fmt::format("gilbert {} {} {} {}", g.p, g.r, g.bad, g.good);
    expect_usual(words, [&](uint64_t seed) {
      const auto lost = static_cast<double>(Line(words, seed).count(kMany));
      return (lost - kMany * g.loss()) / std::sqrt(g.variance(kMany));
    });
  }
  EXPECT_EQ(Line("gilbert 0 1").count(kMany), 0U);
  EXPECT_EQ(Line("gilbert 1 0").count(kMany), kMany - 1); // it starts in the good state
  EXPECT_EQ(Line("gilbert 0 1 0 100%").count(kMany), kMany);
  const Line plain("gilbert 1% 20%", 3), whole("gilbert 1% 20% 100% 0", 3);
  EXPECT_EQ(Line(plain).places(kMany), Line(whole).places(kMany));
  const Line bernoulli("gilbert 10%", 3), said("gilbert 10% 90%", 3); // as netem has it
  EXPECT_EQ(Line(bernoulli).places(kMany), Line(said).places(kMany));
}

TEST(Select, GilbertBurstsAreGeometric) {
  for (const double r : {0.2, 0.5}) {
    const auto words = fmt::format("gilbert 1% {}", r);
    expect_usual(words + ": mean", [&](uint64_t seed) {
      const auto runs = runs_of(Line(words, seed).places(kMany));
      double sum = 0;
      for (const Streak &run : runs)
        sum += static_cast<double>(run.length);
      const auto n = static_cast<double>(runs.size());
      return (sum / n - 1 / r) / std::sqrt((1 - r) / (r * r) / n);
    });
    expect_usual(words + ": lengths", [&](uint64_t seed) {
      std::vector<uint64_t> bins(9);
      std::vector<double> shares(9);
      for (const Streak &run : runs_of(Line(words, seed).places(kMany)))
        bins[std::min<uint64_t>(run.length, 9) - 1]++;
      for (int i = 0; i < 9; i++)
        shares[static_cast<size_t>(i)] = std::pow(1 - r, i) * (i < 8 ? r : 1);
      return z_of_bins(bins, shares);
    });
  }
}

long double damaged(long double ber, uint32_t length) {
  return -std::expm1(8 * static_cast<long double>(length) * std::log1p(-ber));
}

TEST(Select, BitErrorRate) {
  struct Case {
    const char *words;
    long double ber;
    uint32_t length;
  };
  for (const Case &c :
       {Case{"ber 1 -2", 1e-2L, 64}, Case{"ber 1 -3", 1e-3L, 64}, Case{"ber 1 -5", 1e-5L, 64},
        Case{"ber 1 -5", 1e-5L, 1500}, Case{"ber 2.5 -6", 2.5e-6L, 4154},
        Case{"ber 1 -7", 1e-7L, 9018}, Case{"ber 1 -8", 1e-8L, 1500}}) {
    const auto p = static_cast<double>(damaged(c.ber, c.length));
    expect_usual(fmt::format("{}, {} bytes: {}", c.words, c.length, p), [&](uint64_t seed) {
      return z_of_count(static_cast<double>(Line(c.words, seed).count(kMany, c.length)), kMany, p);
    });
  }
  EXPECT_EQ(Line("ber 0 0").count(kMany), 0U);
  EXPECT_GE(Line("ber 0.4 0").count(1000), 1000U);
}

// The function by itself, and with the exponent that the words gave.
TEST(Select, OneMinusExp2) {
  const auto exact = [](uint64_t x) {
    return -std::expm1(-std::ldexp(static_cast<long double>(x), -ROCE_BER_SHIFT) * std::log(2.0L));
  };
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  uint64_t before = 0, before_x = 0;
  std::vector<uint64_t> all = {0, 1, 2, (1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1};
  for (uint64_t whole = 0; whole < 70; whole++)
    for (const int64_t by : {-1, 0, 1})
      all.push_back((whole << ROCE_BER_SHIFT) + static_cast<uint64_t>(by));
  for (int i = 0; i < 100'000; i++)
    all.push_back(random() >> (random() % 64));
  std::sort(all.begin(), all.end());
  for (const uint64_t x : all) {
    const uint64_t got = roce_one_minus_exp2(x);
    const long double p = std::ldexp(static_cast<long double>(got), -64);
    const long double allowed =
        x >> 32 ? 0x1p-28L : exact(x) * 1e-8L + 0x1p-62L; // 32 bits, but for small ones
    ASSERT_NEAR(static_cast<double>((p - exact(x)) / allowed), 0, 1) << x << " " << got;
    if (x >> 32 == 0 || before_x >> 32) { // where the two ways meet, the last digits may differ
      ASSERT_GE(got, before - std::min(before, x >> 32 ? uint64_t{1} << 34 : 0)) << x;
    }
    before = got;
    before_x = x;
  }
  EXPECT_EQ(roce_one_minus_exp2(0), 0U);
  EXPECT_EQ(roce_one_minus_exp2(~0ULL), ~0ULL);
  for (const int power : {-14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2})
    for (const uint32_t length : {58U, 64U, 1500U, 4154U, 9018U, 65535U}) {
      const uint64_t exponent =
          rule_of(fmt::format("ber 1 {} drop", power), 1).compiled.select.ber_log2;
      const long double wanted = damaged(std::pow(10.0L, power), length);
      const long double got =
          std::ldexp(static_cast<long double>(roce_one_minus_exp2(length * exponent)), -64);
      // half a unit of the exponent
      EXPECT_NEAR(static_cast<double>(got / wanted), 1, 0.5 / static_cast<double>(exponent) + 2e-5)
          << power << " " << length;
    }
}

TEST(Select, DistanceTable) {
  EXPECT_EQ(Line("distance table 1").count(1000), 1000U);
  const auto sevens = Line("distance table 7").places(1000);
  EXPECT_EQ(sevens, Line("every 7").places(1000));
  expect_usual("distance table 5,9,30,30", [](uint64_t seed) {
    std::map<uint64_t, uint64_t> seen;
    for (const uint64_t d : distances_of(Line("distance table 5,9,30,30", seed).places(kMany)))
      seen[d]++;
    EXPECT_EQ(seen.size(), 3U);
    return z_of_bins({seen[5], seen[9], seen[30]}, {0.25, 0.25, 0.5});
  });
  expect_usual("1024 points", [](uint64_t seed) {
    std::vector<uint32_t> list(ROCE_RULE_POINTS);
    std::vector<uint64_t> bins(ROCE_RULE_POINTS);
    std::iota(list.begin(), list.end(), 1);
    Line line("distance table 1", seed);
    line.points(list);
    for (const uint64_t d : distances_of(line.places(20 * kMany)))
      bins.at(d - 1)++;
    return z_of_equal_bins(bins);
  });
  expect_usual("successive distances", [](uint64_t seed) {
    const auto distances = distances_of(Line("distance table 2,4", seed).places(kMany));
    int64_t sum = 0;
    for (size_t i = 1; i < distances.size(); i++)
      sum +=
          (static_cast<int64_t>(distances[i]) - 3) * (static_cast<int64_t>(distances[i - 1]) - 3);
    return static_cast<double>(sum) / std::sqrt(static_cast<double>(distances.size() - 1));
  });
}

struct Distribution {
  const char *words;
  double mean, variance, excess; // of kurtosis
};

TEST(Select, DistanceDistributions) {
  for (const Distribution &d : {Distribution{"distance uniform 10 20", 15, 10, -1.22},
                                Distribution{"distance uniform 1 1", 1, 0, 0},
                                Distribution{"distance uniform 1 199", 100, 3300, -1.2},
                                Distribution{"distance gaussian 100 15", 100, 225, 0},
                                Distribution{"distance gaussian 1000 200", 1000, 40000, 0},
                                Distribution{"distance poisson 20", 20, 20, 0.05},
                                Distribution{"distance poisson 400", 400, 400, 0},
                                Distribution{"distance gamma 2 50", 100, 5000, 3},
                                Distribution{"distance gamma 9 10", 90, 900, 0.67}}) {
    // The table is made of 64 Ki samples, and its 1024 points are a little less wide than those.
    const double of_table = std::sqrt(d.variance) / 256, narrow = d.variance * 0.015;
    const auto sample = [&](uint64_t seed, double &mean, double &variance) {
      const auto distances = distances_of(Line(d.words, seed).places(3 * kMany));
      const auto n = static_cast<double>(distances.size());
      mean = std::accumulate(distances.begin(), distances.end(), 0.0) / n;
      variance = 0;
      for (const uint64_t x : distances)
        variance += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean) / n;
      return n;
    };
    double mean = 0, variance = 0;
    if (d.variance == 0) {
      sample(1, mean, variance);
      EXPECT_EQ(mean, d.mean);
      EXPECT_EQ(variance, 0);
      continue;
    }
    expect_usual(fmt::format("{}: mean", d.words), [&](uint64_t seed) {
      const double n = sample(seed, mean, variance);
      return (mean - d.mean) / std::hypot(std::sqrt(d.variance / n), of_table);
    });
    expect_usual(fmt::format("{}: variance", d.words), [&](uint64_t seed) {
      const double n = sample(seed, mean, variance);
      const double off = std::max(0.0, std::abs(variance - d.variance) - narrow);
      return off / (d.variance * std::sqrt((2 + d.excess) * (1 / n + 1.0 / 65536)));
    });
  }
}

constexpr uint64_t kStart = 123'456'789'012'345, kMicrosecond = 1000;

TEST(Select, ScheduleOnce) {
  Line line("always for 10ms");
  line.start(kStart);
  std::vector<uint64_t> selected;
  for (uint64_t i = 0; i < 100'000; i++) {
    line.at(kStart + i * kMicrosecond);
    if (line.next())
      selected.push_back(i);
  }
  ASSERT_EQ(selected.size(), 10'000U);
  EXPECT_EQ(selected.back(), 9'999U);
  line.at(kStart + 9'999'999);
  EXPECT_TRUE(line.next());
  line.at(kStart + 10'000'000);
  EXPECT_FALSE(line.next());
  line.at(kStart + (1ULL << 62));
  EXPECT_FALSE(line.next());
}

TEST(Select, ScheduleRepeats) {
  Line line("always repeat 300us 1ms"), all("always repeat 1ms 1ms");
  line.start(kStart);
  all.start(kStart);
  for (uint64_t i = 0; i < 100'000; i++) {
    line.at(kStart + i * kMicrosecond);
    all.at(kStart + i * kMicrosecond);
    ASSERT_EQ(line.next(), i % 1000 < 300) << i;
    ASSERT_TRUE(all.next());
  }
}

// While a schedule is closed its rule still counts.
TEST(Select, ScheduleWithEvery) {
  Line line("every 7 repeat 300us 1ms");
  line.start(kStart);
  for (uint64_t i = 1; i <= 100'000; i++) {
    line.at(kStart + i * kMicrosecond);
    ASSERT_EQ(line.next(), i % 1000 < 300 && i % 7 == 0) << i;
  }
}

TEST(Select, Limit) {
  for (const uint64_t limit : {1, 5, 1000})
    for (const char *how : {"always", "probability 10%", "every 3"}) {
      Line line(fmt::format("{} limit {}", how, limit)), free(how);
      uint64_t acted = 0;
      for (uint64_t i = 0; i < 50'000; i++) {
        const bool selected = free.acts();
        ASSERT_EQ(line.acts(), selected && acted < limit);
        acted += selected && acted < limit;
      }
      EXPECT_EQ(acted, limit);
      EXPECT_EQ(line.matched(), 50'000U);
    }
}

TEST(Select, SameSeedSameFateOtherSeedOtherFate) {
  for (const char *words : {"probability 1%", "burst 2-5 probability 0.5%", "gilbert 1% 20%",
                            "ber 1 -6", "distance gaussian 100 30", "distance table 5,500"}) {
    Line one(words, 77), same(words, 77);
    EXPECT_EQ(one.places(kMany / 10), same.places(kMany / 10)) << words;
  }
  for (const uint64_t apart : {uint64_t{1}, uint64_t{1} << 32, uint64_t{0x9e3779b97f4a7c15}})
    expect_usual(fmt::format("seeds {} apart", apart), [apart](uint64_t seed) {
      Line one("probability 10%", seed), other("probability 10%", seed + apart);
      double both = 0;
      for (uint64_t i = 0; i < kMany; i++) {
        const bool first = one.next(), second = other.next();
        both += first && second;
      }
      return z_of_count(both, kMany, 0.01);
    });
}

TEST(Select, UniformIsUnbiased) {
  struct Range {
    uint32_t from, to;
  };
  for (const Range &r :
       {Range{0, 6}, Range{3, 5}, Range{0, 255}, Range{1'000'000'000, 1'000'000'099}})
    expect_usual(fmt::format("{} to {}", r.from, r.to), [r](uint64_t seed) {
      std::vector<uint64_t> bins(r.to - r.from + 1);
      for (uint64_t n = 0; n < kMany; n++)
        bins.at(roce_uniform(roce_random(seed, n, 0), r.from, r.to) - r.from)++;
      return z_of_equal_bins(bins);
    });
  expect_usual("all there are", [](uint64_t seed) {
    std::vector<uint64_t> bins(256);
    for (uint64_t n = 0; n < kMany; n++)
      bins[roce_uniform(roce_random(seed, n, 0), 0, UINT32_MAX) >> 24]++;
    return z_of_equal_bins(bins);
  });
  EXPECT_EQ(roce_uniform(0, 5, 9), 5U);
  EXPECT_EQ(roce_uniform(~0ULL, 5, 9), 9U);
  EXPECT_EQ(roce_uniform(~0ULL, 0, UINT32_MAX), UINT32_MAX);
  EXPECT_EQ(roce_uniform(0x123456789abcdef0, 7, 7), 7U);
}

TEST(Select, LowestBit) {
  std::mt19937_64 random(1);
  for (unsigned bit = 0; bit < 64; bit++)
    for (int i = 0; i < 100; i++) {
      const uint64_t word = (i ? random() : 0) << bit | uint64_t{1} << bit;
      ASSERT_EQ(roce_lowest(word), bit);
      ASSERT_EQ(lowest_in_bpf(word), bit);
    }
}

// Exactly N of a million packets, at distances that differ by one at most.
TEST(Select, PpmIsExactAndEven) {
  for (const uint32_t ppm : {1, 3, 250, 9'999, 333'333, 500'000, 500'001, 999'999}) {
    Line line(fmt::format("ppm {}", ppm));
    std::vector<uint64_t> places = line.places(kMany);
    ASSERT_EQ(places.size(), ppm);
    EXPECT_EQ(places.back(), kMany);
    const std::vector<uint64_t> distances = distances_of(places);
    const auto [least, most] = std::minmax_element(distances.begin(), distances.end());
    EXPECT_LE(*most - *least, 1U) << ppm;
    EXPECT_EQ(line.count(kMany), ppm) << "the second million";
  }
  EXPECT_EQ(Line("ppm 0").count(kMany), 0U);
  EXPECT_EQ(Line("ppm 1000000").count(kMany), kMany);
  EXPECT_EQ(Line("ppm 0.5").places(2 * kMany), std::vector<uint64_t>{2 * kMany});
  // 333,333.333: the third of a packet that is missing in a million comes later
  Line third("ppm 333333.333");
  EXPECT_EQ(third.count(3 * kMany), 999'999U);
}

// Each period begins where the schedule does, and has its own actions.
TEST(Select, LimitPerPeriod) {
  constexpr uint64_t kFirst = 123'456'789, kPeriod = 1'000'000;
  std::mt19937_64 random(7);
  Line line("limit 5 per 1ms");
  line.start(kFirst);
  std::map<uint64_t, uint64_t> matched, acted;
  uint64_t now = kFirst;
  for (int i = 0; i < 100'000; i++) {
    now += random() % (i % 1000 == 0 ? 20 * kPeriod : kPeriod / 4);
    line.at(now);
    matched[(now - kFirst) / kPeriod]++;
    acted[(now - kFirst) / kPeriod] += line.acts();
  }
  uint64_t full = 0;
  for (const auto &[period, packets] : matched) {
    EXPECT_EQ(acted[period], std::min<uint64_t>(packets, 5)) << period;
    full += packets > 5;
  }
  EXPECT_GT(full, 1000U);
}

TEST(Select, LimitPerPeriodTakesBackWhatWasNotPossible) {
  Line line("limit 2 per 1us");
  for (const uint64_t now : {10'000, 11'500, 20'999}) {
    line.at(now);
    EXPECT_TRUE(line.acts());
    line.undo();
    EXPECT_TRUE(line.acts());
    EXPECT_TRUE(line.acts());
    EXPECT_FALSE(line.acts());
  }
}

// A clock that was read before another CPU's restarts no period.
TEST(Select, LimitPerPeriodWithClocksThatDiffer) {
  Line line("limit 3 per 1ms");
  uint64_t acted = 0;
  for (int i = 0; i < 20; i++) {
    line.at(i % 2 ? 4'999'990 : 5'000'010);
    acted += line.acts();
  }
  EXPECT_EQ(acted, 3U);
}

} // namespace
} // namespace xr::test::select_test
