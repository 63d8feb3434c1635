// SPDX-License-Identifier: Apache-2.0
#include "expect/expression_names.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "expect/answer_columns.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

// Whether one of `known` is meant.
Status one_of(const std::string &pattern, const std::vector<std::string_view> &known,
              const std::string &what) {
  for (const std::string_view name : known)
    if (fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0)
      return {};
  if (known.empty())
    return Error{fmt::format("{} '{}'", what, pattern), "there are none"};
  return Error{fmt::format("{} '{}'", what, pattern), parse::hint_from(pattern, known)};
}

// Names of answers' rows are known before the run only as far as they are of flows, rules or kinds
// of findings.
Status answer_names(const Node &node, const RowWords &words, const Subject &subject) {
  if (!subject.no_answers.message.empty())
    return Error{fmt::format("{}: {}", node.text, subject.no_answers.message),
                 subject.no_answers.hint};
  if (node.pattern.empty())
    return {};
  using enum RowKind;
  std::vector<std::string_view> known;
  if (node.row_kind == Event)
    known.assign(subject.rules.begin(), subject.rules.end());
  else if (node.row_kind == Finding)
    known.assign(kFindingNames.begin(), kFindingNames.end());
  else if (node.row_kind == Episode || node.row_kind == GoBackN)
    known.assign(subject.flows.begin(), subject.flows.end());
  else
    return {};
  return one_of(node.pattern, known, fmt::format("no {} has the name", words.one));
}

Status within_run(const Node &node, const Subject &subject) {
  for (const auto &time : {node.after_ns, node.before_ns})
    if (time && *time >= subject.duration_ns)
      return Error{fmt::format("{}: the run ends at {}", node.text,
                               parse::duration_text(subject.duration_ns)),
                   "times count from the start of the run"};
  return {};
}

// after and before, of rows that have a time.
Status timed(const Node &node, const Subject &subject) {
  if (!is_answer(node.row_kind))
    return Error{fmt::format("{}: the rows have no time", node.text),
                 "a column over time: flows.goodput_bps after 20ms"};
  if (!has_time(node.row_kind))
    return Error{fmt::format("{}: {} have no time", node.text, rows_name(node.row_kind)),
                 "of episodes, findings and events"};
  return within_run(node, subject);
}

Status sampled(const Node &node, const ColumnRow &column, const Subject &subject) {
  if (column.kind == ColumnKind::Stepwise)
    return within_run(node, subject);
  if (!subject.samples)
    return Error{fmt::format("{}: there are no samples", node.text), "sample: 100us"};
  if (node.row_kind == RowKind::Rule || node.row_kind == RowKind::Job ||
      node.row_kind == RowKind::Rank)
    return Error{
        fmt::format("{}: {} are not sampled over time", node.text, rows_name(node.row_kind)),
        "the column of the whole run"};
  if (!subject.sampled.count({node.row_kind, column.name})) {
    std::vector<std::string_view> names;
    for (const auto &[kind, name] : subject.sampled)
      if (kind == node.row_kind)
        names.push_back(name);
    return Error{
        fmt::format("{}: {} is not sampled over time", node.text, column.name),
        fmt::format("of {} there are {}", rows_name(node.row_kind), fmt::join(names, ", "))};
  }
  return within_run(node, subject);
}

} // namespace

const char *rows_name(RowKind kind) {
  if (const RowWords *words = row_words(kind))
    return words->many;
  return kind == RowKind::Total ? "the run" : kind == RowKind::Whole ? "totals" : "prediction";
}

Status check_names(const Node &node, const Subject &subject) {
  const RowWords *words = row_words(node.row_kind);
  if (!words || node.rows == Node::Rows::Own)
    return {};
  if (is_answer(node.row_kind))
    return answer_names(node, *words, subject);
  const auto rows = select_rows(subject, node.row_kind, node.pattern);
  const auto &all = subject.names(node.row_kind);
  if (all.empty())
    return Error{fmt::format("the experiment has no {}", words->many), ""};
  if (rows.empty()) {
    std::vector<std::string_view> names(all.begin(), all.end());
    if (node.row_kind == RowKind::Queue)
      for (const auto &[alias, name] : subject.aliases)
        names.emplace_back(alias);
    constexpr size_t kMostListed = 20;
    const std::string near = parse::nearest(node.pattern, names);
    names.resize(std::min(names.size(), kMostListed));
    return Error{fmt::format("there is no {} '{}'", words->one, node.pattern),
                 near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                              : fmt::format("did you mean {}?", near)};
  }
  if (node.rows == Node::Rows::One && rows.size() > 1)
    return Error{fmt::format("'{}' is {} {}", node.pattern, rows.size(), rows_name(node.row_kind)),
                 fmt::format("{}('{}') has many rows", rows_name(node.row_kind), node.pattern)};
  return {};
}

Status check_text(const ColumnRow &column, const Node &left, const Node &text,
                  const Subject &subject) {
  if (column.texts == Texts::Any || text.name.empty())
    return {};
  std::vector<std::string_view> known(column.values.begin(), column.values.end());
  if (column.texts == Texts::Flows)
    known.assign(subject.flows.begin(), subject.flows.end());
  if (column.texts == Texts::Rules)
    known.assign(subject.rules.begin(), subject.rules.end());
  return one_of(text.name, known, fmt::format("{} is never", left.text));
}

Status check_times(const Node &node, const ColumnRow *column, const Subject &subject) {
  if (!node.after_ns && !node.before_ns)
    return {};
  return column && !is_answer(node.row_kind) ? sampled(node, *column, subject)
                                             : timed(node, subject);
}

} // namespace xr::experiment
