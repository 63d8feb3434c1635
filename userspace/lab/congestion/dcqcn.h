// SPDX-License-Identifier: Apache-2.0
// DCQCN's reaction point for one QP. Which variant is in DcqcnSettings: the paper's (SIGCOMM'15),
// the two ns-3 models', or a NIC's. Timers are not scheduled: each call makes up for those that
// have passed, so an idle QP costs nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "congestion/rate_control.h"

namespace xr::congestion {

class Dcqcn final : public RateControl {
public:
  // A QP starts at the line's rate; nothing limits or counts it before the first CNP.
  explicit Dcqcn(std::shared_ptr<const DcqcnSettings> settings);

  void start(uint64_t now) override;
  void sent(uint64_t now, uint32_t frame_bytes) override;
  void cnp(uint64_t now) override;
  void wake(uint64_t now) override {
    if (now >= next_event())
      catch_up(now);
  }
  ControlState state(uint64_t now) const override;

private:
  enum class Increase : uint8_t { Fast, Additive, Hyper };
  enum class Source : uint8_t { Timer, Bytes };

  uint64_t next_event() const { return timer_at_ < cut_at_ ? timer_at_ : cut_at_; }
  void catch_up(uint64_t now);
  void publish_rate();
  void react(uint64_t now);
  void skip_timer(uint64_t now);
  void begin(uint64_t now);
  void start_rate(uint64_t now);
  void first_cnp(uint64_t now);
  void restart(uint64_t now);
  bool set_first_rate(uint64_t now);
  void cut(uint64_t now);
  bool clamps() const;
  double less(double rate) const;
  void count_and_increase(uint64_t now, Source source);
  void increase(uint64_t now, Increase stage, uint32_t i);
  Increase stage_of(Source source, uint32_t &i);
  Increase ns3_stage(Source source, uint32_t &i);
  bool first_increase() const;

  void move_alpha(uint64_t now);
  void raise_alpha();
  void lower_alpha(uint64_t times);
  void set_rate(uint64_t now, double rate);
  double whole(double rate) const;

  std::shared_ptr<const DcqcnSettings> settings_;
  double rate_, target_; // bit/s
  double area_ = 0;      // integral of the rate, bit
  uint64_t since_ = 0;   // `area_` is up to then
  double alpha_ = 0;
  uint32_t alpha_1024_ = 0; // instead of `alpha_`, in whole 1/1024
  uint32_t timer_stage_ = 0, byte_stage_ = 0;
  uint64_t timer_at_ = kNever; // the next increase by the timer
  uint64_t cut_at_ = kNever;   // CutAt::Tick: a CNP came, and the rate is cut then
  uint64_t alpha_at_ = kNever; // the next time when alpha moves by its timer
  uint64_t first_tick_ = 0;    // of the monitor period
  uint64_t last_cut_ = 0, last_sent_ = 0;
  int64_t bytes_left_ = 0;
  uint32_t cnps_ = 0, cuts_ = 0, unused_ = 0, fast_ = 0, additive_ = 0, hyper_ = 0;
  uint8_t ns3_state_ = 0; // an Increase
  bool active_ = false;   // timers run: after the first CNP, or from a start below the line's rate
  bool had_cnp_ = false;
  bool ever_cut_ = false;
  bool alpha_cnp_ = false; // a CNP came since the last move of alpha
  bool settled_ = false;   // the timer changes nothing more
};

} // namespace xr::congestion
