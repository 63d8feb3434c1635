// SPDX-License-Identifier: Apache-2.0
#include "congestion/plugin_control.h"

#include <algorithm>
#include <cmath>

#include "rate/plugin_guard.h"

namespace xr::congestion {

namespace {

constexpr double kLeastRate = 1000; // bit/s: a rate of 0 would never send again

} // namespace

PluginSettings plugin_settings(const Control &control) {
  PluginGuard::install();
  PluginSettings settings{control.plugin, {}};
  for (size_t i = 0; i < control.plugin->rows().size(); i++)
    settings.parameters.push_back(control.table.value(i));
  return settings;
}

PluginControl::PluginControl(std::shared_ptr<const PluginSettings> settings, const xdp_roce_qp &qp)
    : RatedControl(qp.line), settings_(std::move(settings)),
      algorithm_(settings_->plugin->algorithm()), line_(qp.line) {
  answer_.rate = qp.line;
  answer_.window = XDP_ROCE_UNLIMITED;
  answer_.timer_ns = XDP_ROCE_NEVER;
  const PluginGuard guard(settings_->plugin->path().c_str());
  state_ = algorithm_.create(&qp, settings_->parameters.data(), &answer_);
  if (!state_)
    throw std::bad_alloc();
  take_answer(0);
  cuts_ = additive_ = 0; // it begins so
}

PluginControl::~PluginControl() {
  const PluginGuard guard(settings_->plugin->path().c_str());
  algorithm_.destroy(state_);
}

void PluginControl::take_answer(uint64_t now) {
  const double rate = std::isfinite(answer_.rate) ? std::max(answer_.rate, kLeastRate) : line_;
  if (rate != bps()) {
    (rate < bps() ? cuts_ : additive_)++;
    set_bps(now, rate);
  }
  publish(rate / 8, answer_.timer_ns);
  limit(answer_.window);
  take_path(answer_.path);
}

template <class Call> void PluginControl::call(uint64_t now, Call call) {
  {
    const PluginGuard guard(settings_->plugin->path().c_str());
    call();
  }
  take_answer(now);
}

void PluginControl::sent(uint64_t now, uint32_t frame_bytes) {
  if (algorithm_.sent)
    call(now, [&] { algorithm_.sent(state_, now, frame_bytes, &answer_); });
}

void PluginControl::acked(const Ack &ack) {
  if (algorithm_.acked)
    call(ack.now_ns, [&] { algorithm_.acked(state_, &ack, &answer_); });
}

void PluginControl::cnp(uint64_t now) {
  cnps_++;
  if (algorithm_.cnp)
    call(now, [&] { algorithm_.cnp(state_, now, &answer_); });
}

void PluginControl::lost(uint64_t now, Loss loss) {
  if (algorithm_.lost)
    call(now, [&] { algorithm_.lost(state_, now, loss, &answer_); });
}

// A timer that is set for a time that has passed fires at the next report.
void PluginControl::wake(uint64_t now) {
  if (answer_.timer_ns > now)
    return;
  answer_.timer_ns = XDP_ROCE_NEVER;
  if (algorithm_.timer)
    call(now, [&] { algorithm_.timer(state_, now, &answer_); });
  else
    take_answer(now);
  if (answer_.timer_ns <= now) { // it would be called for ever
    answer_.timer_ns = now + 1;
    take_answer(now);
  }
}

ControlState PluginControl::state(uint64_t now) const {
  ControlState state = RatedControl::state(now);
  state.cnps_unused = algorithm_.cnp ? 0 : cnps_;
  return state;
}

std::span<const char *const> PluginControl::names() const {
  return {algorithm_.values, algorithm_.value_count};
}

void PluginControl::read(uint64_t now, double *values) {
  const PluginGuard guard(settings_->plugin->path().c_str());
  algorithm_.read(state_, now, values);
}

} // namespace xr::congestion
