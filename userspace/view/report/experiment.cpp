// SPDX-License-Identifier: Apache-2.0
#include "report/experiment.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "report/cells.h"
#include "report/experiment_tables.h"
#include "report/job_steps.h"
#include "report/phrases.h"
#include "report/run_answers.h"
#include "report/summary.h"

namespace xr::report {

namespace {

using Outcome = ExperimentCheck::Outcome;

Section json(const char *key, Value value) { return {key, "", std::move(value), Where::Json}; }

std::string milliseconds(uint64_t ns) {
  return fmt::format("{:g} ms", static_cast<double>(ns) / 1e6);
}

Value number_text(const std::optional<double> &value, const std::string &text,
                  const std::string &unit) {
  if (!text.empty())
    return text;
  return value ? Value{check_number(*value, unit)} : Value{};
}

// A number, or a text.
Value either(const std::optional<double> &value, const std::string &text) {
  return text.empty() ? maybe(value) : Value{text};
}

const char *outcome_name(Outcome outcome) {
  switch (outcome) {
  case Outcome::Holds:
    return "holds";
  case Outcome::Fails:
    return "FAILS";
  default:
    return "VOID";
  }
}

std::string where_text(const ExperimentCheck &check) {
  if (!check.why.empty())
    return check.why;
  std::string text = check.row;
  if (check.t_ns)
    text += fmt::format("{}at {}", text.empty() ? "" : " ", milliseconds(*check.t_ns));
  if (check.frame)
    text += ", " + frame_text(check);
  return text;
}

Section expectations_json(const std::vector<ExperimentCheck> &checks) {
  Rows rows;
  for (const ExperimentCheck &check : checks)
    rows.push_back({check.text, check.outcome == Outcome::Holds,
                    either(check.value, check.value_text), either(check.bound, check.bound_text),
                    known(check.row), maybe(check.t_ns), known(check.capture), known(check.frame),
                    known(check.why)});
  return {"expectations", "",
          make_table({{"text", ""},
                      {"holds", ""},
                      {"value", ""},
                      {"bound", ""},
                      {"row", ""},
                      {"t_ns", ""},
                      {"capture", ""},
                      {"frame", ""},
                      {"why", ""}},
                     std::move(rows)),
          Where::Json};
}

Section expectations_text(const std::vector<ExperimentCheck> &checks) {
  Rows rows;
  for (const ExperimentCheck &check : checks)
    rows.push_back({std::string(outcome_name(check.outcome)), check.text,
                    number_text(check.value, check.value_text, check.unit),
                    number_text(check.bound, check.bound_text, check.unit), where_text(check)});
  return {"expectations_text", "",
          make_table({{"outcome", ""},
                      {"text", "EXPECTATION"},
                      {"value", "VALUE", Format::Number},
                      {"bound", "BOUND", Format::Number},
                      {"where", "WHERE", Format::Text, Hide::Zero}},
                     std::move(rows)),
          Where::Text, Hide::Zero};
}

std::optional<uint64_t> whole(const std::optional<double> &value) {
  return value ? std::optional<uint64_t>(static_cast<uint64_t>(std::llround(*value)))
               : std::nullopt;
}

Section prediction_json(const ExperimentPrediction &p) {
  const auto field = [](const char *key, Value value) {
    return Field{{key, ""}, std::move(value)};
  };
  return {"prediction", "",
          Group{field("mark_probability", maybe(p.mark_probability)),
                field("queue_bytes", maybe(whole(p.queue_bytes))), field("alpha", maybe(p.alpha)),
                field("share_bps", maybe(whole(p.share_bps))),
                field("convergence_ns", maybe(whole(p.convergence_ns))),
                field("stable", maybe(p.stable)), field("applies", p.applies),
                field("why", known(p.why))},
          Where::Json};
}

Section prediction_text(const ExperimentPrediction &p) {
  const auto field = [](const char *key, const char *heading, const auto &value, double scale,
                        const char *unit) {
    return Field{{key, heading, Format::Number, Hide::Zero},
                 value ? Value{fmt::format("{:.4g} {}", *value * scale, unit)} : Value{}};
  };
  Section section{
      "prediction_text", "THEORY",
      Group{
          field("queue_bytes", "queue", p.queue_bytes, 1e-3, "KB"),
          field("mark_probability", "marked", p.mark_probability, 100, "%"),
          field("share_bps", "fair share", p.share_bps, 1e-9, "Gbit/s"),
          field("convergence_ns", "converged within", p.convergence_ns, 1e-6, "ms"),
          {{"stable", "stable", Format::Text, Hide::Zero},
           p.stable ? Value{std::string(*p.stable ? "yes" : "no")} : Value{}},
          {{"applies", "applies", Format::Text, Hide::Zero}, p.applies == "none" ? "" : p.applies},
          {{"why", "because", Format::Text, Hide::Zero}, p.applies == "none" ? "" : p.why}},
      Where::Text};
  section.hide = Hide::Zero;
  return section;
}

std::string more_rows(size_t all, size_t shown, const char *what) {
  return all > shown
             ? fmt::format("{} in result.json", counted(all - shown, fmt::format("more {}", what)))
             : "";
}

Section totals_text(const ExperimentResult &result) {
  const ExperimentMeasurement &m = result.measured;
  const double speed = m.cpu_s > 0 ? static_cast<double>(m.packet_hops) / m.cpu_s : 0;
  return {"run_text", "",
          Group{{{"window", "measured"},
                 fmt::format("{} to {}", milliseconds(m.from_ns), milliseconds(m.duration_ns))},
                {{"jain", "Jain's index", Format::Text, Hide::Zero},
                 m.jain && !m.unmeasured.contains("jain") ? fmt::format("{:.4f}", *m.jain) : ""},
                {{"flow_imbalance", "flow imbalance", Format::Text, Hide::Zero},
                 m.flow_imbalance ? fmt::format("{:.1f} %, {} above the even share of a link",
                                                *m.flow_imbalance * 100,
                                                counted(m.flow_collisions.value_or(0), "flow"))
                                  : ""},
                {{"packets", "packets", Format::Count, Hide::Zero}, m.packets},
                {{"duration", result.place == "virtual" ? "simulated" : "time"},
                 milliseconds(m.duration_ns)},
                {{"wall_s", "real time"}, fmt::format("{:.2f} s", m.wall_s)},
                {{"speed", "packet-hops/s", Format::Scaled, Hide::Zero}, speed}},
          Where::Text};
}

Section samples_json(const ExperimentSamples &samples) {
  const auto field = [](const char *key, uint64_t value) { return Field{{key, ""}, value}; };
  return {"samples", "",
          Group{field("flows", samples.flows), field("flows_left_out", samples.flows_left_out),
                field("queues_left_out", samples.queues_left_out),
                field("thinned", samples.thinned), field("sample_ns", samples.sample_ns),
                field("flow_sample_ns", samples.flow_sample_ns)},
          Where::Json};
}

std::string microseconds(uint64_t ns) {
  return fmt::format("{:.4g} us", static_cast<double>(ns) / 1e3);
}

Section samples_text(const ExperimentSamples &samples) {
  std::vector<std::string> parts;
  if (samples.flows_left_out)
    parts.push_back(fmt::format("{} without samples", counted(samples.flows_left_out, "flow")));
  if (samples.queues_left_out)
    parts.push_back(fmt::format("{} without samples", counted(samples.queues_left_out, "queue")));
  if (samples.thinned)
    parts.push_back(counted(samples.thinned, "sample") + " thinned");
  if (samples.flow_sample_ns > samples.sample_ns)
    parts.push_back(fmt::format("flows each {}, queues each {}",
                                microseconds(samples.flow_sample_ns),
                                microseconds(samples.sample_ns)));
  parts.emplace_back("all with the key sample-flows: all");
  return {"samples_text", "samples", Value{fmt::format("{}", fmt::join(parts, "; "))}, Where::Text};
}

Field json_field(const char *key, Value value) { return {{key, ""}, std::move(value)}; }

Section fluid_json(const ExperimentFluid &fluid) {
  const bool known = fluid.compared;
  return {"fluid", "",
          Group{json_field("compared", fluid.compared),
                json_field("median", known ? Value{fluid.median} : Value{}),
                json_field("farthest", known ? Value{fluid.farthest} : Value{}),
                json_field("packets", fluid.packets)},
          Where::Json};
}

Section frames_json(const ExperimentFrames &frames) {
  const bool known = frames.compared;
  return {"frames", "",
          Group{json_field("compared", frames.compared),
                json_field("median", known ? Value{frames.median} : Value{}),
                json_field("farthest", known ? Value{frames.farthest} : Value{}),
                json_field("carried", frames.carried), json_field("lost", frames.lost),
                json_field("more", frames.more), json_field("more_ns", frames.more_ns),
                json_field("more_p99_ns", frames.more_p99_ns)},
          Where::Json};
}

Section window_json(const ExperimentMeasurement &m) {
  return {"window", "", Group{{{"from_ns", ""}, m.from_ns}, {{"to_ns", ""}, m.duration_ns}},
          Where::Json};
}

// The sums of the whole run; in text those that say that something went wrong, where the measured
// time is only a part of it.
Section totals_section(const ExperimentMeasurement &m) {
  const WholeRun whole = whole_run(m);
  const auto field = [&m](const char *key, const char *label, uint64_t value,
                          Where where = Where::Both) {
    Field made{{key, label, Format::Count, Hide::Zero}, value};
    made.column.where = m.from_ns ? where : Where::Json;
    if (m.unmeasured.contains(key))
      made.value = Value{};
    return made;
  };
  Section section{"totals", m.from_ns ? "WHOLE RUN" : "",
                  Group{field("bytes", "", whole.flows.bytes, Where::Json),
                        field("packets", "", whole.flows.packets, Where::Json),
                        field("marked", "marked", whole.flows.marked),
                        field("cnps", "CNPs", whole.flows.cnps),
                        field("cuts", "", whole.flows.cuts, Where::Json),
                        field("retransmitted", "sent again", whole.flows.retransmitted),
                        field("timeouts", "timeouts", whole.flows.timeouts),
                        field("drops", "drops", whole.flows.drops),
                        field("kept_no_room", "no room to keep", whole.flows.kept_no_room),
                        field("failed", "messages failed", whole.flows.failed),
                        field("naks", "NAKs", whole.flows.naks),
                        field("rules_matched", "", whole.rules_matched, Where::Json),
                        field("rules_acted", "changed by rules", whole.rules_acted)}};
  return section;
}

} // namespace

Document experiment_report(const ExperimentResult &result) {
  const ExperimentMeasurement &m = result.measured;
  Document document;
  document.title = fmt::format("{}: {}", result.name, verdict_name(result.verdict));
  auto &s = document.sections;
  s.push_back(json("schema", uint64_t{1}));
  add_summary(document, experiment_summary(result));
  s.push_back(json("experiment", result.name));
  s.push_back(json("place", result.place));
  if (result.scale != 1)
    s.push_back(json("scale", result.scale));
  s.push_back(json("seed", result.seed));
  if (m.fluid) {
    s.push_back(json("fidelity", std::string("flow")));
    s.push_back(fluid_json(*m.fluid));
  }
  if (m.frames)
    s.push_back(frames_json(*m.frames));
  s.push_back(window_json(m));
  s.push_back(json("verdict", std::string(verdict_name(result.verdict))));
  s.push_back({"why_void", "void because", Value{StringList(m.why_void)}, Where::Both, Hide::Zero,
               Tone::Alarm});
  s.push_back(expectations_json(result.checks));
  s.push_back(expectations_text(result.checks));
  s.push_back(prediction_json(result.prediction));
  s.push_back(prediction_text(result.prediction));
  s.push_back(totals_text(result));
  for (Section &section : job_sections(m.jobs, kMostRows))
    s.push_back(std::move(section));
  s.push_back({"flows", "", flows_table(m, m.flows.size()), Where::Json});
  s.push_back({"flows_text", "", flows_table(m, kMostRows), Where::Text});
  s.push_back({"flows_more", "", Value{more_rows(m.flows.size(), kMostRows, "flow")}, Where::Text,
               Hide::Zero});
  s.push_back({"queues", "", queues_table(m.queues, all_of(m.queues.size())), Where::Json});
  s.push_back({"queues_text", "", queues_table(m.queues, busiest(m.queues)), Where::Text});
  if (std::optional<Section> by_size = fct_by_size(m))
    s.push_back(std::move(*by_size));
  s.push_back(rules_section(m.rules));
  s.push_back(totals_section(m));
  if (result.answers)
    for (Section &section : answer_sections(*result.answers, kMostRows))
      s.push_back(std::move(section));
  if (result.samples) {
    s.push_back(samples_json(*result.samples));
    s.push_back(samples_text(*result.samples));
  }
  s.push_back({"other_qps", "QPs of no flow", m.other_qps, Where::Both, Hide::Zero});
  s.push_back({"other_cnps", "CNPs of no flow", m.other_cnps, Where::Both, Hide::Zero});
  const auto measured = [&](const char *key, Value value) {
    return json(key, m.unmeasured.contains(key) ? Value{} : std::move(value));
  };
  s.push_back(measured("jain", maybe(m.jain)));
  if (m.flow_imbalance)
    s.push_back(json("flow_imbalance", *m.flow_imbalance));
  if (m.flow_collisions)
    s.push_back(json("flow_collisions", *m.flow_collisions));
  s.push_back(json("packets", m.packets));
  s.push_back(measured("packet_hops", m.packet_hops));
  s.push_back(json("duration_ns", m.duration_ns));
  s.push_back(json("wall_s", m.wall_s));
  s.push_back(json("cpu_s", m.cpu_s));
  s.push_back(json("version", result.version));
  return document;
}

Document experiment_list(const std::vector<ExperimentEntry> &entries) {
  Rows rows;
  for (const ExperimentEntry &entry : entries)
    rows.push_back({entry.name, entry.on, entry.about, entry.path});
  Document document;
  document.sections.push_back(json("schema", uint64_t{1}));
  document.sections.push_back(
      {"experiments", "",
       make_table({{"name", "EXPERIMENT"},
                   {"on", "ON"},
                   {"about", "WHAT"},
                   {"path", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}},
                  std::move(rows))});
  return document;
}

} // namespace xr::report
