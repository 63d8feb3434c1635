// SPDX-License-Identifier: Apache-2.0
#include "places/counts.h"

#include "base/clock.h"
#include "datapath/attached_port.h"
#include "places/lane.h"

namespace xr::places {

struct PortSnapshots {
  datapath::AttachedPort sender, wire, receiver;
};

namespace {

void add_requests(const Snapshot &snapshot, const auto &use) {
  for (const roce_stream &stream : snapshot.streams)
    if (roce_key_kind(&stream.key) == ROCE_KIND_REQUEST)
      use(roce_key_qp(&stream.key), stream);
}

} // namespace

Result<Counter> Counter::open(const Plan &plan, const std::string &senders, const std::string &wire,
                              const std::string &receivers) {
  auto sender = datapath::AttachedPort::open(Lane::kSender, senders);
  if (!sender)
    return sender.error();
  auto left = datapath::AttachedPort::open(Lane::kLeft, wire);
  if (!left)
    return left.error();
  auto receiver = datapath::AttachedPort::open(Lane::kReceiver, receivers);
  if (!receiver)
    return receiver.error();
  return Counter(plan,
                 std::make_unique<PortSnapshots>(PortSnapshots{
                     std::move(sender).get(), std::move(left).get(), std::move(receiver).get()}));
}

Counter::Counter(const Plan &plan, std::unique_ptr<PortSnapshots> ports)
    : ports_(std::move(ports)), first_qp_(plan.flows.front().flow.qp) {
  for (uint32_t i = 0; i < plan.flows.size(); i++)
    flow_of_qp_.insert(flow_of_qp_.end(), plan.flows[i].flow.qps, i);
}
Counter::Counter(Counter &&) noexcept = default;
Counter::~Counter() = default;

FlowCounts *Counter::flow_of(Reading &reading, uint32_t qp) const {
  const uint32_t index = qp - first_qp_;
  return index < flow_of_qp_.size() ? &reading.flows[flow_of_qp_[index]] : nullptr;
}

// The receiver first, the sender's frames last: no flow has received more than it has sent.
Result<Reading> Counter::read(const SendReport &sender) const {
  Reading reading;
  reading.flows.resize(flow_of_qp_.empty() ? 0 : flow_of_qp_.back() + 1);
  const auto received = ports_->receiver.snapshot();
  reading.t_ns = monotonic_ns();
  if (!received)
    return received.error();
  add_requests(received.get(), [&](uint32_t qp, const roce_stream &stream) {
    FlowCounts *flow = flow_of(reading, qp);
    if (!flow)
      return;
    flow->received += roce_stream_packets(&stream);
    flow->received_bytes += roce_stream_bytes(&stream);
    flow->received_again += roce_stream_counter(&stream, ROCE_DUPLICATES);
    flow->marked += roce_stream_counter(&stream, ROCE_STREAM_CE);
  });
  const auto sent = ports_->wire.snapshot();
  if (!sent)
    return sent.error();
  add_requests(sent.get(), [&](uint32_t qp, const roce_stream &stream) {
    FlowCounts *flow = flow_of(reading, qp);
    if (!flow)
      return;
    flow->sent += roce_stream_packets(&stream);
    flow->sent_again += roce_stream_counter(&stream, ROCE_DUPLICATES);
  });
  const auto answers = ports_->sender.snapshot();
  if (!answers)
    return answers.error();
  for (const roce_stream &stream : answers.get().streams)
    if (FlowCounts *flow = flow_of(reading, roce_key_qp(&stream.key)))
      flow->cnps += roce_stream_counter(&stream, ROCE_STREAM_CNPS);
  for (const QpRate &rate : sender.qps)
    if (FlowCounts *flow = flow_of(reading, rate.qp)) {
      flow->controlled = true;
      flow->cuts += rate.cuts;
      flow->rate += rate.rate;
      flow->target += rate.target;
      flow->alpha += rate.alpha;
    }
  for (size_t i = 0, at = 0; i < reading.flows.size(); i++) {
    const size_t from = at;
    while (at < flow_of_qp_.size() && flow_of_qp_[at] == i)
      at++;
    reading.flows[i].alpha /= static_cast<double>(at - from);
  }
  for (const FlowLosses &losses : sender.losses)
    if (FlowCounts *flow = flow_of(reading, losses.qp)) {
      flow->naks += losses.naks;
      flow->timeouts += losses.timeouts;
      flow->failed += losses.failed_messages;
    }
  return reading;
}

} // namespace xr::places
