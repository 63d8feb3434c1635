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
#include "model/run_answers.h"

namespace xr::experiment {

// Numbers are compared only within a dimension; Any goes with all.
enum class Dimension : uint8_t { Any, Plain, Bytes, Rate, Time };
const char *dimension_name(Dimension dimension); // "a number of bytes"

// Whole: sums over the whole run, `totals.drops`. Those from Episode on are rows of the answers
// from the captures: how many there are is known after the run.
enum class RowKind : uint8_t {
  Flow,
  Queue,
  Rule,
  Job,
  Rank,
  Total,
  Whole,
  Prediction,
  Episode,
  Finding,
  Event,
  GoBackN,
  CnpPacing,
  CountCheck
};
constexpr bool is_answer(RowKind kind) { return kind >= RowKind::Episode; }

// flow('NAME') and flows: kinds of which an experiment has many rows, each with a name. Of answers
// only the second is a word of expectations.
struct RowWords {
  const char *one, *many;
  RowKind kind;
};
std::span<const RowWords> row_words();
// Whether `word` is one of them.
bool names_rows(std::string_view word, const RowWords &words);
// nullptr: it has no rows with names.
const RowWords *row_words(RowKind kind);

// Counter: a sample is the increase since the sample before. Sampled: over time only.
// Stepwise: over time by the steps that end then.
enum class ColumnKind : uint8_t { Value, Level, Counter, Sampled, Stepwise };

struct Cell {
  std::optional<double> number = {};
  const Histogram *distribution = nullptr;
  std::optional<std::string> text = {};
  bool needed = false; // without a value, functions of the column have none either
};

// Which texts a column has. Values: those of ColumnRow::values.
enum class Texts : uint8_t { None, Any, Values, Flows, Rules };

struct ColumnRow {
  const char *name;
  Dimension dimension;
  ColumnKind kind;
  bool whole_run; // Counter: of the run; otherwise of the measured time
  Cell (*flow)(const ExperimentFlow &) = nullptr;
  Cell (*queue)(const ExperimentQueue &) = nullptr;
  Cell (*rule)(const ExperimentRule &) = nullptr;
  Cell (*job)(const ExperimentJob &) = nullptr;
  Cell (*rank)(const ExperimentJob::Rank &) = nullptr;
  Cell (*total)(const ExperimentMeasurement &) = nullptr;
  Cell (*prediction)(const ExperimentPrediction &) = nullptr;
  bool distribution = false;
  double (*step)(const ExperimentJob::Step &) = nullptr; // Stepwise; of a step that ended
  Cell (*episode)(const Recovery &) = nullptr;
  Cell (*finding)(const AnsweredFinding &) = nullptr;
  Cell (*event)(const HitPacket &) = nullptr;
  Cell (*go_back_n)(const GoBackN &) = nullptr;
  Cell (*pacing)(const xr::CnpPacing &) = nullptr;
  Cell (*count)(const xr::CountCheck &) = nullptr;
  Texts texts = Texts::None;
  std::span<const char *const> values = {};
};
std::span<const ColumnRow> columns_of(RowKind kind);

// OTG's name of a flow's column; `scale` converts ours into OTG's unit. `ours` nullptr: there is no
// such number here, for the reason `why`.
struct ColumnAlias {
  const char *otg;
  const char *ours;
  double scale = 1;
  const char *why = nullptr;
};
std::span<const ColumnAlias> column_aliases();

// A column by our name, with or without the _ns of a time, or another one's; nullptr if there is
// none.
struct FoundColumn {
  const ColumnRow *column = nullptr;
  double scale = 1;
  const char *why = nullptr; // why another one's name has no column
};
FoundColumn find_column(RowKind kind, const std::string &name);
// "did you mean drops?", or all names.
std::string column_hint(RowKind kind, const std::string &name);

} // namespace xr::experiment
