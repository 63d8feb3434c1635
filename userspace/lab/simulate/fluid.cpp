// SPDX-License-Identifier: Apache-2.0
#include "simulate/fluid.h"

#include <algorithm>
#include <cmath>

namespace xr::simulate {

namespace {

constexpr double kNoBits = 1e-3; // bits that are as good as none: rounding

} // namespace

Fluid::Fluid(std::vector<double> rates) {
  for (const double rate : rates)
    links_.push_back({.rate = rate * 1e-9});
}

Fluid::Flow &Fluid::flow_of(uint32_t flow) {
  if (flow >= flows_.size())
    flows_.resize(flow + 1);
  return flows_[flow];
}

// What begins and ends at one time shares once.
void Fluid::change(uint32_t number) { changed_.push_back(number); }

void Fluid::begin(uint64_t now, uint32_t number, std::span<const uint32_t> path, double bits,
                  uint64_t latency_ns) {
  run_until(now);
  Flow &flow = flow_of(number);
  flow.path = path;
  flow.waiting.push_back({bits, latency_ns});
  if (flow.active)
    return;
  flow.active = true;
  flow.left = bits;
  flow.since = now;
  for (const uint32_t link : path)
    links_[link].flows.push_back(number);
  change(number);
}

void Fluid::stop(uint64_t now, uint32_t number) {
  run_until(now);
  if (!flow_of(number).active)
    return;
  settle(now, number);
  Flow &flow = flows_[number];
  flow.active = false;
  flow.rate = 0;
  flow.version++;
  flow.waiting.clear();
  flow.first = 0;
  for (const uint32_t link : flow.path)
    std::erase(links_[link].flows, number);
  change(number);
}

uint64_t Fluid::next_end() {
  while (!ends_.empty() && flows_[ends_.top().flow].version != ends_.top().version)
    ends_.pop();
  return ends_.empty() ? kNever : ends_.top().at;
}

uint64_t Fluid::next() {
  if (!changed_.empty())
    return now_;
  return std::min(next_end(), arrivals_.empty() ? kNever : arrivals_.top().at);
}

bool Fluid::take(uint64_t now, uint32_t &flow) {
  run_until(now);
  while (!changed_.empty() || next_end() <= now) {
    share(now);
    if (next_end() <= now)
      finish(now);
  }
  if (arrivals_.empty() || arrivals_.top().at > now)
    return false;
  flow = arrivals_.top().flow;
  arrivals_.pop();
  return true;
}

double Fluid::sent_bits(uint64_t now, uint32_t number) const {
  if (number >= flows_.size())
    return 0;
  const Flow &flow = flows_[number];
  return flow.sent + (flow.active ? flow.rate * static_cast<double>(now - flow.since) : 0);
}

double Fluid::link_bits(uint64_t now, uint32_t link) const {
  return links_[link].sent + links_[link].now * static_cast<double>(now - links_[link].since);
}

void Fluid::run_until(uint64_t now) {
  while (now_ < now) {
    share(now_);
    const uint64_t end = next_end();
    now_ = std::min(now, end);
    if (now_ == end)
      finish(now_);
  }
}

// Counts what the flow has sent until now.
void Fluid::settle(uint64_t now, uint32_t number) {
  Flow &flow = flows_[number];
  const double bits = flow.rate * static_cast<double>(now - flow.since);
  flow.left -= bits;
  flow.sent += bits;
  flow.since = now;
}

void Fluid::set_end(uint64_t now, uint32_t number) {
  Flow &flow = flows_[number];
  flow.version++;
  if (!flow.active || flow.rate <= 0 || std::isinf(flow.left))
    return;
  const double ns = std::ceil(std::max(0.0, flow.left - kNoBits) / flow.rate);
  ends_.push({now + static_cast<uint64_t>(ns), order_++, number, flow.version});
}

// Ends the transfers whose last bit has left. Times are whole ns: what would have been sent in the
// rest of the last one is the next transfer's.
void Fluid::finish(uint64_t now) {
  while (next_end() == now) {
    const uint32_t number = ends_.top().flow;
    settle(now, number);
    Flow &flow = flows_[number];
    arrivals_.push({now + flow.waiting[flow.first].latency_ns, order_++, number, 0});
    if (++flow.first < flow.waiting.size()) {
      flow.left += flow.waiting[flow.first].bits;
      set_end(now, number);
      continue;
    }
    flow.sent += flow.left;
    flow.waiting.clear();
    flow.first = 0;
    flow.active = false;
    flow.rate = 0;
    flow.version++;
    for (const uint32_t link : flow.path)
      std::erase(links_[link].flows, number);
    change(number);
  }
}

// Flows and links that those which changed can reach: all others keep their rates.
void Fluid::collect() {
  round_++;
  open_.clear();
  open_links_.clear();
  const auto add_links = [this](const Flow &flow) {
    for (const uint32_t at : flow.path)
      if (links_[at].round != round_) {
        links_[at].round = round_;
        open_links_.push_back(at);
      }
  };
  for (const uint32_t number : changed_)
    add_links(flows_[number]);
  for (size_t i = 0; i < open_links_.size(); i++)
    for (const uint32_t number : links_[open_links_[i]].flows)
      if (flows_[number].round != round_) {
        flows_[number].round = round_;
        open_.push_back(number);
        add_links(flows_[number]);
      }
}

void Fluid::share(uint64_t now) {
  if (changed_.empty())
    return;
  collect();
  changed_.clear();
  for (const uint32_t number : open_)
    settle(now, number);
  for (const uint32_t at : open_links_) {
    Link &link = links_[at];
    link.sent += link.now * static_cast<double>(now - link.since);
    link.since = now;
    link.now = 0;
    link.free = link.rate;
    link.open = static_cast<uint32_t>(link.flows.size());
  }
  fill(now);
}

// Progressive filling: the link with the least share for each of its flows fixes their rates.
void Fluid::fill(uint64_t now) {
  using Share = std::pair<double, uint32_t>;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  const auto push = [&](uint32_t at) {
    if (links_[at].open)
      shares.push({links_[at].free / links_[at].open, at});
  };
  std::vector<double> before(open_.size());
  for (size_t i = 0; i < open_.size(); i++)
    before[i] = std::exchange(flows_[open_[i]].rate, -1);
  for (const uint32_t at : open_links_)
    push(at);
  while (!shares.empty()) {
    const auto [share, at] = shares.top();
    shares.pop();
    Link &link = links_[at];
    if (!link.open)
      continue;
    if (share < link.free / link.open) { // others have their rates: its share grew
      push(at);
      continue;
    }
    for (const uint32_t number : link.flows) {
      Flow &flow = flows_[number];
      if (flow.rate >= 0)
        continue;
      flow.rate = share;
      for (const uint32_t other : flow.path) {
        links_[other].free = std::max(0.0, links_[other].free - share);
        links_[other].open--;
        links_[other].now += share;
      }
    }
  }
  for (size_t i = 0; i < open_.size(); i++)
    if (flows_[open_[i]].rate != before[i])
      set_end(now, open_[i]);
}

} // namespace xr::simulate
