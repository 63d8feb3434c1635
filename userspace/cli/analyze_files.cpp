// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "cli/output.h"
#include "names/names.h"
#include "names/quantity.h"
#include "parse/value.h"
#include "plot/capture_figures.h"
#include "plot/csv.h"
#include "plot/page.h"
#include "plot/svg.h"
#include "plot/ticks.h"
#include "report/episodes.h"
#include "report/run_facts.h"
#include "report/summary.h"
#include "report/text.h"
#include "results/files.h"
#include "results/provenance.h"

namespace xr::cli {

namespace {

using Cell = std::variant<std::monostate, double, std::string>;

Cell cell_of(const report::Value &value, const report::Column &column) {
  if (column.hide == report::Hide::Zero && report::is_zero(value))
    return {};
  if (const auto *number = std::get_if<uint64_t>(&value))
    if (column.format == report::Format::Count || column.format == report::Format::Number ||
        column.format == report::Format::Rate)
      return static_cast<double>(*number);
  if (const auto *number = std::get_if<double>(&value))
    return *number;
  if (std::holds_alternative<std::monostate>(value))
    return {};
  return report::format_value(value, column.format);
}

// A heading that text breaks into lines as one line.
std::string heading_of(const report::Column &column) {
  std::string text = column.heading.empty() ? column.key : column.heading;
  for (size_t at; (at = text.find("-\n")) != std::string::npos;)
    text.erase(at, 2);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// `keys`: of the columns that are shown; none: all that text shows.
plot::PageTable table_of_page(std::string title, const report::Table &table,
                              const std::vector<std::string_view> &keys = {}) {
  plot::PageTable made;
  made.title = std::move(title);
  std::vector<size_t> shown;
  for (size_t i = 0; i < table.columns.size(); i++) {
    const report::Column &column = table.columns[i];
    if (keys.empty() ? column.where == report::Where::Json
                     : std::ranges::find(keys, column.key) == keys.end())
      continue;
    shown.push_back(i);
    made.columns.push_back(heading_of(column));
  }
  for (size_t row = 0; row < table.rows; row++) {
    auto &cells = made.rows.emplace_back();
    for (const size_t column : shown)
      cells.push_back(cell_of(table.cell(row, column), table.columns[column]));
  }
  return made;
}

const report::Table *table_of(const report::Document &document, std::string_view key) {
  const auto section = std::ranges::find(document.sections, key, &report::Section::key);
  if (section == document.sections.end())
    return nullptr;
  const auto *nested = std::get_if<report::Nested>(&section->body);
  return nested ? &nested->table : std::get_if<report::Table>(&section->body);
}

// The frames of losses, NAKs and go-backs by their times.
class Frames {
public:
  explicit Frames(const Analysis &analysis) : files_(analysis.snapshot.files) {
    for (const CaptureSeries::Mark &mark : analysis.series.marks)
      by_time_.emplace(mark.ns, mark.frame);
  }
  Cell at(uint64_t ns) const {
    const auto found = ns ? by_time_.find(ns) : by_time_.end();
    if (found == by_time_.end())
      return {};
    const uint64_t number = found->second & ((uint64_t{1} << kFileShift) - 1);
    if (files_.empty())
      return static_cast<double>(number);
    return fmt::format("{} of {}", number, files_.at(found->second >> kFileShift));
  }

private:
  const std::vector<std::string> &files_;
  std::multimap<uint64_t, uint64_t> by_time_;
};

plot::PageTable episodes_of(const Analysis &analysis) {
  plot::PageTable table = table_of_page(
      "Episodes", report::episode_table(analysis.episodes),
      {"AT ms", "src", "dst", "dest_qp", "cause", "first_missing_psn", "missing", "NAK us",
       "REACTION\nus", "TIMEOUT\nus", "RECOVERY\nus", "resent_packets", "findings"});
  const Frames frames(analysis);
  for (const char *name : {"LOSS FRAME", "NAK FRAME", "RESENT FRAME"})
    table.columns.emplace_back(name);
  for (size_t i = 0; i < table.rows.size(); i++) {
    const roce_episode &episode = analysis.episodes.episodes[i].episode;
    for (const uint64_t ns : {episode.seen_ns, episode.nak_ns, episode.resent_ns})
      table.rows[i].push_back(frames.at(ns));
  }
  return table;
}

std::vector<plot::PageTable> tables_of(const Analysis &analysis, const report::Document &document) {
  std::vector<plot::PageTable> tables;
  if (const report::Table *checks = table_of(document, "checks"))
    tables.push_back(table_of_page("Checks of the set-up", *checks,
                                   {"check", "status", "value", "bound", "change", "frames"}));
  tables.push_back(episodes_of(analysis));
  tables.push_back(table_of_page("Findings", report::finding_table(analysis.episodes)));
  if (const report::Table *streams = table_of(document, "streams"))
    tables.push_back(
        table_of_page("Streams", *streams,
                      {"src", "dst", "dest_qp", "lost_before", "sent_again", "recovery_us", "kind",
                       "packets", "bytes", "ce", "cnps", "rewinds", "ect", "dscp", "pcp"}));
  return tables;
}

std::optional<uint64_t> number_of(const report::Summary &summary, std::string_view name) {
  const auto fact = std::ranges::find(summary.facts, name, &report::Fact::name);
  const auto *number = fact == summary.facts.end() ? nullptr : std::get_if<uint64_t>(&fact->value);
  return number ? std::optional(*number) : std::nullopt;
}

std::vector<plot::Tile> tiles_of(const Analysis &analysis) {
  const report::Summary summary = report::traffic_summary({analysis.snapshot}, &analysis.episodes);
  const CaptureSeries &series = analysis.series;
  uint64_t packets = 0;
  for (const CaptureSeries::Bin &bin : series.bins)
    packets += bin.packets;
  std::vector<plot::Tile> tiles = {
      {"packets", grouped(packets),
       fmt::format("{}, {}", counted(series.streams.size() + series.rest_streams, "stream"),
                   names::quantity(series.seconds(), "s"))}};
  const struct {
    const char *name, *fact, *about;
    bool alarm;
  } kTiles[] = {
      {"lost before here", "lost", "packets", true}, {"sent again", "sent_again", "packets", false},
      {"marked CE", "ce", "data packets", false},    {"CNPs", "cnps", "", false},
      {"NAKs", "naks", "without RNR NAKs", true},    {"PFC", "xoffs", "frames that pause", false}};
  for (const auto &tile : kTiles) {
    const std::optional<uint64_t> number = number_of(summary, tile.fact);
    tiles.push_back(
        {tile.name, number ? grouped(*number) : "-", tile.about, tile.alarm && number.value_or(0)});
  }
  const report::LongestRecovery worst = report::longest_recovery(analysis.episodes);
  tiles.push_back({"longest recovery",
                   worst.row ? names::quantity(static_cast<double>(worst.ns) / 1e9, "s") : "-",
                   worst.row ? plot::stream_name(worst.row->name.key) : "no episode", false});
  return tiles;
}

plot::CapturePage page_of(const Analysis &analysis, const report::Document &document) {
  plot::CapturePage page;
  page.title = analysis.snapshot.name == "-"
                   ? "standard input"
                   : std::filesystem::path(analysis.snapshot.name).filename().string();
  page.headline = fmt::format("{}", fmt::join(document.sentences, " "));
  page.facts = plot::left_out(analysis.series);
  page.duration_s = analysis.series.seconds();
  page.tiles = tiles_of(analysis);
  page.figures =
      plot::capture_figures(analysis.series, analysis.microbursts, analysis.episodes.pairs);
  page.tables = tables_of(analysis, document);
  if (const auto facts = record::recorded_run())
    page.provenance = report::run_lines(*facts);
  return page;
}

} // namespace

Status write_analysis(const std::string &out, const Analysis &analysis,
                      const report::Document &document) {
  const Fd owner = XR_TRY(record::own_directory(out));
  const plot::CapturePage page = page_of(analysis, document);
  for (const plot::Figure &figure : page.figures) {
    XR_TRY(record::write_whole(fmt::format("{}/{}.svg", out, figure.id), plot::svg(figure)));
    XR_TRY(record::write_whole(fmt::format("{}/{}.csv", out, figure.id), plot::csv(figure)));
  }
  XR_TRY(record::write_whole(out + "/report.json", record::json_file(document)));
  return record::write_whole(out + "/report.html", plot::html(page));
}

namespace {

// "192.0.2.1_192.0.2.2_0x000011_request"; RoCEv1 with "_v1" at the end.
std::string stream_name(const roce_key &key) {
  std::string name =
      fmt::format("{}_{}_0x{:06x}_{}{}", names::address(key.src), names::address(key.dst),
                  roce_key_qp(&key), names::kind_name(key), key.qp_kind & ROCE_KEY_V1 ? "_v1" : "");
  std::ranges::replace(name, ':', '-'); // IPv6, as other systems' file names
  return name;
}

} // namespace

void add_split_options(Command command, SplitArgs &args) {
  command
      .add_option("--split-by", args.by,
                  "Also write the frames into pcapng files: stream (one a row of the report's "
                  "streams, and other.pcapng) or time (one an interval)")
      .value_name("stream|time")
      .check(one_of({"stream", "time"}));
  command
      .add_option("--split-to", args.to, "With --split-by: a directory without captures; is made")
      .value_name("DIR");
  command.add_option("--every", args.every, "With --split-by time: length of the intervals, as 10s")
      .value_name("TIME");
}

Status check_split(SplitArgs &args) {
  if (args.by.empty()) {
    if (args.to.empty() && args.every.empty())
      return {};
    return Error{"--split-to and --every are for --split-by", "add --split-by stream or time"};
  }
  if (args.to.empty())
    return Error{"--split-by needs a directory", "add --split-to DIR"};
  if (args.every.empty() == (args.by == "time"))
    return Error{"--split-by time has intervals, --split-by stream has not",
                 "name their length with --every, as --split-by time --every 10s"};
  if (args.every.empty())
    return {};
  const auto every = parse::duration(args.every).in("--every");
  if (!every)
    return every.error();
  if (!every.get())
    return Error{"--every 0: an interval takes time", "as --every 10s"};
  args.every_ns = every.get();
  return {};
}

Result<std::optional<Splitter>> open_splitter(const SplitArgs &args) {
  if (args.by.empty())
    return std::optional<Splitter>();
  SplitOptions options{.directory = args.to, .every_ns = args.every_ns, .name = stream_name};
  auto splitter = XR_TRY(Splitter::create(std::move(options)));
  return std::optional<Splitter>(std::move(splitter));
}

} // namespace xr::cli
