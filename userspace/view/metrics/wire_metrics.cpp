// SPDX-License-Identifier: Apache-2.0
#include "metrics/wire_metrics.h"

#include <tuple>
#include <utility>

namespace xr::metrics {

namespace {

// Frames that entered by the port.
void add_ingress(Families &to, const std::string &port, const WirePortCounts &c) {
  const Labels labels = {{"port", port}};
  to.counter("xdp_roce_wire_taken_frames_total",
             "Frames that entered the port and were handed over to the wire process.", labels,
             number(c.in.taken));
  to.counter("xdp_roce_wire_sent_frames_total",
             "Of those and their copies, sent by the other port.", labels, number(c.in.left));
  to.counter("xdp_roce_wire_matched_again_frames_total",
             "Frames that came without metadata, whose rules the process matched again.", labels,
             number(c.in.matched_again));
  to.counter("xdp_roce_wire_unmatched_frames_total",
             "Of those, not held because no rule was found.", labels, number(c.in.unmatched));
  to.counter("xdp_roce_wire_unknown_rules_frames_total",
             "Frames that were not held, as their rules were replaced meanwhile or not readable.",
             labels, number(c.in.unknown_rules));
  to.gauge("xdp_roce_wire_unread_rules",
           "Rules that hold no frames, as the wire process cannot read them.", labels,
           number(c.in.rules_unread));
  to.gauge("xdp_roce_wire_held_frames", "Of those, held now.", labels, number(c.in.holding));
  to.gauge("xdp_roce_wire_buffers", "Buffers for frames that enter the port.", labels,
           number(c.memory_frames));
  to.gauge("xdp_roce_wire_free_buffers", "Of those, free.", labels, number(c.memory_free));
  const std::pair<const char *, uint64_t> causes[] = {
      {"rules", c.in.dropped_by_rules}, {"link", c.in.dropped_by_link},
      {"no_memory", c.in.no_memory},    {"no_buffer", c.in.no_buffer},
      {"ring_full", c.in.ring_full},    {"refused", c.in.refused},
      {"tx_dropped", c.out.tx_dropped}, {"driver_dropped", c.out.driver_dropped},
      {"flap", c.out.dropped_down},     {"end", c.in.dropped_at_end},
      {"killed", c.in.lost_when_killed}};
  for (const auto &[cause, frames] : causes)
    to.counter("xdp_roce_wire_lost_frames_total",
               "Frames that the wire process dropped, or the kernel on the way to it and from it.",
               {{"port", port}, {"cause", cause}}, number(frames));
}

template <typename H>
void add_quantiles(Families &to, const std::string &name, const std::string &help,
                   const std::string &port, const H &h, double unit) {
  for (const auto &[text, quantile] :
       {std::pair{"0.5", 0.5}, std::pair{"0.99", 0.99}, std::pair{"1", 1.0}})
    to.gauge(name, help, {{"port", port}, {"quantile", text}}, number(h.quantile(quantile)) / unit);
}

void add_classes(Families &to, const std::string &port, const LinkCounts &link) {
  for (unsigned i = 0; i < kLinkClasses; i++) {
    const LinkClassCounts &c = link.classes[i];
    if (!c.frames_in && !c.xoff_received && !c.xoff_sent)
      continue;
    const Labels labels = {{"port", port}, {"class", std::to_string(i)}};
    to.counter("xdp_roce_link_offered_frames_total",
               "Frames that reached the port's link; only classes that were in use.", labels,
               number(c.frames_in));
    to.counter("xdp_roce_link_offered_bytes_total", "Bytes of those, without FCS.", labels,
               number(c.bytes_in));
    to.counter("xdp_roce_link_sent_frames_total", "Frames that left the link's queue.", labels,
               number(c.frames_out));
    to.counter("xdp_roce_link_sent_bytes_total", "Bytes of those, without FCS.", labels,
               number(c.bytes_out));
    to.counter("xdp_roce_link_marked_frames_total", "Frames that the link's AQM marked CE.", labels,
               number(c.marks));
    to.gauge("xdp_roce_link_backlog_bytes", "Bytes in the link's queue.", labels,
             number(c.backlog_bytes));
    to.counter("xdp_roce_link_paused_seconds_total",
               "Time for which received PFC paused the class.", labels, number(c.paused_ns) / 1e9);
    for (unsigned cause = 1; cause < kLinkDrops; cause++)
      to.counter("xdp_roce_link_dropped_frames_total", "Frames that the link dropped.",
                 {{"port", port},
                  {"class", std::to_string(i)},
                  {"cause", link_drop_name(static_cast<LinkDrop>(cause))}},
                 number(c.drops[cause]));
    const std::tuple<const char *, const char *, uint64_t> pauses[] = {
        {"received", "xoff", c.xoff_received},
        {"received", "xon", c.xon_received},
        {"sent", "xoff", c.xoff_sent},
        {"sent", "xon", c.xon_sent}};
    for (const auto &[direction, kind, frames] : pauses)
      to.counter(
          "xdp_roce_link_pauses_total",
          "Pauses of the class by PFC; a refreshed pause counts again.",
          {{"port", port}, {"class", std::to_string(i)}, {"direction", direction}, {"kind", kind}},
          number(frames));
  }
}

} // namespace

void add_wire(Families &to, const std::string &port, const WirePortCounts &counts, bool running) {
  to.gauge("xdp_roce_wire_running", "Whether a wire process takes the port's held frames.",
           {{"port", port}}, running ? 1 : 0);
  add_ingress(to, port, counts);
  add_quantiles(to, "xdp_roce_wire_late_seconds",
                "Time from when a frame was due until it was sent by the port, since the process "
                "began.",
                port, counts.out.late, 1e9);
  const LinkCounts &link = counts.link;
  if (!link.started)
    return;
  add_classes(to, port, link);
  to.counter("xdp_roce_link_flaps_total", "Times that a flap took the link down.", {{"port", port}},
             number(link.flaps));
  to.counter("xdp_roce_link_carrier_downs_total", "Of those, times that the port lost its carrier.",
             {{"port", port}}, number(counts.out.carrier_downs));
  to.gauge("xdp_roce_link_held_down", "Whether a flap holds the port down.", {{"port", port}},
           number(counts.out.held_down));
  to.counter("xdp_roce_link_busy_seconds_total", "Time for which the link sent frames.",
             {{"port", port}}, number(link.busy_ns) / 1e9);
  add_quantiles(to, "xdp_roce_link_sojourn_seconds",
                "Time of a frame in the link's queue, with its sending, since the link began.",
                port, link.sojourn, 1e9);
  add_quantiles(to, "xdp_roce_link_backlog_quantile_bytes",
                "Bytes in the link's queue over time, since the link began.", port, link.backlog,
                1);
}

} // namespace xr::metrics
