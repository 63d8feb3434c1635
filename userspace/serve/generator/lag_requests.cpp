// SPDX-License-Identifier: Apache-2.0
// What requests ask of LAGs: metrics, LACP, and that protocols start on them.
#include <algorithm>

#include <fmt/format.h>

#include "generator/generator.h"
#include "packet/frame.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

constexpr uint64_t kLagPatienceNs = 3'000'000'000, kLagPollNs = 20'000'000;

} // namespace

// Neighbours are asked when frames can reach them: LACP has some time for that.
void Generator::wait_for_lags() {
  setup_->lags->set_protocols(true);
  setup_->lags->watch();
  const uint64_t until = options_.now() + kLagPatienceNs;
  while (setup_->lags->has_lacp() && !setup_->lags->all_up() && options_.now() < until) {
    options_.wait_until(options_.now() + kLagPollNs);
    setup_->lags->watch();
  }
}

// What one port of a LAG has got, as answers arrive at any of them.
void Generator::share_macs(Started &started) {
  for (const otg::Lag &lag : setup_->config.lags) {
    HopMacs known;
    const auto ports = otg::ports_of(lag);
    for (const size_t port : ports)
      for (const NextHop &hop : setup_->plan.ports[port].next_hops)
        if (const auto mac = setup_->units[port]->mac_of(hop))
          known.emplace(hop, *mac);
    for (const size_t port : ports)
      if (const Status learned = setup_->units[port]->learn(known, macs()); !learned)
        started.errors.push_back(sentence(learned.error()));
  }
}

std::vector<size_t> Generator::choose_lags(Object &request, bool lacp) const {
  std::vector<std::string_view> known;
  const auto &lags = setup_->config.lags;
  const auto names = request.texts("lag_names");
  std::vector<size_t> all;
  for (size_t i = 0; i < lags.size(); i++) {
    if (lacp && !lags[i].lacp)
      continue;
    known.emplace_back(lags[i].name);
    if (names.empty() || std::ranges::find(names, lags[i].name) != names.end())
      all.push_back(i);
  }
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
      request.error("lag_names",
                    {fmt::format("there is no LAG '{}'{}", name, lacp ? " with LACP" : ""),
                     parse::hint_from(name, known)});
  return all;
}

std::string Generator::lag_metrics(Object &request) {
  const auto columns = request.texts("column_names");
  Json rows = Json::array();
  setup_->lags->watch();
  for (const size_t lag : choose_lags(request, false)) {
    const size_t up = setup_->lags->ports_up(lag);
    PortTotal out, in;
    double out_frames = 0, in_frames = 0, out_bytes = 0, in_bytes = 0;
    for (const size_t port : otg::ports_of(setup_->config.lags[lag])) {
      const Sample &now = setup_->units[port]->now(), &before = setup_->units[port]->before();
      out.frames += now.out.frames;
      out.bytes += now.out.bytes;
      in.frames += now.in.frames;
      in.bytes += now.in.bytes;
      out_frames += per_second(now.out.frames, before.out.frames, now.out_ns, before.out_ns);
      out_bytes += per_second(now.out.bytes, before.out.bytes, now.out_ns, before.out_ns);
      in_frames += per_second(now.in.frames, before.in.frames, now.in_ns, before.in_ns);
      in_bytes += per_second(now.in.bytes, before.in.bytes, now.in_ns, before.in_ns);
    }
    rows.push_back(with_columns({{"name", setup_->config.lags[lag].name},
                                 {"oper_status", setup_->lags->is_up(lag) ? "up" : "down"},
                                 {"member_ports_up", up},
                                 {"frames_tx", out.frames},
                                 {"frames_rx", in.frames},
                                 {"bytes_tx", out.bytes},
                                 {"bytes_rx", in.bytes},
                                 {"frames_tx_rate", out_frames},
                                 {"frames_rx_rate", in_frames},
                                 {"bytes_tx_rate", out_bytes},
                                 {"bytes_rx_rate", in_bytes}},
                                columns, {"name"}));
  }
  return rows_text(rows);
}

std::string Generator::lacp_metrics(Object &request) {
  const auto columns = request.texts("column_names");
  const auto members = request.texts("lag_member_port_names");
  const std::vector<size_t> lags = choose_lags(request, true);
  Json rows = Json::array();
  std::vector<std::string_view> known;
  for (const size_t lag : lags) {
    const auto ports = otg::ports_of(setup_->config.lags[lag]);
    for (size_t member = 0; member < ports.size(); member++) {
      const std::string &name = setup_->config.ports[ports[member]].name;
      known.emplace_back(name);
      if (!members.empty() && std::ranges::find(members, name) == members.end())
        continue;
      const auto [actor, partner, counts] = setup_->lags->lacp(lag, member);
      const auto is = [state = actor.state](uint8_t bit) { return (state & bit) != 0; };
      rows.push_back(with_columns(
          {{"lag_name", setup_->config.lags[lag].name},
           {"lag_member_port_name", name},
           {"lacp_packets_rx", counts.received},
           {"lacp_packets_tx", counts.sent},
           {"lacp_rx_errors", counts.errors},
           {"activity", is(station::kLacpActivity) ? "active" : "passive"},
           {"timeout", is(station::kLacpShortTimeout) ? "short" : "long"},
           {"synchronization", is(station::kLacpSynchronization) ? "in_sync" : "out_sync"},
           {"aggregatable", is(station::kLacpAggregation)},
           {"collecting", is(station::kLacpCollecting)},
           {"distributing", is(station::kLacpDistributing)},
           {"system_id", packet::mac_text(actor.system)},
           {"oper_key", actor.key},
           {"partner_id", packet::mac_text(partner.system)},
           {"partner_key", partner.key},
           {"port_num", actor.port},
           {"partner_port_num", partner.port}},
          columns, {"lag_name", "lag_member_port_name"}));
    }
  }
  for (const std::string &name : members)
    if (std::ranges::find(known, name) == known.end())
      request.error(
          "lag_member_port_names",
          {fmt::format("'{}' is no port of a LAG with LACP", name), parse::hint_from(name, known)});
  return rows_text(rows);
}

void Generator::set_lacp(Object &object) {
  const size_t choice = object.choice({"admin", "member_ports"}, 0);
  const char *key = choice == 0 ? "admin" : "member_ports";
  object.object(
      key, key,
      [&](Object &wanted) {
        const auto names = wanted.texts("lag_member_names");
        if (!wanted.has("state"))
          wanted.error("state", {"LACP needs it", "up or down"});
        const bool up = wanted.word("state", {"up", "down"}, 0) == 0;
        std::vector<std::string_view> known;
        std::vector<std::pair<size_t, size_t>> chosen; // LAG, member
        for (size_t lag = 0; lag < setup_->config.lags.size(); lag++) {
          const otg::Lag &own = setup_->config.lags[lag];
          for (size_t member = 0; own.lacp && member < own.ports.size(); member++) {
            known.emplace_back(setup_->config.ports[own.ports[member].port].name);
            if (names.empty() || std::ranges::find(names, known.back()) != names.end())
              chosen.emplace_back(lag, member);
          }
        }
        for (const std::string &name : names)
          if (std::ranges::find(known, name) == known.end())
            wanted.error("lag_member_names",
                         {fmt::format("'{}' is no port of a LAG with LACP", name),
                          parse::hint_from(name, known)});
        if (!wanted.findings().ok())
          return;
        for (const auto &[lag, member] : chosen)
          if (choice == 0)
            setup_->lags->set_admin(lag, member, up);
          else
            setup_->lags->set_member(lag, member, up);
        setup_->lags->watch();
      },
      true);
}

} // namespace xr::generator
