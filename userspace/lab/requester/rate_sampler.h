// SPDX-License-Identifier: Apache-2.0
// A requester whose QPs' rates are sampled at even times.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "requester/requester.h"

namespace xr::requester {

struct RateSample {
  uint64_t time; // of the call that took it: up to a call late
  uint32_t qp;
  float alpha;
  double rate, target; // bit/s
};

class RateSampler : public Requester {
public:
  // At most `rows` samples are kept; more are counted. A sample is of the first `most` QPs.
  RateSampler(std::unique_ptr<Requester> of, uint64_t interval_ns, size_t most, size_t rows)
      : of_(std::move(of)), interval_(interval_ns), most_(most), rows_(rows) {}

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override {
    of_->receive(now, frame, class_, packet);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return of_->done(); }
  const VerifyCounts *verified() const override { return of_->verified(); }
  const CmCounts *cm() const override { return of_->cm(); }
  size_t last(std::span<packet::Outgoing> out) override { return of_->last(out); }
  const SendCounts &counts() const override { return of_->counts(); }
  double asked_pps() const override { return of_->asked_pps(); }
  uint64_t expected() const override { return of_->expected(); }
  uint64_t over() const override { return of_->over(); }
  void qp_rates(uint64_t now, std::vector<QpRate> &rows) override { of_->qp_rates(now, rows); }

  void obey(const packet::Pauses &pauses) override { of_->obey(pauses); }

  const std::vector<RateSample> &samples() const { return samples_; }
  uint64_t dropped() const { return dropped_; }

private:
  void sample(uint64_t now);

  std::unique_ptr<Requester> of_;
  uint64_t interval_, next_ = 0, dropped_ = 0;
  size_t most_, rows_;
  std::vector<RateSample> samples_;
  std::vector<QpRate> rates_;
};

} // namespace xr::requester
