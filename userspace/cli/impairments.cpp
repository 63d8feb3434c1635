// SPDX-License-Identifier: Apache-2.0
#include "cli/impairments.h"

namespace xr::cli {

namespace {

using report::Format;
using report::Hide;
using report::Tone;
using report::Value;
using report::Where;

Value ppm(const RuleRow &rule) {
  const auto parts = parts_per_million(rule);
  return parts ? Value{*parts} : Value{};
}

} // namespace

report::Document impairments_report(const std::string &ifname, const datapath::RuleList &list) {
  report::Document document;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back({"interface", "", Value{ifname}, Where::Json});
  std::vector<std::vector<Value>> rows;
  for (const RuleRow &rule : list.rules)
    rows.push_back({uint64_t{rule.id}, rule.matched, rule.acted, ppm(rule),
                    rule.name.empty() ? Value{} : Value{rule.name}, rule.text});
  document.sections.push_back(
      {"rules", "",
       report::make_table({{"id", "ID", Format::Number},
                           {"matched", "MATCHED", Format::Count},
                           {"acted", "ACTED", Format::Count},
                           {"ppm", "PPM", Format::Rate},
                           {"name", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                           {"rule", "RULE"}},
                          std::move(rows))});
  document.sections.back().note = "no rules";
  std::vector<std::vector<Value>> peers;
  for (const impair::Peer &peer : list.peers)
    peers.push_back({"peer " + impair::peer_text(peer)});
  document.sections.push_back({"peers", "",
                               report::make_table({{"peer", "PEER"}}, std::move(peers)),
                               Where::Both, Hide::Zero});
  return document;
}

} // namespace xr::cli
