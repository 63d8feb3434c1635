// SPDX-License-Identifier: Apache-2.0
#include "report/wire.h"

#include <cmath>

#include <fmt/format.h>

#include "report/text.h"

namespace xr::report {

namespace {

double us(double ns) { return std::round(ns) / 1000; }

Field text_field(const char *key, const char *heading, std::string text) {
  return {{key, heading, Format::Text, Hide::Zero}, std::move(text)};
}

template <typename H> void add_times(Group &group, const std::string &key, const H &h) {
  const auto add = [&](const char *suffix, const char *heading, double ns) {
    group.push_back({{key + suffix, heading, Format::Rate, Hide::Zero}, us(ns)});
  };
  add("_p50_us", "p50, us", static_cast<double>(h.quantile(0.5)));
  add("_p99_us", "p99, us", static_cast<double>(h.quantile(0.99)));
  add("_p999_us", "p99.9, us", static_cast<double>(h.quantile(0.999)));
  add("_max_us", "max, us", static_cast<double>(h.max()));
}

Section section(const std::string &key, const std::string &title, Group group,
                Tone tone = Tone::Plain) {
  Section one{key, title, std::move(group)};
  one.hide = Hide::Zero;
  one.tone = tone;
  return one;
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
          count("pending_most", "most frames that waited for new rules", c.in.pending_most),
          count("memory_frames", "buffers", c.memory_frames),
          count("memory_free", "buffers free", c.memory_free)};
}

Group lost_group(const WirePortCounts &c) {
  return {lost("dropped_by_rules", "frames dropped: the queue of a rule was full",
               c.in.dropped_by_rules),
          lost("dropped_by_link", "frames dropped by the other port's link", c.in.dropped_by_link),
          lost("no_memory", "copies not made: no free buffer", c.in.no_memory),
          lost("no_buffer", "frames lost: held frames used all buffers", c.in.no_buffer),
          lost("ring_full", "frames lost: the RX ring was full", c.in.ring_full),
          lost("refused", "frames lost: refused by the kernel", c.in.refused),
          lost("unknown_rules", "frames not held: their rules were replaced", c.in.unknown_rules),
          lost("tx_dropped", "frames lost: the TX ring was full", c.out.tx_dropped),
          lost("driver_dropped", "frames that the driver dropped", c.out.driver_dropped),
          lost("link_down", "times the kernel reported that the port is down", c.out.link_down),
          lost("dropped_at_end", "frames lost: held when the process ended", c.in.dropped_at_end),
          lost("lost_when_killed", "frames lost: held by a process that was killed",
               c.in.lost_when_killed)};
}

Table rules_table(const WirePortCounts &c) {
  std::vector<std::vector<Value>> rows;
  for (uint32_t slot = 0; slot < ROCE_RULE_SLOTS; slot++) {
    const HoldCounts &h = c.rules[slot];
    if (!c.rule_ids[slot] || !h.frames)
      continue;
    rows.push_back({uint64_t{c.rule_ids[slot]}, h.frames, h.bytes, h.dropped_frames, h.timeouts,
                    h.backlog_frames, h.backlog_bytes, h.most_bytes,
                    us(static_cast<double>(h.late.quantile(0.5))),
                    us(static_cast<double>(h.late.quantile(0.99))),
                    us(static_cast<double>(h.late.quantile(0.999)))});
  }
  return make_table({{"rule", "RULE", Format::Number},
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
  add_times(group, "sojourn", l.sojourn);
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

Table classes_table(const LinkCounts &l) {
  std::vector<std::vector<Value>> rows;
  for (unsigned i = 0; i < kLinkClasses; i++) {
    const LinkClassCounts &c = l.classes[i];
    if (!c.frames_in && !c.xoff_received && !c.xoff_sent)
      continue;
    rows.push_back({uint64_t{i}, c.frames_in, c.frames_out, c.dropped(), c.marks, c.backlog_bytes,
                    c.backlog_most, c.xoff_received, c.xon_received, c.quanta_received,
                    us(static_cast<double>(c.paused_ns)), c.xoff_sent, c.xon_sent});
  }
  return make_table({{"class", "CLASS", Format::Number},
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

void add_link(std::vector<Section> &sections, const WirePortCounts &c, const std::string &prefix,
              const std::string &title) {
  if (!c.link.started)
    return;
  sections.push_back(section(prefix + "queue", title, link_group(c)));
  sections.push_back(
      section(prefix + "drops", "dropped by the link", drops_group(c.link.total()), Tone::Alarm));
  Section classes{prefix + "classes", "", classes_table(c.link)};
  classes.hide = Hide::Zero;
  sections.push_back(std::move(classes));
}

// One port: what entered by it, and what leaves by it.
void add_port(std::vector<Section> &sections, const WirePortReport &port,
              const std::string &prefix) {
  sections.push_back(
      section(prefix + "port", "",
              Group{text_field("name", "port", port.ifname),
                    text_field("peer", "other port", port.peer),
                    text_field("xdp", "XDP", port.xdp_mode),
                    {{"queues", "queues", Format::Count, Hide::Zero}, uint64_t{port.queues}},
                    text_field("link", "link", port.link)}));
  if (!port.counts || !port.counts->version)
    return;
  sections.push_back(section(prefix + "in", fmt::format("entered by {}", port.ifname),
                             ingress_group(*port.counts)));
  sections.push_back(section(prefix + "lost", "LOST HERE", lost_group(*port.counts), Tone::Alarm));
  Section rules{prefix + "rules", "", rules_table(*port.counts)};
  rules.hide = Hide::Zero;
  sections.push_back(std::move(rules));
  add_link(sections, *port.counts, prefix, fmt::format("leaves by {}", port.ifname));
}

} // namespace

Document wire_document(const WireReport &report) {
  Document document;
  document.title = fmt::format("wire {} {}, {:.1f} s", report.ports[0].ifname,
                               report.ports[1].ifname, report.seconds);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back(
      {"wire", "",
       Group{{{"seconds", "seconds", Format::Rate, Hide::Never, Tone::Plain, Where::Json},
              std::round(report.seconds * 1e3) / 1e3},
             {{"af_xdp", "AF_XDP"}, std::string(report.zero_copy ? "zero-copy" : "copy")},
             {{"threads", "threads", Format::Count}, uint64_t{report.threads}}}});
  add_port(document.sections, report.ports[0], "first_");
  add_port(document.sections, report.ports[1], "second_");
  return document;
}

std::string wire_line(const WireReport &now, const WireReport *before) {
  std::string line;
  for (size_t i = 0; i < now.ports.size(); i++) {
    const auto &c = now.ports[i].counts;
    if (!c)
      continue;
    const double seconds = before ? now.seconds - before->seconds : now.seconds;
    (void)seconds;
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
  document.sections.push_back(
      {"link", "",
       Group{text_field("port", "port", port.ifname),
             text_field("peer", "other port", port.peer),
             {{"words", "link"}, port.link.empty() ? Value{} : Value{port.link}},
             {{"running", "wire runs"}, port.running}}});
  if (!port.running && !port.link.empty())
    document.sections.back().note =
        "no process holds frames now, they are forwarded at once: xdp-roce wire " + port.ifname +
        " " + port.peer;
  if (!port.counts || !port.counts->version)
    return document;
  add_link(document.sections, *port.counts, "", "");
  document.sections.push_back(
      section("in", fmt::format("entered by {}", port.ifname), ingress_group(*port.counts)));
  document.sections.push_back(section("lost", "LOST HERE", lost_group(*port.counts), Tone::Alarm));
  return document;
}

} // namespace xr::report
