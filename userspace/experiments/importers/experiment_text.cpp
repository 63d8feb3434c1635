// SPDX-License-Identifier: Apache-2.0
#include "importers/experiment_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parse/value.h"

namespace xr::importers {

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + "\"";
}

namespace {

std::string list(const char *key, const std::vector<std::string> &items) {
  std::string out = items.empty() ? "" : fmt::format("{}:\n", key);
  for (const std::string &item : items)
    out += fmt::format("  - {}\n", quoted(item));
  return out;
}

} // namespace

std::string ExperimentText::yaml() const {
  std::string out;
  for (const std::string &comment : comments)
    out += fmt::format("# {}\n", comment);
  out += fmt::format("experiment: {}\n", quoted(name));
  out += fmt::format("duration: {}\n", parse::duration_text(duration_ns));
  if (sample_ns)
    out += fmt::format("sample: {}\n", parse::duration_text(sample_ns));
  out += "measure: {from: 0s}\ntopology:\n";
  out += star ? fmt::format("  star: {{senders: {}, rate: {}, delay: 1us}}\n", senders, rate)
              : fmt::format("  dumbbell: {{senders: {}, rate: {}, delay: 1us, core-rate: {}, "
                            "core-delay: 1us}}\n",
                            senders, rate, core_rate.empty() ? rate : core_rate);
  out += fmt::format("queue: {{words: {}}}\n", quoted(queue));
  out += fmt::format("congestion: {}\n", quoted(congestion));
  if (!cnp.empty())
    out += fmt::format("cnp: {{{}}}\n", cnp);
  if (!reliability.empty())
    out += fmt::format("reliability: {{{}}}\n", reliability);
  out += "flows:\n";
  for (const Flow &flow : flows)
    out += fmt::format("  - {{name: {}, from: {}, to: {}, words: {}}}\n", flow.name, flow.from,
                       flow.to, quoted(flow.words));
  out += list("rules", rules);
  if (!captures.empty())
    out += fmt::format("capture: [{}]\n", fmt::join(captures, ", "));
  if (analyze)
    out += "analyze: episodes\n";
  return out + list("expect", expect);
}

} // namespace xr::importers
