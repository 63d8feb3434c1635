// SPDX-License-Identifier: Apache-2.0
#include "generator/lags.h"

#include <algorithm>
#include <numeric>

namespace xr::generator {

using packet::FrameRate;
using packet::FrameSpan;
using requester::PlainState;

namespace {

uint64_t nonzero(uint64_t value, uint64_t otherwise) { return value ? value : otherwise; }

station::LacpOptions lacp_options(const otg::Config &config, size_t lag, size_t member,
                                  const MacOf &mac_of) {
  constexpr uint64_t kSecond = station::Lacp::kSecond;
  const otg::Lag &own = config.lags[lag];
  const otg::LagPort &port = own.ports[member];
  const auto mac = [&](size_t number) {
    return own.ports[number].mac.value_or(mac_of(own.ports[number].port));
  };
  station::LacpOptions made;
  made.actor.system_priority = own.system_priority;
  made.actor.system = own.system == packet::Mac{} ? mac(0) : own.system;
  made.actor.key = own.key;
  made.actor.port_priority = port.priority;
  made.actor.port = static_cast<uint16_t>(nonzero(port.number, member + 1));
  made.mac = mac(member);
  made.active = port.active;
  made.timeout_ns = port.timeout_s ? port.timeout_s * kSecond : station::Lacp::kShort;
  made.interval_ns = port.interval_s * kSecond;
  return made;
}

// Part `i` of `whole` in `count` equal ones, all of which are the whole.
uint64_t part_of(uint64_t whole, size_t i, size_t count) {
  const auto until = [&](size_t n) {
    return static_cast<uint64_t>(packet::Wide{whole} * n / count);
  };
  return until(i + 1) - until(i);
}

} // namespace

Lags::Lags(const otg::Config &config, const Plan &plan,
           const std::vector<std::unique_ptr<Unit>> &units, LinkUp link_up,
           std::function<uint64_t()> now)
    : config_(config), plan_(plan), units_(units), link_up_(std::move(link_up)),
      now_(std::move(now)) {
  const MacOf mac_of = [this](size_t port) { return units_[port]->run().port().mac; };
  for (size_t lag = 0; lag < config_.lags.size(); lag++) {
    auto &ports = ports_.emplace_back();
    for (size_t member = 0; member < config_.lags[lag].ports.size(); member++) {
      Port &port = ports.emplace_back();
      port.unit = config_.lags[lag].ports[member].port;
      if (!config_.lags[lag].lacp)
        continue;
      port.lacp = std::make_shared<station::Lacp>(lacp_options(config_, lag, member, mac_of));
      units_[port.unit]->run().call(
          [&](station::Station &station, const EngineCounts &) { station.set_lacp(port.lacp); });
    }
  }
  add(0);
}

bool Lags::removed(size_t flow) const {
  return config_.plain_flows[flows_[flow].members.front().plain_flow].removed;
}

void Lags::changed(const std::vector<size_t> &plain_flows) {
  for (Flow &flow : flows_)
    if (std::ranges::find(plain_flows, flow.members.front().plain_flow) != plain_flows.end() &&
        settle(flow, progress(flow)) == PlainState::Started)
      spread(flow);
}

void Lags::add(size_t first) {
  for (size_t i = first; i < config_.plain_flows.size(); i++) {
    const otg::PlainFlow &given = config_.plain_flows[i];
    if (!given.tx_lag)
      continue;
    if (given.tx_port == config_.lags[*given.tx_lag].ports.front().port)
      flows_.emplace_back().lag = *given.tx_lag;
    const auto &places = plan_.ports[given.tx_port].plain_flows;
    const auto place = static_cast<size_t>(std::ranges::find(places, i) - places.begin());
    flows_.back().members.push_back({.unit = given.tx_port, .place = place, .plain_flow = i});
    by_plain_flow_[i] = flows_.size() - 1;
  }
}

bool Lags::has_lacp() const {
  return std::ranges::any_of(config_.lags, [](const otg::Lag &lag) { return lag.lacp; });
}

size_t Lags::ports_up(size_t lag) const {
  return static_cast<size_t>(
      std::ranges::count_if(ports_[lag], [](const Port &port) { return port.up; }));
}

std::optional<size_t> Lags::first_up(size_t lag) const {
  const auto up = std::ranges::find_if(ports_[lag], [](const Port &port) { return port.up; });
  return up == ports_[lag].end() ? std::nullopt : std::optional(up->unit);
}

bool Lags::uses(size_t port) {
  for (size_t i = 0; i < flows_.size(); i++)
    if (state(i) != PlainState::Stopped &&
        std::ranges::any_of(flows_[i].members,
                            [port](const Member &member) { return member.unit == port; }))
      return true;
  return false;
}

bool Lags::all_up() const {
  for (size_t lag = 0; lag < ports_.size(); lag++)
    if (!is_up(lag))
      return false;
  return true;
}

// Each port hears of its link and, with the partner that the LAG has chosen, whether it is in it.
void Lags::watch_lacp(size_t lag, const std::vector<bool> &links) {
  std::vector<Port> &ports = ports_[lag];
  std::vector<std::optional<station::LacpEnd>> partners;
  for (size_t i = 0; i < ports.size(); i++) {
    ports[i].lacp->enable(now_(), links[i] && protocols_ && ports[i].member);
    partners.push_back(ports[i].lacp->heard());
  }
  const auto chosen = station::lacp_selection(ports.front().lacp->actor(), partners);
  for (size_t i = 0; i < ports.size(); i++) {
    ports[i].lacp->select(partners[i], chosen[i]);
    ports[i].up = links[i] && ports[i].lacp->distributing();
  }
}

void Lags::watch() {
  for (size_t lag = 0; lag < ports_.size(); lag++) {
    std::vector<bool> links, before;
    for (Port &port : ports_[lag]) {
      before.push_back(port.up);
      links.push_back(!units_[port.unit]->run().failure() && link_up_(*units_[port.unit]));
      port.up = links.back();
    }
    if (config_.lags[lag].lacp)
      watch_lacp(lag, links);
    bool same = true;
    for (size_t i = 0; i < before.size(); i++)
      same = same && before[i] == ports_[lag][i].up;
    for (size_t i = 0; !same && i < flows_.size(); i++)
      if (Flow &flow = flows_[i];
          flow.lag == lag && settle(flow, progress(flow)) == PlainState::Started)
        spread(flow);
  }
}

const std::string &Lags::name(size_t flow) const {
  return config_.plain_flows[flows_[flow].members.front().plain_flow].name;
}

std::vector<size_t> Lags::plain_flows(size_t flow) const {
  std::vector<size_t> all;
  for (const Member &member : flows_[flow].members)
    all.push_back(member.plain_flow);
  return all;
}

Lags::Progress Lags::progress(const Flow &flow) const {
  Progress made;
  for (const Member &member : flow.members)
    units_[member.unit]->run().call([&](station::Station &station, const EngineCounts &) {
      const auto &counts = station.plain()->source().counts(member.place);
      made.frames.push_back(counts.frames);
      made.sends = made.sends || counts.state == PlainState::Started;
    });
  return made;
}

PlainState Lags::state(size_t number) {
  Flow &flow = flows_[number];
  Progress last;
  for (const Member &member : flow.members) {
    const auto &sent = units_[member.unit]->now().plain_sent;
    if (member.place >= sent.size()) // no reading since its start
      return flow.state;
    last.frames.push_back(sent[member.place].frames);
    last.sends = last.sends || sent[member.place].state == PlainState::Started;
  }
  return settle(flow, last);
}

// A flow that waits for a port is started.
PlainState Lags::settle(Flow &flow, const Progress &progress) {
  if (flow.state != PlainState::Started)
    return flow.state;
  const FrameSpan &span = config_.plain_flows[flow.members.front().plain_flow].span;
  const uint64_t frames =
      std::accumulate(progress.frames.begin(), progress.frames.end(), uint64_t{0});
  const bool over =
      (span.kind == FrameSpan::Kind::Packets && frames >= span.packets) ||
      (span.kind == FrameSpan::Kind::Time && now_() >= flow.end) ||
      (span.kind == FrameSpan::Kind::Bursts && span.bursts && frames >= span.bursts * span.packets);
  if (over && !progress.sends)
    flow.state = PlainState::Stopped;
  return flow.state;
}

void Lags::spread(Flow &flow) {
  const otg::PlainFlow &whole = config_.plain_flows[flow.members.front().plain_flow];
  std::vector<uint64_t> sent;
  for (const Member &member : flow.members)
    units_[member.unit]->run().call([&](station::Station &station, const EngineCounts &) {
      requester::PlainSource &source = station.plain()->source();
      source.stop(member.place);
      sent.push_back(source.counts(member.place).frames);
    });
  if (flow.state != PlainState::Started || !is_up(flow.lag))
    return;
  std::vector<size_t> up;
  for (size_t i = 0; i < flow.members.size(); i++)
    if (ports_[flow.lag][i].up)
      up.push_back(i);
  uint64_t left = UINT64_MAX;
  if (whole.span.kind == FrameSpan::Kind::Packets)
    left = whole.span.packets -
           std::min(whole.span.packets, std::accumulate(sent.begin(), sent.end(), uint64_t{0}));
  const bool of_line = whole.rate.kind == FrameRate::Kind::Percent;
  const uint64_t rate = whole.rate.value;
  const size_t most = std::min<uint64_t>(left, of_line ? UINT64_MAX : rate);
  up.resize(std::min(up.size(), most));
  for (size_t i = 0; i < up.size(); i++) {
    const Member &member = flow.members[up[i]];
    requester::PlainShare share{.rate = of_line ? 0 : part_of(rate, i, up.size()), .end = flow.end};
    if (whole.span.kind == FrameSpan::Kind::Packets)
      share.packets = sent[up[i]] + part_of(left, i, up.size());
    units_[member.unit]->run().call([&](station::Station &station, const EngineCounts &engine) {
      station.plain()->source().go_on(member.place, std::max(engine.now_ns, flow.at), share);
    });
  }
}

void Lags::start(size_t number, uint64_t at) {
  Flow &flow = flows_[number];
  const otg::PlainFlow &whole = config_.plain_flows[flow.members.front().plain_flow];
  flow.state = PlainState::Started;
  flow.at = at + whole.span.delay.ns(units_[flow.members.front().unit]->run().line_bits());
  flow.end = whole.span.kind == FrameSpan::Kind::Time ? flow.at + whole.span.ns : kNever;
  for (const Member &member : flow.members) {
    units_[member.unit]->start({}, at);
    units_[member.unit]->run().call([&](station::Station &station, const EngineCounts &) {
      station.plain()->source().start(member.place, at); // counts of 0
      station.plain()->source().stop(member.place);
    });
  }
  spread(flow);
}

void Lags::stop(size_t number) {
  flows_[number].state = PlainState::Stopped;
  spread(flows_[number]);
}

void Lags::pause(size_t number) {
  Flow &flow = flows_[number];
  if (settle(flow, progress(flow)) != PlainState::Started)
    return;
  flow.state = PlainState::Paused;
  flow.paused_at = now_();
  spread(flow);
}

void Lags::resume(size_t number) {
  Flow &flow = flows_[number];
  if (flow.state != PlainState::Paused)
    return;
  flow.state = PlainState::Started;
  if (flow.end != kNever)
    flow.end += now_() - flow.paused_at;
  spread(flow);
}

Lags::LacpFacts Lags::lacp(size_t lag, size_t member) const {
  const station::Lacp &own = *ports_[lag][member].lacp;
  return {own.actor(), own.partner(), own.counts()};
}

void Lags::set_admin(size_t lag, size_t member, bool up) {
  ports_[lag][member].lacp->set_admin(up);
}

void Lags::set_member(size_t lag, size_t member, bool up) { ports_[lag][member].member = up; }

} // namespace xr::generator
