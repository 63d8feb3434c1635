// SPDX-License-Identifier: Apache-2.0
// The datapath of include/roce in the memory of this process: for captures, tests and the fuzzer,
// what the XDP program is for a port.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/episodes.h"
#include "model/job_bursts.h"
#include "model/passive_latency.h"
#include "model/snapshot.h"
#include "roce/config.h"
#include "roce/event.h"
#include "roce/hold.h"
#include "roce/parse.h"
#include "roce/rule.h"
#include "roce/stream.h"
#include "roce/tunnel.h"

namespace xr {

// The outcome of a frame: enum roce_fate, without ROCE_HELD.
enum class Fate {
  GoOn = ROCE_GO_ON,
  Gone = ROCE_GONE,
  Twice = ROCE_TWICE,
  GoOnWithCnp = ROCE_GO_ON_WITH_CNP,
  BackAsCnp = ROCE_BACK_AS_CNP,
};

class NativeDatapath {
public:
  struct Options {
    uint16_t udp_port = ROCE_UDP_PORT; // host order
    bool track = true;
    uint32_t streams = 0;   // capacity; 0: grows when needed
    uint64_t hash_seed = 0; // any value gives the same results
    uint64_t cnp_window_ns = ROCE_CNP_WINDOW_NS;
    uint32_t features = 0;   // enum roce_feature; used by rules, and ROCE_FEATURE_JOB
    bool follow = false;     // QP pairs, for episodes; by account() only
    bool latency = false;    // time QP pairs; by account() only
    bool classes = false;    // count by DSCP and PCP
    uint32_t quantum_ps = 0; // 512 bits at the port's speed; 0: not known
    uint32_t decap = 0;      // tunnels that are taken off: 1 << enum roce_tunnel; not with rules
    uint32_t first_streams = 1024; // room at first, where it grows
    bool cnp_times = true;         // with `follow`; false: the caller gives each to cnp_time()
  };

  // `captured` bytes are available of the `length` bytes on the wire, both without FCS.
  struct FrameView {
    const uint8_t *data = nullptr;
    uint32_t captured = 0;
    uint32_t length = 0;
    uint64_t time_ns = 0; // used for the rate limit of events and by following
    uint64_t number = 0;  // by which findings name it
    uint64_t order = 0;   // among the frames of all datapaths that are read as one (Parts)
    bool damaged = false; // its iCRC is wrong: the receiver drops it
  };

  // Cooked captures (SLL) have no Ethernet header: the network header is at offset `l3`.
  struct Layer3 {
    uint32_t l3 = 0;
    uint16_t ethertype = 0; // host order
    uint16_t vlan = 0;      // of a tag before that: as in roce_packet
  };

  explicit NativeDatapath(const Options &options);
  ~NativeDatapath();
  NativeDatapath(const NativeDatapath &) = delete;
  NativeDatapath &operator=(const NativeDatapath &) = delete;

  // Step one: classifies the frame.
  roce_class parse(const FrameView &frame, roce_packet &packet) const;
  roce_class parse(const FrameView &frame, const Layer3 &at, roce_packet &packet) const;

  // Instead, with `decap`: takes the frame's tunnels off and accounts for its mirror session.
  // `frame` becomes the frame inside. `at`: where there is no Ethernet header.
  roce_class unwrap(FrameView &frame, const std::optional<Layer3> &at, roce_packet &packet);
  // The tunnels of that frame.
  const roce_origin &origin() const;
  // Whether the mirror had cut that frame.
  bool truncated() const;

  static constexpr uint32_t kNoStream = 0xffffffff; // ROCE_NO_STREAM

  // Step two: counts the frame and, if `track`, updates its stream. Returns the stream's record
  // number or kNoStream.
  uint32_t account(const FrameView &frame, roce_class class_, roce_packet &packet,
                   bool track = true);

  // So often frames passed that are not here, before the next one: no stream is continued, and what
  // is not here is no loss.
  void away(uint32_t times);

  // Both steps, as the XDP program does them without rules.
  void frame(const FrameView &frame);

  // Replaces the rules and resets their state. `points`: the list of distances of each slot, see
  // roce/select.h. Needs ROCE_FEATURE_RULES.
  void rules(std::unique_ptr<roce_ruleset> set, std::map<uint32_t, std::vector<uint32_t>> points);
  // Sets the rules; a slot keeps its state and counts.
  void change_rules(std::unique_ptr<roce_ruleset> set,
                    std::map<uint32_t, std::vector<uint32_t>> points);
  void peer(const roce_peer &peer, uint32_t src_qp);
  const roce_rule_state &rule_state(uint32_t slot) const;
  const roce_rule_count &rule_count(uint32_t slot) const;

  // Counts a whole frame and applies the rules, as the XDP program does. `bytes` are modified, and
  // resized if the frame becomes a CNP.
  Fate impair(std::vector<uint8_t> &bytes, uint64_t time_ns);
  // The rules that hold the last frame, and those that selected it (rules, selected); null: none.
  // Needs ROCE_FEATURE_HOLD.
  const roce_held *held() const;
  // Like `impair IF zero`: the next new QP gets number 1.
  void restart_qp_numbers();
  // After Fate::GoOnWithCnp: the CNP to send back. Empty: none could be made.
  const std::vector<uint8_t> &cnp() const;

  // The class and outcome of the last frame, for capture. Needs ROCE_FEATURE_CAPTURE; `found`
  // also with `follow` or `latency`.
  const roce_trace &trace() const;

  // What the last frame did, and the state after it. `record`: as account() returned it.
  const roce_stream &stream(uint32_t record) const;
  const roce_totals &totals() const;
  const std::array<roce_pfc, ROCE_PFC_COUNTS> &pfc() const;

  // With `latency`: sets the function that is called for each time: when it ended, enum
  // roce_latency, whether it is an upper bound, and the time.
  void on_time(std::function<void(uint64_t now, unsigned kind, bool bound, uint64_t ns)> callback);

  // Sets the function that is called for each event, in order.
  void on_event(std::function<void(const roce_event &)> callback);

  // Without `cnp_times`: the times between CNPs of all datapaths are kept in one of them.
  void cnp_time(const roce_key &key, uint64_t time_ns);

  // Datapaths that each had the packets of some QP pairs of one capture, with the same options,
  // read as one that had all: streams in the order in which they appeared, QPs numbered by that.
  // Tunnels are in one datapath only.
  using Parts = std::span<const NativeDatapath *const>;
  struct StreamPlace {
    uint32_t part, record; // as account() returned it
  };
  // The place of each stream of a snapshot.
  static std::vector<StreamPlace> places(Parts parts);
  // Fills opcodes, totals, streams, qp_numbers, tracked, stream_capacity, and what is of mirrors.
  // `now`: the time of the last frame.
  static void snapshot(Parts parts, uint64_t now, Snapshot &into);
  // With `follow`: ends the open episodes and fills all that was found. Call once, at the end.
  static void episodes(std::span<NativeDatapath *const> parts, Episodes &into);
  // With `latency`: the times so far.
  static void latency(Parts parts, PassiveLatency &into);

  // These three, of this datapath alone.
  void snapshot(Snapshot &into) const;
  void episodes(Episodes &into);
  void latency(PassiveLatency &into) const;
  // With ROCE_FEATURE_JOB: the bursts by pair of hosts so far.
  JobBursts job() const;

  // What fills tables of which there is one a capture.
  struct Used {
    uint64_t followed = 0, timed = 0, episodes = 0, findings = 0, damaged = 0;
    bool operator==(const Used &) const = default;
  };
  Used used() const;
  // Whether one datapath would have had room for it.
  static bool has_room(const Used &used);

private:
  struct Memory;

  void follow_and_time(const FrameView &frame, const roce_packet &packet, uint32_t id);

  std::unique_ptr<Memory> memory_;
};

} // namespace xr
