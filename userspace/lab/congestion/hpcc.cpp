// SPDX-License-Identifier: Apache-2.0
#include "congestion/hpcc.h"

#include <algorithm>

namespace xr::congestion {

namespace {

constexpr uint64_t kUsualRtt = 13'000; // ns, of the paper's network, where nothing is known
// Bits of IntHop in HPCC's simulator. Times and counters wrap; a queue beyond its bits is the
// largest one.
constexpr uint64_t kTimeMask = (1U << 24) - 1, kBytesMask = (1U << 20) - 1,
                   kMostQueue = (1U << 17) - 1;

} // namespace

Hpcc::Hpcc(std::shared_ptr<const HpccSettings> settings, const xdp_roce_qp &qp)
    : RatedControl(settings->line), settings_(std::move(settings)), base_(settings_->line),
      least_window_(qp.payload) {
  base_rtt_ns_ = settings_->base_rtt_ns ? settings_->base_rtt_ns : qp.base_rtt_ns;
  if (!base_rtt_ns_)
    base_rtt_ns_ = kUsualRtt;
  bdp_ = settings_->line / 8 * static_cast<double>(base_rtt_ns_) * 1e-9;
  set_rate(0, settings_->line);
}

void Hpcc::set_rate(uint64_t now, double rate) {
  set_bps(now, rate);
  const double window = settings_->vary_window ? bdp_ * rate / settings_->line : bdp_;
  limit(std::max<uint64_t>(static_cast<uint64_t>(window), least_window_));
}

Hpcc::Difference Hpcc::difference(const xdp_roce_hop &hop, const xdp_roce_hop &before) const {
  const uint64_t queue = std::min(hop.queue_bytes, before.queue_bytes);
  if (!settings_->int_bytes_unit) // exact; an older report says nothing
    return {hop.time_ns - std::min(before.time_ns, hop.time_ns), hop.tx_bytes - before.tx_bytes,
            queue};
  const uint64_t unit = settings_->int_bytes_unit, queue_unit = settings_->int_queue_unit;
  return {(hop.time_ns - before.time_ns) & kTimeMask,
          ((hop.tx_bytes / unit - before.tx_bytes / unit) & kBytesMask) * unit,
          std::min(queue / queue_unit, kMostQueue) * queue_unit};
}

Hpcc::Busiest Hpcc::busiest(const Ack &ack) const {
  Busiest busiest;
  for (uint32_t i = 0; i < ack.hop_count && i < hop_count_; i++) {
    const xdp_roce_hop &hop = ack.hops[i], &before = hops_[i];
    const auto [tau, bytes, queue] = difference(hop, before);
    if (!tau || hop.time_ns < before.time_ns)
      continue;
    const double rate = static_cast<double>(bytes) * 8e9 / static_cast<double>(tau);
    const double u =
        rate / hop.rate + static_cast<double>(queue) * settings_->line / hop.rate / bdp_;
    if (u > busiest.utilisation)
      busiest = {u, tau};
  }
  return busiest;
}

// Each ACK sets the rate; the base that the next ones begin with changes once an RTT.
void Hpcc::update(const Ack &ack, bool new_round) {
  const HpccSettings &s = *settings_;
  const Busiest seen = busiest(ack);
  if (!seen.tau_ns)
    return;
  const double T = static_cast<double>(base_rtt_ns_),
               tau = std::min(static_cast<double>(seen.tau_ns), T);
  utilisation_ = (utilisation_ * (T - tau) + seen.utilisation * tau) / T;
  const double over = utilisation_ / s.eta;
  const bool multiplies = over >= 1 || stage_ >= s.max_stage;
  const double rate = std::clamp((multiplies ? base_ / over : base_) + s.ai, s.min_rate, s.line);
  if (new_round) {
    (rate < base_ ? cuts_ : additive_)++;
    base_ = rate;
    stage_ = multiplies ? 0 : stage_ + 1;
  }
  if (new_round || s.fast_react)
    set_rate(ack.now_ns, rate);
}

void Hpcc::acked(const Ack &ack) {
  if (!ack.hop_count)
    return;
  const bool new_round = ack.acked > round_end_;
  if (round_end_ && (new_round || settings_->fast_react))
    update(ack, new_round);
  if (new_round)
    round_end_ = ack.sent;
  hop_count_ = std::min(ack.hop_count, kMostHops);
  std::copy_n(ack.hops, hop_count_, hops_.begin());
}

ControlState Hpcc::state(uint64_t now) const {
  ControlState state = RatedControl::state(now);
  state.target = base_;
  return state;
}

std::span<const char *const> Hpcc::names() const {
  static constexpr const char *kNames[] = {"utilisation"};
  return kNames;
}

void Hpcc::read(uint64_t, double *values) { values[0] = utilisation_; }

} // namespace xr::congestion
