// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send_live.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/processors.h"
#include "endpoint/flow_parts.h"
#include "host/netdev_family.h"
#include "host/netns.h"

namespace xr::endpoint {

namespace {

constexpr const char *kOther = "--engine afxdp";
// Up to here an AF_XDP socket that copies keeps the rate, and sleeps between packets.
constexpr double kCopiedPps = 300'000;
// What a thread makes on any processor that is in use, into a driver that takes it.
constexpr double kThreadPps = 1e6;

Status check_total(const SendRequest &request) {
  if (request.rate.kind == congestion::Rate::Kind::Top || request.flows.empty())
    return {};
  if (request.flows.size() > 1)
    return Error{"--rate: live frames of several flows have a rate each", "rate R in each flow"};
  if (request.flows[0].pacing.rate.kind != congestion::Rate::Kind::Top)
    return Error{"--rate: live frames have one rate, and the flow has its own", "without --rate"};
  return {};
}

Status check_port(const PortFacts &port, bool prefer_zero_copy) {
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  const auto xdp = host::read_xdp_features(port.ifindex);
  if (!xdp) // before 6.3 nobody knows
    return {};
  if (!xdp.get().transmits)
    return Error{
        fmt::format("{} takes no frames that are redirected to it", port.ifname),
        port.driver == "veth"
            ? "the other end of a veth must have an XDP program or GRO: `ethtool -K PEER gro on`"
            : kOther};
  if (prefer_zero_copy && xdp.get().zero_copy)
    return Error{"the driver has AF_XDP zero-copy, which needs no copies either"};
  return {};
}

// With SendEngine::Auto: AF_XDP is fast enough, and leaves the processor to others.
Status check_rates(const std::vector<requester::LiveFlow> &flows) {
  for (const requester::LiveFlow &flow : flows)
    if (!(flow.asked_pps() > 0) || flow.asked_pps() > kCopiedPps)
      return {};
  return Error{"AF_XDP keeps rates this low, and sleeps between packets"};
}

// Threads: as many as the rates need; at top speed as many as possible. Not more than half of the
// machine, which has more to do than to send, nor than the port has queues.
uint32_t threads_for(const std::vector<requester::LiveFlow> &flows, uint32_t queues) {
  double pps = 0;
  for (const requester::LiveFlow &flow : flows)
    pps += flow.asked_pps() > 0 ? flow.asked_pps() : INFINITY;
  const uint32_t most = std::min(std::max(1U, processor_count() / 2), std::max(1U, queues));
  return static_cast<uint32_t>(
      std::clamp(std::ceil(pps / kThreadPps), 1.0, static_cast<double>(most)));
}

// A thread for each flow, or for each part of a flow with several QPs.
std::vector<requester::LiveFlow> live_flows(const SendRequest &request, const PortFacts &port,
                                            uint32_t threads) {
  std::vector<requester::LiveFlow> all;
  const auto flows = static_cast<uint32_t>(request.flows.size());
  for (flow::Flow flow : request.flows) {
    if (flow.pacing.rate.kind == congestion::Rate::Kind::Top)
      flow.pacing.rate = request.rate;
    for (flow::Flow &part : parts_of(flow, std::max(1U, threads / flows)))
      all.emplace_back(std::move(part), static_cast<double>(port.line_bits));
  }
  return all;
}

} // namespace

Status check_live(const SendRequest &request) {
  const std::pair<bool, const char *> kAnswers[] = {
      {request.replay.has_value(), "replay: live frames are those of a flow"},
      {request.pfc.has_value(), "pfc: live frames are those of a flow"},
      {request.reliable, "--reliable: live frames wait for no answers"},
      {request.verify, "--verify: live frames see no answers"},
      {request.cm.has_value(), "--cm: live frames see no answers"},
      {request.listen, "--listen: live frames see no answers"},
      {!request.series.empty(), "--series: live frames have no rates of QPs"},
      {request.queues.zero_copy, "--zero-copy: live frames use no AF_XDP socket"}};
  for (const auto &[given, sentence] : kAnswers)
    if (given)
      return Error{sentence, kOther};
  if (request.queues.count > 1)
    return Error{"--queues: live frames use no AF_XDP socket", "--threads N"};
  for (const flow::Flow &flow : request.flows)
    if (auto sound = requester::check_live(flow); !sound)
      return sound;
  return check_total(request);
}

Result<std::vector<std::unique_ptr<LiveEngine>>> open_live(const SendRequest &request,
                                                           const PortFacts &port) {
  const bool automatic = request.engine == SendEngine::Auto;
  XR_TRY(check_live(request));
  XR_TRY(check_port(port, automatic && !request.queues.copy));
  auto flows = live_flows(request, port, 1);
  if (automatic)
    XR_TRY(check_rates(flows));
  const uint32_t threads = request.threads ? request.threads : threads_for(flows, port.queues);
  flows = live_flows(request, port, threads);
  std::vector<std::unique_ptr<LiveEngine>> engines;
  engines.reserve(flows.size());
  for (requester::LiveFlow &flow : flows)
    engines.push_back(XR_TRY(LiveEngine::open(std::move(flow), port.ifindex, port.netns)));
  return engines;
}

} // namespace xr::endpoint
