// SPDX-License-Identifier: Apache-2.0
// POST /monitor/metrics and /monitor/states.
#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "generator/generator.h"
#include "otg/columns.h"
#include "otg/json_text.h"
#include "packet/frame.h"
#include "packet/frame_schedule.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

// Rows as JSON text, as there may be ten thousand; they have the columns that were asked for.
class Rows {
public:
  explicit Rows(std::set<std::string> wanted) : wanted_(std::move(wanted)) {}
  void begin() { text_ += text_.empty() ? "{" : ", {"; }
  void end() { text_ += '}'; }
  template <typename Value> void add(const char *column, const Value &value) {
    if (!wanted_.empty() && !wanted_.contains(column))
      return;
    if (text_.back() != '{')
      text_ += ", ";
    text_.append("\"").append(column).append("\": ");
    if constexpr (std::is_integral_v<Value>)
      text_ += fmt::format_int(value).c_str();
    else if constexpr (std::is_floating_point_v<Value>)
      otg::append_text(value, text_);
    else
      otg::append_text(std::string_view(value), text_);
  }
  std::string take() { return std::move(text_); }

private:
  std::set<std::string> wanted_;
  std::string text_;
};

// The columns of `known` that are named; empty: all. SONiC names flows here, so that names of no
// column do not count.
std::set<std::string> wanted_columns(Object &request, std::span<const char *const> known,
                                     const char *always) {
  std::set<std::string> wanted;
  for (const std::string &name : request.texts("column_names"))
    if (std::ranges::find(known, name) != known.end())
      wanted.insert(name);
  if (!wanted.empty())
    wanted.insert(always);
  return wanted;
}

// CLOCK_MONOTONIC as the time of day, UTC.
class TimeText {
public:
  std::string of(uint64_t monotonic) {
    const uint64_t real = monotonic + offset_;
    if (const auto second = static_cast<time_t>(real / 1'000'000'000); second != second_) {
      second_ = second;
      text_ = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(second));
    }
    return fmt::format("{}.{:09}Z", text_, real % 1'000'000'000);
  }

private:
  uint64_t offset_ = clock_ns(CLOCK_REALTIME) - monotonic_ns();
  time_t second_ = 0;
  std::string text_;
};

const char *up_or_down(bool up) { return up ? "up" : "down"; }

constexpr double kGigabits = 8e-9; // of bytes

} // namespace

http::Answer Generator::metrics(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"port\"}");
  Object object(json, findings, "a request for metrics");
  const std::vector<std::string_view> members = {
      "port", "flow", "rocev2_ipv4", "rocev2_ipv6", "rocev2_flow", "lag", "lacp", "lldp"};
  const size_t choice = object.choice(members, 0);
  constexpr const char *kKinds[] = {"port_metrics",
                                    "flow_metrics",
                                    "rocev2_ipv4_per_peer_metrics",
                                    "rocev2_ipv6_per_peer_metrics",
                                    "rocev2_flow_per_qp_metrics",
                                    "lag_metrics",
                                    "lacp_metrics",
                                    "lldp_metrics"};
  std::string rows;
  const auto read = [&](Object &request) {
    if (!findings.ok())
      return;
    sample_all();
    const auto of_member = [&](const char *member, const auto &make) {
      (void)request.choice({member}, 0);
      request.object(
          member, member, [&](Object &inner) { rows = make(inner); }, true);
    };
    if (choice == 0)
      rows = port_metrics(request);
    else if (choice == 1)
      rows = flow_metrics(request);
    else if (choice == 5)
      rows = lag_metrics(request);
    else if (choice == 6)
      rows = lacp_metrics(request);
    else if (choice == 7)
      rows = lldp_metrics(request);
    else if (choice == 4)
      of_member("per_qp", [&](Object &inner) { return qp_metrics(inner); });
    else
      of_member("per_peer", [&](Object &inner) { return peer_metrics(inner, choice == 2); });
  };
  object.object(members[choice].data(), members[choice], read, true);
  object.done();
  if (!findings.ok())
    return failures(400, findings.all_errors());
  const char *kind = kKinds[choice];
  return {200, "application/json",
          fmt::format("{{\"choice\": \"{}\", \"{}\": [{}]}}", kind, kind, rows)};
}

std::string Generator::port_metrics(Object &request) {
  const auto ports = choose_ports(request.texts("port_names"), request);
  Rows row(wanted_columns(request, otg::kPortColumns, "name"));
  watch_links();
  for (const size_t port : ports) {
    Unit &unit = *setup_->units[port];
    const Sample &now = unit.now(), &before = unit.before();
    bool sends = false;
    for (const Sent &sent : now.sent)
      sends = sends || sent.state == station::FlowState::Started;
    for (const requester::PlainCounts &sent : now.plain_sent)
      sends = sends || sent.state == requester::PlainState::Started;
    row.begin();
    row.add("name", setup_->config.ports[port].name);
    const auto failed = unit.run().failure();
    row.add("location",
            failed ? fmt::format("{}: {}", setup_->config.ports[port].location, failed->message)
                   : setup_->config.ports[port].location);
    row.add("link", up_or_down(setup_->links[port].up));
    row.add("last_change", setup_->links[port].since_ns);
    row.add("capture", unit.now().records ? "started" : "stopped");
    row.add("frames_tx", now.out.frames);
    row.add("frames_rx", now.in.frames);
    row.add("bytes_tx", now.out.bytes);
    row.add("bytes_rx", now.in.bytes);
    row.add("frames_tx_rate",
            per_second(now.out.frames, before.out.frames, now.out_ns, before.out_ns));
    row.add("frames_rx_rate", per_second(now.in.frames, before.in.frames, now.in_ns, before.in_ns));
    row.add("bytes_tx_rate",
            per_second(now.out.bytes, before.out.bytes, now.out_ns, before.out_ns));
    row.add("bytes_rx_rate", per_second(now.in.bytes, before.in.bytes, now.in_ns, before.in_ns));
    row.add("transmit", sends ? "started" : "stopped");
    if (const uint64_t line = unit.run().line_bits())
      row.add("speed", line / 8000);
    row.end();
  }
  return row.take();
}

std::string Generator::qp_metrics(Object &request) {
  Rows row(wanted_columns(request, otg::kQpColumns, "flow_name"));
  TimeText times;
  const otg::Config &config = setup_->config;
  // Where each flow arrives.
  std::vector<std::pair<const Unit *, size_t>> arrives(config.flows.size());
  for (const auto &unit : setup_->units)
    for (size_t place = 0; place < unit->arriving().size(); place++)
      arrives[unit->arriving()[place]] = {unit.get(), place};
  for (size_t port = 0; port < setup_->units.size(); port++) {
    const Unit &unit = *setup_->units[port];
    const std::vector<size_t> &flows = setup_->plan.ports[port].flows;
    for (size_t place = 0; place < flows.size(); place++) {
      const otg::StatefulFlow &flow = config.flows[flows[place]];
      const otg::Peer &peer = config.peers[config.qps[flow.qp].peer];
      const QpEnds &ends = setup_->plan.qps[flow.qp];
      const Sent sent = at_or_none(unit.now().sent, place),
                 sent_before = at_or_none(unit.before().sent, place);
      const auto [there, at] = arrives[flows[place]];
      const bool reads = flow.verb == otg::Verb::Read;
      row.begin();
      row.add("flow_name", flow.name);
      row.add("port_tx", config.ports[flow.port].name);
      row.add("src_qp", ends.own);
      row.add("dest_qp", ends.dest);
      if (config.interfaces[peer.interface].ipv4) {
        row.add("src_ipv4", parse::address_text(config.interfaces[peer.interface].address));
        row.add("dest_ipv4", parse::address_text(peer.destination));
      }
      row.add("data_frames_tx", sent.frames);
      row.add("data_frames_retransmitted", sent.retransmitted);
      row.add("tx_bytes", sent.bytes);
      const bool over = sent.state == station::FlowState::Stopped && !sent.busy;
      row.add("data_tx_rate",
              over ? 0.0
                   : kGigabits * per_second(sent.bytes, sent_before.bytes, unit.now().out_ns,
                                            unit.before().out_ns));
      row.add("message_tx", sent.begun);
      row.add("message_fail", sent.failed);
      if (sent.acked_ns > sent.first_ns && sent.first_ns)
        row.add("flow_completion_time", (sent.acked_ns - sent.first_ns) / 1'000'000);
      row.add("cnp_rx", sent.cnps);
      row.add("ack_rx", sent.acks);
      row.add("nak_rx", sent.naks);
      if (sent.first_ns) {
        row.add("first_timestamp", times.of(sent.first_ns));
        row.add("last_timestamp", times.of(sent.last_ns));
      }
      if (there) {
        const Arrived arrived = at_or_none(there->now().arrived, at),
                      before = at_or_none(there->before().arrived, at);
        row.add("port_rx", config.ports[*setup_->plan.rx_ports[flows[place]]].name);
        row.add("data_frames_rx", arrived.frames);
        row.add("frame_delta", sent.frames > arrived.frames ? sent.frames - arrived.frames : 0);
        row.add("frame_sequence_error", arrived.out_of_order);
        row.add("rx_bytes", arrived.bytes);
        row.add("data_rx_rate",
                per_second(arrived.bytes, before.bytes, there->now().in_ns, there->before().in_ns) *
                    kGigabits);
        row.add("message_complete_rx", reads ? sent.completed : arrived.messages);
        if (arrived.stamped) {
          row.add("avg_latency", static_cast<uint64_t>(arrived.latency_sum_ns /
                                                       static_cast<double>(arrived.stamped)));
          row.add("min_latency", arrived.latency_min_ns);
          row.add("max_latency", arrived.latency_max_ns);
        }
        row.add("ecn_ce_rx", arrived.ce);
        row.add("cnp_tx", arrived.cnps);
        row.add("ack_tx", arrived.acks);
        row.add("nak_tx", arrived.naks);
      } else {
        row.add("message_complete_rx", sent.completed);
      }
      row.end();
    }
  }
  return row.take();
}

std::string Generator::peer_metrics(Object &request, bool ipv4) {
  const auto names = request.texts("peer_names");
  Rows row(wanted_columns(request, otg::kPeerColumns, "name"));
  const otg::Config &config = setup_->config;
  std::vector<std::string_view> known;
  for (const otg::Peer &peer : config.peers)
    known.emplace_back(peer.name);
  // A device's name is that of its peers.
  const auto device_of = [&](const otg::Peer &peer) -> const std::string & {
    return config.ethernets[config.interfaces[peer.interface].ethernet].device;
  };
  const auto names_it = [&](const std::string &name) {
    return [&](const otg::Peer &peer) { return peer.name == name || device_of(peer) == name; };
  };
  for (const std::string &name : names)
    if (std::ranges::none_of(config.peers, names_it(name)))
      request.error("peer_names",
                    {fmt::format("there is no peer '{}'", name), parse::hint_from(name, known)});
  // QPs that failed since their flow's last start.
  std::vector<uint64_t> failed(config.peers.size());
  for (size_t port = 0; port < setup_->units.size(); port++) {
    const auto &flows = setup_->plan.ports[port].flows;
    for (size_t place = 0; place < flows.size(); place++)
      failed[config.qps[config.flows[flows[place]].qp].peer] +=
          at_or_none(setup_->units[port]->now().sent, place).failed_qps;
  }
  for (size_t i = 0; i < config.peers.size(); i++) {
    const otg::Peer &peer = config.peers[i];
    const otg::Interface &own = config.interfaces[peer.interface];
    const bool wanted = names.empty() || std::ranges::any_of(names, [&](const std::string &name) {
                          return names_it(name)(peer);
                        });
    if (own.ipv4 != ipv4 || !wanted)
      continue;
    const Unit &unit = *setup_->units[config.ethernets[own.ethernet].port];
    const auto down = peers_down_.find(i);
    const bool there = unit.protocols() && (down == peers_down_.end() || !down->second) &&
                       unit.mac_of(next_hop(config, peer.interface, peer.destination));
    const uint64_t up =
        there ? peer.qps.size() - std::min<uint64_t>(failed[i], peer.qps.size()) : 0;
    row.begin();
    row.add("name", peer.name);
    row.add("qp_configured", peer.qps.size());
    row.add("qp_up", up);
    row.add("qp_down", peer.qps.size() - up);
    row.end();
  }
  return row.take();
}

http::Answer Generator::states(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"ipv4_neighbors\"}");
  Object object(json, findings, "a request for states");
  const std::vector<std::string_view> members = {"ipv4_neighbors", "ipv6_neighbors",
                                                 "lldp_neighbors"};
  const size_t choice = object.choice(members, 0);
  Json made;
  object.object(
      members[choice].data(), members[choice],
      [&](Object &request) {
        made = {{"choice", members[choice]},
                {members[choice],
                 choice == 2 ? lldp_neighbours(request) : neighbours(request, choice == 0)}};
      },
      true);
  object.done();
  return findings.ok() ? generator::answer(made) : failures(400, findings.all_errors());
}

Json Generator::neighbours(Object &request, bool ipv4) const {
  const auto names = request.texts("ethernet_names");
  const otg::Config &config = setup_->config;
  std::vector<std::string_view> known;
  for (const otg::Ethernet &ethernet : config.ethernets)
    known.emplace_back(ethernet.name);
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
      request.error("ethernet_names", {fmt::format("there is no ethernet '{}'", name),
                                       parse::hint_from(name, known)});
  Json rows = Json::array();
  for (size_t port = 0; port < setup_->units.size(); port++)
    for (const NextHop &hop : setup_->plan.ports[port].next_hops) {
      const otg::Interface &own = config.interfaces[hop.interface];
      const std::string &ethernet = config.ethernets[own.ethernet].name;
      if (own.ipv4 != ipv4 || !is_first_port(config, hop, port) ||
          (!names.empty() && std::ranges::find(names, ethernet) == names.end()))
        continue;
      Json row = {{"ethernet_name", ethernet},
                  {ipv4 ? "ipv4_address" : "ipv6_address", parse::address_text(hop.address)}};
      if (const auto mac = setup_->units[port]->mac_of(hop))
        row["link_layer_address"] = packet::mac_text(*mac);
      rows.push_back(std::move(row));
    }
  return rows;
}

} // namespace xr::generator
