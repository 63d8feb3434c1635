// SPDX-License-Identifier: Apache-2.0
#include "metrics/class_metrics.h"

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

} // namespace xr::metrics
