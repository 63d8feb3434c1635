// SPDX-License-Identifier: Apache-2.0
#include "report/wire.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "report/cells.h"
#include "report/processors.h"
#include "report/summary.h"
#include "report/text.h"

namespace xr::report {

namespace {

using Ports = std::span<const WirePortReport>;

double rounded_us(double ns) { return std::round(ns) / 1000; }

// Zeros where no process has counted yet.
const WirePortCounts &counts_of(const WirePortReport &port) {
  static const WirePortCounts none;
  return port.counts && port.counts->version ? *port.counts : none;
}

// In text, a table of one port only does not name it.
Where port_column(Ports ports) { return ports.size() > 1 ? Where::Both : Where::Json; }

Field text_field(const char *key, const char *heading, std::string text) {
  return {{key, heading, Format::Text, Hide::Zero}, std::move(text)};
}

// `what`: in words, before each of the numbers.
template <typename H>
void add_histogram(Group &group, const std::string &key, const std::string &what, const H &h) {
  const auto add = [&](const char *suffix, const char *heading, double ns) {
    group.push_back({{key + suffix, what + heading, Format::Rate, Hide::Zero}, rounded_us(ns)});
  };
  add("_p50_us", "p50, us", static_cast<double>(h.quantile(0.5)));
  add("_p99_us", "p99, us", static_cast<double>(h.quantile(0.99)));
  add("_p999_us", "p99.9, us", static_cast<double>(h.quantile(0.999)));
  add("_max_us", "max, us", static_cast<double>(h.max()));
}

Section hidden_section(const std::string &key, const std::string &title, Group group,
                       Tone tone = Tone::Plain) {
  Section item{key, title, std::move(group)};
  item.hide = Hide::Zero;
  item.tone = tone;
  return item;
}

// Frames that entered the port and were handed over.
Group ingress_group(const WirePortCounts &c) {
  return {count("taken", "frames taken over", c.in.taken, Hide::Never),
          count("taken_bytes", "bytes", c.in.taken_bytes),
          count("copies", "copies made", c.in.copies),
          count("left", "sent by the other port", c.in.left, Hide::Never),
          count("left_bytes", "bytes", c.in.left_bytes),
          count("holding", "held now", c.in.holding),
          count("mac_control", "PAUSE and PFC frames, which end here", c.in.mac_control),
          count("cnps", "CNPs returned", c.in.cnps),
          count("matched_again", "frames without metadata, matched again", c.in.matched_again),
          count("pending_most", "most frames that waited for new rules", c.in.pending_most),
          count("memory_frames", "buffers", c.memory_frames),
          count("memory_free", "buffers free", c.memory_free),
          count("memory_free_least", "fewest buffers free", c.memory_free_least)};
}

Group lost_group(const WirePortCounts &c) {
  return {
      lost("dropped_by_rules", "frames dropped: the queue of a rule was full",
           c.in.dropped_by_rules),
      lost("dropped_by_link", "frames dropped by the other port's link", c.in.dropped_by_link),
      lost("no_memory", "copies not made: no free buffer", c.in.no_memory),
      lost("no_buffer", "frames lost: held frames used all buffers", c.in.no_buffer),
      lost("ring_full", "frames lost: the RX ring was full", c.in.ring_full),
      lost("refused", "frames lost: refused by the kernel", c.in.refused),
      lost("unknown_rules", "frames not held: their rules were replaced, or not readable",
           c.in.unknown_rules),
      lost("rules_unread", "rules that are not readable, and hold no frames", c.in.rules_unread),
      lost("unmatched", "frames not held: no metadata, and no rule found", c.in.unmatched),
      lost("tx_dropped", "frames lost: the TX ring was full", c.out.tx_dropped),
      lost("driver_dropped", "frames that the driver dropped", c.out.driver_dropped),
      lost("dropped_down", "frames lost: a flap held the port down", c.out.dropped_down),
      lost("link_down", "times the kernel reported that the port is down", c.out.link_down),
      lost("dropped_at_end", "frames lost: held when the process ended", c.in.dropped_at_end),
      lost("lost_when_killed", "frames lost: held by a process that was killed",
           c.in.lost_when_killed)};
}

// `removed`: 1, or of how many rules the row is.
void add_rule(Rows &rows, const std::string &port, Value rule, uint64_t removed,
              const HoldCounts &h) {
  rows.push_back({port, std::move(rule), removed, h.frames, h.bytes, h.dropped_frames, h.timeouts,
                  h.backlog_frames, h.backlog_bytes, h.most_bytes,
                  rounded_us(static_cast<double>(h.late.quantile(0.5))),
                  rounded_us(static_cast<double>(h.late.quantile(0.99))),
                  rounded_us(static_cast<double>(h.late.quantile(0.999)))});
}

Table rules_table(Ports ports) {
  Rows rows;
  for (const WirePortReport &port : ports) {
    const WirePortCounts &c = counts_of(port);
    for (uint32_t row = 0; row < WirePortCounts::kRuleRows; row++)
      if (c.rule_ids[row] && c.rules[row].frames)
        add_rule(rows, port.ifname, Value{uint64_t{c.rule_ids[row]}}, c.rule_removed[row],
                 c.rules[row]);
    if (c.merged.frames)
      add_rule(rows, port.ifname, Value{}, c.rules_merged, c.merged);
  }
  return make_table({{"port", "PORT", Format::Text, Hide::Never, Tone::Plain, port_column(ports)},
                     {"rule", "RULE", Format::Number},
                     {"removed", "REMOVED", Format::Count, Hide::Zero},
                     {"frames", "FRAMES", Format::Count},
                     {"bytes", "BYTES", Format::Count},
                     {"dropped", "DROPPED", Format::Count, Hide::Zero, Tone::Alarm},
                     {"timeouts", "TIMEOUTS", Format::Count, Hide::Zero},
                     {"backlog_frames", "HELD", Format::Count},
                     {"backlog_bytes", "BYTES\nHELD", Format::Count},
                     {"backlog_most_bytes", "MOST BYTES\nHELD", Format::Count},
                     {"late_p50_us", "LATE, us\nP50", Format::Rate},
                     {"late_p99_us", "P99", Format::Rate},
                     {"late_p999_us", "P99.9", Format::Rate}},
                    std::move(rows));
}

// Given is what frames got from their last bit until the driver had them.
void add_delay(Group &group, const LinkCounts &l) {
  const auto add = [&](const char *key, const char *heading, double late) {
    group.push_back(
        {{key, heading, Format::Rate, Hide::Zero},
         l.late.count() ? Value{rounded_us(static_cast<double>(l.delay) + late)} : Value{}});
  };
  group.push_back({{"delay_asked_us", "delay asked, us", Format::Rate, Hide::Zero},
                   rounded_us(static_cast<double>(l.delay))});
  add("delay_given_mean_us", "delay given, mean, us", l.late.mean());
  add("delay_given_p50_us", "delay given, p50, us", static_cast<double>(l.late.quantile(0.5)));
  add("delay_given_p99_us", "delay given, p99, us", static_cast<double>(l.late.quantile(0.99)));
  add("delay_given_max_us", "delay given, max, us", static_cast<double>(l.late.max()));
}

Group link_group(const WirePortCounts &c) {
  const LinkCounts &l = c.link;
  const LinkClassCounts all = l.total();
  const double elapsed = static_cast<double>(l.updated - l.started);
  Group group = {count("frames_in", "frames in", all.frames_in, Hide::Never),
                 count("bytes_in", "bytes in", all.bytes_in),
                 count("frames_out", "frames out", all.frames_out, Hide::Never),
                 count("bytes_out", "bytes out", all.bytes_out),
                 count("marked", "marked CE", all.marks),
                 count("backlog_bytes", "backlog, bytes", all.backlog_bytes, Hide::Never),
                 count("backlog_max_bytes", "largest backlog, bytes", l.backlog_most)};
  group.push_back({{"backlog_mean_bytes", "mean backlog, bytes", Format::Rate, Hide::Zero},
                   std::round(l.backlog.mean())});
  group.push_back(
      count("backlog_p99_bytes", "p99 of the backlog, bytes", l.backlog.quantile(0.99)));
  group.push_back(
      {{"utilisation", "utilisation", Format::Rate, Hide::Zero},
       elapsed > 0 ? std::round(1e4 * static_cast<double>(l.busy_ns) / elapsed) / 1e4 : 0.0});
  add_histogram(group, "sojourn", "sojourn, ", l.sojourn);
  add_delay(group, l);
  group.push_back(count("flaps", "flaps", l.flaps));
  group.push_back(text_field("flap_by", "flap by", flap_by_name(c.out.flap_by)));
  group.push_back(text_field("flap_by_why", "because", flap_by_reason(c.out.flap_by)));
  group.push_back(count("carrier_downs", "of the flaps, by carrier", c.out.carrier_downs));
  group.push_back(count("held_down", "a flap holds the port down now", c.out.held_down));
  return group;
}

Group drops_group(const LinkClassCounts &all) {
  Group group;
  for (unsigned i = 1; i < kLinkDrops; i++) {
    const char *name = link_drop_name(static_cast<LinkDrop>(i));
    group.push_back(lost(name, name, all.drops[i]));
  }
  return group;
}

Table classes_table(Ports ports) {
  Rows rows;
  for (const WirePortReport &port : ports)
    for (unsigned i = 0; i < kLinkClasses; i++) {
      const LinkClassCounts &c = counts_of(port).link.classes[i];
      if (!c.frames_in && !c.xoff_received && !c.xoff_sent)
        continue;
      rows.push_back({port.ifname, uint64_t{i}, c.frames_in, c.frames_out, c.dropped(), c.marks,
                      c.backlog_bytes, c.backlog_most, c.xoff_received, c.xon_received,
                      c.quanta_received, rounded_us(static_cast<double>(c.paused_ns)), c.xoff_sent,
                      c.xon_sent});
    }
  return make_table({{"port", "PORT", Format::Text, Hide::Never, Tone::Plain, port_column(ports)},
                     {"class", "CLASS", Format::Number},
                     {"frames_in", "FRAMES\nIN", Format::Count},
                     {"frames_out", "OUT", Format::Count},
                     {"dropped", "DROPPED", Format::Count, Hide::Zero, Tone::Alarm},
                     {"marked", "MARKED", Format::Count, Hide::Zero},
                     {"backlog_bytes", "BACKLOG\nBYTES", Format::Count},
                     {"backlog_max_bytes", "LARGEST", Format::Count},
                     {"xoff_received", "XOFF\nSEEN", Format::Count, Hide::Zero},
                     {"xon_received", "XON\nSEEN", Format::Count, Hide::Zero},
                     {"quanta_received", "QUANTA", Format::Count, Hide::Zero},
                     {"paused_us", "PAUSED\nus", Format::Rate, Hide::Zero},
                     {"xoff_sent", "XOFF\nSENT", Format::Count, Hide::Zero},
                     {"xon_sent", "XON\nSENT", Format::Count, Hide::Zero}},
                    std::move(rows));
}

// Keys of 0.4 to 0.6, whose place `ports`, `rules` and `classes` have taken: scripts may read them.
void add_former_keys(std::vector<Section> &sections, const WirePortReport &port,
                     const std::string &prefix) {
  const auto add = [&](const char *key, auto body) {
    sections.push_back({prefix + key, "", std::move(body), Where::Json});
  };
  add("port", Group{text_field("name", "", port.ifname), text_field("peer", "", port.peer),
                    text_field("xdp", "", port.xdp_mode), count("queues", "", port.queues),
                    text_field("link", "", port.link)});
  const WirePortCounts &c = counts_of(port);
  if (!c.version)
    return;
  add("in", ingress_group(c));
  add("lost", lost_group(c));
  add("rules", rules_table({&port, 1}));
  if (!c.link.started)
    return;
  add("queue", link_group(c));
  add("drops", drops_group(c.link.total()));
  add("classes", classes_table({&port, 1}));
}

// What is counted of a port, in groups of the same fields for every port.
struct Part {
  const char *key, *title;
  Group (*group)(const WirePortReport &);
  Tone tone = Tone::Plain;
};

constexpr Part kParts[] = {
    {"", "",
     [](const WirePortReport &port) {
       return Group{
           {{"name", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, port.ifname},
           {{"peer", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, port.peer},
           text_field("xdp", "XDP", port.xdp_mode),
           count("queues", "queues", port.queues),
           text_field("link", "link", port.link)};
     }},
    {"in", "entered by the port",
     [](const WirePortReport &port) { return ingress_group(counts_of(port)); }},
    {"lost", "LOST HERE", [](const WirePortReport &port) { return lost_group(counts_of(port)); },
     Tone::Alarm},
    {"queue", "leaves by the port's link",
     [](const WirePortReport &port) { return link_group(counts_of(port)); }},
    {"drops", "dropped by the link",
     [](const WirePortReport &port) { return drops_group(counts_of(port).link.total()); },
     Tone::Alarm},
};

// A row a port. The keys of a part are in an object of its own.
Table ports_table(Ports ports) {
  std::vector<Column> columns;
  Rows rows(ports.size());
  for (const Part &part : kParts)
    for (size_t i = 0; i < ports.size(); i++)
      for (Field &field : part.group(ports[i])) {
        if (!i) {
          const std::string key = field.column.key;
          columns.push_back({*part.key ? fmt::format("{}.{}", part.key, key) : key, ""});
        }
        rows[i].push_back(std::move(field.value));
      }
  return make_table(std::move(columns), std::move(rows));
}

// The part for people: a column a port, without the lines that are zero for all of them.
Section part_section(const Part &part, Ports ports) {
  std::vector<Column> columns = {{"field", part.title}};
  std::vector<Group> groups;
  for (const WirePortReport &port : ports) {
    columns.push_back({port.ifname, port.ifname, Format::Rate, Hide::Never, part.tone});
    groups.push_back(part.group(port));
  }
  Rows rows;
  for (size_t i = 0; i < groups[0].size(); i++) {
    const Column &column = groups[0][i].column;
    const bool zero = std::all_of(groups.begin(), groups.end(),
                                  [i](const Group &group) { return is_zero(group[i].value); });
    if (column.where == Where::Json || (column.hide == Hide::Zero && zero))
      continue;
    std::vector<Value> &row = rows.emplace_back(std::vector<Value>{column.heading});
    for (const Group &group : groups)
      row.push_back(group[i].value);
  }
  return {.key = "",
          .title = "",
          .body = make_table(std::move(columns), std::move(rows)),
          .where = Where::Text,
          .hide = Hide::Zero};
}

bool any_link(Ports ports) {
  return std::any_of(ports.begin(), ports.end(),
                     [](const WirePortReport &port) { return counts_of(port).link.started; });
}

Section table_section(const char *key, const char *title, Table table) {
  Section hidden_section{key, title, std::move(table)};
  hidden_section.hide = Hide::Zero;
  return hidden_section;
}

} // namespace

Document wire_document(const WireReport &report) {
  const Ports ports(report.ports);
  Document document;
  document.title = fmt::format("wire {} {}, {:.1f} s", report.ports[0].ifname,
                               report.ports[1].ifname, report.seconds);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back(
      {"wire", "",
       Group{{{"seconds", "seconds", Format::Rate, Hide::Never, Tone::Plain, Where::Json},
              std::round(report.seconds * 1e3) / 1e3},
             {{"af_xdp", "AF_XDP"}, std::string(report.zero_copy ? "zero-copy" : "copy")},
             {{"threads", "threads", Format::Count}, uint64_t{report.threads}},
             count("memory_bytes", "memory, bytes", report.memory_bytes)}});
  add_processors(document.sections, report.processors);
  document.sections.push_back({"ports", "", ports_table(ports), Where::Json});
  for (const Part &part : kParts)
    if (any_link(ports) || (part.key != std::string_view("queue")))
      document.sections.push_back(part_section(part, ports));
  document.sections.push_back(table_section("rules", "rules that hold", rules_table(ports)));
  document.sections.push_back(table_section("classes", "classes of links", classes_table(ports)));
  add_former_keys(document.sections, report.ports[0], "first_");
  add_former_keys(document.sections, report.ports[1], "second_");
  return document;
}

std::string wire_line(const WireReport &now, const WireReport *) {
  std::string line;
  for (size_t i = 0; i < now.ports.size(); i++) {
    const auto &c = now.ports[i].counts;
    if (!c)
      continue;
    line += fmt::format("{}{}: {} taken, {} sent, {} held, {} dropped", i ? "; " : "",
                        now.ports[i].ifname, c->in.taken, c->in.left, c->in.holding,
                        c->in.dropped_by_link + c->in.dropped_by_rules + c->in.no_memory +
                            c->in.no_buffer + c->in.ring_full);
  }
  return line;
}

Document link_document(const WirePortReport &port) {
  Document document;
  document.title = fmt::format("link {}", port.ifname);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  add_summary(document, link_summary(port));
  document.sections.push_back({"link", "",
                               Group{text_field("port", "port", port.ifname),
                                     text_field("peer", "other port", port.peer),
                                     {{"words", "link"}, known(port.link)},
                                     {{"running", "wire runs"}, port.running}}});
  if (!port.running && port.counts && port.counts->version && port.counts->out.held_down)
    document.sections.back().note =
        fmt::format("a flap of a wire process that was killed set {0} down: ip link set {0} up, or "
                    "xdp-roce wire {0} {1}",
                    port.ifname, port.peer);
  else if (!port.running && !port.link.empty())
    document.sections.back().note =
        "no process holds frames now, they are forwarded at once: xdp-roce wire " + port.ifname +
        " " + port.peer;
  const WirePortCounts &c = counts_of(port);
  if (!c.version)
    return document;
  if (c.link.started) {
    document.sections.push_back(hidden_section("queue", "", link_group(c)));
    document.sections.push_back(
        hidden_section("drops", "dropped by the link", drops_group(c.link.total()), Tone::Alarm));
    document.sections.push_back(table_section("classes", "", classes_table({&port, 1})));
  }
  document.sections.push_back(
      hidden_section("in", fmt::format("entered by {}", port.ifname), ingress_group(c)));
  document.sections.push_back(hidden_section("lost", "LOST HERE", lost_group(c), Tone::Alarm));
  return document;
}

} // namespace xr::report
