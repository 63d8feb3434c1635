// SPDX-License-Identifier: Apache-2.0
// The packets of two places that are not decided yet, in the order of a common clock. A packet is
// decided when it is `window_ns` old: what belongs to it has then been seen. In bounded memory: a
// ring of sights, of which the oldest is decided early when there is no room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "compare/alignment.h"
#include "compare/assign.h"
#include "compare/sight.h"

namespace xr::compare {

class Window {
public:
  // Receives what was decided, in the order in which packets passed the second place on their way.
  class Judge {
  public:
    virtual ~Judge() = default;
    virtual void matched(const Sight &to, const Mark &from) = 0;
    virtual void lost(const Sight &from) = 0; // at the first place only
    // At the next place only; `copy`: it had arrived before.
    virtual void extra(const Sight &to, bool copy) = 0;
  };

  struct Options {
    uint64_t window_ns = 1'000'000'000;
    size_t sights = 1 << 20; // capacity, rounded down to a power of two
  };
  // `shift_ns` is added to times of the first place (0) for the common clock.
  Window(const Options &options, int64_t shift_ns, Judge &judge);

  // Before the first packet of a stream.
  void set_stream(uint32_t stream, const Path &path);
  bool has_stream(uint32_t stream) const {
    return stream < streams_.size() && streams_[stream].known;
  }

  void add(unsigned place, const Sight &sight);
  void finish(); // decides all

  uint64_t decided_early() const { return decided_early_; }
  uint64_t least_window_ns() const { return least_window_ns_; }

  static size_t bytes_per_sight(); // with its share of the index

private:
  enum class State : uint8_t { Open, Met, Done };
  static constexpr uint32_t kNone = 0;

  struct Slot {
    Sight sight;
    Mark partner;      // State::Met: of the first place
    int64_t common_ns; // by the common clock
    int64_t usual_ns;  // of its stream when it was seen
    uint32_t older;    // the next bucket entry: the newest sight of another packet
    uint32_t newer;    // the next sight of the same packet
    uint32_t rank;     // number of sights of the same packet before it
    uint8_t place;
    State state;
    bool copy; // a sight of this packet at the same place was matched
  };
  struct Stream {
    Path path; // usual_ns follows the packets
    bool known = false;
  };

  Slot &at(uint32_t index) { return ring_.get()[index & mask_]; }
  bool alive(uint32_t index) const {
    return index != kNone &&
           index - static_cast<uint32_t>(tail_) < static_cast<uint32_t>(head_ - tail_);
  }
  bool is_arrival(const Slot &slot) const {
    return slot.place != (streams_[slot.sight.stream].path.backward ? 1 : 0);
  }
  uint32_t &bucket(const Sight &sight);
  uint32_t unlink_newest(uint32_t &first, const Sight &sight);
  void learn(const Slot &slot, const Slot &other);
  void decide_oldest();
  void resolve(Slot &oldest);
  void resolve_group(Slot &oldest);
  void join(Slot &oldest, Slot &other);
  void leave(Slot &oldest);

  Options options_;
  int64_t shift_ns_;
  Judge &judge_;
  struct Free {
    void operator()(Slot *ring) const { std::free(ring); }
  };
  size_t capacity_;
  std::unique_ptr<Slot, Free> ring_; // its pages are taken when they are first used
  std::vector<uint32_t> buckets_;    // the newest sight of each packet, by chains
  uint64_t mask_;
  uint64_t head_ = 1, tail_ = 1; // numbers of the next sight and of the oldest
  int64_t now_ns_ = INT64_MIN;
  std::vector<Stream> streams_;
  uint64_t decided_early_ = 0, least_window_ns_ = 0;
};

} // namespace xr::compare
