// SPDX-License-Identifier: Apache-2.0
#include "requester/open.h"

#include <algorithm>
#include <optional>

#include "packet/icrc.h"
#include "packet/peer_map.h"
#include "requester/open_flow.h"

namespace xr::requester {

namespace {

// The order of flows: earliest due time, then least recently served.
struct Turn {
  uint64_t due;
  uint32_t turn;
  uint32_t flow;

  bool before(const Turn &other) const {
    return due != other.due ? due < other.due : static_cast<int32_t>(turn - other.turn) < 0;
  }
};

// Restores a binary heap after a change of its root.
void sift(std::vector<Turn> &heap) {
  const Turn moved = heap.front();
  const size_t size = heap.size();
  size_t hole = 0;
  for (size_t child = 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && heap[child + 1].before(heap[child]))
      child++;
    if (!heap[child].before(moved))
      break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = moved;
}

} // namespace

struct OpenSource::State {
  std::vector<std::unique_ptr<OpenFlow>> flows;
  std::vector<Turn> heap;
  std::optional<congestion::Pacer> total;
  SendCounts counts;
  bool check_icrc = true;
  bool started = false;
  uint32_t turn = 0;

  std::vector<OpenFlow *> controlled; // flows with rate control

  const packet::Pauses *pauses = nullptr;
  uint64_t pauses_seen = 0; // changes of them that the heap knows

  void start(uint64_t now);
  void list();
  void list_anew();
  void cnp(uint64_t now, const roce_packet &packet);
  void took_turn(uint64_t now);
  bool due(uint64_t now) const {
    return heap.front().due <= now && (!total || total->due() <= now);
  }
};

// Passes a CNP to the rate control of its QP.
void OpenSource::State::cnp(uint64_t now, const roce_packet &packet) {
  for (OpenFlow *flow : controlled)
    if (flow->flow().path.dst == packet::source_of(packet))
      flow->cnp(now, roce_key_qp(&packet.key));
}

void OpenSource::State::start(uint64_t now) {
  started = true;
  if (total)
    total->start(now);
  for (const auto &flow : flows) {
    flow->start(now);
    heap.push_back({flow->due(), turn, turn});
    turn++;
  }
  list();
}

void OpenSource::State::list() {
  std::make_heap(heap.begin(), heap.end(),
                 [](const Turn &a, const Turn &b) { return b.before(a); });
}

// A pause began or ended.
void OpenSource::State::list_anew() {
  pauses_seen = pauses->changes();
  for (Turn &turn : heap)
    turn.due = flows[turn.flow]->due();
  list();
}

// An unpaced flow is due at the time of its last turn, after all late flows.
void OpenSource::State::took_turn(uint64_t now) {
  Turn &root = heap.front();
  const OpenFlow &flow = *flows[root.flow];
  const uint64_t due = flow.due();
  root.turn = turn++;
  root.due = flow.top() ? std::max(due, now) : due;
  if (due == kNever) {
    root = heap.back();
    heap.pop_back();
  }
  if (heap.size() > 1)
    sift(heap);
}

OpenSource::OpenSource(std::vector<flow::Flow> flows, const congestion::Rate &total,
                       double line_bits, bool check_icrc, bool headers_only)
    : state_(std::make_unique<State>()) {
  state_->check_icrc = check_icrc;
  for (flow::Flow &flow : flows)
    if (OpenFlow &added = *state_->flows.emplace_back(
            std::make_unique<OpenFlow>(std::move(flow), line_bits, headers_only));
        added.controlled())
      state_->controlled.push_back(&added);
  if (total.kind == congestion::Rate::Kind::Top)
    return;
  congestion::Pacing pacing;
  pacing.rate = total;
  state_->total.emplace(pacing, line_bits, 0);
}

OpenSource::~OpenSource() = default;

void OpenSource::receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                         const roce_packet &packet) {
  if (!roce_is_roce(class_) || packet.cut || !(packet.info & (ROCE_OP_CNP | ROCE_OP_ACK)))
    return;
  SendCounts &counts = state_->counts;
  if (state_->check_icrc &&
      icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), packet) != Icrc::Good) {
    counts.bad_icrc_received++;
    return;
  }
  if (packet.info & ROCE_OP_CNP) {
    counts.cnps++;
    state_->cnp(now, packet);
  }
  if (!(packet.info & ROCE_OP_ACK))
    return;
  switch (ROCE_SYNDROME_TYPE(packet.syndrome)) {
  case ROCE_ACK:
    counts.acks++;
    break;
  case ROCE_RNR_NAK:
    counts.rnr_naks++;
    break;
  case ROCE_NAK:
    count_nak(counts, ROCE_SYNDROME_VALUE(packet.syndrome));
    break;
  default:
    break;
  }
}

size_t OpenSource::next(uint64_t now, std::span<packet::Outgoing> out) {
  State &state = *state_;
  if (!state.started)
    state.start(now);
  if (state.pauses && state.pauses->changes() != state.pauses_seen)
    state.list_anew();
  if (state.heap.size() == 1 && !state.total) { // a single flow needs no scheduling
    const size_t filled = state.flows[state.heap.front().flow]->run(now, out, state.counts);
    state.took_turn(now);
    return filled;
  }
  size_t filled = 0;
  unsigned idle = 0;
  while (filled < out.size() && !state.heap.empty() && state.due(now)) {
    OpenFlow &flow = *state.flows[state.heap.front().flow];
    const uint64_t due = flow.due();
    const uint32_t bytes = flow.step(now, out[filled], state.counts);
    state.took_turn(now);
    if (bytes)
      filled++;
    else if (++idle == OpenFlow::kMostIdle)
      break;
    if (bytes && state.total) {
      // The total rate must not become late while no flow is due.
      state.total->not_before(flow.top() ? 0 : due);
      state.total->sent(now, bytes);
    }
  }
  return filled;
}

uint64_t OpenSource::wake_at() const {
  if (!state_->started)
    return 0;
  if (state_->heap.empty())
    return kNever;
  const uint64_t due = state_->heap.front().due;
  return state_->total ? std::max(due, state_->total->due()) : due;
}

bool OpenSource::done() const {
  return state_->started ? state_->heap.empty() : state_->flows.empty();
}

const SendCounts &OpenSource::counts() const {
  uint64_t slipped = state_->total ? state_->total->slipped_ns() : 0;
  for (const auto &flow : state_->flows)
    slipped += flow->slipped_ns();
  state_->counts.slipped_ns = slipped;
  return state_->counts;
}

double OpenSource::asked_pps() const {
  double sum = 0, bytes = 0;
  bool top = false;
  for (const auto &flow : state_->flows) {
    const double pps = flow->asked_pps();
    top = top || pps == 0;
    sum += pps;
    bytes += flow->frame_bytes();
  }
  if (state_->flows.empty() || !state_->total)
    return top ? 0 : sum;
  const double total = state_->total->asked_pps(bytes / static_cast<double>(state_->flows.size()));
  return top ? total : std::min(total, sum);
}

void OpenSource::qp_rates(uint64_t now, std::vector<QpRate> &rows) {
  if (!state_->started)
    return;
  for (OpenFlow *flow : state_->controlled)
    flow->qp_rates(now, rows);
}

void OpenSource::control_values(uint64_t now, congestion::ControlValues &values) {
  if (!state_->started)
    return;
  for (OpenFlow *flow : state_->controlled)
    flow->control_values(now, values);
}

void OpenSource::flow_losses(std::vector<FlowLosses> &rows) const {
  for (const auto &flow : state_->flows)
    if (flow->sent())
      rows.push_back({.qp = flow->flow().dest_qp(0), .sent = flow->sent()});
}

void OpenSource::obey(const packet::Pauses &pauses) {
  state_->pauses = &pauses;
  for (const auto &flow : state_->flows)
    flow->obey(pauses);
}

uint64_t OpenSource::expected() const {
  uint64_t sum = 0;
  for (const auto &flow : state_->flows) {
    const uint64_t packets = flow->packets_to_come();
    if (!packets)
      return 0;
    sum += packets;
  }
  return sum;
}

} // namespace xr::requester
