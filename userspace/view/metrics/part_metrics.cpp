// SPDX-License-Identifier: Apache-2.0
#include "metrics/part_metrics.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "names/names.h"
#include "report/live_job.h"
#include "report/passive_latency.h"

namespace xr::metrics {

namespace {

// Quanta and times are of what the frames asked for: README.md of include/roce.
void add_pfc(Families &to, const std::string &port, const Snapshot &s) {
  for (unsigned i = 0; i < ROCE_PFC_COUNTS; i++) {
    const std::string priority = i == ROCE_PFC_ALL ? "all" : std::to_string(i);
    const Labels labels = {{"port", port}, {"priority", priority}};
    const auto frames = [&](const char *state, uint64_t count) {
      Labels with_state = labels;
      with_state.push_back({"state", state});
      to.counter("xdp_roce_pfc_frames_total",
                 "PFC frames by priority and state; priority all: PAUSE frames. A frame counts for "
                 "each priority that it names.",
                 std::move(with_state), static_cast<double>(count));
    };
    frames("xoff", s.totals.pfc_xoff[i]);
    frames("xon", s.totals.pfc_xon[i]);
    to.counter("xdp_roce_pfc_quanta_total", "Quanta of PFC and PAUSE frames, by priority.", labels,
               static_cast<double>(s.totals.pfc_quanta[i]));
    if (s.quantum_ps)
      to.counter("xdp_roce_pfc_paused_seconds_total",
                 "Time for which PFC and PAUSE frames paused the priority, at the port's speed.",
                 labels, static_cast<double>(s.pfc[i].paused_ns) / 1e9);
  }
}

void add_class(Families &to, const std::string &port, const char *field, const std::string &value,
               const roce_class_count &count) {
  if (!count.packets)
    return;
  const std::string base = std::string("xdp_roce_") + field;
  const Labels labels = {{"port", port}, {field, value}};
  to.counter(base + "_packets_total", std::string("RoCE packets by ") + field + " (--classes).",
             labels, static_cast<double>(count.packets));
  to.counter(base + "_bytes_total",
             std::string("Bytes of RoCE frames by ") + field + " (--classes), without FCS.", labels,
             static_cast<double>(count.bytes));
}

} // namespace

void add_classes(Families &to, const std::string &port, const Snapshot &s) {
  add_pfc(to, port, s);
  if (s.classes.size() != ROCE_CLASS_COUNTS)
    return;
  for (unsigned i = 0; i < ROCE_CLASS_PCP; i++)
    add_class(to, port, "dscp", std::to_string(i), s.classes[i]);
  for (unsigned i = ROCE_CLASS_PCP; i < ROCE_CLASS_UNTAGGED; i++)
    add_class(to, port, "pcp", std::to_string(i - ROCE_CLASS_PCP), s.classes[i]);
  add_class(to, port, "pcp", "untagged", s.classes[ROCE_CLASS_UNTAGGED]);
}

namespace {

// Upper bounds are 2^kFirst to 2^kLast - 1 ns: 1 us to 68 s.
constexpr unsigned kFirst = 10, kLast = 36;

std::vector<Families::Bucket> octaves_of(const PassiveLatency &latency, const PassiveTimes &times) {
  std::vector<Families::Bucket> octaves;
  for (unsigned bits = kFirst; bits <= kLast; bits++)
    octaves.push_back({static_cast<double>((uint64_t{1} << bits) - 1) / 1e9, 0});
  for (const PassiveBucket &bucket : latency.histogram) {
    if (bucket.kind != times.kind || bucket.bound != times.bound)
      continue;
    const unsigned bits =
        std::clamp(static_cast<unsigned>(std::bit_width(bucket.from)), kFirst, kLast);
    octaves[bits - kFirst].count += bucket.count;
  }
  for (size_t i = 1; i < octaves.size(); i++)
    octaves[i].count += octaves[i - 1].count;
  return octaves;
}

} // namespace

void add_job(Families &to, const std::string &port, const LiveJob &live) {
  const Labels labels = {{"port", port}};
  const JobTraffic &job = live.job;
  to.gauge("xdp_roce_job_ranks", "Hosts of the training job (--job); 0: none is seen.", labels,
           job.is_job() ? static_cast<double>(job.ranks.size()) : 0);
  to.counter("xdp_roce_job_bursts_missed_total",
             "Bursts that were overwritten before the exporter read them.", labels,
             static_cast<double>(live.missed));
  if (!job.is_job())
    return;
  to.counter("xdp_roce_job_steps_total", "Steps since the exporter began.", labels,
             static_cast<double>(live.steps_before + job.steps.size()));
  to.gauge("xdp_roce_job_period_seconds", "From step to step, median of the newest.", labels,
           static_cast<double>(job.period_ns) / 1e9);
  to.gauge("xdp_roce_job_duty", "Part of the period in which data passes, median.", labels,
           job.duty);
  std::vector<uint64_t> times = report::live_step_times(live);
  if (times.empty())
    return;
  const uint64_t newest = times.back();
  std::ranges::sort(times);
  for (const auto &[what, ns] : {std::pair("newest", newest),
                                 {"median", times[times.size() / 2]},
                                 {"p99", times[(times.size() - 1) * 99 / 100]},
                                 {"max", times.back()}}) {
    Labels of = labels;
    of.push_back({"step", what});
    to.gauge("xdp_roce_job_step_seconds",
             "What a step took, from its first data to its last: the newest that is over, and of "
             "the newest 256 or more.",
             of, static_cast<double>(ns) / 1e9);
  }
  for (uint32_t rank = 0; rank < job.ranks.size(); rank++) {
    double late_ns = 0;
    for (const JobStraggler &one : job.stragglers)
      if (one.rank == rank && one.first_step + one.steps + 1 >= job.steps.size())
        late_ns = static_cast<double>(one.late_ns);
    Labels of = labels;
    of.push_back({"rank", names::address(job.ranks[rank].data())});
    to.gauge("xdp_roce_job_late_rank_seconds",
             "How late the rank is in the newest steps; 0: it is not.", of, late_ns / 1e9);
  }
}

void add_latency(Families &to, const std::string &port, const PassiveLatency &latency) {
  for (const PassiveTimes &times : latency.port)
    to.histogram("xdp_roce_latency_seconds",
                 "Times between the requests and answers of QP pairs (--latency); bound upper: no "
                 "longer than this.",
                 {{"port", port},
                  {"kind", report::latency_kind(times.kind)},
                  {"bound", times.bound ? "upper" : "exact"}},
                 octaves_of(latency, times), times.mean * static_cast<double>(times.count) / 1e9);
}

void add_rates(Families &to, const std::string &port, const EndpointRates &rates, size_t top) {
  const Labels labels = {{"port", port}, {"command", rates.responder ? "respond" : "send"}};
  const QpRate total = rates.total();
  to.gauge("xdp_roce_cc_qps", "QPs whose rate is controlled by the port's send or respond.", labels,
           number(total.qps));
  to.gauge("xdp_roce_cc_rate_bits_per_second", "Sum of the QPs' rates now.", labels, total.rate);
  to.gauge("xdp_roce_cc_mean_bits_per_second", "Sum of the QPs' mean rates since they began.",
           labels, total.mean);
  to.gauge("xdp_roce_cc_alpha", "Mean of the QPs' alpha (DCQCN).", labels, total.alpha);
  to.gauge("xdp_roce_cc_fairness", "Jain's index of the QPs' mean rates.", labels, rates.jain);
  to.counter("xdp_roce_cc_cnps_total", "CNPs for these QPs.", labels, number(total.cnps));
  to.counter("xdp_roce_cc_cnps_unused_total", "Of those, CNPs that lowered no rate.", labels,
             number(total.cnps_unused));
  to.counter("xdp_roce_cc_cuts_total", "Cuts of QPs' rates.", labels, number(total.cuts));
  for (const auto &[stage, increases] :
       {std::pair{"fast", total.fast}, std::pair{"additive", total.additive},
        std::pair{"hyper", total.hyper}}) {
    Labels of_stage = labels;
    of_stage.push_back({"stage", stage});
    to.counter("xdp_roce_cc_increases_total", "Increases of QPs' rates, by stage.", of_stage,
               number(increases));
  }
  std::vector<QpRate> qps = rates.qps;
  std::sort(qps.begin(), qps.end(),
            [](const QpRate &a, const QpRate &b) { return a.cnps > b.cnps; });
  qps.resize(std::min(top, qps.size()));
  for (const QpRate &qp : qps) {
    Labels of_qp = labels;
    of_qp.push_back({"dest_qp", std::to_string(qp.qp)});
    to.gauge("xdp_roce_cc_qp_rate_bits_per_second",
             "Rate of a QP now; of the QPs with the most CNPs.", of_qp, qp.rate);
  }
}

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
