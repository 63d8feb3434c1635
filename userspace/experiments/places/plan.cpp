// SPDX-License-Identifier: Apache-2.0
// What runs with frames: refusals, addresses and links here; scale.cpp (a value that is a rate or a
// time), measure.cpp (a column, a reason for void); places_test, run_namespaces.sh.
#include "places/plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/draw.h"
#include "base/processors.h"
#include "packet/frame.h"
#include "packet/message.h"
#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/topology.h"
#include "wire/link_words.h"
#include "xdp-roce/congestion.h"

namespace xr::places {

namespace {

using congestion::Rate;
using simulate::Event;
using simulate::FlowSetup;
using simulate::Scenario;
using simulate::Topology;

constexpr double kLeastLoop = 1e6; // ns: an AF_XDP process answers within some 100 us
constexpr uint32_t kFirstQp = 0x100;
constexpr uint32_t kMostQps = 1024;
constexpr unsigned kMostHosts = 1000;
constexpr uint64_t kFlowSeeds = 5ULL << 32;
constexpr uint64_t kMessagesCounted = 10'000; // of which a flow's number of packets is summed
// One processor's; a forwarded frame crosses four sockets.
constexpr uint64_t kFramesPerProcessor = 30'000;
constexpr unsigned kMostProcessors = 4; // that a run keeps busy

Status check_topology(const Scenario &scenario) {
  const Topology &topology = scenario.topology;
  using Kind = Topology::Kind;
  if (topology.kind != Kind::Star && topology.kind != Kind::Dumbbell)
    return not_here(fmt::format("a {} is not possible", simulate::kind_name(topology.kind)),
                    "star or dumbbell, or --on virtual");
  if (!scenario.jobs.empty())
    return not_here("a collective is not possible", "--on virtual");
  if (scenario.fluid || scenario.until_done)
    return not_here(
        fmt::format("{} is not possible", scenario.fluid ? "fidelity: flow" : "until: done"),
        "leave it out, or use --on virtual");
  for (const simulate::FlowSetup &setup : scenario.flows)
    if (!setup.after.empty())
      return not_here(
          fmt::format("{}: a flow that starts after others is not possible", setup.name),
          "start: 10ms, or --on virtual");
  if (scenario.reorder)
    return not_here("reorder: accept is not possible", "leave it out, or use --on virtual");
  if (topology.senders > kMostHosts)
    return not_here(fmt::format("{} senders are not possible", topology.senders),
                    fmt::format("at most {}", kMostHosts));
  if (topology.kind == Kind::Dumbbell && topology.core_rate > topology.rate)
    return not_here("the core of a dumbbell cannot be faster than its hosts",
                    "there is one queue, that of the core");
  const std::string shared = *simulate::bottleneck(topology);
  for (const auto &[name, spec] : scenario.queues)
    if (name != shared)
      return not_here(fmt::format("there is no queue {}", name),
                      fmt::format("only {}, the bottleneck", shared));
  return {};
}

Status check_spec(const LinkSpec &spec, bool pausable) {
  if (spec.pfc.on && !pausable)
    return not_here("senders cannot be paused by pfc",
                    "a queue without pfc, --on virtual, or --on ports left=IF,right=IF");
  if (!spec.trace.empty())
    return not_here("a trace is not possible", "rate R");
  return {};
}

// The wire's port is the whole path: the links before and after the queue are its delay.
LinkSpec with_path(const Scenario &scenario, LinkSpec spec, uint64_t path_ns) {
  const Topology &topology = scenario.topology;
  const bool core = topology.kind == Topology::Kind::Dumbbell;
  const uint64_t own = core ? topology.core_delay : topology.delay;
  if (!spec.rate) {
    spec.rate = core && topology.core_rate ? topology.core_rate : topology.rate;
    spec.layer1 = topology.layer1;
  }
  spec.delay = path_ns - own + (spec.delay ? spec.delay : own);
  spec.flap.way = LinkFlap::Way::Drop; // as in virtual time
  return spec;
}

// 198.18.0.0/15 is for measurements (RFC 2544): 198.18 has senders, 198.19 receivers.
Result<Address> address_of(const std::string &host) {
  const size_t dash = host.rfind('-');
  const unsigned number =
      1 +
      (dash == std::string::npos ? 0 : static_cast<unsigned>(std::stoul(host.substr(dash + 1))));
  return parse::address(
      fmt::format("198.{}.{}.{}", host.starts_with("sender") ? 18 : 19, number >> 8, number & 255));
}

// Total of all messages of all QPs, and the mean payload.
void count_packets(PlannedFlow &planned) {
  const flow::Flow &flow = planned.flow;
  const uint64_t counted =
      flow.messages ? std::min(flow.messages, kMessagesCounted) : std::min(kMessagesCounted, 100UL);
  double bytes = 0, packets = 0;
  for (uint64_t message = 0; message < counted; message++) {
    const uint64_t size = flow.size.of(message, flow.size_seed(0));
    bytes += static_cast<double>(size);
    packets += flow.packets_of(size);
  }
  planned.payload = packets > 0 ? bytes / packets : 0;
  if (flow.messages && !flow.duration_ns)
    planned.packets =
        static_cast<uint64_t>(packets * static_cast<double>(flow.messages) /
                              static_cast<double>(counted) * static_cast<double>(flow.qps));
}

class Planner {
public:
  Planner(const Scenario &scenario, bool ours, bool pausable)
      : scenario_(scenario), pausable_(pausable) {
    plan_.ours = ours;
  }

  Result<Plan> make() {
    XR_TRY(check_topology(scenario_));
    const Topology &topology = scenario_.topology;
    plan_.path_ns =
        2 * topology.delay + (topology.kind == Topology::Kind::Dumbbell ? topology.core_delay : 0);
    plan_.queue = *simulate::bottleneck(topology);
    XR_TRY(links());
    XR_TRY(all_flows());
    return std::move(plan_);
  }

private:
  Status links() {
    const auto own = scenario_.queues.find(plan_.queue);
    plan_.forward = with_path(
        scenario_, own == scenario_.queues.end() ? scenario_.queue : own->second, plan_.path_ns);
    plan_.back.delay = plan_.path_ns;
    if (Status s = check_spec(plan_.forward, pausable_); !s)
      return s;
    LinkSpec now = plan_.forward;
    for (const Event &event : scenario_.schedule) {
      if (event.kind == Event::Kind::Start || event.kind == Event::Kind::Stop)
        continue;
      if (event.kind == Event::Kind::Pause)
        return not_here("'pfc' is not possible", "start, stop, link or flap");
      if (event.kind == Event::Kind::Down || event.kind == Event::Kind::Up)
        return not_here("'link A-B down' is not possible", "use flap bottleneck 5ms");
      if (event.target != plan_.queue)
        return not_here(fmt::format("there is no queue {}", event.target),
                        fmt::format("only {}, the bottleneck", plan_.queue));
      if (event.kind == Event::Kind::Link)
        now = with_path(scenario_, event.link, plan_.path_ns);
      if (Status s = check_spec(now, pausable_); !s)
        return s;
      LinkSpec change = now;
      if (event.kind == Event::Kind::Flap)
        change.flap = {.down = event.duration_ns,
                       .period = event.duration_ns + 1,
                       .count = 1,
                       .way = LinkFlap::Way::Drop};
      plan_.changes.push_back({event.at_ns, wire::link_text(change)});
    }
    return {};
  }

  Status all_flows() {
    plan_.reliable = scenario_.flows.front().reliable;
    uint32_t largest = 0;
    double frames = 0;
    for (size_t i = 0; i < scenario_.flows.size(); i++) {
      XR_TRY(one_flow(i).in(scenario_.flows[i].name));
      PlannedFlow &planned = plan_.flows.back();
      flow::Flow fitted = planned.flow;
      if (Status s = flow::fit_frame_size(fitted); !s)
        return s;
      const uint32_t bytes = packet::overhead(fitted.path, ROCE_RC_RDMA_WRITE_MIDDLE) + fitted.pmtu;
      largest = std::max(largest, bytes + ROCE_RETH_LEN + 4);
      plan_.frame_bytes += bytes / static_cast<double>(scenario_.flows.size());
      frames += static_cast<double>(planned.peak_bps) / 8 / bytes;
    }
    plan_.frames_per_second = frames;
    plan_.mtu = largest <= kMtu + ROCE_ETH_LEN ? kMtu : kLargeMtu;
    std::sort(plan_.receivers.begin(), plan_.receivers.end());
    plan_.receivers.erase(std::unique(plan_.receivers.begin(), plan_.receivers.end()),
                          plan_.receivers.end());
    if (plan_.qps > kMostQps)
      return not_here(fmt::format("{} QPs are not possible", plan_.qps),
                      fmt::format("at most {}", kMostQps));
    return {};
  }

  Status check_flow(const FlowSetup &setup) const {
    const bool dumbbell = scenario_.topology.kind == Topology::Kind::Dumbbell;
    if (!setup.src.starts_with("sender-") || !setup.dst.starts_with("receiver"))
      return not_here(fmt::format("it cannot go from {} to {}", setup.src, setup.dst),
                      fmt::format("from a sender to {}", dumbbell ? "a receiver" : "the receiver"));
    XR_TRY(check_control(setup.flow));
    if (!plan_.ours)
      return {};
    if (setup.flow.path.network != packet::Network::Ipv4)
      return not_here("RoCEv1 is not possible", "without v1");
    if (!setup.flow.opcodes.empty() ||
        !(packet::verb_properties(setup.flow.verb) & (ROCE_OP_SEND | ROCE_OP_WRITE)))
      return not_here("only SENDs and WRITEs are possible", "write or send, or --on virtual");
    if (setup.reliable != plan_.reliable)
      return not_here("open-loop and reliable flows cannot be mixed",
                      "reliable: true or false, for all flows");
    return {};
  }

  // When it starts and stops is known before the run.
  Status times(const FlowSetup &setup, PlannedFlow &planned) const {
    planned.start_ns = setup.started ? setup.start_ns : UINT64_MAX;
    uint64_t stop = setup.stop_ns.value_or(UINT64_MAX);
    for (const Event &event : scenario_.schedule) {
      if (event.target != setup.name)
        continue;
      uint64_t &at = event.kind == Event::Kind::Start ? planned.start_ns : stop;
      if (at != UINT64_MAX)
        return Error{
            fmt::format("it {} twice", event.kind == Event::Kind::Start ? "starts" : "stops"),
            "a flow starts and stops once; two flows can follow each other"};
      at = event.at_ns;
    }
    flow::Flow &flow = planned.flow;
    if (planned.start_ns == UINT64_MAX)
      return {};
    planned.start_ns += flow.pacing.start_ns;
    flow.pacing.start_ns = planned.start_ns;
    if (stop != UINT64_MAX) {
      const uint64_t length = stop > planned.start_ns ? stop - planned.start_ns : 1;
      planned.stopped = !flow.duration_ns || length <= flow.duration_ns;
      flow.duration_ns = planned.stopped ? length : flow.duration_ns;
    }
    return {};
  }

  // The flows of a host without congestion control have equal parts of its link. With it, each QP
  // starts at the rate of the link; they do not wait for one another.
  void pace(const FlowSetup &setup, PlannedFlow &planned) const {
    flow::Flow &flow = planned.flow;
    const auto line = static_cast<double>(scenario_.topology.rate);
    const Rate::Kind unit = scenario_.topology.layer1 ? Rate::Kind::BitsL1 : Rate::Kind::BitsL2;
    const auto of_line = [&](Rate &rate) {
      if (rate.kind == Rate::Kind::Percent)
        rate = {unit, line * rate.value / 100, ""};
    };
    of_line(flow.pacing.rate);
    of_line(flow.control.rate);
    const auto bits = [&](const Rate &rate, double otherwise) {
      return rate.kind == Rate::Kind::BitsL2 || rate.kind == Rate::Kind::BitsL1 ? rate.value
                                                                                : otherwise;
    };
    // Without what hosts need to send and to answer.
    const bool two = scenario_.topology.kind == Topology::Kind::Dumbbell;
    flow.control.path = {2 * plan_.path_ns, two ? 2U : 1U};
    double peak = line;
    if (flow.control.kind != congestion::Control::Kind::None) {
      if (flow.control.rate.kind == Rate::Kind::Top)
        flow.control.rate = {unit, line, ""};
      peak = bits(flow.control.rate, line) * flow.qps;
    } else {
      peak /= static_cast<double>(
          std::count_if(scenario_.flows.begin(), scenario_.flows.end(),
                        [&](const FlowSetup &other) { return other.src == setup.src; }));
      if (flow.pacing.rate.kind == Rate::Kind::Top)
        flow.pacing.rate = {unit, peak, ""};
    }
    planned.peak_bps = static_cast<uint64_t>(std::min(peak, bits(flow.pacing.rate, peak)));
  }

  Status one_flow(size_t index) {
    const FlowSetup &setup = scenario_.flows[index];
    if (Status s = check_flow(setup); !s)
      return s;
    PlannedFlow planned{.name = setup.name, .src = setup.src, .dst = setup.dst, .flow = setup.flow};
    flow::Flow &flow = planned.flow;
    flow.name = setup.name;
    for (const auto &[host, address] :
         {std::pair{&setup.src, &flow.path.src}, {&setup.dst, &flow.path.dst}}) {
      const auto found = XR_TRY(address_of(*host));
      *address = found;
    }
    flow.src_given = flow.dst_given = true;
    flow.qp = kFirstQp + plan_.qps;
    flow.src_qp = flow.qp;
    plan_.qps += flow.qps;
    if (!flow.seed)
      flow.seed = draw(scenario_.seed, kFlowSeeds + index);
    if (Status s = times(setup, planned); !s)
      return s;
    pace(setup, planned);
    planned.headers = packet::overhead(flow.path, ROCE_RC_RDMA_WRITE_MIDDLE);
    if (plan_.ours) {
      count_packets(planned);
    } else {
      planned.start_ns = 0;
      flow.duration_ns = 0;
    }
    plan_.receivers.push_back(flow.path.dst);
    plan_.flows.push_back(std::move(planned));
    return {};
  }

  const Scenario &scenario_;
  const bool pausable_;
  Plan plan_;
};

// Congestion control sees this machine's delays too: the time until it hears of a mark, beside the
// shortest that these leave unchanged. 1 without congestion control or a queue that marks.
double loop_of(const Plan &plan) {
  const bool controlled = std::ranges::any_of(plan.flows, [](const PlannedFlow &planned_flow) {
    using Kind = congestion::Control::Kind;
    return planned_flow.flow.control.kind != Kind::None &&
           planned_flow.flow.control.kind != Kind::Fixed;
  });
  if (!controlled || !plan.forward.rate || plan.forward.aqm.kind == LinkAqm::Kind::None)
    return 1;
  const double queue =
      static_cast<double>(plan.forward.aqm.low) * 8e9 / static_cast<double>(plan.forward.rate);
  const double loop = static_cast<double>(plan.path_ns) + queue;
  return loop > 0 ? loop / kLeastLoop : 1;
}

} // namespace

Error not_here(const std::string &what, std::string hint) {
  return {what + " with frames", std::move(hint)};
}

std::string why_differs(const Plan &plan, double scale) {
  const double loop = loop_of(plan);
  if (loop >= 1)
    return {};
  return fmt::format("at this scale path and queue are not long beside the delays of this machine: "
                     "congestion control may differ; --scale 1/{}",
                     round_up(1 / (scale * loop)));
}

Status check_control(const flow::Flow &flow) {
  if (!(flow.control.needs() & XDP_ROCE_NEEDS_HOPS))
    return {};
  return Error{
      fmt::format("cc {} is not possible with frames: they do not carry what each hop says "
                  "of itself (INT)",
                  flow.control.word()),
      "--on virtual, or cc dcqcn, timely or swift"};
}

uint64_t round_up(double value) {
  for (uint64_t step = 1;; step *= 10)
    for (const uint64_t factor : {1, 2, 5})
      if (static_cast<double>(step * factor) >= value)
        return step * factor;
}

Result<Plan> make_plan(const Scenario &scenario, bool ours, bool pausable) {
  return Planner(scenario, ours, pausable).make();
}

bool counts_cnps_at_senders(const Plan &plan) {
  const auto at_senders = [](const experiment::CaptureSetup &capture) {
    return capture.port == experiment::CaptureSetup::Point::Senders;
  };
  const auto on_way_back = [](const PlannedRule &rule) { return !rule.left; };
  return !plan.made || std::ranges::any_of(plan.rules, on_way_back) ||
         std::ranges::any_of(plan.captures, at_senders);
}

uint64_t most_frames_per_second() {
  return kFramesPerProcessor * std::min(processor_count(), kMostProcessors);
}

Status check_speed(const Plan &plan, const Scenario &scenario, double scale) {
  const auto most = static_cast<double>(most_frames_per_second());
  if (plan.frames_per_second <= most)
    return {};
  const double part = most / plan.frames_per_second;
  const double rate = static_cast<double>(scenario.topology.rate) * part;
  const double loop = std::min(loop_of(plan), 1.0);
  return Error{
      fmt::format("the senders may offer {:.0f} frames/s, and this machine forwards {:.0f}: "
                  "links of {:.0f} Mbit/s at most",
                  plan.frames_per_second, most, std::floor(rate / 1e6)),
      fmt::format("--scale 1/{}", round_up(1 / (scale * std::min(part, loop))))};
}

} // namespace xr::places
