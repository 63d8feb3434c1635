// SPDX-License-Identifier: Apache-2.0
// What test systems and plotting programs read: JUnit XML, TAP, CSV.
#include <algorithm>
#include <iterator>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "base/xml.h"
#include "report/experiment.h"
#include "report/experiment_tables.h"
#include "report/text.h"

namespace xr::report {

namespace {

using Outcome = ExperimentCheck::Outcome;

std::string detail_of(const ExperimentCheck &check) {
  if (check.outcome == Outcome::Unmeasured)
    return "not measured: " + check.why;
  std::string text = check.value_text.empty()
                         ? fmt::format("value {:.9g}, bound {:.9g}", check.value.value_or(0),
                                       check.bound.value_or(0))
                         : fmt::format("value {}, bound {}", check.value_text, check.bound_text);
  if (!check.row.empty())
    text += ", " + check.row;
  if (check.t_ns)
    text += fmt::format(", at {} ns", *check.t_ns);
  if (check.frame)
    text += ", " + frame_text(check);
  return text;
}

std::string why_of(const ExperimentResult &result) {
  std::string text;
  for (const std::string &why : result.measured.why_void)
    text += (text.empty() ? "" : "; ") + why;
  return text;
}

size_t count(const ExperimentResult &result, Outcome outcome) {
  return static_cast<size_t>(
      std::count_if(result.checks.begin(), result.checks.end(),
                    [outcome](const ExperimentCheck &c) { return c.outcome == outcome; }));
}

std::string suite_of(const ExperimentResult &result) {
  const bool is_void = result.verdict == Verdict::Void;
  const size_t errors = count(result, Outcome::Unmeasured) + (is_void ? 1 : 0);
  std::string xml = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n",
      xml_escaped(result.name), result.checks.size() + 1, count(result, Outcome::Fails), errors,
      result.measured.wall_s);
  const auto test = [&](const std::string &name, const std::string &inner) {
    xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}\n", xml_escaped(result.name),
                       xml_escaped(name), inner.empty() ? "/>" : ">" + inner + "</testcase>");
  };
  test("measured",
       is_void ? fmt::format("<error message=\"{}\"/>", xml_escaped(why_of(result))) : "");
  for (const ExperimentCheck &check : result.checks)
    switch (check.outcome) {
    case Outcome::Holds:
      test(check.text, "");
      break;
    case Outcome::Fails:
      test(check.text, fmt::format("<failure message=\"{}\"/>", xml_escaped(detail_of(check))));
      break;
    case Outcome::Unmeasured:
      test(check.text, fmt::format("<error message=\"{}\"/>", xml_escaped(detail_of(check))));
    }
  return xml + "  </testsuite>\n";
}

std::string tap_text(std::string text) {
  std::replace(text.begin(), text.end(), '#', ' '); // begins a directive
  std::replace(text.begin(), text.end(), '\n', ' ');
  return printable(std::move(text));
}

} // namespace

std::string frame_text(const ExperimentCheck &check) {
  return fmt::format("{}.pcapng frame {}", check.capture, check.frame);
}

std::string junit_xml(const std::vector<const ExperimentResult *> &results) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const ExperimentResult *result : results)
    xml += suite_of(*result);
  return xml + "</testsuites>\n";
}

std::string tap(const std::vector<const ExperimentResult *> &results) {
  size_t tests = 0, number = 0;
  for (const ExperimentResult *result : results)
    tests += result->checks.size() + 1;
  std::string out = fmt::format("TAP version 13\n1..{}\n", tests);
  const auto line = [&](bool ok, const std::string &text, const std::string &why) {
    out += fmt::format("{}ok {} - {}\n", ok ? "" : "not ", ++number, tap_text(text));
    if (!ok)
      out += fmt::format("# {}\n", tap_text(why));
  };
  for (const ExperimentResult *result : results) {
    line(result->verdict != Verdict::Void, result->name + ": measured", why_of(*result));
    for (const ExperimentCheck &check : result->checks)
      line(check.outcome == Outcome::Holds, check.text, detail_of(check));
  }
  return out;
}

std::string series_header() { return "t_ns,kind,name,column,value\n"; }

std::string series_lines(const std::vector<ExperimentSample> &samples,
                         const std::vector<std::string> &flows,
                         const std::vector<std::string> &queues) {
  fmt::memory_buffer out;
  for (const ExperimentSample &sample : samples) {
    const std::string_view name = sample.kind == ExperimentSample::Kind::Flow ? flows[sample.row]
                                  : sample.kind == ExperimentSample::Kind::Queue
                                      ? std::string_view(queues[sample.row])
                                      : "";
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{},{},{},{},{}\n"), sample.t_ns,
                   sample_kind_name(sample.kind), name, sample.column, sample.value);
  }
  return fmt::to_string(out);
}

} // namespace xr::report
