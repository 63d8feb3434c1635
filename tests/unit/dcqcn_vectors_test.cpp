// SPDX-License-Identifier: Apache-2.0
// DCQCN's reaction point against the scripted runs of data/dcqcn: one flow without congestion, CNPs
// at given times. rp_paper_full.csv is of a packet simulator written from the paper, rp_hpcc.csv of
// HPCC's ns-3 tree (CC_MODE 1); their first lines have the parameters.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "congestion/dcqcn.h"

namespace xr::congestion::dcqcn_vectors_test {
namespace {

constexpr double kLine = 40e9;
constexpr uint64_t kUs = 1000, kCnps[] = {1003, 1053, 1103, 1153, 1203, 3003, 3033, 10003};

struct Row {
  uint64_t t_us;
  double rc, rt, alpha;
};

std::vector<Row> rows_of(const std::string &name) {
  std::ifstream file(std::string(XR_TEST_DATA) + "/dcqcn/" + name);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    Row row{};
    char comma;
    std::istringstream text(line);
    if (text >> row.t_us >> comma >> row.rc >> comma >> row.rt >> comma >> row.alpha)
      rows.push_back(row);
  }
  return rows;
}

// A sender that is never held up: each packet is due when the one before has left at the rate of
// its time.
class Sender {
public:
  Sender(const DcqcnParameters &parameters, uint32_t packet)
      : dcqcn_(std::make_shared<const DcqcnSettings>(resolve(parameters, kLine))), packet_(packet) {
    dcqcn_.start(0);
  }
  ControlState at(uint64_t now) {
    for (;;) {
      const double cnp = cnp_ < std::size(kCnps) ? static_cast<double>(kCnps[cnp_] * kUs) : 1e300;
      if (std::min(cnp, due_) > static_cast<double>(now))
        return dcqcn_.state(now);
      if (cnp <= due_) {
        dcqcn_.cnp(kCnps[cnp_++] * kUs);
        continue;
      }
      dcqcn_.sent(static_cast<uint64_t>(due_), packet_);
      due_ += packet_ / dcqcn_.rate() * 1e9;
    }
  }

private:
  Dcqcn dcqcn_;
  uint32_t packet_;
  double due_ = 0;
  size_t cnp_ = 0;
};

DcqcnParameters p40(size_t preset, std::initializer_list<const char *> more) {
  DcqcnParameters parameters(preset);
  for (const char *word : {"g=1/256", "alpha-timer=55us", "rate-timer=55us", "threshold=5",
                           "rai=40mbit", "rhai=200mbit", "min-rate=100mbit", "clamp=on"})
    EXPECT_TRUE(parameters.set(word).ok()) << word;
  for (const char *word : more)
    EXPECT_TRUE(parameters.set(word).ok()) << word;
  return parameters;
}

TEST(DcqcnVectors, PaperTo1e6) {
  const std::vector<Row> rows = rows_of("rp_paper_full.csv");
  ASSERT_GT(rows.size(), 1000U);
  Sender sender(p40(0, {"byte-counter=10M"}), 1044);
  for (const Row &row : rows) {
    const ControlState state = sender.at(row.t_us * kUs);
    ASSERT_NEAR(state.rate / row.rc, 1, 1e-6) << row.t_us;
    ASSERT_NEAR(state.target / row.rt, 1, 1e-6) << row.t_us;
    ASSERT_NEAR(state.alpha, row.alpha, 5.1e-6) << row.t_us; // five decimals
  }
}

TEST(DcqcnVectors, HpccExactly) {
  const std::vector<Row> rows = rows_of("rp_hpcc.csv");
  ASSERT_GT(rows.size(), 1000U);
  Sender sender(p40(2, {"monitor-period=50us"}), 1048);
  for (const Row &row : rows) {
    const ControlState state = sender.at(row.t_us * kUs);
    ASSERT_EQ(state.rate, row.rc) << row.t_us;
    ASSERT_EQ(state.target, row.rt) << row.t_us;
    ASSERT_NEAR(state.alpha, row.alpha, 5.1e-6) << row.t_us;
  }
}

} // namespace
} // namespace xr::congestion::dcqcn_vectors_test
