// SPDX-License-Identifier: Apache-2.0
#include "metrics/port_metrics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "metrics/part_metrics.h"
#include "metrics/stream_totals.h"
#include "report/stream_columns.h"

namespace xr::metrics {

namespace {

using report::Document;
using report::Section;
using report::Table;
using report::Value;

// How the fields of a section are exported: one family per field, or one family with a label for
// the field.
struct FieldMetric {
  std::string_view section;
  std::string_view key; // "": all other fields
  const char *name;     // null: not exported, because another metric has the same information
  const char *label;    // the label whose value is the key; null: no label
  const char *help;
};

// Metrics of a wire or link are in wire_metrics.cpp, of the exporter in exporter.cpp and
// process.cpp; metrics_test, export.sh; panels and alerts: tools/grafana,
// tests/data/alerts_test.yaml.
constexpr FieldMetric kFields[] = {
    {"frames", "total", nullptr, nullptr, nullptr},
    {"frames", "cnp", nullptr, nullptr, nullptr},
    {"frames", "", "xdp_roce_frames_total", "class", "Frames received; each has one class."},
    {"bytes", "total", "xdp_roce_frame_bytes_total", nullptr,
     "Bytes of all frames received, without FCS."},
    {"bytes", "", nullptr, nullptr, nullptr},
    {"ecn", "", "xdp_roce_ecn_packets_total", "codepoint", "RoCEv2 packets by ECN codepoint."},
    {"aeth", "", "xdp_roce_aeth_packets_total", "syndrome",
     "ACKNOWLEDGE and ATOMIC ACKNOWLEDGE packets by AETH syndrome."},
    {"cnp_causes", "", "xdp_roce_cnps_total", "cause",
     "CNPs received, by the last event of the stream that they slow down."},
    {"impaired", "cnps_sent", "xdp_roce_cnps_sent_total", nullptr, "CNPs that rules sent."},
    {"impaired", "cnps_paced", "xdp_roce_cnps_paced_total", nullptr,
     "CNPs that rules suppressed: within the interval after the previous one."},
    {"impaired", "cnp_unknown_peer", "xdp_roce_cnps_unknown_peer_total", nullptr,
     "CNPs that rules could not send: the sender's QPN was unknown."},
    {"impaired", "not_cloned", "xdp_roce_not_cloned_packets_total", nullptr,
     "Copies that rules could not make: the frame is too long for one buffer."},
    {"impaired", "not_forwarded", "xdp_roce_not_forwarded_packets_total", nullptr,
     "Frames dropped because the bridge's other port is gone."},
    {"impaired", "held", "xdp_roce_held_packets_total", nullptr,
     "Frames handed over to the wire process."},
    {"impaired", "not_held", "xdp_roce_not_held_packets_total", nullptr,
     "Frames to be held that were forwarded at once, as no wire process took them."},
    {"impaired", "held_without_rules", "xdp_roce_held_without_rules_packets_total", nullptr,
     "Frames handed over without their rules: the driver has no room for metadata."},
    {"impaired", "", "xdp_roce_impaired_packets_total", "action", "Packets that rules acted on."},
    {"tunnels", "truncated", "xdp_roce_truncated_frames_total", nullptr,
     "Frames in tunnels that their mirror cut."},
    {"tunnels", "", "xdp_roce_tunnel_frames_total", "tunnel",
     "Frames taken out of tunnels (--decap); one in two tunnels is in both."},
    {"episode_causes", "", "xdp_roce_episodes_total", "cause",
     "Times that a requester went back (--follow), by cause."},
    {"overflow", "", "xdp_roce_overflow_total", "what",
     "Losses because a table or a queue was full, or a limit was reached: packets without a "
     "stream, "
     "events, frames without a socket, idle streams."},
};

const FieldMetric *field_metric(const std::string &section, const std::string &key) {
  for (const FieldMetric &one : kFields)
    if (one.section == section && (one.key == key || one.key.empty()))
      return &one;
  return nullptr;
}

double number_in(const Value &value) { return static_cast<double>(report::number_of(value)); }

// Label values are strings, or numbers as in JSON.
std::string word(const Value &value) {
  const std::string *text = std::get_if<std::string>(&value);
  const uint64_t *n = std::get_if<uint64_t>(&value);
  return text ? *text : n ? std::to_string(*n) : "";
}

size_t column_of(const Table &table, std::string_view key) {
  const auto it = std::find_if(table.columns.begin(), table.columns.end(),
                               [key](const report::Column &column) { return column.key == key; });
  return static_cast<size_t>(it - table.columns.begin());
}

void add_group(Families &to, const std::string &port, const Section &section) {
  const auto *group = std::get_if<report::Group>(&section.body);
  if (!group)
    return;
  for (const report::Field &field : *group) {
    const FieldMetric *metric = field_metric(section.key, field.column.key);
    if (!metric || !metric->name)
      continue;
    Labels labels = {{"port", port}};
    if (metric->label)
      labels.push_back({metric->label, field.column.key});
    to.counter(metric->name, metric->help, std::move(labels), number_in(field.value));
  }
}

void add_opcodes(Families &to, const std::string &port, const Table &table) {
  const size_t name = column_of(table, "name"), packets = column_of(table, "packets"),
               bytes = column_of(table, "bytes");
  for (size_t row = 0; row < table.rows; row++) {
    const Labels labels = {{"port", port}, {"opcode", word(table.cell(row, name))}};
    to.counter("xdp_roce_packets_total", "RoCE packets by opcode; only opcodes that were seen.",
               labels, number_in(table.cell(row, packets)));
    to.counter("xdp_roce_bytes_total", "Bytes of RoCE frames by opcode, without FCS.", labels,
               number_in(table.cell(row, bytes)));
  }
}

void add_mirrors(Families &to, const std::string &port, const Table &table) {
  for (size_t row = 0; row < table.rows; row++) {
    Labels labels = {{"port", port}};
    for (const char *key : {"tunnel", "src", "dst", "session"})
      labels.push_back({key, word(table.cell(row, column_of(table, key)))});
    to.counter("xdp_roce_mirror_frames_total", "Frames of a mirror session.", labels,
               number_in(table.cell(row, column_of(table, "frames"))));
    to.gauge("xdp_roce_mirror_lost_frames",
             "Frames of a mirror session whose numbers did not come, even late.", labels,
             number_in(table.cell(row, column_of(table, "lost"))));
    to.counter("xdp_roce_mirror_truncated_frames_total", "Frames that the mirror session cut.",
               labels, number_in(table.cell(row, column_of(table, "truncated"))));
  }
}

void add_counters(Families &to, const PortState &port, const Snapshot &snapshot) {
  const Document document = report::counters_report({snapshot});
  for (const Section &section : document.sections) {
    add_group(to, port.name, section);
    if (section.key == "opcodes")
      add_opcodes(to, port.name, std::get<Table>(section.body));
    if (section.key == "mirrors")
      add_mirrors(to, port.name, std::get<Table>(section.body));
  }
}

void add_stream_rows(Families &to, const std::string &port, const Table &table) {
  std::vector<size_t> places; // indexes of the metrics' columns
  for (const StreamMetric &metric : stream_metrics())
    places.push_back(column_of(table, metric.key));
  for (size_t row = 0; row < table.rows; row++) {
    Labels labels = {{"port", port}};
    for (const char *key : {"src", "dst", "dest_qp", "kind"})
      labels.push_back({key, word(table.cell(row, column_of(table, key)))});
    labels.push_back({"version", word(table.cell(row, column_of(table, "roce_version")))});
    for (size_t i = 0; i < places.size(); i++) {
      const StreamMetric &metric = stream_metrics()[i];
      const std::string name = std::string("xdp_roce_stream_") + metric.stem;
      const std::string help = std::string(metric.help) + ", of the worst streams.";
      const double value = number_in(table.cell(row, places[i]));
      metric.counter ? to.counter(name, help, labels, value) : to.gauge(name, help, labels, value);
    }
  }
}

void add_streams(Families &to, const PortState &port, const Snapshot &snapshot,
                 const report::StreamOptions &options) {
  size_t shown = 0;
  if (options.top) { // 0 would mean all streams in a report
    const Document document = report::streams_report({snapshot}, options);
    for (const Section &section : document.sections)
      if (section.key == "streams") {
        add_stream_rows(to, port.name, std::get<Table>(section.body));
        shown = std::get<Table>(section.body).rows;
      }
  }
  const Labels labels = {{"port", port.name}};
  to.gauge("xdp_roce_streams", "Streams in the table.", labels,
           static_cast<double>(snapshot.streams.size()));
  to.gauge("xdp_roce_streams_used",
           "Used entries of the stream table, which the two ports of a bridge share.", labels,
           static_cast<double>(port.reading->status.streams_used));
  to.gauge("xdp_roce_streams_capacity", "Capacity of the stream table.", labels,
           static_cast<double>(snapshot.stream_capacity));
  to.gauge("xdp_roce_streams_not_exported", "Streams without metrics of their own.", labels,
           static_cast<double>(snapshot.streams.size() - shown));
  for (size_t i = 0; port.totals && i < stream_metrics().size(); i++) {
    const StreamMetric &metric = stream_metrics()[i];
    if (!metric.summed)
      continue;
    const std::string name = std::string("xdp_roce_") + metric.stem;
    const auto value = static_cast<double>((*port.totals)[i]);
    if (metric.counter)
      to.counter(name,
                 std::string(metric.help) +
                     ", of all streams; includes forgotten streams until the exporter restarts.",
                 labels, value);
    else
      to.gauge(name, std::string(metric.help) + ", of all streams in the table.", labels, value);
  }
}

void add_rules(Families &to, const std::string &port, const std::vector<RuleRow> &rules) {
  for (const RuleRow &rule : rules) {
    const Labels labels = {{"port", port}, {"id", std::to_string(rule.id)}, {"rule", rule.text}};
    to.counter("xdp_roce_rule_matched_packets_total", "Packets that the rule matched.", labels,
               static_cast<double>(rule.matched));
    to.counter("xdp_roce_rule_acted_packets_total", "Packets that the rule selected and acted on.",
               labels, static_cast<double>(rule.acted));
    to.counter("xdp_roce_rule_matched_bytes_total",
               "Bytes of the frames that the rule matched, without FCS.", labels,
               static_cast<double>(rule.matched_bytes));
    to.counter("xdp_roce_rule_acted_bytes_total",
               "Bytes of the frames that the rule acted on, without FCS.", labels,
               static_cast<double>(rule.acted_bytes));
    to.counter("xdp_roce_rule_not_held_packets_total",
               "Packets that the rule was to hold, and that no wire process took.", labels,
               static_cast<double>(rule.not_held));
    const std::pair<const char *, uint64_t> causes[] = {{"spared", rule.spared},
                                                        {"limited", rule.limited},
                                                        {"not_applicable", rule.not_applicable},
                                                        {"refused", rule.refused}};
    for (const auto &[cause, packets] : causes) {
      Labels with_cause = labels;
      with_cause.push_back({"cause", cause});
      to.counter("xdp_roce_rule_idle_packets_total",
                 "Packets that the rule selected and did not act on, by cause.", with_cause,
                 static_cast<double>(packets));
    }
  }
}

void add_status(Families &to, const std::string &port, const PortStatus &status) {
  const Labels labels = {{"port", port}};
  to.gauge("xdp_roce_port_info", "The attachment on the port.",
           {{"port", port},
            {"netns", status.netns},
            {"mode", mode_name(status.mode)},
            {"program_id", std::to_string(status.program_id)},
            {"abi", std::to_string(status.abi)},
            {"udp_port", std::to_string(status.udp_port)},
            {"peer", status.peer},
            {"track", status.track ? "true" : "false"}},
           1);
  to.gauge("xdp_roce_port_carrier", "Whether the port is up and has a carrier.", labels,
           status.running ? 1 : 0);
  to.gauge("xdp_roce_attached_timestamp_seconds", "Time of the attachment, since 1970.", labels,
           static_cast<double>(status.since_ns) / 1e9);
  to.gauge("xdp_roce_map_memory_bytes", "Kernel memory of the port's maps.", labels,
           static_cast<double>(status.map_bytes));
}

// Unknown: no sample.
void add_checks(Families &to, const std::string &port, const std::vector<SetupCheck> &checks) {
  for (const SetupCheck &check : checks)
    if (check.status != SetupCheck::Status::Unknown)
      to.gauge("xdp_roce_check",
               "The check of the set-up by what passed since the port was attached: 0 ok, 1 warn, "
               "2 fail.",
               {{"port", port}, {"name", check.name}}, static_cast<double>(check.status));
}

} // namespace

void add_port(Families &families, const PortState &port, const report::StreamOptions &options) {
  const Labels labels = {{"port", port.name}};
  const bool known = !port.reading || port.reading->known;
  if (known)
    families.gauge(
        "xdp_roce_port_attached",
        "Whether xdp-roce is attached to the port; if not, the port has no other metrics.", labels,
        port.reading ? 1 : 0);
  families.counter("xdp_roce_scrape_errors_total",
                   "Failed readings of the port, except because it was not attached.", labels,
                   static_cast<double>(port.errors));
  families.gauge("xdp_roce_scrape_duration_seconds", "Duration of reading the port.", labels,
                 port.seconds);
  if (!port.reading || !known)
    return;
  add_status(families, port.name, port.reading->status);
  if (const auto &snapshot = port.reading->snapshot) {
    add_counters(families, port, *snapshot);
    add_classes(families, port.name, *snapshot);
    if (snapshot->tracked)
      add_streams(families, port, *snapshot, options);
  }
  add_checks(families, port.name, port.reading->checks);
  add_rules(families, port.name, port.reading->rules);
  if (port.reading->wire)
    add_wire(families, port.name, *port.reading->wire, port.reading->wire_running);
  if (port.reading->latency)
    add_latency(families, port.name, *port.reading->latency);
  if (port.reading->job)
    add_job(families, port.name, *port.reading->job);
  if (port.episodes)
    port.episodes->add_to(families, port.name);
  if (port.reading->rates)
    add_rates(families, port.name, *port.reading->rates, options.top);
}

} // namespace xr::metrics
