// SPDX-License-Identifier: Apache-2.0
#include "plot/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/xml.h"
#include "names/quantity.h"
#include "plot/assets.h"
#include "plot/headline.h"
#include "plot/network_layout.h"
#include "plot/strokes.h"

namespace xr::plot {

using names::quantity;
namespace {

using nlohmann::json;

// Rows of a table in the page; all are in result.json.
constexpr size_t kMostRows = 1000;

// Little-endian 32-bit floats in base64 (RFC 4648).
std::string packed(std::span<const float> values) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
  const size_t size = values.size_bytes();
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t at = 0; at < size; at += 3) {
    const size_t left = size - at;
    const uint32_t group = static_cast<uint32_t>(bytes[at]) << 16 |
                           static_cast<uint32_t>(left > 1 ? bytes[at + 1] : 0) << 8 |
                           (left > 2 ? bytes[at + 2] : 0U);
    for (unsigned digit = 0; digit < 4; digit++)
      out += digit <= left ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
  }
  return out;
}

// JSON has no NaN and no infinity.
json number(double value) { return std::isfinite(value) ? json(value) : json(); }
template <class T> json number(const std::optional<T> &value) {
  return value ? json(*value) : json();
}

json curve_json(const Curve &curve, const Stroke &stroke) {
  json item = {{"name", curve.name},
               {"shown", curve.shown},
               {"colour", stroke.colour},
               {"dash", stroke.dash},
               {"y", packed(curve.y)}};
  if (!curve.x.empty())
    item["x"] = packed(curve.x);
  if (!curve.low.empty()) {
    item["low"] = packed(curve.low);
    item["high"] = packed(curve.high);
  }
  return item;
}

const char *shape_name(Shape shape) {
  constexpr const char *kNames[] = {"line", "bars", "points", "heat"};
  return kNames[static_cast<size_t>(shape)];
}

json cells_of(const Cells &cells) {
  return {{"width", cells.width}, {"bounds", cells.bounds}, {"counts", packed(cells.counts)}};
}

json figure_json(const Figure &figure) {
  json curves = json::array(), levels = json::array();
  // With many curves only the statistics have a band: it would triple the size.
  const std::vector<Stroke> paints = strokes(figure);
  for (size_t i = 0; i < figure.curves.size(); i++) {
    const Curve &curve = figure.curves[i];
    if (figure.summary && !curve.shown)
      curves.push_back(
          curve_json({curve.name, curve.y, {}, {}, curve.x, curve.shown, curve.run}, paints[i]));
    else
      curves.push_back(curve_json(curve, paints[i]));
  }
  for (const Level &level : figure.levels)
    levels.push_back({{"name", level.name}, {"y", number(level.y)}});
  json marks = json::array();
  for (const Marks &of : figure.marks)
    marks.push_back(
        {{"name", of.name}, {"x", packed(of.x)}, {"y", packed(of.y)}, {"curve", number(of.curve)}});
  return {{"id", figure.id},
          {"title", figure.title},
          {"x_unit", figure.x_unit},
          {"y_unit", figure.y_unit},
          {"time", figure.time},
          {"names", figure.names},
          {"summary", figure.summary},
          {"x", packed(figure.x)},
          {"curves", std::move(curves)},
          {"levels", std::move(levels)},
          {"shape", shape_name(figure.shape)},
          {"choose", figure.choose},
          {"marks", std::move(marks)},
          {"cells", figure.cells.counts.empty() ? json() : cells_of(figure.cells)}};
}

const char *outcome_name(ExperimentCheck::Outcome outcome) {
  switch (outcome) {
  case ExperimentCheck::Outcome::Holds:
    return "holds";
  case ExperimentCheck::Outcome::Fails:
    return "fails";
  case ExperimentCheck::Outcome::Unmeasured:
    break;
  }
  return "not measured";
}

// A text, a number, or a number with its unit as a text. `other`: with which it is compared.
json compared(const std::optional<double> &value, const std::optional<double> &other,
              const std::string &text, const std::string &unit) {
  if (!text.empty())
    return text;
  if (!value || unit.empty())
    return number(value);
  return quantity(*value, unit, names::digits_of(*value, other.value_or(*value), unit));
}

json checks_of(const ExperimentResult &result) {
  json rows = json::array();
  for (const ExperimentCheck &check : result.checks)
    rows.push_back(
        {{"text", check.text},
         {"outcome", outcome_name(check.outcome)},
         {"value", compared(check.value, check.bound, check.value_text, check.unit)},
         {"bound", compared(check.bound, check.value, check.bound_text, check.unit)},
         {"row", check.row},
         {"t_s", check.t_ns ? json(static_cast<double>(*check.t_ns) / 1e9) : json()},
         {"frame", check.frame ? json(fmt::format("{}.pcapng frame {}", check.capture, check.frame))
                               : json()},
         {"why", check.why}});
  return rows;
}

json table_of(const char *title, std::vector<std::string> columns, json rows, size_t total) {
  return {{"title", title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"total", total}};
}

json flows_of(const ExperimentMeasurement &measured) {
  json rows = json::array();
  for (const ExperimentFlow &flow : measured.flows) {
    if (rows.size() == kMostRows)
      break;
    rows.push_back({flow.name, fmt::format("{:#x}", flow.qp), flow.src, flow.dst,
                    number(flow.goodput_bps), number(flow.wire_bps), flow.bytes, flow.packets,
                    flow.fct_ns ? json(static_cast<double>(*flow.fct_ns) / 1e9) : json(),
                    number(flow.slowdown), flow.marked, flow.cnps, flow.cuts, flow.retransmitted,
                    flow.timeouts, flow.drops});
  }
  return table_of("Flows",
                  {"flow", "QP", "from", "to", "goodput bit/s", "wire bit/s", "bytes", "packets",
                   "completion s", "slowdown", "marked", "CNPs", "cuts", "sent again", "timeouts",
                   "drops"},
                  std::move(rows), measured.flows.size());
}

json queues_of(const ExperimentMeasurement &measured) {
  json rows = json::array();
  for (const ExperimentQueue &queue : measured.queues) {
    if (rows.size() == kMostRows)
      break;
    const Histogram &backlog = queue.backlog_bytes;
    rows.push_back({queue.name, number(backlog.mean()), backlog.quantile(0.5),
                    backlog.quantile(0.99), backlog.max(), queue.packets, queue.marked,
                    queue.dropped, queue.pauses, static_cast<double>(queue.paused_ns) / 1e9,
                    number(queue.utilisation)});
  }
  return table_of("Queues",
                  {"queue", "backlog mean bytes", "p50 bytes", "p99 bytes", "max bytes", "packets",
                   "marked", "dropped", "pauses", "paused s", "utilisation"},
                  std::move(rows), measured.queues.size());
}

json rules_of(const ExperimentMeasurement &measured) {
  json rows = json::array();
  for (const ExperimentRule &rule : measured.rules)
    rows.push_back({rule.name, rule.link, rule.matched, rule.acted, rule.words});
  return table_of("Rules", {"rule", "to", "matched", "acted", "words"}, std::move(rows),
                  measured.rules.size());
}

// The page groups the rows of answers: more than it shows one by one.
constexpr size_t kMostGrouped = 20'000;

json page_table(const PageTable &table) {
  json rows = json::array();
  for (const auto &cells : table.rows) {
    if (rows.size() == kMostGrouped)
      break;
    json &row = rows.emplace_back(json::array());
    for (const auto &cell : cells) {
      const auto *value = std::get_if<double>(&cell);
      const auto *words = std::get_if<std::string>(&cell);
      row.push_back(value ? number(*value) : words ? json(*words) : json());
    }
  }
  json made = table_of(table.title.c_str(), table.columns, std::move(rows), table.rows.size());
  if (!table.links.empty())
    made["links"] = std::vector(
        table.links.begin(),
        table.links.begin() + static_cast<ptrdiff_t>(std::min(table.links.size(), kMostGrouped)));
  return made;
}

json tables_of(const ExperimentMeasurement &measured, const std::vector<PageTable> &more) {
  json tables = json::array({flows_of(measured), queues_of(measured)});
  if (!measured.rules.empty())
    tables.push_back(rules_of(measured));
  for (const PageTable &table : more)
    tables.push_back(page_table(table));
  return tables;
}

json quantity_of(const std::optional<double> &value, const char *unit, double scale = 1) {
  return value ? json(quantity(*value * scale, unit)) : json();
}

json prediction_of(const ExperimentPrediction &prediction) {
  return {{"applies", prediction.applies},
          {"why", prediction.why},
          {"mark probability", number(prediction.mark_probability)},
          {"queue", quantity_of(prediction.queue_bytes, "bytes")},
          {"alpha", number(prediction.alpha)},
          {"fair share", quantity_of(prediction.share_bps, "bit/s")},
          {"converges within", quantity_of(prediction.convergence_ns, "s", 1e-9)},
          {"stable", number(prediction.stable)}};
}

// JSON inside <script>: `</script` would end it, `<!--<script` would hide its end.
std::string script(std::string text) {
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += 6)
    text.replace(at, 1, "\\u003c");
  return text;
}

json figures_of(const std::vector<Figure> &figures) {
  json all = json::array();
  for (const Figure &figure : figures)
    all.push_back(figure_json(figure));
  return all;
}

std::string page_of(const std::string &title, const json &data) {
  return fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n"
                     "<style>{}\n{}</style></head>\n<body>\n<main></main>\n"
                     "<script type=\"application/json\" id=\"data\">{}</script>\n"
                     "<!-- {}-->\n<script>{}</script>\n<script>{}\n{}</script>\n"
                     "</body></html>\n",
                     xml_escaped(title), kPlotStyle, kPageStyle,
                     script(data.dump(-1, ' ', false, json::error_handler_t::replace)),
                     kPlotLicence, kPlotScript, kShapesScript, kPageScript);
}

double seconds_of(const ExperimentResult &result) {
  return static_cast<double>(result.measured.duration_ns) / 1e9;
}

std::string facts_of(const ExperimentResult &result) {
  const ExperimentMeasurement &measured = result.measured;
  return fmt::format("{} · {} · seed {} · {} · {} · xdp-roce {}", result.place,
                     quantity(seconds_of(result), "s"), result.seed,
                     counted(measured.packets, "packet"),
                     measured.jain ? fmt::format("Jain's index {:.4f}", *measured.jain)
                                   : "no flow passed anything",
                     result.version);
}

// Columns of a grid by the page's width: wide, middle, narrow.
json columns_of(size_t count, const std::array<size_t, 3> &most) {
  json columns = json::array();
  for (const size_t at_most : most)
    columns.push_back(tile_columns(count, at_most));
  return columns;
}
constexpr std::array<size_t, 3> kMostTiles = {7, 4, 2}, kMostFigures = {3, 2, 1};

json tiles_of(const std::vector<Tile> &tiles) {
  json all = json::array();
  for (const Tile &tile : tiles)
    all.push_back(
        {{"name", tile.name}, {"value", tile.value}, {"about", tile.about}, {"alarm", tile.alarm}});
  return all;
}

json network_of(const PageNetwork &network) {
  std::vector<std::string> about;
  for (const PageNetwork::Link &link : network.links) {
    const std::string one = quantity(static_cast<double>(link.rate_bps), "bit/s") + ", " +
                            quantity(static_cast<double>(link.delay_ns) / 1e9, "s");
    about.push_back(link.count > 1 ? fmt::format("{} x {}", link.count, one) : one);
  }
  const NetworkLayout layout = lay_out(network, about);
  json nodes = json::array(), links = json::array(), longest;
  for (size_t i = 0; i < network.nodes.size(); i++) {
    const Box &box = layout.nodes[i];
    nodes.push_back({{"name", network.nodes[i].name},
                     {"host", network.nodes[i].host},
                     {"box", {box.x0, box.y0, box.x1, box.y1}}});
  }
  for (size_t i = 0; i < network.links.size(); i++) {
    const PageNetwork::Link &link = network.links[i];
    const NetworkLayout::Link &line = layout.links[i];
    if (link.bottleneck)
      longest = network.nodes[link.from].name + ":" + network.nodes[link.to].name;
    links.push_back({{"line", {line.x1, line.y1, line.x2, line.y2}},
                     {"about", about[i]},
                     {"words", line.words},
                     {"label", {line.label.x0, line.label.y0, line.label.x1, line.label.y1}},
                     {"bottleneck", link.bottleneck},
                     {"rules", link.rules}});
  }
  return {{"nodes", std::move(nodes)}, {"links", std::move(links)}, {"queue", network.queue},
          {"width", layout.width},     {"height", layout.height},   {"longest", longest}};
}

} // namespace

std::string html(const ExperimentResult &result, const Page &page) {
  json moments = json::array();
  for (const Moment &moment : page.moments)
    moments.push_back({{"t_s", moment.t_s}, {"text", moment.text}});
  return page_of(result.name, {{"name", result.name},
                               {"headline", page.headline},
                               {"tiles", tiles_of(tiles(result))},
                               {"grid_columns", columns_of(tiles(result).size(), kMostTiles)},
                               {"network", network_of(page.network)},
                               {"provenance", page.provenance},
                               {"facts", json::array({facts_of(result)})},
                               {"duration_s", seconds_of(result)},
                               {"verdict", verdict_name(result.verdict)},
                               {"why_void", result.measured.why_void},
                               {"checks", checks_of(result)},
                               {"prediction", prediction_of(result.prediction)},
                               {"tables", tables_of(result.measured, page.tables)},
                               {"moments", std::move(moments)},
                               {"file", page.file},
                               {"drawings", page.drawings},
                               {"figures", figures_of(page.figures)}});
}

std::string html(const ComparisonPage &page) {
  json facts = json::array(), rows = json::array();
  for (const auto &[label, result] : page.runs)
    facts.push_back(fmt::format("{}: {}: {} · {}", label, result.name, verdict_name(result.verdict),
                                facts_of(result)));
  std::vector<std::string> columns = {"flow or queue", "column"};
  double duration_s = 0;
  for (const auto &[label, result] : page.runs) {
    columns.push_back(label);
    duration_s = std::max(duration_s, seconds_of(result));
  }
  for (size_t run = 1; run < page.runs.size(); run++)
    columns.push_back(page.runs.size() == 2 ? "difference %"
                                            : fmt::format("{}: difference %", columns[2 + run]));
  for (const ComparisonPage::Row &row : page.rows) {
    if (rows.size() == kMostRows)
      break;
    json cells = {row.name, row.column};
    for (const double value : row.values)
      cells.push_back(number(value));
    for (const auto &relative : row.relative)
      cells.push_back(relative ? number(*relative * 100) : json());
    rows.push_back(std::move(cells));
  }
  return page_of(page.title,
                 {{"name", page.title},
                  {"headline", ""},
                  {"tiles", json::array()},
                  {"network", network_of({})},
                  {"provenance", page.provenance},
                  {"facts", std::move(facts)},
                  {"duration_s", duration_s},
                  {"verdict", ""},
                  {"why_void", json::array()},
                  {"checks", json::array()},
                  {"prediction", prediction_of({})},
                  {"tables", json::array({table_of("Differences", columns, std::move(rows),
                                                   page.rows.size())})},
                  {"moments", json::array()},
                  {"file", ""},
                  {"figures", figures_of(page.figures)}});
}

std::string html(const SweepPage &page) {
  json tables = json::array({page_table(page.points)});
  for (const PageTable &table : page.more)
    tables.push_back(page_table(table));
  return page_of(page.title, {{"name", page.title},
                              {"headline", page.headline},
                              {"tiles", json::array()},
                              {"grid_columns", columns_of(page.figures.size(), kMostFigures)},
                              {"network", network_of({})},
                              {"provenance", page.provenance},
                              {"facts", json::array()},
                              {"duration_s", 0},
                              {"verdict", page.verdict},
                              {"why_void", json::array()},
                              {"checks", json::array()},
                              {"prediction", prediction_of({})},
                              {"tables", std::move(tables)},
                              {"moments", json::array()},
                              {"file", page.file},
                              {"sweep", true},
                              {"figures", figures_of(page.figures)}});
}

std::string html(const CapturePage &page) {
  json tables = json::array();
  for (const PageTable &table : page.tables)
    tables.push_back(page_table(table));
  return page_of(page.title, {{"name", page.title},
                              {"headline", page.headline},
                              {"tiles", tiles_of(page.tiles)},
                              {"grid_columns", columns_of(page.tiles.size(), kMostTiles)},
                              {"network", network_of({})},
                              {"provenance", page.provenance},
                              {"facts", page.facts},
                              {"duration_s", page.duration_s},
                              {"verdict", ""},
                              {"why_void", json::array()},
                              {"checks", json::array()},
                              {"prediction", prediction_of({})},
                              {"tables", std::move(tables)},
                              {"moments", json::array()},
                              {"file", ""},
                              {"json", "report.json"},
                              {"figures", figures_of(page.figures)}});
}

} // namespace xr::plot
