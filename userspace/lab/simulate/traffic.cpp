// SPDX-License-Identifier: Apache-2.0
#include "simulate/traffic.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/draw.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::simulate {

namespace {

constexpr uint64_t kMostFlows = 10'000'000;
constexpr uint64_t kEndlessMessage = 1'000'000; // bytes of each message

Error too_many_flows() {
  return {"the traffic has too many flows", fmt::format("at most {}", kMostFlows)};
}

FlowSetup message(const FlowSetup &like, const std::string &src, const std::string &dst,
                  uint64_t bytes, uint64_t start) {
  FlowSetup setup = like;
  setup.src = src;
  setup.dst = dst;
  setup.start_ns = start;
  setup.flow.messages = 1;
  setup.flow.size.kind = flow::Sizes::Kind::List;
  setup.flow.size.parts = {{.bytes = bytes, .weight = 1}};
  return setup;
}

Status check_times(uint64_t from, uint64_t until) {
  if (until > from)
    return {};
  return Error{"the traffic ends before it begins", "until after from"};
}

bool by_start(const FlowSetup &a, const FlowSetup &b) { return a.start_ns < b.start_ns; }

} // namespace

Result<std::vector<FlowSetup>> poisson(const PoissonTraffic &traffic, const FlowSetup &like) {
  XR_TRY(check_times(traffic.from_ns, traffic.until_ns));
  if (traffic.sources.empty() || traffic.destinations.empty())
    return Error{"the traffic has no sources or no destinations", "names of hosts, or all"};
  if (!(traffic.load > 0) || !traffic.rate)
    return Error{"the traffic has no load or no rate", "load: 0.3"};
  const flow::Sizes &given = like.flow.size;
  if (traffic.sizes.empty() && given.kind != flow::Sizes::Kind::List)
    return Error{"the traffic has neither a distribution of sizes nor one size",
                 "sizes: websearch, or hadoop, or size 64k"};
  double mean = mean_size(traffic.sizes);
  if (traffic.sizes.empty()) {
    for (const flow::Sizes::Part &part : given.parts)
      mean += static_cast<double>(part.bytes) / static_cast<double>(given.parts.size());
  }
  const double gap = mean * 8e9 / (traffic.load * static_cast<double>(traffic.rate)); // ns
  std::vector<FlowSetup> flows;
  for (size_t i = 0; i < traffic.sources.size(); i++) {
    const uint64_t seed = draw(traffic.seed, i);
    std::vector<std::string> others = traffic.destinations;
    std::erase(others, traffic.sources[i]);
    if (others.empty())
      return Error{fmt::format("{} has no destination but itself", traffic.sources[i]),
                   "another destination"};
    double at = static_cast<double>(traffic.from_ns);
    for (uint64_t k = 0;; k++) {
      at -= gap * std::log1p(-draw_real(seed, 3 * k));
      if (at >= static_cast<double>(traffic.until_ns))
        break;
      if (flows.size() == kMostFlows)
        return too_many_flows();
      const uint64_t bytes = traffic.sizes.empty()
                                 ? given.parts[k % given.parts.size()].bytes
                                 : size_of(traffic.sizes, draw_real(seed, 3 * k + 1));
      flows.push_back(message(like, traffic.sources[i],
                              others[draw_below(seed, 3 * k + 2, others.size())], bytes,
                              static_cast<uint64_t>(at)));
    }
  }
  std::stable_sort(flows.begin(), flows.end(), by_start);
  return flows;
}

Result<std::vector<FlowSetup>> incast(const Incast &incast, const FlowSetup &like) {
  XR_TRY(check_times(incast.from_ns, incast.until_ns));
  std::vector<std::string> sources = incast.sources;
  std::erase(sources, incast.destination);
  if (sources.empty() || !incast.bytes)
    return Error{"the incast has no sources or no bytes", "sources and bytes: 64k"};
  if (incast.degree > sources.size())
    return Error{fmt::format("an incast of {} has {} sources", incast.degree, sources.size()),
                 "at most as many as there are sources"};
  const size_t degree = incast.degree ? incast.degree : sources.size();
  std::vector<FlowSetup> flows;
  for (uint64_t at = incast.from_ns, round = 0; at < incast.until_ns;
       at += incast.every_ns, round++) {
    // the first `degree` of a shuffle (Fisher and Yates)
    for (size_t i = 0; i < degree; i++) {
      const uint64_t other = i + draw_below(draw(incast.seed, round), i, sources.size() - i);
      if (degree < sources.size())
        std::swap(sources[i], sources[other]);
      flows.push_back(message(like, sources[i], incast.destination, incast.bytes, at));
    }
    if (flows.size() > kMostFlows)
      return too_many_flows();
    if (!incast.every_ns)
      break;
  }
  return flows;
}

Result<std::vector<FlowSetup>> on_off(const OnOff &traffic, const FlowSetup &like) {
  XR_TRY(check_times(traffic.from_ns, traffic.until_ns));
  if (!traffic.bytes || !traffic.period_ns)
    return Error{"the traffic has no bytes or no period", "bytes: 1M, period: 10ms"};
  if ((traffic.until_ns - traffic.from_ns) / traffic.period_ns >= kMostFlows)
    return too_many_flows();
  std::vector<FlowSetup> flows;
  for (uint64_t at = traffic.from_ns; at < traffic.until_ns; at += traffic.period_ns)
    flows.push_back(message(like, like.src, like.dst, traffic.bytes, at));
  return flows;
}

Result<std::vector<FlowSetup>> listed_flows(std::string_view text, const FlowSetup &like) {
  std::vector<FlowSetup> flows;
  for (size_t line = 1; !text.empty(); line++) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string row(whole.substr(0, whole.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::vector<std::string> words = parse::split(row);
    if (words.empty())
      continue;
    const auto wrong = [line](const std::string &what) {
      return Error{fmt::format("line {}: {}", line, what), "SRC DST BYTES START [NAME], like "
                                                           "host-1 host-2 64k 10us"};
    };
    if (words.size() != 4 && words.size() != 5)
      return wrong(fmt::format("{} words instead of 4 or 5", words.size()));
    const bool endless = words[2] == "endless";
    const auto bytes = endless ? Result<uint64_t>(kEndlessMessage) : parse::byte_count(words[2], 1);
    if (!bytes)
      return wrong(bytes.error().message);
    const auto start = parse::duration(words[3]);
    if (!start)
      return wrong(start.error().message);
    if (flows.size() == kMostFlows)
      return too_many_flows();
    FlowSetup flow = message(like, words[0], words[1], bytes.get(), start.get());
    if (endless)
      flow.flow.messages = 0;
    if (words.size() == 5) {
      const auto name = parse::name(words[4]);
      if (!name)
        return wrong(name.error().message);
      flow.name = words[4];
    }
    flows.push_back(std::move(flow));
  }
  return flows;
}

} // namespace xr::simulate
