// SPDX-License-Identifier: Apache-2.0
#include "places/counts.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "datapath/attached_port.h"

namespace xr::places {

struct PortSnapshots {
  std::optional<datapath::AttachedPort> sender, left, right, receiver;
};

namespace {

std::array<uint32_t, 9> bits_of(const roce_key &key) {
  return std::bit_cast<std::array<uint32_t, 9>>(key);
}

void add_requests(const Snapshot &snapshot, const auto &use) {
  for (const roce_stream &stream : snapshot.streams)
    if (roce_key_kind(&stream.key) == ROCE_KIND_REQUEST)
      use(stream);
}

// Addresses and QPN of what is sent to the sender of these requests.
std::array<uint32_t, 9> answers_to(const roce_stream &requests) {
  roce_key key = requests.key;
  std::swap(key.src, key.dst);
  key.qp_kind = requests.src_qp;
  return bits_of(key);
}

std::array<uint32_t, 9> without_kind(roce_key key) {
  key.qp_kind = roce_key_qp(&key);
  return bits_of(key);
}

Result<std::optional<datapath::AttachedPort>> open_port(const RunPort &port, bool wanted = true) {
  if (!port.here() || !wanted)
    return std::optional<datapath::AttachedPort>();
  auto open = XR_TRY(datapath::AttachedPort::open({port.ifname, port.netns}));
  return std::optional(std::move(open));
}

void subtract(FlowCounts &from, const FlowCounts &before) {
  for (uint64_t FlowCounts::*count :
       {&FlowCounts::sent, &FlowCounts::sent_bytes, &FlowCounts::sent_again, &FlowCounts::received,
        &FlowCounts::received_bytes, &FlowCounts::received_again, &FlowCounts::marked,
        &FlowCounts::cnps})
    from.*count -= std::min(from.*count, before.*count);
}

} // namespace

Result<Counter> Counter::open(const Plan &plan, const RunPorts &ports) {
  auto open = std::make_unique<PortSnapshots>();
  const bool senders = ports.sender.here() && counts_cnps_at_senders(plan);
  for (const auto &[to, port, wanted] :
       {std::tuple{&open->sender, &ports.sender, senders},
        std::tuple{&open->left, &ports.left, true},
        std::tuple{&open->right, &ports.right, !senders}, // for CNPs
        std::tuple{&open->receiver, &ports.receiver, true}}) {
    auto item = XR_TRY(open_port(*port, wanted));
    *to = std::move(item);
  }
  return Counter(plan, ports.sender.here(), std::move(open));
}

Counter::Counter(const Plan &plan, bool sends_here, std::unique_ptr<PortSnapshots> ports)
    : ports_(std::move(ports)), ours_(plan.ours), sends_here_(sends_here),
      first_qp_(plan.flows.front().flow.qp) {
  for (uint32_t i = 0; i < plan.flows.size(); i++)
    flow_of_qp_.insert(flow_of_qp_.end(), plan.flows[i].flow.qps, i);
}
Counter::Counter(Counter &&) noexcept = default;
Counter::~Counter() = default;

// Other hosts' QPs are the file's in the order in which the port saw their first request.
void Counter::find_qps(const Snapshot &snapshot) {
  std::vector<std::pair<uint32_t, const roce_stream *>> fresh;
  for (size_t i = 0; i < snapshot.streams.size(); i++) {
    const roce_stream &stream = snapshot.streams[i];
    if (roce_key_kind(&stream.key) != ROCE_KIND_REQUEST)
      continue;
    if (stream.flags & ROCE_STREAM_SRC_QP)
      if (const auto found = order_.find(bits_of(stream.key)); found != order_.end())
        answers_[answers_to(stream)] = found->second;
    if (!order_.contains(bits_of(stream.key)))
      fresh.emplace_back(i < snapshot.qp_numbers.size() ? snapshot.qp_numbers[i] : 0, &stream);
  }
  std::ranges::sort(fresh);
  for (const auto &[number, stream] : fresh)
    order_.emplace(bits_of(stream->key), static_cast<uint32_t>(order_.size()));
}

FlowCounts *Counter::flow_of(Reading &reading, const roce_stream &stream) const {
  uint32_t index = roce_key_qp(&stream.key) - first_qp_;
  if (!ours_) {
    const auto found = order_.find(bits_of(stream.key));
    index = found == order_.end() ? UINT32_MAX : found->second;
  }
  return index < flow_of_qp_.size() ? &reading.flows[flow_of_qp_[index]] : nullptr;
}

// Our flows have equal QPNs at both ends.
FlowCounts *Counter::flow_with_answers(Reading &reading, const roce_stream &stream) const {
  if (ours_)
    return flow_of(reading, stream);
  const auto found = answers_.find(without_kind(stream.key));
  return found != answers_.end() && found->second < flow_of_qp_.size()
             ? &reading.flows[flow_of_qp_[found->second]]
             : nullptr;
}

// `counts`: packets are the sender's, as no port counts them.
void Counter::add_sender(Reading &reading, const SendReport &sender, bool counts) const {
  const auto with_qp = [&](uint32_t qp) -> FlowCounts * {
    const uint32_t index = qp - first_qp_;
    return index < flow_of_qp_.size() ? &reading.flows[flow_of_qp_[index]] : nullptr;
  };
  for (const QpRate &rate : sender.qps)
    if (FlowCounts *flow = with_qp(rate.qp)) {
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
    if (FlowCounts *flow = with_qp(losses.qp)) {
      flow->sent += counts ? losses.sent : 0;
      flow->naks += losses.naks;
      flow->timeouts += losses.timeouts;
      flow->failed += losses.failed_messages;
    }
}

void Counter::add_sent(Reading &reading, const Snapshot &snapshot) const {
  add_requests(snapshot, [&](const roce_stream &stream) {
    FlowCounts *flow = flow_of(reading, stream);
    if (!flow) {
      reading.other_qps++;
      return;
    }
    flow->qp = flow->qp ? flow->qp : roce_key_qp(&stream.key);
    flow->sent += roce_stream_packets(&stream);
    flow->sent_bytes += roce_stream_bytes(&stream);
    flow->sent_again += roce_stream_counter(&stream, ROCE_DUPLICATES);
  });
}

void Counter::add_received(Reading &reading, const Snapshot &snapshot, bool alone) const {
  add_requests(snapshot, [&](const roce_stream &stream) {
    FlowCounts *flow = flow_of(reading, stream);
    if (!flow) {
      reading.other_qps += alone;
      return;
    }
    flow->qp = flow->qp ? flow->qp : roce_key_qp(&stream.key);
    flow->received += roce_stream_packets(&stream);
    flow->received_bytes += roce_stream_bytes(&stream);
    flow->received_again += roce_stream_counter(&stream, ROCE_DUPLICATES);
    flow->marked += roce_stream_counter(&stream, ROCE_STREAM_CE);
  });
}

void Counter::add_answers(Reading &reading, const Snapshot &snapshot) const {
  for (const roce_stream &stream : snapshot.streams) {
    const uint64_t cnps = roce_stream_counter(&stream, ROCE_STREAM_CNPS);
    if (FlowCounts *flow = cnps ? flow_with_answers(reading, stream) : nullptr)
      flow->cnps += cnps;
    else
      reading.other_cnps += cnps;
  }
}

// The receiver first, the sender's frames last: no flow has received more than it has sent.
Result<Reading> Counter::read(const SendReport &sender) {
  Reading reading;
  reading.flows.resize(flow_of_qp_.empty() ? 0 : flow_of_qp_.back() + 1);
  std::optional<Snapshot> received, sent, answers;
  auto &answered = ports_->sender ? ports_->sender : ports_->right;
  for (const auto &[port, snapshot] :
       {std::pair{&ports_->receiver, &received}, std::pair{&ports_->left, &sent},
        std::pair{&answered, &answers}}) {
    if (*port) {
      auto item = XR_TRY((*port)->snapshot());
      *snapshot = std::move(item);
    }
    if (snapshot == &received)
      reading.t_ns = monotonic_ns();
  }
  reading.counted = sent || received;
  if (!ours_ && reading.counted)
    find_qps(sent ? *sent : *received);
  if (received)
    add_received(reading, *received, !sent);
  if (sent)
    add_sent(reading, *sent);
  if (answers)
    add_answers(reading, *answers);
  add_sender(reading, sender, !sent);
  reading.frames = sender.counts.packets;
  for (size_t i = 0; i < reading.flows.size(); i++) {
    FlowCounts &flow = reading.flows[i];
    if (!received) {
      flow.received = flow.sent;
      flow.received_bytes = flow.sent_bytes;
      flow.received_again = flow.sent_again;
    }
    if (i < before_.size())
      subtract(flow, before_[i]);
    if (!sent && !sends_here_)
      reading.frames += flow.received;
  }
  return reading;
}

} // namespace xr::places
