// SPDX-License-Identifier: Apache-2.0
// The columns that expectations may name: one table for each kind of row, and the names that OTG
// (Open Traffic Generator, rocev2_flow) has for some of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/experiment_result.h"

namespace xr::experiment {

// Numbers are compared only within a dimension; Any goes with all.
enum class Dimension : uint8_t { Any, Plain, Bytes, Rate, Time };
const char *dimension_name(Dimension dimension); // "a number of bytes"

enum class RowKind : uint8_t { Flow, Queue, Rule, Total, Prediction };
// flow('NAME') and flows: kinds of which an experiment has many rows, each with a name.
struct RowWords {
  const char *one, *many;
  RowKind kind;
};
std::span<const RowWords> row_words();
// nullptr: it has no rows with names.
const RowWords *row_words(RowKind kind);

// Counter: a sample is the increase since the sample before. Sampled: over time only.
enum class ColumnKind : uint8_t { Value, Level, Counter, Sampled };

struct Cell {
  std::optional<double> number = {};
  const Histogram *distribution = nullptr;
};

struct ColumnRow {
  const char *name;
  Dimension dimension;
  ColumnKind kind;
  bool whole_run; // Counter: of the run; otherwise of the measured time
  Cell (*flow)(const ExperimentFlow &) = nullptr;
  Cell (*queue)(const ExperimentQueue &) = nullptr;
  Cell (*rule)(const ExperimentRule &) = nullptr;
  Cell (*total)(const ExperimentMeasurement &) = nullptr;
  Cell (*prediction)(const ExperimentPrediction &) = nullptr;
  bool distribution = false;
};
std::span<const ColumnRow> columns_of(RowKind kind);

// OTG's name of a flow's column; `scale` converts ours into OTG's unit.
struct ColumnAlias {
  const char *otg;
  const char *ours;
  double scale;
};
std::span<const ColumnAlias> column_aliases();

// A column by our name or OTG's; nullptr if there is none.
struct FoundColumn {
  const ColumnRow *column = nullptr;
  double scale = 1;
};
FoundColumn find_column(RowKind kind, const std::string &name);
std::vector<std::string_view> column_names(RowKind kind);

} // namespace xr::experiment
