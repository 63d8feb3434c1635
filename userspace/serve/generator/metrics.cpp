// SPDX-License-Identifier: Apache-2.0
// POST /monitor/metrics and /monitor/states.
#include <algorithm>
#include <ctime>
#include <set>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "generator/generator.h"
#include "host/link.h"
#include "host/netns.h"
#include "otg/columns.h"
#include "packet/frame.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

// A row, which has the columns that were asked for.
class Row {
public:
  explicit Row(const std::set<std::string> &wanted) : wanted_(wanted) {}
  template <typename Value> void add(const char *column, const Value &value) {
    if (wanted_.empty() || wanted_.contains(column))
      json_[column] = value;
  }
  Json take() { return std::move(json_); }

private:
  const std::set<std::string> &wanted_;
  Json json_ = Json::object();
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
std::string time_text(uint64_t monotonic) {
  const uint64_t now = monotonic_ns(), real = clock_ns(CLOCK_REALTIME) - (now - monotonic);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z",
                     fmt::gmtime(static_cast<time_t>(real / 1'000'000'000)), real % 1'000'000'000);
}

std::string mac_text(const packet::Mac &mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3],
                     mac[4], mac[5]);
}

const char *up_or_down(bool up) { return up ? "up" : "down"; }

constexpr double kGigabits = 8e-9; // of bytes

template <typename T> T at_or_none(const std::vector<T> &all, size_t place) {
  return place < all.size() ? all[place] : T{};
}

} // namespace

http::Answer Generator::metrics(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"port\"}");
  Object object(json, findings, "a request for metrics");
  const std::vector<std::string_view> members = {"port", "flow", "rocev2_ipv4", "rocev2_ipv6",
                                                 "rocev2_flow"};
  const size_t choice = object.choice(members, 0);
  Json made;
  const auto read = [&](Object &request) {
    if (!findings.ok())
      return;
    sample_all();
    switch (choice) {
    case 0:
      made = {{"choice", "port_metrics"}, {"port_metrics", port_metrics(request)}};
      break;
    case 1:
      (void)request.texts("flow_names");
      (void)request.texts("metric_names");
      request.unsupported("tagged_metrics");
      made = {{"choice", "flow_metrics"}, {"flow_metrics", Json::array()}};
      break;
    case 2:
    case 3: {
      const std::string name =
          choice == 2 ? "rocev2_ipv4_per_peer_metrics" : "rocev2_ipv6_per_peer_metrics";
      (void)request.choice({"per_peer"}, 0);
      request.object(
          "per_peer", "per_peer",
          [&](Object &peer) {
            made = {{"choice", name}, {name, peer_metrics(peer, choice == 2)}};
          },
          true);
      break;
    }
    default:
      (void)request.choice({"per_qp"}, 0);
      request.object(
          "per_qp", "per_qp",
          [&](Object &qp) {
            made = {{"choice", "rocev2_flow_per_qp_metrics"},
                    {"rocev2_flow_per_qp_metrics", qp_metrics(qp)}};
          },
          true);
    }
  };
  object.object(members[choice].data(), members[choice], read, true);
  object.done();
  return findings.ok() ? generator::answer(made) : failures(400, findings.all_errors());
}

Json Generator::port_metrics(Object &request) {
  const auto ports = choose_ports(request.texts("port_names"), request);
  const auto wanted = wanted_columns(request, otg::kPortColumns, "name");
  Json rows = Json::array();
  for (const size_t port : ports) {
    Unit &unit = *setup_->units[port];
    const Sample &now = unit.now(), &before = unit.before();
    bool up = false;
    if (const auto inside = host::enter_netns(unit.netns()); inside.ok())
      if (const auto link = host::read_link(unit.ifname()); link.ok())
        up = link.get().running;
    bool sends = false;
    for (const Sent &sent : now.sent)
      sends = sends || sent.state == station::FlowState::Started;
    Row row(wanted);
    row.add("name", setup_->config.ports[port].name);
    row.add("location", setup_->config.ports[port].location);
    row.add("link", up_or_down(up));
    row.add("capture", "stopped");
    row.add("frames_tx", now.port.frames_tx);
    row.add("frames_rx", now.port.frames_rx);
    row.add("bytes_tx", now.port.bytes_tx);
    row.add("bytes_rx", now.port.bytes_rx);
    row.add("frames_tx_rate", per_second(now.port.frames_tx, before.port.frames_tx, now, before));
    row.add("frames_rx_rate", per_second(now.port.frames_rx, before.port.frames_rx, now, before));
    row.add("bytes_tx_rate", per_second(now.port.bytes_tx, before.port.bytes_tx, now, before));
    row.add("bytes_rx_rate", per_second(now.port.bytes_rx, before.port.bytes_rx, now, before));
    row.add("transmit", sends ? "started" : "stopped");
    if (const uint64_t line = unit.run().line_bits())
      row.add("speed", line / 8000);
    rows.push_back(row.take());
  }
  return rows;
}

Json Generator::qp_metrics(Object &request) {
  const auto wanted = wanted_columns(request, otg::kQpColumns, "flow_name");
  const otg::Config &config = setup_->config;
  Json rows = Json::array();
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
      Row row(wanted);
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
      row.add("data_tx_rate",
              per_second(sent.bytes, sent_before.bytes, unit.now(), unit.before()) * kGigabits);
      row.add("message_tx", sent.begun);
      row.add("message_fail", sent.failed);
      if (sent.acked_ns > sent.first_ns && sent.first_ns)
        row.add("flow_completion_time", (sent.acked_ns - sent.first_ns) / 1'000'000);
      row.add("cnp_rx", sent.cnps);
      row.add("ack_rx", sent.acks);
      row.add("nak_rx", sent.naks);
      if (sent.first_ns) {
        row.add("first_timestamp", time_text(sent.first_ns));
        row.add("last_timestamp", time_text(sent.last_ns));
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
                per_second(arrived.bytes, before.bytes, there->now(), there->before()) * kGigabits);
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
      rows.push_back(row.take());
    }
  }
  return rows;
}

Json Generator::peer_metrics(Object &request, bool ipv4) {
  const auto names = request.texts("peer_names");
  const auto wanted = wanted_columns(request, otg::kPeerColumns, "name");
  const otg::Config &config = setup_->config;
  std::vector<std::string_view> known;
  for (const otg::Peer &peer : config.peers)
    known.emplace_back(peer.name);
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
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
  Json rows = Json::array();
  for (size_t i = 0; i < config.peers.size(); i++) {
    const otg::Peer &peer = config.peers[i];
    const otg::Interface &own = config.interfaces[peer.interface];
    if (own.ipv4 != ipv4 || (!names.empty() && std::ranges::find(names, peer.name) == names.end()))
      continue;
    const Unit &unit = *setup_->units[config.ethernets[own.ethernet].port];
    const auto down = peers_down_.find(i);
    const bool there = unit.protocols() && (down == peers_down_.end() || !down->second) &&
                       unit.mac_of(next_hop(config, peer.interface, peer.destination));
    const uint64_t up =
        there ? peer.qps.size() - std::min<uint64_t>(failed[i], peer.qps.size()) : 0;
    Row row(wanted);
    row.add("name", peer.name);
    row.add("qp_configured", peer.qps.size());
    row.add("qp_up", up);
    row.add("qp_down", peer.qps.size() - up);
    rows.push_back(row.take());
  }
  return rows;
}

http::Answer Generator::states(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"ipv4_neighbors\"}");
  Object object(json, findings, "a request for states");
  const std::vector<std::string_view> members = {"ipv4_neighbors", "ipv6_neighbors"};
  const size_t choice = object.choice(members, 0);
  Json made;
  object.object(
      members[choice].data(), members[choice],
      [&](Object &request) {
        made = {{"choice", members[choice]}, {members[choice], neighbours(request, choice == 0)}};
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
      if (own.ipv4 != ipv4 || (!names.empty() && std::ranges::find(names, ethernet) == names.end()))
        continue;
      Json row = {{"ethernet_name", ethernet},
                  {ipv4 ? "ipv4_address" : "ipv6_address", parse::address_text(hop.address)}};
      if (const auto mac = setup_->units[port]->mac_of(hop))
        row["link_layer_address"] = mac_text(*mac);
      rows.push_back(std::move(row));
    }
  return rows;
}

} // namespace xr::generator
