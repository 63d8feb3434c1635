// SPDX-License-Identifier: Apache-2.0
#include "report/congestion.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/cells.h"

namespace xr::report {

using congestion::Answer;
using congestion::ParameterRow;
using congestion::Prediction;

namespace {

Section schema() { return {"schema", "", Value{uint64_t{1}}, Where::Json}; }

std::string default_text(const ParameterRow &row, size_t preset) {
  const congestion::Default &value = row.defaults[preset];
  return congestion::quantity_text(row, value.quantity) + (value.assumed ? " *" : "");
}

std::string row_source(const congestion::Default &value) {
  if (!value.assumed)
    return value.source;
  const std::string remark = value.source;
  return "assumed" + (remark.empty() ? "" : ": " + remark);
}

constexpr const char *kNote = "assumed: the system leaves it open, or its sources do not say";

const ParameterRow *same_parameter(std::span<const ParameterRow> rows, const ParameterRow &wanted) {
  for (const ParameterRow &row : rows)
    if (row.name == std::string_view(wanted.name) &&
        congestion::unit_text(row) == congestion::unit_text(wanted))
      return &row;
  return nullptr;
}

// The parameters of all, each once: those of one name and unit are one.
std::vector<const ParameterRow *> all_parameters(const std::vector<ShownControl> &shown) {
  std::vector<const ParameterRow *> all;
  for (const ShownControl &control : shown)
    for (const ParameterRow &row : control.rows)
      if (std::ranges::none_of(all, [&row](const ParameterRow *known) {
            return same_parameter({known, 1}, row) != nullptr;
          }))
        all.push_back(&row);
  return all;
}

// One: a row a parameter, with source and meaning. Several: their values side by side, and then
// their sources.
std::vector<Section> text_tables(const std::vector<ShownControl> &shown) {
  const bool single = shown.size() == 1;
  std::vector<Column> values = {{"parameter", "PARAMETER"}, {"unit", "UNIT"}};
  std::vector<Column> sources = {{"parameter", "SOURCES"}};
  for (const ShownControl &control : shown) {
    values.push_back({control.name, control.name});
    sources.push_back({control.name, control.name});
  }
  if (single) {
    values.push_back({"source", "SOURCE"});
    values.push_back({"meaning", "MEANING"});
  }
  Rows value_rows, source_rows;
  for (const ParameterRow *parameter : all_parameters(shown)) {
    value_rows.push_back({std::string(parameter->name), congestion::unit_text(*parameter)});
    source_rows.push_back({std::string(parameter->name)});
    for (const ShownControl &control : shown) {
      const ParameterRow *row = same_parameter(control.rows, *parameter);
      value_rows.back().emplace_back(row ? default_text(*row, control.preset) : "-");
      source_rows.back().emplace_back(row ? row_source(row->defaults[control.preset]) : "-");
    }
    if (single) {
      value_rows.back().emplace_back(row_source(parameter->defaults[shown.front().preset]));
      value_rows.back().emplace_back(std::string(parameter->meaning));
    }
  }
  if (value_rows.empty())
    return {};
  std::vector<Section> sections;
  sections.push_back(
      {"values", "", make_table(std::move(values), std::move(value_rows)), Where::Text});
  if (!single)
    sections.push_back(
        {"sources", "", make_table(std::move(sources), std::move(source_rows)), Where::Text});
  sections.push_back({"note", "*", Value{std::string(kNote)}, Where::Text});
  return sections;
}

// JSON: a row a preset or algorithm, and parameter.
Section json_rows(const std::vector<ShownControl> &shown) {
  Rows out;
  for (const ShownControl &control : shown)
    for (const ParameterRow &row : control.rows) {
      const congestion::Default &value = row.defaults[control.preset];
      out.push_back({control.name, std::string(row.name), std::string(row.symbol),
                     congestion::quantity_text(row, value.quantity), value.quantity.value,
                     congestion::unit_text(row), value.assumed, std::string(value.source),
                     std::string(row.meaning)});
    }
  return {"parameters", "",
          make_table({{"preset", ""},
                      {"parameter", ""},
                      {"symbol", ""},
                      {"text", ""},
                      {"value", ""},
                      {"units", ""},
                      {"assumed", ""},
                      {"source", ""},
                      {"meaning", ""}},
                     std::move(out)),
          Where::Json};
}

// A number of a prediction: in text with its unit, in JSON as it is.
struct Line {
  const char *key;
  const char *heading;
  Value json;
  std::string text;
};

std::string kilobytes(double bytes) { return fmt::format("{:.1f} KB", bytes / 1000); }
std::string gigabits(double bits) { return fmt::format("{:.3f} Gbit/s", bits / 1e9); }
std::string percent(double part) { return fmt::format("{:.4f} %", part * 100); }
Value whole_bytes(double bytes) { return static_cast<uint64_t>(std::llround(bytes)); }

std::string microseconds(double ns) { return fmt::format("{:.2f} us", ns / 1000); }

void add_cycle(std::vector<Line> &lines, const std::optional<congestion::QueueCycle> &cycle,
               const std::array<const char *, 5> &keys, const char *what) {
  const congestion::QueueCycle c = cycle.value_or(congestion::QueueCycle());
  const auto add = [&](const char *key, const char *name, Value value, std::string text) {
    lines.push_back({key, name, cycle ? std::move(value) : Value{}, cycle ? std::move(text) : ""});
  };
  add(keys[0], what, c.alpha, fmt::format("alpha {:.4f}", c.alpha));
  add(keys[1], "  period", whole_bytes(c.period_ns), microseconds(c.period_ns));
  add(keys[2], "  queue, least", whole_bytes(c.least), kilobytes(c.least));
  add(keys[3], "  queue, mean", whole_bytes(c.mean), kilobytes(c.mean));
  add(keys[4], "  queue, most", whole_bytes(c.most), kilobytes(c.most));
}

std::vector<Line> steady_lines(const congestion::SteadyState &s) {
  std::vector<Line> lines = {
      {"share_bps", "rate of each flow", whole_bytes(s.share_bits), gigabits(s.share_bits)},
      {"utilisation", "utilisation", s.utilisation, fmt::format("{:.4f}", s.utilisation)},
      {"queue_bytes", "queue", whole_bytes(s.queue_bytes), kilobytes(s.queue_bytes)},
      {"queue_packets_each", "  packets of each flow", s.queue_each,
       fmt::format("{:.2f}", s.queue_each)},
      {"rtt_ns", "RTT", whole_bytes(s.rtt_ns), microseconds(s.rtt_ns)},
      {"window_packets", "in flight, of each flow", s.window_packets,
       fmt::format("{:.2f} packets", s.window_packets)},
      {"target_ns", "target delay", s.target_ns ? whole_bytes(*s.target_ns) : Value{},
       s.target_ns ? microseconds(*s.target_ns) : ""},
  };
  add_cycle(lines, s.windowed,
            {"paper_alpha", "paper_period_ns", "paper_queue_least_bytes", "paper_queue_bytes",
             "paper_queue_most_bytes"},
            "windows, as in the paper");
  add_cycle(lines, s.rated,
            {"rates_alpha", "rates_period_ns", "rates_queue_least_bytes", "rates_queue_bytes",
             "rates_queue_most_bytes"},
            "rates, as in simulations");
  return lines;
}

std::vector<Line> fluid_lines(const congestion::FluidResult &fluid) {
  double least = 1e300, most = 0;
  for (const double rate : fluid.rates) {
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  return {
      {"fluid_settles", "fluid model", fluid.settles, fluid.settles ? "settles" : "oscillates"},
      {"fluid_queue_bytes", "  queue, mean", whole_bytes(fluid.queue_mean),
       kilobytes(fluid.queue_mean)},
      {"fluid_queue_least_bytes", "  queue, least", whole_bytes(fluid.queue_least),
       kilobytes(fluid.queue_least)},
      {"fluid_queue_most_bytes", "  queue, most", whole_bytes(fluid.queue_most),
       kilobytes(fluid.queue_most)},
      {"fluid_amplitude_bytes", "  amplitude", whole_bytes(fluid.amplitude),
       kilobytes(fluid.amplitude)},
      {"fluid_utilisation", "  utilisation", fluid.utilisation,
       fmt::format("{:.4f}", fluid.utilisation)},
      {"fluid_least_rate_bps", "  slowest flow", least, gigabits(least)},
      {"fluid_most_rate_bps", "  fastest flow", most, gigabits(most)},
  };
}

// The first keys are those of an experiment's `prediction`.
std::vector<Line> lines_of(const Prediction &p) {
  const congestion::FixedPoint &point = p.point;
  const bool stable = p.fluid.settles;
  std::vector<Line> lines = {
      {"mark_probability", "p*", point.mark_probability, percent(point.mark_probability)},
      {"queue_bytes", "q*", whole_bytes(point.queue_bytes), kilobytes(point.queue_bytes)},
      {"alpha", "alpha*", point.alpha, fmt::format("{:.4f}", point.alpha)},
      {"share_bps", "fair share", whole_bytes(point.share_bits), gigabits(point.share_bits)},
      {"convergence_ns", "converged within (bound)",
       p.convergence_s ? whole_bytes(*p.convergence_s * 1e9) : Value{},
       p.convergence_s ? fmt::format("{:.1f} ms", *p.convergence_s * 1e3) : "-"},
      {"stable", "stable", stable, stable ? "yes" : "no"},
      {"applies", "applies", std::string(applies_name(point.applies)), applies_name(point.applies)},
      {"mark_probability_closed_form", "p*, closed form", point.closed_form,
       percent(point.closed_form)},
      {"queue_bytes_closed_form", "q*, closed form", whole_bytes(point.queue_closed_form),
       kilobytes(point.queue_closed_form)},
      {"phase_margin_degrees", "phase margin (linear model)", maybe(p.phase_margin),
       p.phase_margin ? fmt::format("{:.1f} degrees", *p.phase_margin) : "-"},
      {"kmin_bytes", "Kmin", whole_bytes(p.path.kmin), kilobytes(p.path.kmin)},
      {"kmax_bytes", "Kmax", whole_bytes(p.path.kmax), kilobytes(p.path.kmax)},
      {"pmax", "Pmax", p.path.pmax, fmt::format("{:g} %", p.path.pmax * 100)},
  };
  for (Line &line : fluid_lines(p.fluid))
    lines.push_back(std::move(line));
  return lines;
}

Group json_group(const std::vector<Line> &lines) {
  Group group;
  for (const Line &line : lines)
    group.push_back({{line.key, ""}, line.json});
  return group;
}

constexpr double kThresholdPackets = 2; // above Kmin: less than RED's slope can hold

std::string why(const Prediction &p, double least_rate) {
  switch (p.point.applies) {
  case congestion::Applies::Kmax:
    return fmt::format(
        "p* exceeds Pmax ({:g} %): the queue sits on Kmax, and the slope of RED does "
        "nothing",
        p.path.pmax * 100);
  case congestion::Applies::None:
    return fmt::format("no fixed point: the least rate ({}) is above the fair share",
                       gigabits(least_rate));
  default:
    if (!p.fluid.settles)
      return "the fluid model oscillates around the fixed point";
    if (p.point.queue_bytes - p.path.kmin < kThresholdPackets * p.path.packet_bytes)
      return fmt::format("q* is {:.1f} packets above Kmin: RED is a threshold there, and the queue "
                         "of packets swings below it",
                         (p.point.queue_bytes - p.path.kmin) / p.path.packet_bytes);
    return "";
  }
}

Section series_of(const Prediction &p) {
  Rows rows;
  for (const congestion::FluidSample &sample : p.fluid.samples)
    rows.push_back({sample.t_ns, sample.queue_bytes, sample.rates.front(), sample.rates.back(),
                    sample.alphas.front()});
  return {"series", "",
          make_table({{"t_ns", ""},
                      {"queue_bytes", ""},
                      {"first_rate_bps", ""},
                      {"last_rate_bps", ""},
                      {"alpha", ""}},
                     std::move(rows)),
          Where::Json};
}

} // namespace

Document congestion_list() {
  Rows rows;
  const auto presets = congestion::dcqcn_presets();
  for (const congestion::ControlRow &row : congestion::control_rows())
    if (row.kind != congestion::Control::Kind::Dcqcn)
      rows.push_back({std::string(row.word), std::string("-"), std::string(row.about)});
    else
      for (size_t i = 0; i < presets.size(); i++)
        rows.push_back({std::string(row.word), std::string(presets[i]),
                        std::string(congestion::dcqcn_preset_about(i))});
  Document document;
  document.sections.push_back(schema());
  document.sections.push_back(
      {"congestion_control", "",
       make_table({{"name", "CC"}, {"preset", "PRESET"}, {"about", "WHAT"}}, std::move(rows))});
  return document;
}

Document parameters_report(const std::vector<ShownControl> &shown) {
  Document document;
  document.sections.push_back(schema());
  StringList names, without;
  for (const ShownControl &control : shown) {
    names.push_back(control.name);
    if (control.rows.empty())
      without.push_back(control.name);
  }
  document.sections.push_back({"presets", "", Value{names}, Where::Json});
  for (Section &section : text_tables(shown))
    document.sections.push_back(std::move(section));
  document.sections.push_back(
      {"without", "without parameters", Value{without}, Where::Text, Hide::Zero});
  document.sections.push_back(json_rows(shown));
  return document;
}

Document steady_state_report(const congestion::SteadyQuestion &question,
                             const congestion::SteadyState &state) {
  Document document;
  const std::string words = question.control.table.words();
  document.title =
      fmt::format("{}{}{}, {} flows at {}, RTT without queues {:g} us, packets of {:g} B",
                  question.control.word(), words.empty() ? "" : " ", words, question.flows,
                  gigabits(question.line_bits), static_cast<double>(question.rtt_ns) / 1000,
                  question.packet_bytes);
  const std::vector<Line> lines = steady_lines(state);
  auto &s = document.sections;
  s.push_back(schema());
  s.push_back({"control", "", Value{std::string(question.control.word())}, Where::Json});
  s.push_back({"parameters", "", Value{words}, Where::Json});
  s.push_back({"steady_state", "", json_group(lines), Where::Json});
  Rows rows;
  for (const Line &line : lines)
    if (!line.text.empty())
      rows.push_back({std::string(line.heading), line.text});
  s.push_back({"table", "",
               make_table({{"what", "STEADY STATE"}, {"value", "VALUE"}}, std::move(rows)),
               Where::Text});
  return document;
}

Document prediction_report(const congestion::Question &question, const Answer &answer) {
  Document document;
  document.title = fmt::format(
      "dcqcn {}, {} at {}, loop delay {:g} us, packets of {:g} B", question.parameters.words(),
      counted(question.path.flows, "flow"), gigabits(question.path.line_bits),
      static_cast<double>(question.path.delay_ns) / 1000, question.path.packet_bytes);
  const double least = resolve(question.parameters, question.path.line_bits).min_rate;
  const std::vector<Line> stated = lines_of(answer.stated);
  const std::vector<Line> published =
      answer.published ? lines_of(*answer.published) : std::vector<Line>();
  auto &s = document.sections;
  s.push_back(schema());
  s.push_back({"parameters", "", Value{question.parameters.words()}, Where::Json});
  s.push_back({"prediction", "", json_group(stated), Where::Json});
  const std::string reason = why(answer.stated, least);
  if (answer.published)
    s.push_back({"prediction_published", "", json_group(published), Where::Json});
  Rows rows;
  for (size_t i = 0; i < stated.size(); i++) {
    rows.push_back({std::string(stated[i].heading), stated[i].text});
    if (answer.published)
      rows.back().emplace_back(published[i].text);
  }
  std::vector<Column> columns = {{"what", "PREDICTION"}, {"stated", "VALUE"}};
  if (answer.published)
    columns.push_back({"published", "RANGE x 10, AS CONEXT'16 DREW IT"});
  s.push_back({"table", "", make_table(std::move(columns), std::move(rows)), Where::Text});
  s.push_back({"why", "note", known(reason), Where::Both, Hide::Zero});
  s.push_back(series_of(answer.stated));
  return document;
}

} // namespace xr::report
