// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "names/names.h"
#include "report/cells.h"
#include "report/summary.h"

namespace xr::report {

namespace {

std::string letter(uint32_t place) { return std::string(1, static_cast<char>('A' + place)); }

// A time of a capture, which is none without frames.
Value time_at(const ComparedPlace &place, uint64_t ns) {
  return place.frames ? Value{ns} : Value{};
}

struct ComparedCount {
  const char *key, *heading;
  uint64_t ComparedCounts::*member;
  Hide hide;
  Tone tone;
};
constexpr ComparedCount kComparedCounts[] = {
    {"seen_from", "SEEN\nFIRST", &ComparedCounts::seen_from, Hide::Never, Tone::Plain},
    {"seen_to", "SEEN\nNEXT", &ComparedCounts::seen_to, Hide::Never, Tone::Plain},
    {"matched", "MATCHED", &ComparedCounts::matched, Hide::Never, Tone::Plain},
    {"lost", "LOST", &ComparedCounts::lost, Hide::Never, Tone::Alarm},
    {"duplicated", "DUPLI-\nCATED", &ComparedCounts::duplicated, Hide::Zero, Tone::Alarm},
    {"reordered", "RE-\nORDERED", &ComparedCounts::reordered, Hide::Zero, Tone::Alarm},
    {"ce", "NEW CE", &ComparedCounts::ce, Hide::Zero, Tone::Plain},
    {"corrupted", "COR-\nRUPTED", &ComparedCounts::corrupted, Hide::Zero, Tone::Alarm},
    {"ecn_changed", "OTHER\nECN", &ComparedCounts::ecn, Hide::Zero, Tone::Plain},
    {"dscp_changed", "OTHER\nDSCP", &ComparedCounts::dscp, Hide::Zero, Tone::Plain},
    {"vlan_changed", "OTHER\nVLAN", &ComparedCounts::vlan, Hide::Zero, Tone::Plain},
    {"only_to", "ONLY\nNEXT", &ComparedCounts::only_to, Hide::Zero, Tone::Alarm},
    {"only_to_bad_icrc", "OF THEM\nBAD iCRC", &ComparedCounts::only_to_bad, Hide::Zero,
     Tone::Alarm},
    {"outside_from", "OUTSIDE\nFIRST", &ComparedCounts::outside_from, Hide::Zero, Tone::Plain},
    {"outside_to", "OUTSIDE\nNEXT", &ComparedCounts::outside_to, Hide::Zero, Tone::Plain},
};

void add_counts(std::vector<Column> &columns) {
  for (const ComparedCount &count : kComparedCounts)
    columns.push_back({count.key, count.heading, Format::Count, count.hide, count.tone});
}
void add_counts(std::vector<Value> &cells, const ComparedCounts &counts) {
  for (const ComparedCount &count : kComparedCounts)
    cells.emplace_back(counts.*count.member);
}

// The share of packets that did not arrive, among those whose arrival could be seen.
const Column kLostShare = {"lost_percent", "LOST\n%", Format::Number, Hide::Never, Tone::Alarm};
Value lost_share(const ComparedCounts &counts) {
  const uint64_t known = counts.seen_from - counts.outside_from;
  return known ? Value{100 * static_cast<double>(counts.lost) / static_cast<double>(known)}
               : Value{};
}

struct ComparedTime {
  const char *key, *heading;
  double (*ns)(const LatencySummary &);
  Where where;
};
constexpr ComparedTime kComparedTimes[] = {
    {"min_us", "MIN us", [](const LatencySummary &l) { return static_cast<double>(l.min); },
     Where::Both},
    {"mean_us", "", [](const LatencySummary &l) { return l.mean; }, Where::Json},
    {"p50_us", "P50 us", [](const LatencySummary &l) { return static_cast<double>(l.p50); },
     Where::Both},
    {"p99_us", "P99 us", [](const LatencySummary &l) { return static_cast<double>(l.p99); },
     Where::Both},
    {"max_us", "MAX us", [](const LatencySummary &l) { return static_cast<double>(l.max); },
     Where::Both},
};

void add_times(std::vector<Column> &columns) {
  for (const ComparedTime &time : kComparedTimes)
    columns.push_back(
        {time.key, time.heading, Format::Number, Hide::Never, Tone::Plain, time.where});
}
void add_times(std::vector<Value> &cells, const LatencySummary &latency) {
  for (const ComparedTime &time : kComparedTimes)
    cells.push_back(latency.count ? us(time.ns(latency)) : Value{});
}

Section places_of(const Comparison &c) {
  std::vector<Column> columns = {
      {"place", "PLACE"},
      {"kind", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
      {"name", "CAPTURE"},
      {"frames", "FRAMES", Format::Count},
      {"packets", "ROCE\nPACKETS", Format::Count},
      {"unassigned", "OF NO\nSTREAM", Format::Count, Hide::Zero},
      {"malformed", "MAL-\nFORMED", Format::Count, Hide::Zero, Tone::Alarm},
      {"fragments", "FRAG-\nMENTS", Format::Count, Hide::Zero, Tone::Alarm},
      {"bad_icrc", "BAD\niCRC", Format::Count, Hide::Zero, Tone::Alarm},
      {"naks", "NAKS", Format::Count, Hide::Zero, Tone::Alarm},
      {"rnr_naks", "RNR\nNAKS", Format::Count, Hide::Zero, Tone::Alarm},
      {"truncated", "TRUN-\nCATED", Format::Text, Hide::Zero, Tone::Alarm},
      {"first_ns", "", Format::Number, Hide::Never, Tone::Plain, Where::Json},
      {"last_ns", "", Format::Number, Hide::Never, Tone::Plain, Where::Json},
      {"seconds", "SECONDS", Format::Number, Hide::Never, Tone::Plain, Where::Text}};
  Rows rows;
  for (uint32_t i = 0; i < c.places.size(); i++) {
    const ComparedPlace &p = c.places[i];
    rows.push_back({letter(i), std::string(p.port ? "interface" : "capture"), p.name, p.frames,
                    p.packets, p.unassigned, p.malformed, p.fragments, p.bad_icrc, p.naks,
                    p.rnr_naks, p.truncated, time_at(p, p.first_ns), time_at(p, p.last_ns),
                    fmt::format("{:.6f}", static_cast<double>(p.last_ns - p.first_ns) / 1e9)});
  }
  return {"places", "", make_table(std::move(columns), std::move(rows))};
}

bool is_used(const ComparedCounts &counts) { return counts.seen_from || counts.seen_to; }

Section ways_section(const Comparison &c) {
  std::vector<Column> columns = {{"from", "FROM"}, {"to", "TO"}, kLostShare};
  add_counts(columns);
  add_times(columns);
  Rows rows;
  for (const ComparedLeg &leg : c.legs)
    for (const bool backward : {false, true}) {
      const ComparedLeg::Way &way = leg.ways[backward];
      if (backward && !is_used(way.counts))
        continue;
      std::vector<Value> cells = {letter(leg.from + backward), letter(leg.from + !backward),
                                  lost_share(way.counts)};
      add_counts(cells, way.counts);
      add_times(cells, way.latency);
      rows.push_back(std::move(cells));
    }
  return {"between", "BETWEEN", make_table(std::move(columns), std::move(rows))};
}

std::string clock_key(ComparedLeg::Clock clock) {
  return clock == ComparedLeg::Clock::Given      ? "given"
         : clock == ComparedLeg::Clock::BothWays ? "both_directions"
                                                 : "unknown";
}

std::string clock_words(const ComparedLeg &leg) {
  const std::string by = fmt::format("{} is {} {} by {:.3f} us", letter(leg.from + 1),
                                     leg.offset_ns < 0 ? "behind" : "ahead of", letter(leg.from),
                                     std::abs(static_cast<double>(leg.offset_ns)) / 1000);
  switch (leg.clock) {
  case ComparedLeg::Clock::Given:
    return by + ", as given";
  case ComparedLeg::Clock::BothWays:
    return by + ", estimated from both directions: their least latencies are taken as equal";
  default:
    return fmt::format(
        "offset of {} and {} unknown, and taken as 0 (--clock-offset NS); there are no "
        "packets in both directions",
        letter(leg.from), letter(leg.from + 1));
  }
}

void add_clocks(Document &document, const Comparison &c) {
  Rows rows, words;
  for (const ComparedLeg &leg : c.legs) {
    const bool known = leg.clock != ComparedLeg::Clock::Unknown;
    rows.push_back({letter(leg.from), letter(leg.from + 1), clock_key(leg.clock),
                    known ? Value{static_cast<double>(leg.offset_ns)} : Value{}, leg.anchors,
                    leg.span_ns});
    words.push_back({leg.apart == ComparedLeg::Apart::No
                         ? clock_words(leg)
                         : fmt::format("{} and {} have no packet in common", letter(leg.from),
                                       letter(leg.from + 1))});
  }
  document.sections.push_back({"clocks", "",
                               make_table({{"first", ""},
                                           {"second", ""},
                                           {"offset", ""},
                                           {"offset_ns", ""},
                                           {"anchors", ""},
                                           {"common_ns", ""}},
                                          std::move(rows)),
                               Where::Json});
  document.sections.push_back(
      {"clock_words", "CLOCKS", make_table({{"words", ""}}, std::move(words)), Where::Text});
}

struct ApartWords {
  const char *key, *words;
};
ApartWords apart_words(ComparedLeg::Apart apart) {
  switch (apart) {
  case ComparedLeg::Apart::NoPackets:
    return {"no_packets", "one of them has no RoCE packets: captured elsewhere, or all were lost"};
  case ComparedLeg::Apart::Directions:
    return {"directions", "one has the answers to what the other has: each port of a bridge sees "
                          "only what enters it; capture what leaves it, too"};
  case ComparedLeg::Apart::Times:
    return {"times", "by their clocks they were captured at different times"};
  default:
    return {"unknown", "other traffic, addresses, QPNs or PSNs rewritten between, a packet that "
                       "needs more than --window, or all were lost"};
  }
}

Section apart_of(const Comparison &c) {
  Rows rows;
  for (const ComparedLeg &leg : c.legs) {
    if (leg.apart == ComparedLeg::Apart::No)
      continue;
    const auto [key, words] = apart_words(leg.apart);
    rows.push_back({letter(leg.from), letter(leg.from + 1), std::string(key), std::string(words)});
  }
  Section section{"nothing_in_common", "NOTHING IN COMMON",
                  make_table({{"first", "FIRST"},
                              {"second", "NEXT"},
                              {"why", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                              {"words", "WHY THAT MAY BE"}},
                             std::move(rows))};
  section.hide = Hide::Zero;
  section.tone = Tone::Alarm;
  return section;
}

bool is_apart(const Comparison &c, const ComparedStream &row) {
  const ComparedLeg *leg = c.leg_of(row);
  return leg && leg->apart != ComparedLeg::Apart::No;
}

// ["before A", "A-B", "after B"] in JSON, words in text.
std::vector<std::string> verdict_of(const ComparedStream &row, bool json) {
  std::vector<std::string> verdict;
  const auto say = [&](const std::string &key, const std::string &words) {
    verdict.push_back(json ? key : words);
  };
  const bool backward = row.from > row.to;
  if (row.lost_before)
    say("before " + letter(row.first), "before " + letter(row.first));
  for (const uint32_t from : row.lost_from) {
    const std::string a = letter(from), b = letter(backward ? from - 1 : from + 1);
    say(a + "-" + b, "between " + a + " and " + b);
  }
  if (row.lost_after)
    say("after " + letter(row.last), "after " + letter(row.last));
  if (verdict.empty() && !json)
    verdict.emplace_back("nothing lost");
  return verdict;
}

Value verdict_value(const Comparison &c, const ComparedStream &row, bool json) {
  if (!is_apart(c, row))
    return verdict_of(row, json);
  return json ? Value{} : Value{std::string("nothing in common")};
}

Section compared_streams(const Comparison &c, const std::vector<uint32_t> &order, bool json) {
  std::vector<Column> columns = {
      {"src", "SOURCE"}, {"dst", "DESTINATION"},        {"dest_qp", "DEST QP", Format::Qpn},
      {"kind", "KIND"},  {"transport", "TRANS-\nPORT"}, {"from", "FROM"},
      {"to", "TO"}};
  if (json)
    columns.push_back({"direction_assumed", ""});
  columns.push_back(kLostShare);
  add_counts(columns);
  add_times(columns);
  columns.push_back({"lost_before", "LOST\nBEFORE", Format::Count, Hide::Zero, Tone::Alarm});
  columns.push_back({"lost_after", "LOST\nAFTER", Format::Count, Hide::Zero, Tone::Alarm});
  columns.push_back({"where_lost", "VERDICT"});
  Rows rows;
  for (const uint32_t index : order) {
    const ComparedStream &row = c.streams[index];
    std::vector<Value> cells = {names::address(row.key.src),
                                names::address(row.key.dst),
                                uint64_t{roce_key_qp(&row.key)},
                                names::kind_name(row.key),
                                names::transport_name(row.opcode),
                                letter(row.from),
                                letter(row.to)};
    if (json)
      cells.emplace_back(row.assumed);
    cells.push_back(lost_share(row.counts));
    add_counts(cells, row.counts);
    add_times(cells, row.latency);
    cells.emplace_back(row.lost_before);
    cells.emplace_back(row.lost_after);
    cells.push_back(verdict_value(c, row, json));
    rows.push_back(std::move(cells));
  }
  Section section{"streams", "STREAMS", make_table(std::move(columns), std::move(rows)),
                  json ? Where::Json : Where::Text};
  section.note = "no RoCE streams";
  return section;
}

// The rows of streams to show: those that lost most, then those with most packets, then in order.
std::vector<uint32_t> order_of(const Comparison &c, size_t top) {
  std::vector<uint32_t> order(c.streams.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&c](uint32_t a, uint32_t b) {
    const ComparedCounts &x = c.streams[a].counts, &y = c.streams[b].counts;
    return x.lost != y.lost ? x.lost > y.lost : x.seen_from + x.seen_to > y.seen_from + y.seen_to;
  });
  if (top && top < order.size())
    order.resize(top);
  return order;
}

Section over_time_of(const Comparison &c) {
  std::vector<Column> columns = {{"from", ""},        {"to", ""},      {"start_ns", ""},
                                 {"duration_ns", ""}, {"matched", ""}, {"lost", ""},
                                 {"ce", ""}};
  add_times(columns);
  Rows rows;
  for (const ComparedLeg &leg : c.legs)
    for (const ComparedLeg::Moment &moment : leg.over_time) {
      std::vector<Value> cells = {letter(leg.from + moment.backward),
                                  letter(leg.from + !moment.backward),
                                  moment.start_ns,
                                  leg.moment_ns,
                                  moment.matched,
                                  moment.lost,
                                  moment.ce};
      add_times(cells, moment.latency);
      rows.push_back(std::move(cells));
    }
  return {"over_time", "", make_table(std::move(columns), std::move(rows)), Where::Json};
}

Section compared_overflow(const Comparison &c) {
  uint64_t early = 0, least = c.window_ns, full = 0, capture_lost = 0;
  for (const ComparedLeg &leg : c.legs) {
    early += leg.decided_early;
    least = std::min(least, leg.least_window_ns);
  }
  for (const ComparedPlace &place : c.places) {
    full += place.streams_full;
    capture_lost += place.capture_lost;
  }
  Section section{
      "overflow", "OVERFLOW",
      Group{lost("decided_early", "packets decided before the window's end: the memory was full",
                 early),
            {{"least_window_ms", "the least window, ms", Format::Number, Hide::Zero},
             early ? us(static_cast<double>(least) / 1000) : Value{}},
            lost("streams", "packets not compared: too many streams", full),
            lost("capture", "frames that the captures of ports lost", capture_lost),
            lost("latency", "streams without latencies: too many", c.latency_histograms_full)}};
  section.hide = Hide::Zero;
  section.tone = Tone::Alarm;
  if (early)
    section.note = "more room: --memory; a shorter window: --window";
  return section;
}

} // namespace

Document compare_report(const Comparison &c, size_t top) {
  const std::vector<uint32_t> order = order_of(c, top);
  Document document;
  document.title = "compare";
  for (uint32_t i = 0; i < c.places.size(); i++)
    document.title += fmt::format("{} {} = {}", i ? "," : "", letter(i), c.places[i].name);
  auto &s = document.sections;
  s.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  add_summary(document, compare_summary(c));
  s.push_back(places_of(c));
  s.push_back({"window_ns", "", Value{c.window_ns}, Where::Json});
  s.push_back(apart_of(c));
  s.push_back(ways_section(c));
  add_clocks(document, c);
  s.push_back(compared_streams(c, order, false));
  s.push_back(compared_streams(c, order, true));
  s.push_back(over_time_of(c));
  s.push_back(compared_overflow(c));
  return document;
}

} // namespace xr::report
