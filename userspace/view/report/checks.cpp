// SPDX-License-Identifier: Apache-2.0
#include "report/checks.h"

#include <algorithm>

#include "model/episodes.h"
#include "report/sections.h"
#include "report/summary.h"

namespace xr::report {

namespace {

using Status = SetupCheck::Status;

std::string status_of(const SetupCheck &check) {
  return kCheckStatusNames[static_cast<size_t>(check.status)];
}

NumberList frames_of(const SetupCheck &check) {
  NumberList frames;
  for (const uint64_t frame : check.frames)
    frames.push_back(frame & ((uint64_t{1} << kFileShift) - 1));
  return frames;
}

StringList files_of(const SetupCheck &check, const std::vector<std::string> &files) {
  StringList names;
  for (const uint64_t frame : check.frames)
    names.push_back(files.at(frame >> kFileShift));
  return names;
}

Table json_table(const std::vector<SetupCheck> &checks, const std::vector<std::string> &files) {
  std::vector<Column> columns = {{"check", ""}, {"status", ""}, {"value", ""}, {"bound", ""},
                                 {"why", ""},   {"change", ""}, {"frames", ""}};
  if (!files.empty())
    columns.push_back({"files", ""});
  std::vector<std::vector<Value>> rows;
  for (const SetupCheck &check : checks) {
    rows.push_back({check.name, status_of(check), check.value, check.bound, check.why, check.change,
                    frames_of(check)});
    if (!files.empty())
      rows.back().emplace_back(files_of(check, files));
  }
  return make_table(std::move(columns), std::move(rows));
}

Table text_table(const std::vector<SetupCheck> &checks) {
  std::vector<std::vector<Value>> rows;
  for (const SetupCheck &check : checks)
    rows.push_back({check.name, status_of(check), check.value});
  return make_table({{"", "CHECK"}, {"", "STATUS"}, {"", "VALUE"}}, std::move(rows));
}

// Why and what to change, below the table, of those that warn or fail.
void add_advice(Document &document, const SetupCheck &check,
                const std::vector<std::string> &files) {
  Group group = {
      {{"", "bound"}, check.bound}, {{"", "why"}, check.why}, {{"", "change"}, check.change}};
  if (!check.frames.empty())
    group.push_back({{"", "frames"}, frames_of(check)});
  if (!check.frames.empty() && !files.empty())
    group.push_back({{"", "of"}, files_of(check, files)});
  document.sections.push_back(
      {"check_" + check.name, check.name + ": " + status_of(check), std::move(group), Where::Text});
}

} // namespace

void add_checks(Document &document, const std::vector<SetupCheck> &checks,
                const std::vector<std::string> &files) {
  document.sections.push_back({"checks", "", json_table(checks, files), Where::Json});
  document.sections.push_back({"checks_text", "CHECKS", text_table(checks), Where::Text});
  for (const SetupCheck &check : checks)
    if (check.status == Status::Warn || check.status == Status::Fail)
      add_advice(document, check, files);
}

Document checks_report(const std::string &ifname, const std::vector<SetupCheck> &checks) {
  Document document = port_document(ifname);
  add_summary(document, checks_summary(checks));
  add_checks(document, checks, {});
  return document;
}

} // namespace xr::report
