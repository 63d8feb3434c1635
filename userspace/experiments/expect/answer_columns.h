// SPDX-License-Identifier: Apache-2.0
// The columns of the answers from a run's captures, and where each row is to be looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "expect/columns.h"

namespace xr::experiment {

template <typename T> Cell cell(const T &value) { return {.number = static_cast<double>(value)}; }
template <typename T> Cell cell(const std::optional<T> &value) {
  return value ? cell(*value) : Cell{};
}

std::span<const ColumnRow> answer_columns(RowKind kind);
// Our name of a column that has another one too: "dest_qp" of "qpn".
std::string_view answer_column(std::string_view name);

size_t answer_rows(RowKind kind, const RunAnswers &answers);
// By which a pattern selects the row: the flow, rule, kind of finding, receiver or counter.
std::string answer_name(RowKind kind, const RunAnswers &answers, size_t row);
std::string answer_label(RowKind kind, const RunAnswers &answers, size_t row);
Cell answer_cell(const ColumnRow &column, RowKind kind, const RunAnswers &answers, size_t row);
// What the rows of this kind do not have; "": nothing.
const std::string &answer_loss(RowKind kind, const RunAnswers &answers);

// `column` may be nullptr.
CaptureFrame answer_frame(const ColumnRow *column, RowKind kind, const RunAnswers &answers,
                          size_t row);
// When it was, since the start of the run. Unset: the rows have no time.
std::optional<uint64_t> answer_time(RowKind kind, const RunAnswers &answers, size_t row);
constexpr bool has_time(RowKind kind) {
  return kind == RowKind::Episode || kind == RowKind::Finding || kind == RowKind::Event;
}

} // namespace xr::experiment
