// SPDX-License-Identifier: Apache-2.0
#include "report/rules.h"

#include "report/cells.h"

namespace xr::report {

namespace {

Value ppm(const RuleRow &rule) {
  const auto parts = parts_per_million(rule);
  return maybe(parts);
}

} // namespace

Document rules_report(const std::string &ifname, const std::vector<RuleRow> &rules,
                      const std::vector<std::string> &peer_words) {
  Document document;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back({"interface", "", Value{ifname}, Where::Json});
  std::vector<std::vector<Value>> rows;
  for (const RuleRow &rule : rules)
    rows.push_back({uint64_t{rule.id}, rule.matched, rule.matched_bytes, rule.acted,
                    rule.acted_bytes, ppm(rule), rule.spared, rule.limited, rule.not_applicable,
                    rule.refused, rule.not_held, known(rule.name), rule.enabled, rule.text});
  document.sections.push_back(
      {"rules", "",
       make_table({{"id", "ID", Format::Number},
                   {"matched", "MATCHED", Format::Count},
                   {"matched_bytes", "BYTES", Format::Count},
                   {"acted", "ACTED", Format::Count},
                   {"acted_bytes", "BYTES", Format::Count},
                   {"ppm", "PPM", Format::Rate},
                   {"spared", "SPARED", Format::Count, Hide::Zero},
                   {"limited", "LIMITED", Format::Count, Hide::Zero},
                   {"not_applicable", "NOT APPLICABLE", Format::Count, Hide::Zero},
                   {"refused", "REFUSED", Format::Count, Hide::Zero},
                   {"not_held", "NOT HELD", Format::Count, Hide::Zero, Tone::Alarm},
                   {"name", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                   {"enabled", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                   {"rule", "RULE"}},
                  std::move(rows))});
  document.sections.back().note = "no rules";
  std::vector<std::vector<Value>> peers;
  for (const std::string &peer : peer_words)
    peers.push_back({peer});
  document.sections.push_back(
      {"peers", "", make_table({{"peer", "PEER"}}, std::move(peers)), Where::Both, Hide::Zero});
  return document;
}

} // namespace xr::report
