// SPDX-License-Identifier: Apache-2.0
#include "generator/unit.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "parse/address.h"
#include "responder/responder.h"

namespace xr::generator {

using namespace std::chrono_literals;

namespace {

// Rates are of the time since the newest reading that is this old.
constexpr uint64_t kLeastWindow = 400'000'000;
// A reading that comes this soon after the one before replaces it. Together they are older than the
// window.
constexpr uint64_t kLeastBetween = 150'000'000;
constexpr size_t kMostSamples = 6;

uint64_t with_fcs(uint64_t bytes, uint64_t frames) { return bytes + frames * packet::kFcsBytes; }

Sent sent_of(const station::FlowFacts &facts) {
  Sent sent;
  sent.state = facts.state;
  sent.busy = facts.busy;
  const requester::FlowProgress &progress = facts.progress;
  if (!progress.counts)
    return sent;
  const SendCounts &counts = *progress.counts;
  sent.frames = counts.packets - counts.cnps_sent;
  sent.bytes = with_fcs(counts.bytes, counts.packets);
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
  arrived.bytes = with_fcs(own.counts.bytes, own.counts.frames);
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
                                         const datapath::AttachOptions &attach,
                                         const OpenPort &open_port) {
  std::unique_ptr<Unit> unit(new Unit(config, plan, number));
  endpoint::StationRequest request = plan.ports[number].request;
  request.attach = attach;
  unit->takes_all_ = request.all_frames;
  unit->list_arriving();
  unit->run_ = XR_TRY(open_port(std::move(request)));
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

// The flows that arrive here and have frames without a stamp.
std::vector<requester::PlainReceiver::Unstamped> Unit::unstamped() const {
  std::vector<requester::PlainReceiver::Unstamped> all;
  for (size_t i = 0; i < config_.plain_flows.size(); i++) {
    const otg::PlainFlow &flow = config_.plain_flows[i];
    if (flow.unstamped && !flow.removed &&
        std::ranges::find(flow.rx_ports, number_) != flow.rx_ports.end())
      all.push_back(
          {i, packet::HeaderMatch(flow.frame, !flow.resolve_dst_mac && !flow.resolve_src_mac)});
  }
  return all;
}

namespace {

void measure(requester::PlainReceiver &receiver,
             std::vector<std::pair<size_t, requester::PlainMeasure>> all) {
  for (auto &[flow, how] : all)
    receiver.measure(flow, std::move(how));
}

// What takes a while, made before the port's loop is stopped for it.
std::vector<requester::PlainSource::Flow> made_flows(std::vector<requester::PlainFlow> flows) {
  return {std::make_move_iterator(flows.begin()), std::make_move_iterator(flows.end())};
}

} // namespace

// How the flows from `first` on that arrive here are measured.
Unit::Measures Unit::measures(size_t first) const {
  Measures all;
  for (size_t i = first; i < config_.plain_flows.size(); i++) {
    const otg::PlainFlow &flow = config_.plain_flows[i];
    if (!flow.enabled || std::ranges::find(flow.rx_ports, number_) == flow.rx_ports.end())
      continue;
    requester::PlainMeasure how;
    if (flow.latency)
      how.rx_bits = line_of_(number_);
    if (flow.latency && !flow.cut_through)
      how.tx_bits = line_of_(flow.tx_port);
    how.tagged = flow.is_tagged();
    if (how.tagged) {
      how.sent_ranges = otg::ranges_of(flow.tags);
      how.sent = packet::FrameTags(flow.frame, how.sent_ranges);
      how.received = otg::ranges_of(flow.egress_tags);
    }
    all.emplace_back(i, std::move(how));
  }
  return all;
}

Status Unit::set_flows(const MacOf &mac_of, LineOf line_of) {
  line_of_ = std::move(line_of);
  auto flows = XR_TRY(station_flows(config_, plan_, number_, run_->port(), macs_));
  auto plain = XR_TRY(plain_flows(config_, plan_, number_, run_->line_bits(), macs_, mac_of));
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.set_flows(std::move(flows));
    if (config_.plain_flows.empty())
      return;
    station.set_plain(std::make_unique<station::PlainPort>(
        std::move(plain), requester::PlainReceiver(config_.plain_flows.size(), unstamped())));
    measure(station.plain()->receiver(), measures(0));
  });
  return {};
}

Status Unit::update_plain(const std::vector<size_t> &flows, const MacOf &mac_of) {
  auto plain = XR_TRY(plain_flows(config_, plan_, number_, run_->line_bits(), macs_, mac_of));
  const std::vector<size_t> &own = plan_.ports[number_].plain_flows;
  std::vector<std::pair<size_t, requester::PlainSource::Flow>> changed; // by place
  for (size_t place = 0; place < own.size(); place++)
    if (std::ranges::find(flows, own[place]) != flows.end())
      changed.emplace_back(place, std::move(plain[place]));
  if (!changed.empty())
    run_->call([&](station::Station &station, const EngineCounts &engine) {
      for (auto &[place, flow] : changed)
        station.plain()->source().update(place, std::move(flow), engine.now_ns);
    });
  update_unstamped();
  return {};
}

Status Unit::add_plain(size_t first, const MacOf &mac_of) {
  auto plain = XR_TRY(plain_flows(config_, plan_, number_, run_->line_bits(), macs_, mac_of));
  const std::vector<size_t> &own = plan_.ports[number_].plain_flows;
  const auto known = std::ranges::lower_bound(own, first) - own.begin();
  plain.erase(plain.begin(), plain.begin() + known);
  auto flows = made_flows(std::move(plain));
  auto headers = unstamped();
  auto how = measures(first);
  run_->call([&](station::Station &station, const EngineCounts &) {
    if (!station.plain())
      station.set_plain(std::make_unique<station::PlainPort>(std::vector<requester::PlainFlow>(),
                                                             requester::PlainReceiver(0)));
    for (auto &flow : flows)
      station.plain()->source().add(std::move(flow));
    station.plain()->receiver().expect(config_.plain_flows.size(), std::move(headers));
    measure(station.plain()->receiver(), std::move(how));
  });
  return {};
}

Status Unit::check_plain(const otg::Config &config, const Plan &plan, const MacOf &mac_of) const {
  const auto flows = plain_flows(config, plan, number_, run_->line_bits(), macs_, mac_of);
  return flows.ok() ? Status() : flows.error();
}

bool Unit::is_hosts(const Address &address) const {
  const auto &all = run_->port().addresses;
  return !takes_all_ && std::ranges::find(all, address) != all.end();
}

std::vector<bool> Unit::ping(const std::vector<std::pair<size_t, Address>> &from_to,
                             const std::vector<Unit *> &beside) {
  std::vector<station::NeighbourQuestion> questions;
  std::vector<packet::Path> paths;
  for (const auto &[interface, to] : from_to) {
    const packet::Path path = path_of(config_, interface, run_->port().mac);
    questions.push_back(
        {path.src, next_hop(config_, interface, to).address, path.src_mac, path.tags});
    paths.push_back(path);
  }
  const auto macs = run_->resolve(questions);
  std::vector<packet::EchoMessage> requests;
  std::vector<size_t> which;
  for (size_t i = 0; i < paths.size(); i++) {
    const NextHop hop = next_hop(config_, from_to[i].first, from_to[i].second);
    const auto mac = macs[i] ? macs[i] : mac_of(hop);
    if (!mac)
      continue;
    requests.push_back({.request = true,
                        .src_mac = paths[i].src_mac,
                        .dst_mac = *mac,
                        .src = paths[i].src,
                        .dst = from_to[i].second,
                        .tags = paths[i].tags});
    which.push_back(i);
  }
  std::vector<bool> answered(from_to.size());
  const uint16_t identifier = ++pings_;
  for (Unit *other : beside)
    other->run_->call([&](station::Station &station, const EngineCounts &) {
      station.pings().ask(requests, identifier, station::Pings::From::ElsewhereInTheLag);
    });
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.pings().ask(requests, identifier);
  });
  const auto collect = [&](station::Station &station, const EngineCounts &) {
    for (size_t i = 0; i < which.size(); i++)
      answered[which[i]] = answered[which[i]] || station.pings().answered(i);
  };
  const auto all = [&] { return std::ranges::count(answered, true) == std::ssize(which); };
  for (bool over = false; !over && !all() && !run_->failure();) {
    std::this_thread::sleep_for(2ms);
    for (Unit *other : beside)
      other->run_->call(collect);
    run_->call([&](station::Station &station, const EngineCounts &engine) {
      collect(station, engine);
      over = station.pings().settled(engine.now_ns);
    });
  }
  const auto forget = [](station::Station &station, const EngineCounts &) {
    station.pings().forget();
  };
  run_->call(forget);
  for (Unit *other : beside)
    other->run_->call(forget);
  return answered;
}

requester::TaggedFrames Unit::tagged_sent(size_t place) {
  requester::TaggedFrames all;
  run_->call([&](station::Station &station, const EngineCounts &) {
    if (station.plain())
      all = station.plain()->source().tagged(place);
  });
  return all;
}

requester::PlainReceiver::Tagged Unit::tagged_received(size_t flow, uint64_t &untagged) {
  requester::PlainReceiver::Tagged all;
  run_->call([&](station::Station &station, const EngineCounts &) {
    if (!station.plain())
      return;
    all = station.plain()->receiver().tagged(flow);
    untagged += station.plain()->receiver().untagged(flow);
  });
  return all;
}

void Unit::update_unstamped() {
  auto headers = unstamped();
  run_->call([&](station::Station &station, const EngineCounts &) {
    if (station.plain())
      station.plain()->receiver().expect(config_.plain_flows.size(), std::move(headers));
  });
}

bool Unit::is_busy() const {
  return std::ranges::any_of(now().sent, &Sent::is_busy) ||
         std::ranges::any_of(now().plain_sent, [](const requester::PlainCounts &sent) {
           return sent.state != requester::PlainState::Stopped;
         });
}

Status Unit::start_protocols(const MacOf &mac_of) {
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
  XR_TRY(give_paths(mac_of));
  protocols_ = true;
  return {};
}

Status Unit::learn(const HopMacs &macs, const MacOf &mac_of) {
  const size_t before = macs_.size();
  macs_.insert(macs.begin(), macs.end());
  return macs_.size() == before ? Status() : give_paths(mac_of);
}

Status Unit::give_paths(const MacOf &mac_of) {
  auto flows = XR_TRY(station_flows(config_, plan_, number_, run_->port(), macs_));
  auto plain =
      made_flows(XR_TRY(plain_flows(config_, plan_, number_, run_->line_bits(), macs_, mac_of)));
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.set_paths(std::move(flows));
    for (size_t i = 0; i < plain.size(); i++)
      if (requester::PlainSource &source = station.plain()->source();
          source.counts(i).state == requester::PlainState::Stopped)
        source.replace(i, std::move(plain[i]));
  });
  return {};
}

void Unit::stop_protocols() {
  run_->call([](station::Station &station, const EngineCounts &) { station.stop_all(); });
  macs_.clear();
  protocols_ = false;
}

void Unit::start(const Places &places, uint64_t at_ns) {
  run_->call([&](station::Station &station, const EngineCounts &) {
    station.expect_start(at_ns);
    station.start(places.flows, at_ns);
    if (station.plain())
      station.plain()->source().start(places.plain, at_ns);
  });
  samples_.assign(1, {});
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
  samples_.assign(1, {});
}

std::pair<uint64_t, uint64_t> Unit::started() {
  std::pair<uint64_t, uint64_t> times;
  run_->call([&](station::Station &station, const EngineCounts &) {
    times = {station.first_sent_ns(), station.start_at_ns()};
  });
  return times;
}

void Unit::sample_in() {
  Sample made;
  made.arrived.resize(arriving_.size());
  run_->call([&](station::Station &station, const EngineCounts &engine) {
    made.in_ns = engine.now_ns;
    made.records = station.records();
    const station::NeighbourFrames own = station.neighbour_frames();
    made.in.frames = engine.received - std::min(engine.received, own.received);
    made.in.bytes =
        with_fcs(engine.received_bytes - std::min(engine.received_bytes, own.received_bytes),
                 made.in.frames);
    if (station.plain())
      for (size_t i = 0; i < config_.plain_flows.size(); i++)
        made.plain_arrived.push_back(station.plain()->receiver().counts(i));
    station.responder().each_connection([&](const responder::ConnectionCounts &own) {
      if (const size_t *at = by_connection_.find({own.peer, own.own_qp}))
        made.arrived[*at] = arrived_of(own);
    });
  });
  const size_t count = samples_.size();
  const uint64_t previous = count > 1 ? samples_[count - 2].in_ns : 0;
  if (!samples_.back().in_ns || (previous && samples_.back().in_ns - previous < kLeastBetween))
    samples_.pop_back();
  samples_.push_back(std::move(made));
  while (samples_.size() > kMostSamples)
    samples_.pop_front();
}

void Unit::sample_out() {
  Sample &made = samples_.back();
  run_->call([&](station::Station &station, const EngineCounts &engine) {
    made.out_ns = engine.now_ns;
    const station::NeighbourFrames own = station.neighbour_frames();
    made.out.frames = engine.sent - std::min(engine.sent, own.sent);
    made.out.bytes =
        with_fcs(engine.sent_bytes - std::min(engine.sent_bytes, own.sent_bytes), made.out.frames);
    made.sent.reserve(station.flows());
    for (size_t i = 0; i < station.flows(); i++)
      made.sent.push_back(sent_of(station.facts(i)));
    for (size_t i = 0; i < plan_.ports[number_].plain_flows.size(); i++)
      made.plain_sent.push_back(station.plain()->source().counts(i));
  });
}

const Sample &Unit::before() const {
  static const Sample kNone;
  const uint64_t at = now().in_ns;
  for (size_t i = samples_.size() - 1; i-- > 0;)
    if (samples_[i].in_ns + kLeastWindow <= at)
      return samples_[i];
  return samples_.front().in_ns + kLeastBetween <= at ? samples_.front() : kNone;
}

double per_second(uint64_t now, uint64_t before, uint64_t at_ns, uint64_t since_ns) {
  if (!since_ns || at_ns <= since_ns || now < before)
    return 0;
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(at_ns - since_ns);
}

} // namespace xr::generator
