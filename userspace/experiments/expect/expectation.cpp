// SPDX-License-Identifier: Apache-2.0
#include "expect/expectation.h"

#include <algorithm>

#include <fnmatch.h>

#include "expect/expression.h"

namespace xr::experiment {

namespace {

// Only a part of the run's time needs samples.
bool is_sampled(const Node &node) {
  return node.kind == Node::Kind::Column && (node.after_ns || node.before_ns);
}

void keep(const Node &node, SampleStore &store) {
  if (node.kind == Node::Kind::Column)
    if (const FoundColumn found = find_column(node.row_kind, node.name); found.column)
      store.keep(node.row_kind, found.column->name);
  for (const auto &child : node.children)
    keep(*child, store);
}

bool samples(const Node &node, RowKind kind) {
  return (is_sampled(node) && node.row_kind == kind) ||
         std::ranges::any_of(node.children,
                             [kind](const auto &child) { return samples(*child, kind); });
}

void add_named(const Node &node, const Subject &subject, RowKind kind, std::set<size_t> &rows) {
  if (node.kind == Node::Kind::Column && node.row_kind == kind && !node.pattern.empty() &&
      node.pattern.find_first_of("*?[") == std::string::npos)
    for (const size_t row : select_rows(subject, kind, node.pattern))
      rows.insert(row);
  for (const auto &child : node.children)
    add_named(*child, subject, kind, rows);
}

bool names_answers(const Node &node) {
  return is_answer(node.row_kind) || std::ranges::any_of(node.children, [](const auto &child) {
           return names_answers(*child);
         });
}

} // namespace

void SampleStore::add(RowKind kind, uint32_t row, std::string_view column, uint64_t t_ns,
                      double value) {
  if (columns_.count(std::pair(kind, std::string(column))))
    samples_[{kind, std::string(column), row}].emplace_back(t_ns, value);
}

const SampleStore::Samples *SampleStore::find(RowKind kind, uint32_t row,
                                              std::string_view column) const {
  const auto found = samples_.find({kind, std::string(column), row});
  return found == samples_.end() ? nullptr : &found->second;
}

std::vector<size_t> select_rows(const Subject &subject, RowKind kind, const std::string &pattern) {
  const auto &names = subject.names(kind);
  const auto alias = subject.aliases.find(pattern);
  const std::string &wanted =
      kind == RowKind::Queue && alias != subject.aliases.end() ? alias->second : pattern;
  std::vector<size_t> rows;
  const auto is_wanted = [&](const std::string &name) {
    if (wanted.empty() || fnmatch(wanted.c_str(), name.c_str(), 0) == 0)
      return true;
    // a rank may be named by its number alone
    return kind == RowKind::Rank && name.substr(name.rfind(':') + 1) == wanted;
  };
  for (size_t i = 0; i < names.size(); i++)
    if (is_wanted(names[i]))
      rows.push_back(i);
  return rows;
}

Expectation::Expectation(std::string text, std::unique_ptr<Node> tree)
    : text_(std::move(text)), tree_(std::move(tree)) {}
Expectation::Expectation(Expectation &&) noexcept = default;
Expectation &Expectation::operator=(Expectation &&) noexcept = default;
Expectation::~Expectation() = default;

Result<Expectation> Expectation::parse(const std::string &text) {
  auto tree = XR_TRY(parse_expression(text));
  return Expectation(text, std::move(tree));
}

Status Expectation::check(const Subject &subject) const {
  return check_expression(*tree_, subject);
}

void Expectation::keep_samples(SampleStore &store) const { keep(*tree_, store); }

bool Expectation::needs_samples(RowKind kind) const { return samples(*tree_, kind); }

void Expectation::named_rows(const Subject &subject, RowKind kind, std::set<size_t> &rows) const {
  add_named(*tree_, subject, kind, rows);
}

bool Expectation::needs_answers() const { return names_answers(*tree_); }

ExperimentCheck Expectation::evaluate(const Subject &subject, const Evidence &evidence) const {
  ExperimentCheck check = evaluate_expression(*tree_, subject, evidence);
  check.text = text_;
  return check;
}

} // namespace xr::experiment
