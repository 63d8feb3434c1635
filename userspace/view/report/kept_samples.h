// SPDX-License-Identifier: Apache-2.0
// Keeps the samples of a run in bounded memory, and chooses at its end those for its files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/experiment_result.h"

namespace xr::report {

struct SampleLimits {
  size_t flows = 64, queues = 1024;
  size_t cells = 250'000;  // of a table with a column a series and a row a time
  size_t held = 6'000'000; // values in memory
};

// Thinning joins two samples: events add up, a rate is the mean, and anything else is the later
// value. All series are thinned alike.
class KeptSamples {
public:
  using Kind = ExperimentSample::Kind;
  using Each = std::function<void(const std::vector<ExperimentSample> &)>;

  explicit KeptSamples(const SampleLimits &limits) : limits_(limits) {}

  // A flow or queue that is kept whatever the limits.
  void name(Kind kind, uint32_t row);
  // Ascending times; several calls may be of one time. The columns' names must stay.
  void add(const std::vector<ExperimentSample> &samples);
  // All samples of a time, for each time.
  void each(const Each &each) const;
  // Leaves the flows and queues that the limits allow, and as many times. Of flows those with the
  // highest and those with the lowest mean goodput, in halves; of queues those with the largest
  // mean backlog. Equal ones: those with lower numbers. Nothing is added afterwards.
  ExperimentSamples choose();
  // Whether the flow or queue has samples.
  bool has(Kind kind, uint32_t row) const;

private:
  struct Value {
    double value = 0;
    uint32_t row = 0;
    uint16_t column = 0; // of columns_
    uint16_t count = 1;  // of samples that were joined
  };
  using Values = std::vector<Value>; // by row
  struct Instant {
    uint64_t t_ns = 0;
    uint64_t weight = 1; // samples that were joined
    std::array<Values, 3> values;
  };
  struct Row {
    uint64_t seen = 0; // values
    bool named = false, left_out = false;
  };
  enum class Joined : uint8_t { Sum, Mean, Last };
  struct Column {
    const char *name = "";
    Joined joined = Joined::Last;
  };

  static size_t at(Kind kind) { return static_cast<size_t>(kind); }
  Row &row_of(Kind kind, uint32_t row);
  uint16_t column_of(const char *name);
  size_t held() const;
  size_t cells() const;
  void close_instant();
  void join(Instant &into, const Instant &later) const;
  Values joined(const Values &first, const Values &later) const;
  void halve();
  void shrink();
  size_t rows_left(Kind kind) const;
  std::vector<double> means(Kind kind, const char *column) const;
  std::vector<uint32_t> by_difference(Kind kind) const;
  bool leave(Kind kind, size_t most);
  void distances(ExperimentSamples &into) const;

  SampleLimits limits_;
  std::vector<Instant> instants_;
  size_t held_ = 0;     // in all but the last instant
  uint64_t stride_ = 1; // samples of an instant that is complete
  std::vector<Column> columns_;
  std::array<std::vector<Row>, 3> rows_;
};

} // namespace xr::report
