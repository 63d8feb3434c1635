// SPDX-License-Identifier: Apache-2.0
#include "report/doctor.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace xr::report {

namespace {

constexpr std::array<const char *, 5> kVerdicts = {"ok", "info", "unknown", "warn", "fail"};

std::string word(CheckVerdict verdict) { return kVerdicts[static_cast<size_t>(verdict)]; }

std::string title(const std::string &subject, const Checks &checks) {
  const auto count = [&](CheckVerdict verdict) {
    return std::count_if(checks.begin(), checks.end(),
                         [&](const Check &check) { return check.verdict == verdict; });
  };
  return fmt::format("{}: {} ok, {} warn, {} fail", subject, count(CheckVerdict::Ok),
                     count(CheckVerdict::Warn), count(CheckVerdict::Fail));
}

// The hint is on a line below the finding, to keep lines short.
Section group_of(const std::string &group, const Checks &checks) {
  Rows rows;
  for (const Check &check : checks) {
    if (check.group != group)
      continue;
    rows.push_back({word(check.verdict), check.name, check.text});
    if (!check.hint.empty())
      rows.push_back({std::string(), std::string(), "  -> " + check.hint});
  }
  std::string heading = group;
  std::transform(heading.begin(), heading.end(), heading.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return {group, "",
          make_table({{"status", heading}, {"check", "CHECK"}, {"text", "FOUND"}}, std::move(rows)),
          Where::Text};
}

} // namespace

Document doctor_report(const std::string &subject, const Checks &checks) {
  Document document;
  document.title = title(subject, checks);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  Rows rows;
  std::vector<std::string> groups;
  for (const Check &check : checks) {
    rows.push_back({check.group, check.name, word(check.verdict), check.text, check.hint});
    if (groups.empty() || groups.back() != check.group)
      groups.push_back(check.group);
  }
  for (const std::string &group : groups)
    document.sections.push_back(group_of(group, checks));
  document.sections.push_back(
      {"checks", "",
       make_table({{"group", ""}, {"check", ""}, {"status", ""}, {"text", ""}, {"hint", ""}},
                  std::move(rows)),
       Where::Json});
  return document;
}

} // namespace xr::report
