// SPDX-License-Identifier: Apache-2.0
#include "congestion/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace xr::congestion {

namespace {

constexpr double kNs = 1e-9;
// A tick of the monitor period is that much after the CNP's own time, so that a CNP at the very
// tick counts, and alpha moves first (HPCC rdma-hw.cc, cnp_received_mlx).
constexpr uint64_t kAfter = 1;
// ns3-rdma AdjustRates: a target above 10 x rate is divided by 8.
constexpr double kFarTarget = 10, kEighth = 8;

} // namespace

Dcqcn::Dcqcn(std::shared_ptr<const DcqcnSettings> settings)
    : settings_(std::move(settings)),
      rate_(settings_->start > 0 ? settings_->start : settings_->line), target_(rate_) {
  publish_rate();
}

void Dcqcn::start(uint64_t now) {
  since_ = last_sent_ = now;
  area_ = 0;
  start_rate(now);
}

// Below the line's rate it increases from the start.
void Dcqcn::start_rate(uint64_t now) {
  const DcqcnSettings &s = *settings_;
  target_ = s.start > 0 ? s.start : s.line;
  set_rate(now, target_);
  if (rate_ < s.line)
    begin(now);
  publish_rate();
}

double Dcqcn::whole(double rate) const {
  const double step = settings_->step;
  return step > 0 ? std::floor(rate / step) * step : rate;
}

void Dcqcn::set_rate(uint64_t now, double rate) {
  if (now > since_) {
    area_ += rate_ * static_cast<double>(now - since_);
    since_ = now;
  }
  rate_ = rate;
}

void Dcqcn::sent(uint64_t now, uint32_t frame_bytes) {
  wake(now);
  const DcqcnSettings &s = *settings_;
  if (s.idle_ns && active_ && now - last_sent_ >= s.idle_ns) { // starts again as a new QP
    active_ = had_cnp_ = settled_ = false;
    timer_at_ = cut_at_ = alpha_at_ = kNever;
    start_rate(now);
  }
  last_sent_ = now;
  if (!s.bytes || !active_)
    return;
  bytes_left_ -= frame_bytes;
  if (bytes_left_ > 0)
    return;
  bytes_left_ += s.hyper_halves && ns3_state_ == uint8_t(Increase::Hyper) ? s.bytes / 2 : s.bytes;
  count_and_increase(now, Source::Bytes);
  publish_rate();
}

void Dcqcn::publish_rate() {
  const bool timer_moves = !settled_ && rate_ < settings_->line;
  publish(rate_ / 8, timer_moves ? next_event() : cut_at_);
}

void Dcqcn::catch_up(uint64_t now) {
  while (next_event() <= now) {
    if (cut_at_ <= timer_at_) {
      const uint64_t at = cut_at_;
      cut_at_ = kNever;
      cut(at);
      continue;
    }
    if (settled_) {
      skip_timer(std::min(now, cut_at_));
      continue;
    }
    const uint64_t at = timer_at_;
    const bool halves = settings_->hyper_halves && ns3_state_ == uint8_t(Increase::Hyper);
    timer_at_ += halves ? settings_->timer_ns / 2 : settings_->timer_ns;
    count_and_increase(at, Source::Timer);
  }
  publish_rate();
}

// The timer only counts: all its times up to `now` at once.
void Dcqcn::skip_timer(uint64_t now) {
  const uint64_t times = (now - timer_at_) / settings_->timer_ns + 1;
  timer_at_ += times * settings_->timer_ns;
  timer_stage_ = static_cast<uint32_t>(std::min<uint64_t>(timer_stage_ + times, UINT32_MAX / 2));
}

void Dcqcn::cnp(uint64_t now) {
  wake(now);
  react(now);
  publish_rate();
}

void Dcqcn::react(uint64_t now) {
  const DcqcnSettings &s = *settings_;
  cnps_++;
  move_alpha(now); // without this CNP
  const bool first = !had_cnp_;
  if (first)
    first_cnp(now);
  const bool set = first && set_first_rate(now);
  if (s.cut_at == CutAt::Tick) {
    if (!first)
      alpha_cnp_ = true;
    if (cut_at_ != kNever) {
      unused_++;
      return;
    }
    const uint64_t period = std::max<uint64_t>(s.monitor_ns, 1);
    cut_at_ =
        now < first_tick_ ? first_tick_ : first_tick_ + ((now - first_tick_) / period + 1) * period;
    return;
  }
  if (set)
    return;
  if (s.monitor_ns && ever_cut_ && now - last_cut_ < s.monitor_ns) {
    unused_++;
    return;
  }
  alpha_cnp_ = true;
  cut(now);
}

// From here on timers run and bytes count.
void Dcqcn::begin(uint64_t now) {
  active_ = true;
  restart(now);
  bytes_left_ = settings_->bytes;
}

void Dcqcn::first_cnp(uint64_t now) {
  const DcqcnSettings &s = *settings_;
  had_cnp_ = true;
  alpha_ = s.alpha_initial;
  alpha_1024_ = s.alpha_initial_1024;
  alpha_at_ = now + s.alpha_timer_ns;
  alpha_cnp_ = false;
  first_tick_ = now + s.monitor_ns + kAfter;
  begin(now);
}

// Resets the stages and the rate timer.
void Dcqcn::restart(uint64_t now) {
  timer_stage_ = byte_stage_ = 0;
  ns3_state_ = uint8_t(Increase::Fast);
  timer_at_ = now + settings_->timer_ns;
  settled_ = false;
}

bool Dcqcn::set_first_rate(uint64_t now) {
  const DcqcnSettings &s = *settings_;
  if (s.first_rate <= 0 && s.first_part <= 0)
    return false;
  const double rate = s.first_part > 0 ? rate_ * s.first_part : s.first_rate;
  set_rate(now, whole(std::clamp(rate, s.min_rate, s.line)));
  target_ = rate_;
  return true;
}

// ns3-rdma rpr_cnm_received; HPCC CheckRateDecreaseMlx; NVIDIA CLAMP_TGT_RATE and _AFTER_TIME_INC.
bool Dcqcn::clamps() const {
  return settings_->clamp || byte_stage_ || (settings_->clamp_after_time && timer_stage_);
}

double Dcqcn::less(double rate) const {
  const DcqcnSettings &s = *settings_;
  double cut;
  if (s.alpha_integer) {
    const double step = s.step > 0 ? s.step : 1;
    const auto units = static_cast<uint64_t>(rate / step);
    cut = static_cast<double>(units * alpha_1024_ >> s.gd) * step;
  } else {
    cut = rate * std::ldexp(alpha_, 10 - static_cast<int>(s.gd));
  }
  return std::max({whole(rate - cut), whole(rate * s.keep), s.min_rate});
}

void Dcqcn::cut(uint64_t now) {
  const DcqcnSettings &s = *settings_;
  move_alpha(now);
  const bool clamped = clamps();
  if (clamped)
    target_ = rate_;
  if (s.stages != Stages::Ns3 || clamped)
    bytes_left_ = s.bytes;
  if (s.alpha_update == AlphaUpdate::AlphaFirst)
    raise_alpha();
  set_rate(now, std::min(rate_, less(rate_)));
  if (s.alpha_update == AlphaUpdate::CutFirst)
    raise_alpha();
  if (s.alpha_update != AlphaUpdate::Timer)
    alpha_at_ = now + s.alpha_timer_ns;
  restart(now);
  last_cut_ = now;
  ever_cut_ = true;
  cuts_++;
}

void Dcqcn::count_and_increase(uint64_t now, Source source) {
  uint32_t i = 1;
  const Increase stage = stage_of(source, i);
  increase(now, stage, i);
}

// The stage of an increase; counts it. `i` is what Hyper::TimesI multiplies by.
Dcqcn::Increase Dcqcn::stage_of(Source source, uint32_t &i) {
  const DcqcnSettings &s = *settings_;
  if (s.stages == Stages::Ns3)
    return ns3_stage(source, i);
  uint32_t &own = source == Source::Timer ? timer_stage_ : byte_stage_;
  if (s.stages == Stages::CountAfter) { // HPCC RateIncEventMlx
    const uint32_t before = own++;
    i = before > s.threshold ? before - s.threshold : 1;
    return before < s.threshold    ? Increase::Fast
           : before == s.threshold ? Increase::Additive
                                   : Increase::Hyper;
  }
  own++;
  if (std::max(timer_stage_, byte_stage_) < s.threshold)
    return Increase::Fast;
  const uint32_t both = std::min(timer_stage_, byte_stage_);
  if (both <= s.threshold)
    return Increase::Additive;
  i = both - s.threshold;
  return Increase::Hyper;
}

// rpr_fast_*, rpr_active_*, rpr_hyper_* of ns3-rdma: once additive, a byte event stays additive;
// only a timer event chooses again, and hyper needs both counters at F.
Dcqcn::Increase Dcqcn::ns3_stage(Source source, uint32_t &i) {
  const uint32_t f = settings_->threshold;
  uint32_t &own = source == Source::Timer ? timer_stage_ : byte_stage_;
  own++;
  auto state = static_cast<Increase>(ns3_state_);
  if (state == Increase::Fast && own < f) {
    ns3_state_ = uint8_t(Increase::Fast);
    return Increase::Fast;
  }
  const bool chooses =
      state == Increase::Fast || (state == Increase::Additive && source == Source::Timer);
  const uint32_t both = std::min(timer_stage_, byte_stage_);
  if (chooses)
    state = both < f ? Increase::Additive : Increase::Hyper;
  ns3_state_ = uint8_t(state);
  if (state == Increase::Hyper)
    i = both - f + 1;
  return state;
}

bool Dcqcn::first_increase() const { return byte_stage_ == 1 || timer_stage_ == 1; }

void Dcqcn::increase(uint64_t now, Increase stage, uint32_t i) {
  const DcqcnSettings &s = *settings_;
  const double rate = rate_, target = target_;
  const double step = stage == Increase::Fast       ? 0
                      : stage == Increase::Additive ? s.rai
                      : s.hyper == Hyper::TimesI    ? s.rhai * i
                                                    : s.rhai;
  if (s.target_eighth && first_increase() && target_ > kFarTarget * rate_)
    target_ /= kEighth;
  else
    target_ += step;
  if (s.cap_target)
    target_ = std::min(target_, s.line);
  target_ = whole(target_);
  // Each half is rounded, as ns-3 does.
  set_rate(now, std::min(whole(rate_ / 2) + whole(target_ / 2), s.line));
  rate_ = std::max(rate_, std::min(rate, s.line));
  const bool at_line = target_ == target && target_ >= whole(s.line) && s.cap_target;
  // At the line's rate a target without a cap still grows; with clamp the next cut forgets it.
  const bool no_matter = s.clamp && rate_ >= s.line;
  settled_ = (at_line && rate_ == rate && stage != Increase::Fast) || no_matter;
  if (rate >= s.line)
    return; // nothing was increased
  (stage == Increase::Fast ? fast_ : stage == Increase::Additive ? additive_ : hyper_)++;
}

// Alpha moves by its timer for all its times up to `now`.
void Dcqcn::move_alpha(uint64_t now) {
  if (now < alpha_at_)
    return;
  const uint64_t period = std::max<uint64_t>(settings_->alpha_timer_ns, 1);
  uint64_t times = (now - alpha_at_) / period + 1;
  alpha_at_ += times * period;
  if (settings_->alpha_update == AlphaUpdate::Timer && alpha_cnp_) {
    raise_alpha();
    alpha_cnp_ = false;
    times--;
  }
  lower_alpha(times);
}

void Dcqcn::raise_alpha() {
  const DcqcnSettings &s = *settings_;
  if (s.alpha_integer)
    alpha_1024_ = (alpha_1024_ * s.weight_1024 >> 10) + 1024 - s.weight_1024;
  else
    alpha_ = (1 - s.g) * alpha_ + s.g;
}

void Dcqcn::lower_alpha(uint64_t times) {
  const DcqcnSettings &s = *settings_;
  if (s.alpha_integer) {
    for (; times && alpha_1024_; times--)
      alpha_1024_ = alpha_1024_ * s.weight_1024 >> 10;
    return;
  }
  // Squaring instead of pow(): the same bits on every machine.
  double factor = 1 - s.g;
  for (; times; times >>= 1) {
    if (times & 1)
      alpha_ *= factor;
    factor *= factor;
  }
}

ControlState Dcqcn::state(uint64_t now) const {
  Dcqcn then(*this);
  then.wake(now);
  if (had_cnp_)
    then.move_alpha(now);
  then.set_rate(now, then.rate_);
  ControlState state;
  state.rate = then.rate_;
  state.target = then.target_;
  state.alpha = !had_cnp_                  ? settings_->alpha_initial
                : settings_->alpha_integer ? then.alpha_1024_ / 1024.0
                                           : then.alpha_;
  state.rate_seconds = then.area_ * kNs;
  state.cnps = then.cnps_;
  state.cuts = then.cuts_;
  state.cnps_unused = then.unused_;
  state.fast = then.fast_;
  state.additive = then.additive_;
  state.hyper = then.hyper_;
  return state;
}

} // namespace xr::congestion
