// SPDX-License-Identifier: Apache-2.0
// Plain flows: frames of any headers by a schedule, without answers. Sizes and bytes are with FCS
// (64 are 60 bytes for a NIC). Times are in ns of the caller's clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "base/result.h"
#include "packet/frame_schedule.h"
#include "packet/frame_tags.h"
#include "packet/source.h"
#include "packet/varied_frame.h"

namespace xr::requester {

struct PlainFlow {
  packet::FrameShape frame;
  packet::FrameSizes sizes;
  packet::FrameRate rate;
  packet::FrameSpan span;
  uint16_t id = 0;                         // in its stamps
  uint64_t line_bits = 0;                  // a second; 0: not known
  std::vector<packet::BitRange> tags = {}; // its frames are counted by these, too
};

// Frames with some values of a flow's tags.
struct TaggedSent {
  uint64_t frames = 0, bytes = 0;
};

// What the schedule needs is there: a line rate for percentages and bytes of time, a rate that is
// not 0, sizes that the headers fit in.
Status check_plain(const PlainFlow &flow);

enum class PlainState : uint8_t { Stopped, Started, Paused };

struct PlainCounts {
  PlainState state = PlainState::Stopped; // also once its duration is over
  uint64_t frames = 0, bytes = 0;
  uint64_t stamped = 0;               // of the frames: those with a stamp
  uint64_t first_ns = 0, last_ns = 0; // when the first and the last frame were handed over
  uint64_t slipped_ns = 0;            // by which the schedule was late and did not catch up
};

// Frames of a flow by its tags, copied while it runs.
struct TaggedFrames {
  std::shared_ptr<const packet::FrameTags> tags; // nullptr: it has none
  std::vector<TaggedSent> sent;                  // by number of the frame, modulo the period

  std::map<packet::TagValues, TaggedSent> by_values() const;
};

// What one of several ports sends of a flow.
struct PlainShare {
  uint64_t rate = 0;     // a second, in units of the flow's; 0: the flow's own
  uint64_t packets = 0;  // in all, of a flow that ends after packets; 0: the flow's own
  uint64_t end = kNever; // of a flow that ends after a time
};

// A flow with what its frames are made from: made outside the loop, as that takes a while.
class SourceFlow {
public:
  SourceFlow(PlainFlow from); // NOLINT(google-explicit-constructor): it is one

private:
  friend class PlainSource;
  // `same_tags`: of the same frames.
  SourceFlow(PlainFlow from, TaggedFrames same_tags);

  PlainFlow plan;
  packet::VariedFrame frame;
  PlainCounts counts;
  TaggedFrames tagged;
  uint64_t rate = 0;         // of units a second
  uint64_t due = 0, end = 0; // end: of its duration
  uint64_t last_due = 0;     // of the frame before
  uint64_t due_part = 0;     // of a ns, in units of 2^-32
  uint64_t in_burst = 0, bursts = 0;
  uint64_t paused_at = 0;
  uint64_t epoch = 0; // of the entry in the queue that is valid
  uint32_t cached_size = 0;
  packet::Wide cached = 0;        // the interval after a frame of that size
  std::vector<uint8_t> same = {}; // the frame, where all are the same
};

class PlainSource : public packet::Source {
public:
  // A schedule that is late by more than this loses the whole intervals of the rest.
  static constexpr uint64_t kPatienceNs = 1'000'000;

  // Flows that pass check_plain(). All are stopped. Stamps have `now` plus `to_stamps`: from the
  // loop's clock to that of the receiver, modulo 2^64.
  explicit PlainSource(std::vector<PlainFlow> flows, uint64_t to_stamps = 0);

  // From its first frame, with counts of 0.
  void start(size_t flow, uint64_t now);
  // Flows one of whose frames is not due with those of the others: flow i of n starts i/n of its
  // interval later, but for a flow with a delay or with one frame, which says when it starts.
  void start(std::span<const size_t> flows, uint64_t now);
  void stop(size_t flow);
  // A time that it is paused for does not count for its duration. Only a started flow is paused,
  // only a paused one resumed.
  void pause(size_t flow, uint64_t now);
  void resume(size_t flow, uint64_t now);
  // A stopped flow continues at `at` with its counts, be it over or not.
  void go_on(size_t flow, uint64_t at, const PlainShare &share);
  using Flow = SourceFlow;
  // The frames of a stopped flow from its next start on. Its counts stay.
  void replace(size_t flow, Flow with);
  // Another rate and other sizes, of a flow that runs, too: its headers stay, its next frame is due
  // by the new rate after the last one, and what it sent counts for its duration.
  void update(size_t flow, Flow with, uint64_t now);
  void add(Flow flow); // stopped
  const PlainCounts &counts(size_t flow) const { return flows_[flow].counts; }
  TaggedFrames tagged(size_t flow) const;
  // Whether any frame of it has a stamp, so that PlainReceiver counts it.
  bool stamped(size_t flow) const;

  void receive(uint64_t, std::span<const uint8_t>, roce_class, const roce_packet &) override {}
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; } // a stopped flow may be started

private:
  struct Entry {
    uint64_t at = 0;
    size_t flow = 0;
    uint64_t epoch = 0;
    // Flows that are due at once take turns.
    bool operator<(const Entry &other) const {
      return at != other.at ? at > other.at : flow > other.flow;
    }
  };

  void make_room(const PlainFlow &flow);
  void enqueue(size_t flow);
  void forget_stale();
  packet::Wide after(Flow &flow, uint32_t size);
  void advance(Flow &flow, uint32_t size);
  void write(Flow &flow, uint64_t now, std::span<uint8_t> buffer, packet::Outgoing &out);

  std::vector<Flow> flows_;
  uint64_t to_stamps_;
  uint32_t stride_ = 0;        // bytes of a frame in arena_
  std::vector<uint8_t> arena_; // the frames of the last next()
  std::priority_queue<Entry> queue_;
};

} // namespace xr::requester
