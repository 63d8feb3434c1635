// SPDX-License-Identifier: Apache-2.0
// What the model of DCQCN says about an experiment: N flows with the same parameters through the
// shared queue of a star or a dumbbell.
#include "congestion/prediction.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "experiment/read.h"
#include "packet/frame.h"
#include "simulate/topology.h"

namespace xr::experiment {

namespace {

using simulate::FlowSetup;
using simulate::Scenario;
using simulate::Topology;

ExperimentPrediction none(std::string why) {
  ExperimentPrediction prediction;
  prediction.why = std::move(why);
  return prediction;
}

const LinkSpec &bottleneck_of(const Scenario &scenario) {
  const auto found = scenario.queues.find(*simulate::bottleneck(scenario.topology));
  return found == scenario.queues.end() ? scenario.queue : found->second;
}

// From a mark to the rate that follows from it: the data's way to the receiver, the CNP's way back,
// and the way of the first packet at the new rate. Without queueing and serialisation.
uint64_t loop_delay(const Topology &topology) {
  const uint64_t core = topology.kind == Topology::Kind::Dumbbell ? topology.core_delay : 0;
  const uint64_t path = 2 * topology.delay + core;
  return 2 * path;
}

uint32_t frame_bytes(const flow::Flow &flow) {
  return packet::overhead(flow.path, ROCE_RC_RDMA_WRITE_MIDDLE) + flow.pmtu;
}

// Whether a host's link gives its flows less than their share of the bottleneck.
bool is_narrower_elsewhere(const Scenario &scenario, double share) {
  const bool star = scenario.topology.kind == Topology::Kind::Star;
  std::map<std::string, double> loads;
  for (const FlowSetup &flow : scenario.flows) {
    loads[flow.src] += share * flow.flow.qps;
    if (!star)
      loads[flow.dst] += share * flow.flow.qps;
  }
  const double limit = static_cast<double>(scenario.topology.rate) * (1 + 1e-9);
  return std::any_of(loads.begin(), loads.end(),
                     [limit](const auto &host) { return host.second > limit; });
}

// Why the model does not describe a flow; "": it does.
std::string has_no_fixed_point(const FlowSetup &setup) {
  const flow::Flow &flow = setup.flow;
  const uint64_t verb = packet::verb_properties(flow.verb);
  if (flow.messages || flow.duration_ns)
    return "the flows end";
  if (!flow.opcodes.empty() || !(verb & (ROCE_OP_SEND | ROCE_OP_WRITE)))
    return "the data of READs and atomics is paced by the responder";
  if (!(flow.path.tos & ROCE_ECN_CE))
    return "the flows are not ECN-capable: nothing is marked";
  if (flow.pacing.rate.kind != congestion::Rate::Kind::Top)
    return "the flows have a rate of their own";
  for (const flow::Sizes::Part &part : flow.size.parts)
    if (part.bytes < flow.pmtu)
      return "messages are shorter than a packet";
  return {};
}

} // namespace

ExperimentPrediction predict(const Scenario &scenario, bool fluid) {
  if (!simulate::bottleneck(scenario.topology))
    return none("the topology has no single bottleneck");
  if (scenario.flows.empty())
    return none("there are no flows");
  const FlowSetup &first = scenario.flows.front();
  if (first.flow.control.kind != congestion::Control::Kind::Dcqcn)
    return none("the flows are not of dcqcn");
  congestion::Question question;
  question.path.flows = 0;
  for (const FlowSetup &flow : scenario.flows) {
    if (flow.flow.control.kind != first.flow.control.kind ||
        flow.flow.control.dcqcn.words() != first.flow.control.dcqcn.words())
      return none("the flows have different congestion control");
    if (const std::string why = has_no_fixed_point(flow); !why.empty())
      return none(why);
    if (scenario.topology.kind == Topology::Kind::Star && flow.dst != "receiver")
      return none("not all flows go to the receiver");
    question.path.flows += flow.flow.qps;
  }
  const LinkSpec &queue = bottleneck_of(scenario);
  if (!queue.trace.empty())
    return none("the bottleneck follows a trace");
  if (queue.aqm.kind != LinkAqm::Kind::Red || queue.aqm.low >= queue.aqm.high || queue.aqm.drop)
    return none("the bottleneck does not mark by RED");
  if (!scenario.schedule.empty())
    for (const simulate::Event &event : scenario.schedule)
      if (event.kind != simulate::Event::Kind::Start && event.kind != simulate::Event::Kind::Flap &&
          event.kind != simulate::Event::Kind::Pause)
        return none("flows or links change during the run");
  question.parameters = first.flow.control.dcqcn;
  question.path.line_bits = static_cast<double>(queue.rate ? queue.rate : scenario.topology.rate);
  if (scenario.topology.kind == Topology::Kind::Dumbbell && scenario.topology.core_rate &&
      !queue.rate)
    question.path.line_bits = static_cast<double>(scenario.topology.core_rate);
  if (is_narrower_elsewhere(scenario, question.path.line_bits / question.path.flows))
    return none("hosts' links are narrower than their share of the bottleneck");
  question.path.packet_bytes = frame_bytes(first.flow);
  question.path.delay_ns = loop_delay(scenario.topology);
  using P = congestion::DcqcnParameter;
  question.parameters.at(P::Kmin) = {static_cast<double>(queue.aqm.low), congestion::Unit::Bytes};
  question.parameters.at(P::Kmax) = {static_cast<double>(queue.aqm.high), congestion::Unit::Bytes};
  question.parameters.at(P::Pmax) = {queue.aqm.most, congestion::Unit::Ratio};
  const auto settings = congestion::resolve(question.parameters, question.path.line_bits);
  if (!(settings.rai > 0) || !(settings.g > 0) || !(settings.pmax > 0))
    return none("the model needs rai, g and pmax above 0");

  const congestion::Prediction said = congestion::predict_stated(question, fluid);
  ExperimentPrediction prediction;
  prediction.applies = congestion::applies_name(said.point.applies);
  if (said.point.applies == congestion::Applies::None) {
    prediction.why = "the least rates of the flows exceed the line";
    return prediction;
  }
  if (said.point.applies == congestion::Applies::Kmax)
    prediction.why = "the fixed point needs more marks than Pmax: the queue stays at Kmax";
  prediction.mark_probability = said.point.mark_probability;
  prediction.queue_bytes = said.point.queue_bytes;
  prediction.alpha = said.point.alpha;
  prediction.share_bps = said.point.share_bits;
  if (said.convergence_s)
    prediction.convergence_ns = *said.convergence_s * 1e9;
  if (fluid)
    prediction.stable = said.fluid.settles;
  return prediction;
}

} // namespace xr::experiment
