// SPDX-License-Identifier: Apache-2.0
#include "generator/unit.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "parse/address.h"
#include "responder/responder.h"

namespace xr::generator {

namespace {

constexpr uint64_t kLeastBetween = 100'000'000; // ns between the two readings of a rate

Sent sent_of(const station::FlowFacts &facts) {
  Sent sent;
  sent.state = facts.state;
  sent.busy = facts.busy;
  const requester::FlowProgress &progress = facts.progress;
  if (!progress.counts)
    return sent;
  const SendCounts &counts = *progress.counts;
  sent.frames = counts.packets - counts.cnps_sent;
  sent.bytes = counts.bytes;
  sent.retransmitted = counts.retransmitted;
  sent.timeouts = counts.timeouts;
  sent.begun = progress.messages_begun;
  sent.completed = counts.messages;
  sent.failed = counts.failed_messages;
  sent.acks = counts.acks;
  sent.naks = counts.naks + counts.rnr_naks + counts.invalid_naks + counts.access_naks +
              counts.operational_naks;
  sent.cnps = counts.cnps;
  sent.cnps_sent = counts.cnps_sent;
  sent.ce = counts.ce;
  sent.answers = counts.read_responses;
  sent.answer_bytes = counts.answer_bytes;
  sent.failed_qps = progress.failed_qps;
  sent.first_ns = progress.first_sent_ns;
  sent.last_ns = progress.last_sent_ns;
  sent.acked_ns = progress.last_acked_ns;
  return sent;
}

Arrived arrived_of(const responder::ConnectionCounts &own) {
  Arrived arrived;
  arrived.frames = own.counts.frames;
  arrived.bytes = own.counts.bytes;
  arrived.out_of_order = own.counts.out_of_order;
  arrived.duplicates = own.counts.duplicates;
  arrived.messages = own.counts.messages;
  arrived.ce = own.counts.ce;
  arrived.cnps = own.counts.cnps;
  arrived.acks = own.counts.acks;
  arrived.naks = own.counts.naks + own.counts.rnr_naks;
  arrived.read_responses = own.counts.read_responses;
  arrived.first_ns = own.first_ns;
  arrived.last_ns = own.last_ns;
  arrived.stamped = own.stamped;
  arrived.latency_min_ns = own.latency_min_ns;
  arrived.latency_max_ns = own.latency_max_ns;
  arrived.latency_sum_ns = own.latency_sum_ns;
  return arrived;
}

} // namespace

Result<std::unique_ptr<Unit>> Unit::open(const otg::Config &config, const Plan &plan, size_t number,
                                         const datapath::AttachOptions &attach) {
  std::unique_ptr<Unit> unit(new Unit(config, plan, number));
  endpoint::StationRequest request = plan.ports[number].request;
  request.attach = attach;
  unit->list_arriving();
  unit->run_ = XR_TRY(endpoint::StationRun::open(std::move(request)));
  return unit;
}

void Unit::list_arriving() {
  for (size_t i = 0; i < config_.flows.size(); i++) {
    if (plan_.rx_ports[i] != number_)
      continue;
    const otg::Qp &qp = config_.qps[config_.flows[i].qp];
    const Address &peer = config_.interfaces[config_.peers[qp.peer].interface].address;
    const packet::PeerKey key{peer, plan_.qps[config_.flows[i].qp].dest};
    if (!by_connection_.find(key))
      by_connection_.insert(key, arriving_.size());
    arriving_.push_back(i);
  }
}

std::optional<packet::Mac> Unit::mac_of(const NextHop &hop) const {
  const auto known = macs_.find(hop);
  return known == macs_.end() ? std::nullopt : std::optional(known->second);
}

Status Unit::start_protocols(const std::function<packet::Mac(size_t port)> &mac_of) {
  std::vector<NextHop> hops;
  std::vector<station::NeighbourQuestion> questions;
  for (const NextHop &hop : plan_.ports[number_].next_hops) {
    const otg::Interface &own = config_.interfaces[hop.interface];
    if (own.gateway_mac && hop.address == own.gateway)
      macs_[hop] = *own.gateway_mac;
    if (macs_.contains(hop))
      continue;
    const packet::Path path = path_of(config_, hop.interface, run_->port().mac);
    hops.push_back(hop);
    questions.push_back({path.src, hop.address, path.src_mac, path.tags});
  }
  const auto answers = run_->resolve(questions);
  for (size_t i = 0; i < hops.size(); i++)
    if (answers[i])
      macs_[hops[i]] = *answers[i];
  auto flows = XR_TRY(station_flows(config_, plan_, number_, run_->port(), macs_));
  if (!protocols_)
    run_->call([&](station::Station &station, const EngineCounts &) {
      station.set_flows(std::move(flows));
    });
  else
    run_->call([&](station::Station &station, const EngineCounts &) {
      station.set_paths(std::move(flows));
    });
  protocols_ = true;
  return set_plain(mac_of);
}

void Unit::stop_protocols() {
  run_->call([](station::Station &station, const EngineCounts &) {
    station.set_flows({});
    station.set_plain(nullptr);
  });
  macs_.clear();
  protocols_ = false;
}

// Plain flows that send stay as they are.
Status Unit::set_plain(const std::function<packet::Mac(size_t port)> &mac_of) {
  if (config_.plain_flows.empty())
    return {};
  auto flows = XR_TRY(plain_flows(config_, plan_, number_, run_->line_bits(), macs_, mac_of));
  run_->call([&](station::Station &station, const EngineCounts &) {
    for (size_t i = 0; station.plain() && i < flows.size(); i++)
      if (station.plain()->source().counts(i).state != requester::PlainState::Stopped)
        return;
    station.set_plain(
        std::make_unique<station::PlainPort>(std::move(flows), config_.plain_flows.size()));
  });
  return {};
}

void Unit::start(const Places &places, uint64_t at_ns) {
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.expect_start(at_ns);
    station.start(places.flows, at_ns);
    for (const size_t place : places.plain)
      station.plain()->source().start(place, at_ns);
  });
  now_ = before_ = {};
}

void Unit::stop(const Places &places) {
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.stop(places.flows);
    for (const size_t place : places.plain)
      station.plain()->source().stop(place);
  });
}

void Unit::pause(const Places &places) {
  run_->call([&](station::Station &station, const EngineCounts &engine) {
    station.pause(places.flows);
    for (const size_t place : places.plain)
      station.plain()->source().pause(place, engine.now_ns);
  });
}

void Unit::resume(const Places &places) {
  run_->call([&](station::Station &station, const EngineCounts &engine) {
    station.resume(places.flows);
    for (const size_t place : places.plain)
      station.plain()->source().resume(place, engine.now_ns);
  });
}

void Unit::clear_arrived(const std::vector<size_t> &places, const std::vector<size_t> &plain) {
  std::vector<bool> which(arriving_.size());
  for (const size_t place : places)
    which[place] = true;
  run_->call([&](station::Station &station, const EngineCounts &) {
    for (const size_t number : plain)
      if (station.plain())
        station.plain()->receiver().clear(number);
    station.responder().clear_connections([&](const responder::ConnectionCounts &own) {
      const size_t *at = by_connection_.find({own.peer, own.own_qp});
      return at && which[*at];
    });
  });
}

std::pair<uint64_t, uint64_t> Unit::started() {
  std::pair<uint64_t, uint64_t> times;
  run_->call([&](station::Station &station, const EngineCounts &) {
    times = {station.first_sent_ns(), station.start_at_ns()};
  });
  return times;
}

void Unit::sample() {
  Sample made;
  made.arrived.resize(arriving_.size());
  run_->call([&](station::Station &station, const EngineCounts &engine) {
    made.at_ns = engine.now_ns;
    made.records = station.records();
    made.port = {engine.sent, engine.received, engine.sent_bytes, engine.received_bytes};
    made.sent.reserve(station.flows());
    for (size_t i = 0; i < station.flows(); i++)
      made.sent.push_back(sent_of(station.facts(i)));
    for (size_t i = 0; station.plain() && i < plan_.ports[number_].plain_flows.size(); i++)
      made.plain_sent.push_back(station.plain()->source().counts(i));
    for (size_t i = 0; station.plain() && i < config_.plain_flows.size(); i++)
      made.plain_arrived.push_back(station.plain()->receiver().counts(i));
    station.responder().each_connection([&](const responder::ConnectionCounts &own) {
      if (const size_t *at = by_connection_.find({own.peer, own.own_qp}))
        made.arrived[*at] = arrived_of(own);
    });
  });
  if (now_.at_ns && made.at_ns - now_.at_ns >= kLeastBetween)
    before_ = std::move(now_);
  now_ = std::move(made);
}

double per_second(uint64_t now, uint64_t before, const Sample &at, const Sample &since) {
  if (!since.at_ns || at.at_ns <= since.at_ns || now < before)
    return 0;
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(at.at_ns - since.at_ns);
}

} // namespace xr::generator
