// SPDX-License-Identifier: Apache-2.0
#include "lossy_path.h"

#include <deque>
#include <queue>
#include <random>
#include <set>
#include <vector>

namespace xr::test {

namespace {

enum class What { Send, Observer, Responder, NakPasses, Ack, Nak, Timer };

struct Event {
  int64_t at;
  uint64_t order;
  What what;
  uint32_t psn;

  bool operator>(const Event &other) const {
    return at != other.at ? at > other.at : order > other.order;
  }
};

class Run {
public:
  Run(const LossyPath &path, uint64_t seed, const std::function<void(uint32_t)> &packet,
      const std::function<void(uint32_t)> &nak)
      : path_(path), rng_(seed), packet_(packet), nak_(nak) {}

  PathLosses run() {
    in(0, What::Send, 0);
    in(path_.timeout, What::Timer, 0);
    for (uint64_t budget = 4'000'000; acked_ < total() && budget; budget--) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      handle(event);
    }
    return losses_;
  }

private:
  uint32_t total() const { return static_cast<uint32_t>(path_.packets); }
  bool chance(double p) { return p > 0 && std::uniform_real_distribution<>()(rng_) < p; }
  void in(int64_t delay, What what, uint32_t psn) {
    events_.push({now_ + delay, order_++, what, psn});
  }

  void handle(const Event &event) {
    switch (event.what) {
    case What::Send:
      in(1, What::Send, 0);
      return send();
    case What::Observer:
      losses_.passed++;
      packet_(event.psn);
      if (chance(path_.lost_after))
        losses_.after++;
      else
        in(path_.to_responder, What::Responder, event.psn);
      return;
    case What::Responder:
      return respond(event.psn);
    case What::NakPasses:
      return nak_(event.psn);
    case What::Ack:
      acked_ = std::max(acked_, event.psn);
      next_ = std::max(next_, acked_);
      touched_ = now_;
      return;
    case What::Nak:
      return go_back(event.psn);
    case What::Timer:
      in(path_.timeout / 4, What::Timer, 0);
      if (acked_ < sent_ && now_ - touched_ >= path_.timeout)
        go_back(acked_);
      return;
    }
  }

  void send() {
    const bool alone = !again_.empty();
    uint32_t psn = next_;
    if (alone) {
      psn = again_.front();
      again_.pop_front();
    } else if (next_ < total() && next_ < acked_ + static_cast<uint32_t>(path_.window)) {
      next_++;
      sent_ = std::max(sent_, next_);
    } else {
      return;
    }
    touched_ = now_;
    if (chance(path_.lost_before)) {
      losses_.before++;
      if (alone)
        losses_.hidden++;
      else
        in_a_row_++;
      return;
    }
    if (!alone)
      in_a_row_ = 0;
    int64_t delay = path_.to_observer;
    if (chance(path_.late)) {
      delay += std::uniform_int_distribution<>(2, path_.late_by)(rng_);
      losses_.late++;
    }
    in(delay, What::Observer, psn);
  }

  void respond(uint32_t psn) {
    if (psn == expected_) {
      expected_++;
      naked_ = false;
      while (early_.erase(expected_))
        expected_++;
      if (expected_ - last_ack_ >= static_cast<uint32_t>(path_.ack_every) || expected_ == total())
        ack();
    } else if (psn < expected_) {
      ack();
    } else if (path_.selective) {
      early_.insert(psn);
    }
    if (psn != expected_ && !naked_ && !path_.silent && (psn > expected_ || !early_.empty()))
      refuse();
  }

  void ack() {
    last_ack_ = expected_;
    if (!chance(path_.acks_lost))
      in(path_.to_requester, What::Ack, expected_);
  }

  void refuse() {
    naked_ = true;
    if (chance(path_.naks_lost))
      return;
    in(1, What::NakPasses, expected_);
    in(path_.to_requester, What::Nak, expected_);
  }

  void go_back(uint32_t psn) {
    acked_ = std::max(acked_, psn);
    touched_ = now_;
    if (path_.selective) {
      again_.push_back(psn);
      return;
    }
    losses_.hidden += in_a_row_;
    in_a_row_ = 0;
    next_ = psn;
  }

  LossyPath path_;
  std::mt19937_64 rng_;
  const std::function<void(uint32_t)> &packet_, &nak_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t order_ = 0;
  int64_t now_ = 0, touched_ = 0;
  uint32_t next_ = 0, sent_ = 0, acked_ = 0; // the requester
  std::deque<uint32_t> again_;               // selective repeat
  uint64_t in_a_row_ = 0;                    // lost since one passed in this round
  uint32_t expected_ = 0, last_ack_ = 0;     // the responder
  std::set<uint32_t> early_;
  bool naked_ = false;
  PathLosses losses_;
};

} // namespace

PathLosses run_lossy_path(const LossyPath &path, uint64_t seed,
                          const std::function<void(uint32_t)> &packet,
                          const std::function<void(uint32_t)> &nak) {
  return Run(path, seed, packet, nak).run();
}

} // namespace xr::test
