// SPDX-License-Identifier: Apache-2.0
#include "wire/memory_needs.h"

#include <algorithm>
#include <cmath>

#include "wire/link.h"

namespace xr::wire {

namespace {

constexpr double kNsPerSecond = 1e9;

uint64_t at_rate(uint64_t bits_per_second, uint64_t ns) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bits_per_second) * ns /
                               8'000'000'000ULL);
}

// For distributions without a bound, a delay that few frames exceed.
uint64_t longest_jitter(const Hold &hold) {
  const auto a = static_cast<double>(hold.a), b = static_cast<double>(hold.b);
  switch (hold.jitter) {
  case Jitter::None:
    return 0;
  case Jitter::Uniform:
  case Jitter::Step:
    return std::max(hold.a, hold.b);
  case Jitter::Gaussian:
    return static_cast<uint64_t>(a + 4 * b);
  case Jitter::Poisson:
    return static_cast<uint64_t>(a + 4 * 1000 * std::sqrt(a / 1000));
  case Jitter::Gamma:
    return static_cast<uint64_t>((hold.shape + 4 * std::sqrt(hold.shape)) * b);
  case Jitter::Table:
    return hold.table.empty() ? 0 : *std::max_element(hold.table.begin(), hold.table.end());
  }
  return 0;
}

class Sum {
public:
  explicit Sum(HeldMost &most) : most_(most) {}

  void frames(uint64_t count) {
    most_.bytes += count * kMeanFrame;
    most_.most_bytes += count * kMeanFrame;
    most_.frames += count;
    most_.least += count;
  }
  void bytes(uint64_t count) {
    most_.bytes += count;
    most_.most_bytes += count;
    most_.least += count / kMeanFrame;
    most_.frames += count / kShortestFrame;
  }
  // Everything that comes within `ns`. Unknown rates: 0.
  void time(uint64_t ns, uint64_t slow_rate, uint64_t fast_rate) {
    const uint64_t slow = at_rate(slow_rate, ns), fast = at_rate(fast_rate, ns);
    const auto flow = static_cast<uint64_t>(static_cast<double>(kFastestFlow) *
                                            static_cast<double>(ns) / kNsPerSecond);
    most_.bytes += slow;
    most_.most_bytes += std::max(slow, fast);
    most_.least += slow / kMeanFrame;
    const uint64_t most = fast ? std::min(fast / kShortestFrame, flow) : flow;
    most_.frames += std::max({most, slow / kMeanFrame, fast / kMeanFrame});
  }

private:
  HeldMost &most_;
};

} // namespace

HeldMost held_most(const HoldingPath &path) {
  HeldMost most;
  Sum sum(most);
  const uint64_t rate = path.link && path.link->rate ? path.link->rate : path.egress_rate;
  for (const Hold &hold : path.rules) {
    switch (hold.kind) {
    case Hold::Kind::None:
      break;
    case Hold::Kind::Delay:
      sum.time(hold.delay_ns + longest_jitter(hold), rate, path.ingress_rate);
      break;
    case Hold::Kind::Accumulate:
      if (hold.frames)
        sum.frames(hold.frames);
      else
        sum.time(hold.timeout_ns, rate, path.ingress_rate);
      break;
    case Hold::Kind::Reorder:
      sum.frames(uint64_t{hold.depth} + hold.frames);
      break;
    case Hold::Kind::Shape:
      sum.bytes(hold.queue);
      break;
    }
  }
  if (path.link) {
    LinkSpec queue = *path.link;
    queue.delay = 0;
    sum.bytes(most_bytes(queue, 0, path.ports));
    sum.time(path.link->delay, rate, rate);
  }
  return most;
}

MemoryPlan plan_memory(const std::array<HeldMost, 2> &held, const MemoryLimits &limits) {
  MemoryPlan plan;
  for (size_t i = 0; i < held.size(); i++) {
    plan.least += (held[i].least + limits.rings[i]) * limits.buffer;
    plan.needed += (held[i].frames + limits.rings[i]) * limits.buffer;
  }
  plan.bytes = limits.given;
  if (!limits.given)
    plan.bytes = std::max({std::min(plan.needed, limits.free / 2), plan.least, limits.smallest});
  plan.fits = plan.bytes >= plan.least;
  plan.any_length = plan.bytes >= plan.needed;
  if (!plan.fits)
    return plan;
  // First the least of both, then what short frames need, in proportion; the rest in halves.
  const uint64_t all = plan.bytes / limits.buffer, least = plan.least / limits.buffer;
  const uint64_t extra = (plan.needed - plan.least) / limits.buffer;
  const uint64_t shared = std::min(all - least, extra), rest = all - least - shared;
  for (size_t i = 0; i < held.size(); i++) {
    const uint64_t own = held[i].frames - held[i].least;
    plan.buffers[i] = held[i].least + limits.rings[i] + rest / 2;
    if (extra)
      plan.buffers[i] +=
          static_cast<uint64_t>(static_cast<unsigned __int128>(shared) * own / extra);
    if (const uint64_t free = plan.buffers[i] - limits.rings[i])
      plan.mean_frame = std::max(plan.mean_frame, (held[i].most_bytes + free - 1) / free);
  }
  return plan;
}

namespace {

// Paths whose settings can be changed.
struct Trial {
  std::array<HoldingPath, 2> paths;
  std::array<LinkSpec, 2> links;

  explicit Trial(const std::array<HoldingPath, 2> &given) : paths(given) {
    for (size_t i = 0; i < paths.size(); i++)
      if (paths[i].link)
        links[i] = *paths[i].link;
  }
  std::array<HeldMost, 2> held() {
    for (size_t i = 0; i < paths.size(); i++)
      paths[i].link = paths[i].link ? &links[i] : nullptr;
    return {held_most(paths[0]), held_most(paths[1])};
  }
  uint64_t &value(const LargestFit &of) {
    switch (of.of) {
    case LargestFit::Of::LinkDelay:
      return links[of.path].delay;
    case LargestFit::Of::LinkBuffer:
      return links[of.path].buffer;
    case LargestFit::Of::LinkHeadroom:
      return links[of.path].pfc.headroom;
    case LargestFit::Of::RuleDelay:
      return paths[of.path].rules[of.rule].delay_ns;
    case LargestFit::Of::RuleTimeout:
      return paths[of.path].rules[of.rule].timeout_ns;
    case LargestFit::Of::RuleQueue:
      break;
    }
    return paths[of.path].rules[of.rule].queue;
  }
};

std::vector<LargestFit> settings_of(const std::array<HoldingPath, 2> &paths) {
  using Of = LargestFit::Of;
  std::vector<LargestFit> all;
  for (unsigned i = 0; i < paths.size(); i++) {
    if (paths[i].link)
      for (const Of of : {Of::LinkDelay, Of::LinkBuffer, Of::LinkHeadroom})
        all.push_back({.of = of, .path = i});
    for (size_t rule = 0; rule < paths[i].rules.size(); rule++)
      for (const Of of : {Of::RuleDelay, Of::RuleTimeout, Of::RuleQueue})
        all.push_back({.of = of, .path = i, .rule = rule});
  }
  return all;
}

uint64_t three_digits(uint64_t value) {
  uint64_t unit = 1;
  while (value / unit >= 1000)
    unit *= 10;
  return value / unit * unit;
}

} // namespace

std::optional<LargestFit> largest_fit(const std::array<HoldingPath, 2> &paths,
                                      const MemoryLimits &limits) {
  const auto least_with = [&](const LargestFit &of, uint64_t value) {
    Trial trial(paths);
    trial.value(of) = value;
    return plan_memory(trial.held(), limits).least;
  };
  const uint64_t most = limits.given ? std::min(limits.given, limits.free) : limits.free;
  std::optional<LargestFit> found;
  uint64_t lowest = UINT64_MAX;
  for (const LargestFit &fit : settings_of(paths))
    if (const uint64_t least = least_with(fit, 0); least < lowest) {
      lowest = least;
      found = fit;
    }
  if (!found || lowest > most)
    return {};
  uint64_t above = Trial(paths).value(*found) + 1;
  while (found->most + 1 < above) {
    const uint64_t middle = found->most + (above - found->most) / 2;
    (least_with(*found, middle) <= most ? found->most : above) = middle;
  }
  found->most = three_digits(found->most);
  return found;
}

} // namespace xr::wire
