// SPDX-License-Identifier: Apache-2.0
#include "simulate/fluid.h"

#include <algorithm>
#include <cmath>

namespace xr::simulate {

namespace {

constexpr double kNone = 1e-3; // bits that are as good as none: rounding

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
  active_.push_back(number);
  changed_ = true;
}

void Fluid::stop(uint64_t now, uint32_t number) {
  run_until(now);
  Flow &flow = flow_of(number);
  if (!flow.active)
    return;
  flow.active = false;
  flow.waiting.clear();
  flow.first = 0;
  std::erase(active_, number);
  changed_ = true;
}

// What begins and ends at one time shares once.
uint64_t Fluid::next() const {
  if (changed_)
    return since_;
  return std::min(next_end_, arrivals_.empty() ? kNever : arrivals_.top().at);
}

bool Fluid::take(uint64_t now, uint32_t &flow) {
  run_until(now);
  while (changed_ || next_end_ <= now) {
    if (changed_)
      share();
    if (next_end_ <= now)
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
  return flow.sent + (flow.active ? flow.rate * static_cast<double>(now - since_) : 0);
}

double Fluid::link_bits(uint64_t now, uint32_t link) const {
  return links_[link].sent + links_[link].now * static_cast<double>(now - since_);
}

void Fluid::run_until(uint64_t now) {
  while (since_ < now) {
    if (changed_)
      share();
    const uint64_t to = std::min(now, next_end_);
    advance(to);
    if (to == next_end_)
      finish(to);
  }
}

void Fluid::advance(uint64_t now) {
  const auto ns = static_cast<double>(now - since_);
  for (const uint32_t number : active_) {
    Flow &flow = flows_[number];
    flow.left -= flow.rate * ns;
    flow.sent += flow.rate * ns;
  }
  for (Link &link : links_)
    link.sent += link.now * ns;
  since_ = now;
}

// Those whose last bit has left. Times are whole ns, so some of it may have been sent too much.
void Fluid::finish(uint64_t now) {
  const auto ended = [&](uint32_t number) {
    Flow &flow = flows_[number];
    if (flow.left > kNone)
      return false;
    arrivals_.push({now + flow.waiting[flow.first].latency_ns, sequence_++, number});
    flow.sent += flow.left; // less than what one ns sends
    if (++flow.first < flow.waiting.size()) {
      flow.left += flow.waiting[flow.first].bits;
      return false;
    }
    flow.waiting.clear();
    flow.first = 0;
    flow.active = false;
    return true;
  };
  std::erase_if(active_, ended);
  changed_ = true;
}

// Progressive filling: the link with the least share for each of its flows fixes their rates.
void Fluid::share() {
  changed_ = false;
  round_++;
  std::vector<uint32_t> used;
  for (const uint32_t number : active_) {
    flows_[number].rate = -1;
    for (const uint32_t at : flows_[number].path) {
      Link &link = links_[at];
      if (link.round != round_) {
        link.round = round_;
        link.flows.clear();
        link.free = link.rate;
        link.open = 0;
        used.push_back(at);
      }
      link.open++;
      link.flows.push_back(number);
    }
  }
  for (Link &link : links_)
    link.now = 0;
  using Share = std::pair<double, uint32_t>;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  const auto push = [&](uint32_t at) { shares.push({links_[at].free / links_[at].open, at}); };
  for (const uint32_t at : used)
    push(at);
  while (!shares.empty()) {
    const auto [share, at] = shares.top();
    shares.pop();
    Link &link = links_[at];
    if (!link.open)
      continue;
    if (share < link.free / link.open) { // others have ended before: it grew
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
  next_end_ = kNever;
  for (const uint32_t number : active_) {
    const Flow &flow = flows_[number];
    if (flow.rate <= 0 || std::isinf(flow.left))
      continue;
    const double ns = std::ceil(std::max(0.0, flow.left - kNone) / flow.rate);
    next_end_ = std::min(next_end_, since_ + static_cast<uint64_t>(std::max(ns, 0.0)));
  }
}

} // namespace xr::simulate
