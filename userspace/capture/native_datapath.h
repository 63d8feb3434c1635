// SPDX-License-Identifier: Apache-2.0
// The datapath's accounting (include/roce/account.h) over memory of this process: what the XDP
// program is for a port, this is for a capture, the tests and the fuzzer.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "model/snapshot.h"
#include "roce/config.h"
#include "roce/event.h"
#include "roce/parse.h"
#include "roce/rule.h"
#include "roce/stream.h"

namespace xr {

// What becomes of a frame: enum roce_fate.
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
    uint32_t streams = 0;   // room for this many; 0 grows as needed
    uint64_t hash_seed = 0; // any; decides no result
    uint64_t cnp_window_ns = ROCE_CNP_WINDOW_NS;
    uint32_t features = 0; // enum roce_feature, for rules
  };

  // One frame. `captured` bytes are at hand of `length` on the wire, FCS not included.
  struct Frame {
    const uint8_t *data = nullptr;
    uint32_t captured = 0;
    uint32_t length = 0;
    uint64_t time_ns = 0; // orders the rate limit of events; the results do not depend on it
  };

  // Cooked captures (SLL) have no Ethernet header: the network layer starts at `l3` of the frame.
  struct Layer3 {
    uint32_t l3 = 0;
    uint16_t ethertype = 0; // host order
  };

  explicit NativeDatapath(const Options &options);
  ~NativeDatapath();
  NativeDatapath(const NativeDatapath &) = delete;
  NativeDatapath &operator=(const NativeDatapath &) = delete;

  // Step one: what the frame is. The class is final.
  roce_class parse(const Frame &frame, roce_packet &packet) const;
  roce_class parse(const Frame &frame, const Layer3 &at, roce_packet &packet) const;

  // Step two: counts it and, unless `track` is false, follows its stream, whose record it gives.
  uint32_t account(const Frame &frame, roce_class class_, const roce_packet &packet,
                   bool track = true);

  // Both.
  void frame(const Frame &frame);

  // The port's rules, which start anew, and the points of each slot. Needs ROCE_FEATURE_RULES.
  void rules(std::unique_ptr<roce_ruleset> set, std::map<uint32_t, std::vector<uint32_t>> points);
  void peer(const roce_peer &peer, uint32_t src_qp);
  const roce_rule_state &rule_state(uint32_t slot) const;
  const roce_rule_count &rule_count(uint32_t slot) const;

  // A whole frame against the rules, as the program does it once it has counted the frame: what
  // becomes of it (enum roce_fate). Its bytes are changed; as a CNP it has another length.
  Fate impair(std::vector<uint8_t> &bytes, uint64_t time_ns);
  // As `impair IF zero` does it: the next QP seen is the first.
  void number_qps_anew();
  // ROCE_GO_ON_WITH_CNP: the copy that goes back.
  const std::vector<uint8_t> &cnp() const;

  // What the last frame was found to be, and its rule did. Needs ROCE_FEATURE_CAPTURE.
  const roce_trace &trace() const;

  // Called for each event, in order; none by default.
  void on_event(std::function<void(const roce_event &)> callback);

  // Fills opcodes, totals, streams, qp_numbers, tracked and stream_capacity.
  void snapshot(Snapshot &into) const;

private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

} // namespace xr
