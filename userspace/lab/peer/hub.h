// SPDX-License-Identifier: Apache-2.0
// The program of a port that has a peer's tool at the other end: what comes for QPs of an exchange
// is kept for its reader, the rest is the traffic's.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "station/queue_pairs.h"

namespace xr::peer {

class Hub : public station::QpProgram {
public:
  explicit Hub(station::QueuePairs &qps) : qps_(qps) { qps_.run(this); }

  // REQs for this service get a REP; 0: none do. `exchange`: the first QP that the peer connects
  // has its exchange.
  void listen(uint64_t service, bool exchange = false);
  // QPs that the peer connected, oldest first, until they are taken.
  std::deque<uint32_t> &connected() { return connected_; }
  bool opened(uint32_t qp) const { return opened_.contains(qp) && opened_.at(qp); }
  bool refused(uint32_t qp) const { return opened_.contains(qp) && !opened_.at(qp); }
  void try_again(uint32_t qp) { opened_.erase(qp); }
  bool left(uint32_t qp) const { return !qps_.has(qp); }

  // SENDs of this QP are kept, up to `bytes` of each.
  void keep(uint32_t qp, size_t bytes);
  std::deque<std::vector<uint8_t>> &messages(uint32_t qp) { return kept_[qp]; }

  // nullptr: none.
  void traffic(station::QpProgram *traffic) { traffic_ = traffic; }
  // All QPs are closed, and nothing is kept.
  void clear();

  // During an exchange the port does not sleep, so that its callers do not wait.
  void attend(bool attends) { attends_ = attends; }

  void event(uint64_t now, const station::QpEvent &event) override;
  void wake(uint64_t now) override {
    if (traffic_ && traffic_->wake_at() <= now)
      traffic_->wake(now);
  }
  uint64_t wake_at() const override {
    return attends_ ? 0 : traffic_ ? traffic_->wake_at() : kNever;
  }
  responder::Receiver::Answer requested(const packet::CmMessage &request) override;

private:
  station::QueuePairs &qps_;
  station::QpProgram *traffic_ = nullptr;
  uint64_t service_ = 0;
  bool attends_ = false;
  bool exchange_ = false;
  std::deque<uint32_t> connected_;
  std::unordered_map<uint32_t, bool> opened_; // of those connected from here
  std::unordered_map<uint32_t, std::deque<std::vector<uint8_t>>> kept_;
};

} // namespace xr::peer
