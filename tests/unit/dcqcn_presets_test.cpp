// SPDX-License-Identifier: Apache-2.0
// The tables of parameters: every row is whole, words go into values and back, and the presets have
// the numbers of their systems.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "rate/control.h"
#include "rate/dcqcn_parameters.h"
#include "rate/table_parameters.h"
#include "xdp-roce/congestion.h"

namespace xr::congestion::dcqcn_presets_test {
namespace {

void check_rows(std::span<const ParameterRow> rows, size_t presets) {
  std::set<std::string> names;
  for (const ParameterRow &row : rows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(std::string(row.meaning).empty()) << row.name;
    ASSERT_EQ(row.defaults.size(), presets) << row.name;
    for (const Default &value : row.defaults) {
      EXPECT_NE(std::find(row.units.begin(), row.units.end(), value.quantity.unit), row.units.end())
          << row.name;
      const auto again = parse_quantity(row, quantity_word(row, value.quantity));
      ASSERT_TRUE(again.ok()) << row.name << " " << quantity_word(row, value.quantity);
      EXPECT_EQ(again.get(), value.quantity) << row.name;
      if (!value.assumed) {
        EXPECT_NE(std::string(value.source), "") << row.name;
      }
    }
  }
}

TEST(DcqcnPresets, TheTablesAreWhole) {
  ASSERT_EQ(dcqcn_rows().size(), kDcqcnParameters);
  check_rows(dcqcn_rows(), dcqcn_presets().size());
  for (const ControlRow &control : control_rows())
    if (control.rows)
      check_rows(control.rows(), 1);
  const auto row = [](DcqcnParameter p) { return std::string(dcqcn_rows()[size_t(p)].name); };
  EXPECT_EQ(row(DcqcnParameter::AlphaInitial), "alpha-initial"); // the enum follows the rows
  EXPECT_EQ(row(DcqcnParameter::FirstCnp), "first-cnp");
  EXPECT_EQ(row(DcqcnParameter::RateTimer), "rate-timer");
  EXPECT_EQ(row(DcqcnParameter::IdleRestart), "idle-restart");
  EXPECT_EQ(row(DcqcnParameter::Np), "np");
  EXPECT_EQ(row(DcqcnParameter::Pmax), "pmax");
}

// What a system leaves open is the paper's value, and says that it is assumed.
TEST(DcqcnPresets, OpenValuesArePapers) {
  size_t open = 0;
  for (const ParameterRow &row : dcqcn_rows())
    for (const Default &value : row.defaults)
      if (value.assumed && std::string(value.source).empty()) {
        EXPECT_EQ(value.quantity, row.defaults[0].quantity) << row.name;
        open++;
      }
  EXPECT_GT(open, 30U);
}

DcqcnSettings of(size_t preset, double line) { return resolve(DcqcnParameters(preset), line); }

TEST(DcqcnPresets, TheirNumbers) {
  const DcqcnSettings paper = of(0, 40e9), ns3 = of(1, 40e9), hpcc = of(2, 100e9),
                      nvidia = of(3, 100e9), ionic = of(4, 100e9), irdma = of(5, 100e9),
                      otg = of(6, 100e9);
  EXPECT_EQ(paper.g, 1.0 / 256);
  EXPECT_EQ(paper.bytes, 10'000'000);
  EXPECT_EQ(paper.rai, 40e6);
  EXPECT_EQ(paper.kmax, 200e3);
  EXPECT_EQ(paper.np, NpMode::Window);
  EXPECT_EQ(ns3.alpha_initial, 0.5);
  EXPECT_EQ(ns3.timer_ns, 60'000U);
  EXPECT_EQ(ns3.np, NpMode::Grid);
  EXPECT_EQ(hpcc.rai, 20e6); // 5 x bw/25G
  EXPECT_EQ(hpcc.rhai, 200e6);
  EXPECT_EQ(hpcc.bytes, 0);
  EXPECT_EQ(hpcc.kmin, 400e3); // 100 KB x bw/25G
  EXPECT_EQ(hpcc.kmax, 1600e3);
  EXPECT_EQ(hpcc.pmax, 0.2);
  EXPECT_EQ(hpcc.first_part, 1);
  EXPECT_EQ(nvidia.weight_1024, 1019U);
  EXPECT_EQ(nvidia.alpha_initial_1024, 1023U);
  EXPECT_EQ(nvidia.bytes, 32767 * 64);
  EXPECT_EQ(nvidia.step, 1e6);
  EXPECT_EQ(ionic.timer_ns, 275'000U);
  EXPECT_EQ(ionic.bytes, 131068);
  EXPECT_NEAR(irdma.rai, 1024 * 8 / 55e-6, 1); // one MSS more in each T
  EXPECT_NEAR(irdma.rhai, 5 * irdma.rai, 1);
  EXPECT_EQ(otg.threshold, 25U);
  EXPECT_EQ(otg.cnp_interval_ns, 55'000U);
  EXPECT_NEAR(otg.keep, 0.9, 1e-12);
}

// Each kind has a row; one that changes rates has a value for each of its parameters.
TEST(Controls, TheTableIsWhole) {
  const auto rows = control_rows();
  std::set<std::string> words;
  for (const ControlRow &row : rows) {
    Control control;
    control.kind = row.kind;
    if (row.rows)
      control = Control::of(row.kind);
    EXPECT_TRUE(words.insert(row.word).second) << row.word;
    EXPECT_STREQ(control.word(), row.word);
    EXPECT_EQ(control.needs(), row.needs) << row.word;
    EXPECT_EQ(control.is_dynamic(), row.kind != Control::Kind::Fixed) << row.word;
    if (ParameterSet *set = control.parameters()) {
      EXPECT_EQ(set->rows().size(), set->quantities().size()) << row.word;
    }
  }
  EXPECT_EQ(words.count("timely"), 1U);
  EXPECT_EQ(Control::of(Control::Kind::Timely).needs(), XDP_ROCE_NEEDS_ACKS);
  EXPECT_EQ(Control::of(Control::Kind::Dcqcn).needs(), 0U);
  EXPECT_EQ(Control{}.needs(), 0U);
  EXPECT_EQ(Control{}.parameters(), nullptr);
}

TEST(DcqcnPresets, WordsAndBack) {
  DcqcnParameters parameters(3);
  EXPECT_EQ(parameters.words(), "preset nvidia");
  for (const char *word : {"rai=0.1%", "g=1/16", "np=window", "clamp=on", "rate-timer=20us",
                           "byte-counter=150k", "first-cnp=85gbit", "pmax=1%"})
    ASSERT_TRUE(parameters.set(word).ok()) << word;
  const std::string words = parameters.words();
  DcqcnParameters again(3);
  size_t from = words.find(' ', words.find(' ') + 1) + 1;
  while (from < words.size()) {
    const size_t end = std::min(words.find(' ', from), words.size());
    ASSERT_TRUE(again.set(words.substr(from, end - from)).ok()) << words;
    from = end + 1;
  }
  EXPECT_EQ(again.values, parameters.values);
  EXPECT_EQ(resolve(parameters, 100e9).rai, 100e6);
  EXPECT_EQ(resolve(parameters, 100e9).first_rate, 85e9);
  EXPECT_EQ(resolve(parameters, 100e9).pmax, 0.01);
  EXPECT_EQ(resolve(parameters, 100e9).bytes, 150'000 * 64);
}

// A step may be slower than the slowest link, 125 kbit/s.
TEST(DcqcnPresets, StepsSlowerThanALink) {
  for (const auto &[word, bits] :
       {std::pair("rai=50kbit", 50e3), std::pair("rai=0.1mbit", 100e3),
        std::pair("rai=124999bit", 124'999.0), std::pair("rai=1bit", 1.0),
        std::pair("rai=0mbit", 0.0), std::pair("rai=0.05", 50e3)}) {
    DcqcnParameters parameters;
    const Status status = parameters.set(word);
    ASSERT_TRUE(status.ok()) << word << ": " << status.error().message;
    EXPECT_NEAR(resolve(parameters, 10e9).rai, bits, 1e-6) << word;
    DcqcnParameters again;
    const std::string words = parameters.words(); // "preset paper rai=..."
    ASSERT_TRUE(again.set(words.substr(words.rfind(' ') + 1)).ok()) << words;
    EXPECT_EQ(again.values, parameters.values) << words;
  }
}

TEST(DcqcnPresets, WrongWords) {
  DcqcnParameters parameters;
  for (const auto &[word, message] :
       {std::pair("ria=40mbit", "'ria' is not a parameter"), std::pair("rai", "rai has no value"),
        std::pair("rai=fast", "rai: 'fast' is not a number in Mbit/s or % of line or MSS"),
        std::pair("rai=11tbit", "rai: '11tbit' is not a number in Mbit/s or % of line or MSS"),
        std::pair("g=2", "g: '2' is outside 0 to 1"),
        std::pair("np=later", "np: 'later' is not one of its values")}) {
    const Status status = parameters.set(word);
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_EQ(status.error().message, message);
    EXPECT_FALSE(status.error().hint.empty()) << word;
  }
  EXPECT_EQ(parameters.words(), "preset paper");
}

} // namespace
} // namespace xr::congestion::dcqcn_presets_test
