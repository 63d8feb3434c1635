// SPDX-License-Identifier: Apache-2.0
// Metrics of plain flows, whole and by metric tags.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "generator/generator.h"
#include "packet/frame_schedule.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

// A plain flow's frames with some values of its metric tags.
struct TaggedRow {
  uint64_t frames_tx = 0, bytes_tx = 0;
  requester::TaggedReceived received;

  void add(const requester::TaggedReceived &more) {
    requester::TaggedReceived &own = received;
    if (more.frames) {
      own.first_ns = own.frames ? std::min(own.first_ns, more.first_ns) : more.first_ns;
      own.last_ns = std::max(own.last_ns, more.last_ns);
    }
    own.frames += more.frames;
    own.bytes += more.bytes;
    if (!more.timed)
      return;
    own.latency_min_ns =
        own.timed ? std::min(own.latency_min_ns, more.latency_min_ns) : more.latency_min_ns;
    own.latency_max_ns = std::max(own.latency_max_ns, more.latency_max_ns);
    own.latency_sum_ns += more.latency_sum_ns;
    own.timed += more.timed;
  }
};

namespace {

// With as many digits as the tag has.
std::string hexadecimal(packet::Wide value, uint32_t bits) {
  std::string text;
  for (uint32_t digit = (bits + 3) / 4; digit-- > 0;)
    text += "0123456789abcdef"[static_cast<unsigned>(value >> 4 * digit) & 15U];
  return text;
}

// The values of a key, in the order of tags_of().
std::vector<std::string> texts_of(const packet::TagValues &values,
                                  const std::vector<const otg::MetricTag *> &tags) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size() && i < tags.size(); i++)
    texts.push_back(hexadecimal(values[i], tags[i]->at.bits));
  return texts;
}

std::vector<const otg::MetricTag *> tags_of(const otg::PlainFlow &flow) {
  std::vector<const otg::MetricTag *> all;
  for (const auto *tags : {&flow.tags, &flow.egress_tags})
    for (const otg::MetricTag &tag : *tags)
      all.push_back(&tag);
  return all;
}

// What of the frames that were sent should arrive.
double expected_of(const otg::PlainFlow &flow, uint64_t frames_tx) {
  const double ports = flow.each_port ? static_cast<double>(flow.rx_ports.size()) : 1;
  return static_cast<double>(frames_tx) * flow.rx_ratio * ports;
}

double loss_of(const otg::PlainFlow &flow, uint64_t frames_tx, uint64_t arrived) {
  const double expected = expected_of(flow, frames_tx);
  return expected > static_cast<double>(arrived)
             ? 100 * (expected - static_cast<double>(arrived)) / expected
             : 0;
}

// What a request asks of metric tags.
struct TaggedFilter {
  bool include = true, empty = false;
  std::vector<std::string> columns;
  std::map<std::string, std::vector<std::string>> values; // by tag; an empty list: all
};

TaggedFilter read_filter(Object &request) {
  TaggedFilter made;
  request.object("tagged_metrics", "a filter", [&](Object &filter) {
    made.include = filter.flag("include", true);
    made.empty = filter.flag("include_empty_metrics", false);
    made.columns = filter.texts("metric_names");
    filter.each("filters", "a filter", [&](Object &each) {
      const std::string name = each.needed_text("name");
      made.values[name] = each.texts("values");
    });
  });
  return made;
}

bool same_value(std::string a, std::string b) {
  for (std::string *text : {&a, &b}) {
    if (text->starts_with("0x") || text->starts_with("0X"))
      text->erase(0, 2);
    std::ranges::transform(*text, text->begin(), [](unsigned char c) { return std::tolower(c); });
    text->erase(0, std::min(text->find_first_not_of('0'), text->size()));
  }
  return a == b;
}

// A plain flow between ports: the model has a row for each name, port_tx and port_rx.
struct PlainRow {
  const otg::PlainFlow *flow = nullptr; // the first
  std::string port_tx, port_rx;         // "": several, or none
  bool started = false, paused = false;
  bool counted = true; // where it arrives
  uint64_t frames_tx = 0, bytes_tx = 0, frames_rx = 0, bytes_rx = 0;
  uint64_t duplicates = 0; // of frames_rx
  double frames_tx_rate = 0, bytes_tx_rate = 0, frames_rx_rate = 0, bytes_rx_rate = 0;
  uint64_t first_ns = 0, last_ns = 0; // of arrival
  uint64_t timed = 0, latency_sum_ns = 0, latency_min_ns = 0, latency_max_ns = 0;
  std::map<std::vector<std::string>, TaggedRow> tagged; // by the values of tags

  void add(const requester::PlainReceived &now, const requester::PlainReceived &before, uint64_t at,
           uint64_t since) {
    frames_rx += now.frames;
    duplicates += now.duplicates;
    bytes_rx += now.bytes;
    frames_rx_rate += per_second(now.frames, before.frames, at, since);
    bytes_rx_rate += per_second(now.bytes, before.bytes, at, since);
    if (now.frames) {
      first_ns = first_ns ? std::min(first_ns, now.first_ns) : now.first_ns;
      last_ns = std::max(last_ns, now.last_ns);
    }
    if (now.timed) {
      latency_min_ns = timed ? std::min(latency_min_ns, now.latency_min_ns) : now.latency_min_ns;
      latency_max_ns = std::max(latency_max_ns, now.latency_max_ns);
      latency_sum_ns += now.latency_sum_ns;
      timed += now.timed;
    }
  }
};

Json row_of(const PlainRow &sum) {
  constexpr double kL1Bytes = packet::kPreambleBytes + packet::kGapBytes; // of a frame beside it
  const otg::PlainFlow &flow = *sum.flow;
  Json row = {{"name", flow.name},
              {"transmit", sum.started  ? "started"
                           : sum.paused ? "paused"
                                        : "stopped"},
              {"frames_tx", sum.frames_tx},
              {"bytes_tx", sum.bytes_tx},
              {"frames_tx_rate", sum.frames_tx_rate},
              {"tx_rate_bytes", sum.bytes_tx_rate},
              {"tx_rate_bps", 8 * sum.bytes_tx_rate},
              {"tx_rate_kbps", 8e-3 * sum.bytes_tx_rate},
              {"tx_rate_mbps", 8e-6 * sum.bytes_tx_rate},
              {"tx_l1_rate_bps", 8 * (sum.bytes_tx_rate + kL1Bytes * sum.frames_tx_rate)}};
  if (!sum.port_tx.empty())
    row["port_tx"] = sum.port_tx;
  if (!sum.port_rx.empty())
    row["port_rx"] = sum.port_rx;
  if (!sum.counted)
    return row;
  row["frames_rx"] = sum.frames_rx;
  row["bytes_rx"] = sum.bytes_rx;
  row["frames_rx_rate"] = sum.frames_rx_rate;
  row["rx_rate_bytes"] = sum.bytes_rx_rate;
  row["rx_rate_bps"] = 8 * sum.bytes_rx_rate;
  row["rx_rate_kbps"] = 8e-3 * sum.bytes_rx_rate;
  row["rx_rate_mbps"] = 8e-6 * sum.bytes_rx_rate;
  row["rx_l1_rate_bps"] = 8 * (sum.bytes_rx_rate + kL1Bytes * sum.frames_rx_rate);
  // Where more copies than one are expected, they are no duplicates.
  const bool copies = expected_of(flow, 1) > 1;
  if (flow.loss)
    row["loss"] =
        loss_of(flow, sum.frames_tx, copies ? sum.frames_rx : sum.frames_rx - sum.duplicates);
  if (flow.timestamps && sum.frames_rx)
    row["timestamps"] = {{"first_timestamp_ns", sum.first_ns}, {"last_timestamp_ns", sum.last_ns}};
  if (flow.latency && sum.timed)
    row["latency"] = {{"minimum_ns", sum.latency_min_ns},
                      {"maximum_ns", sum.latency_max_ns},
                      {"average_ns", sum.latency_sum_ns / sum.timed}};
  return row;
}

// `asked`: values of a tag, as text where they are names of ports; empty: all.
bool is_asked(const std::vector<std::string> &asked, const std::string &value, bool names) {
  return asked.empty() || std::ranges::any_of(asked, [&](const std::string &each) {
           return names ? each == value : same_value(each, value);
         });
}

Json tagged_rows(const PlainRow &sum, const TaggedFilter &filter) {
  const otg::PlainFlow &flow = *sum.flow;
  std::vector<std::string> names;
  for (const otg::MetricTag *tag : tags_of(flow))
    names.push_back(tag->name);
  if (flow.tag_port)
    names.emplace_back("rx_name");
  Json rows = Json::array();
  for (const auto &[values, counts] : sum.tagged) {
    const requester::TaggedReceived &got = counts.received;
    bool wanted = filter.empty || counts.frames_tx || got.frames;
    Json tags = Json::array();
    for (size_t i = 0; i < names.size(); i++) {
      const bool port = flow.tag_port && i + 1 == names.size();
      const char *form = port ? "str" : "hex";
      tags.push_back({{"name", names[i]}, {"value", {{"choice", form}, {form, values[i]}}}});
      if (const auto asked = filter.values.find(names[i]); asked != filter.values.end())
        wanted = wanted && is_asked(asked->second, values[i], port);
    }
    if (!wanted)
      continue;
    Json row = {{"frames_rx", got.frames}, {"bytes_rx", got.bytes}};
    if (flow.egress_tags.empty() && !flow.tag_port) { // else nothing says what was sent for it
      row["frames_tx"] = counts.frames_tx;
      row["bytes_tx"] = counts.bytes_tx;
      if (flow.loss)
        row["loss"] = loss_of(flow, counts.frames_tx, got.frames);
    }
    if (flow.timestamps && got.frames)
      row["timestamps"] = {{"first_timestamp_ns", got.first_ns},
                           {"last_timestamp_ns", got.last_ns}};
    if (flow.latency && got.timed)
      row["latency"] = {{"minimum_ns", got.latency_min_ns},
                        {"maximum_ns", got.latency_max_ns},
                        {"average_ns", got.latency_sum_ns / got.timed}};
    row = with_columns(std::move(row), filter.columns);
    row["tags"] = std::move(tags);
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

// By the values of tags: what the flow at `place` of a port sent, and what arrived of it.
void Generator::add_tagged(size_t port, size_t place, TaggedRows &rows) {
  const size_t number = setup_->plan.ports[port].plain_flows[place];
  const otg::PlainFlow &flow = setup_->config.plain_flows[number];
  const auto tags = tags_of(flow);
  uint64_t untagged = 0;
  for (const size_t there : flow.rx_ports)
    for (const auto &[values, received] : setup_->units[there]->tagged_received(number, untagged)) {
      auto key = texts_of(values, tags);
      if (flow.tag_port)
        key.push_back(setup_->config.ports[there].name);
      rows[key].add(received);
    }
  if (flow.egress_tags.empty() && !flow.tag_port) // what was sent after what arrived
    for (const auto &[values, sent] : setup_->units[port]->tagged_sent(place).by_values()) {
      TaggedRow &row = rows[texts_of(values, tags)];
      row.frames_tx += sent.frames;
      row.bytes_tx += sent.bytes;
    }
  if (untagged && setup_->untagged_told.insert(flow.name).second)
    options_.note(fmt::format("flow '{}': {} frames are of more values of metric tags than the {} "
                              "that are counted; they are in the flow's own row alone",
                              flow.name, untagged, requester::PlainReceiver::kMostTagged));
}

std::string Generator::flow_metrics(Object &request) {
  const auto names = request.texts("flow_names");
  const auto wanted_names = request.texts("metric_names");
  const TaggedFilter filter = read_filter(request);
  const otg::Config &config = setup_->config;
  using Key = std::tuple<std::string, std::string, std::vector<size_t>>; // name, tx, rx
  std::map<Key, PlainRow> sums;
  std::vector<Key> order;
  const auto is_wanted = [&](const std::string &name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  std::vector<std::string_view> known; // also those without metrics
  for (size_t port = 0; port < setup_->units.size(); port++) {
    const Unit &unit = *setup_->units[port];
    const std::vector<size_t> &flows = setup_->plan.ports[port].plain_flows;
    for (size_t place = 0; place < flows.size(); place++) {
      const otg::PlainFlow &flow = config.plain_flows[flows[place]];
      if (!flow.removed)
        known.emplace_back(flow.name);
      if (!flow.enabled || flow.removed)
        continue;
      const Key key{flow.name, flow.tx_name, flow.rx_ports};
      PlainRow &sum = sums[key];
      if (!sum.flow) {
        order.push_back(key);
        sum.flow = &flow;
        sum.port_tx = flow.tx_name;
        sum.port_rx = flow.rx_name;
      }
      const auto sent = at_or_none(unit.now().plain_sent, place),
                 before = at_or_none(unit.before().plain_sent, place);
      const requester::PlainState state =
          flow.tx_lag ? setup_->lags->state_of_plain(flows[place]) : sent.state;
      sum.started = sum.started || state == requester::PlainState::Started;
      sum.paused = sum.paused || state == requester::PlainState::Paused;
      sum.frames_tx += sent.frames;
      sum.bytes_tx += sent.bytes;
      if (sent.state == requester::PlainState::Started) {
        const uint64_t at = unit.now().out_ns, since = unit.before().out_ns;
        sum.frames_tx_rate += per_second(sent.frames, before.frames, at, since);
        sum.bytes_tx_rate += per_second(sent.bytes, before.bytes, at, since);
      }
      sum.counted = sum.counted && !flow.rx_ports.empty();
      for (const size_t there : flow.rx_ports) {
        const Unit &other = *setup_->units[there];
        const auto now = at_or_none(other.now().plain_arrived, flows[place]);
        sum.add(now, at_or_none(other.before().plain_arrived, flows[place]), other.now().in_ns,
                other.before().in_ns);
      }
      if (flow.is_tagged() && filter.include && is_wanted(flow.name))
        add_tagged(port, place, sum.tagged);
    }
  }
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
      request.error("flow_names",
                    {fmt::format("there is no flow '{}'", name), parse::hint_from(name, known)});
  Json rows = Json::array();
  for (const Key &key : order) {
    if (!is_wanted(std::get<0>(key)))
      continue;
    Json row = row_of(sums[key]);
    if (sums[key].flow->is_tagged() && filter.include)
      row["tagged_metrics"] = tagged_rows(sums[key], filter);
    rows.push_back(with_columns(std::move(row), wanted_names, {"name", "tagged_metrics"}));
  }
  return rows_text(rows);
}

} // namespace xr::generator
