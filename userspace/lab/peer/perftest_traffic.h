// SPDX-License-Identifier: Apache-2.0
// The traffic of perftest's tests over queue pairs, as client or as server, and what was measured.
// Virtual time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "peer/perftest_exchange.h"
#include "station/queue_pairs.h"

namespace xr::peer {

struct PerftestPlan {
  bool client = false;
  // Server: none: seen from what comes. Else as the client.
  std::optional<PerftestTest> test;
  bool all_sizes = false;       // client: 2 to 8 Mi, each in turn
  std::optional<uint64_t> size; // bytes; none: of the client, the tool's default
  uint64_t iterations = 0;      // of each QP; 0: as long as `duration_ns`; server: as the client's
  uint64_t duration_ns = 0;
  uint32_t depth = 128; // messages outstanding per QP
  bool both_ways = false;
  uint8_t transport = ROCE_RC;
  responder::Memory *memory = nullptr; // that the other side writes to
};

// What a test measured.
struct PerftestResult {
  uint64_t begun_ns = 0, ended_ns = 0; // first and last of the messages that were counted; 0: none
  uint64_t size = 0;
  uint64_t sent_bytes = 0, arrived_bytes = 0;
  uint64_t sent = 0, arrived = 0; // messages: complete; whole
  uint64_t failed_qps = 0;
  uint8_t syndrome = 0;             // of the first that failed
  std::vector<double> latencies_us; // ascending; half of a round trip where both send
  double peak_bytes = 0;            // a second; 0: not measured
  std::optional<uint8_t> transport; // of what came

  double bytes_per_second() const;
};

// The 99th percentile and the like of ascending values, as perftest counts.
double percentile(const std::vector<double> &ascending, double share);

class PerftestTraffic : public station::QpProgram {
public:
  PerftestTraffic(station::QueuePairs &qps, PerftestPlan plan) : qps_(qps), plan_(plan) {}

  // Its QPs, connected, and the peer's ends in the same order. Before what comes for them.
  void use(const std::vector<uint32_t> &qps, const std::vector<PerftestKey> &theirs);
  // The client: of the next test over these QPs.
  void resize(uint64_t size);
  // The client's traffic begins. The server: its client is about to; `two_way`: with a server that
  // sends.
  void begin(uint64_t now, bool two_way);
  // The server's traffic ends.
  void end() { over_ = true; }

  bool over() const { return over_; }
  bool seen() const { return result_.arrived > 0; }
  PerftestResult result() const;
  // The server: which test it was, as far as its messages show; nullopt: none came.
  std::optional<std::string_view> seen_test() const;

  void event(uint64_t now, const station::QpEvent &event) override;
  void wake(uint64_t now) override;
  uint64_t wake_at() const override { return over_ ? kNever : wake_at_; }

private:
  struct End {
    uint32_t qp = 0;
    PerftestKey theirs;
    uint64_t posted = 0, done = 0;
    uint64_t owed = 0; // messages of the client that are not answered by one
  };

  packet::Verb verb() const;
  bool lasts(uint64_t now) const;
  void post(uint64_t now, End &end);
  void fill(uint64_t now, End &end);
  void sent(uint64_t now, End &end);
  void arrived(uint64_t now, End &end, const responder::Arrived &message);
  void look(uint64_t now, End &end);
  const uint8_t *ending(uint64_t number);
  void probe(uint64_t now);
  void finish_if_done(uint64_t now);
  bool ping_pongs() const;

  station::QueuePairs &qps_;
  PerftestPlan plan_;
  std::vector<End> ends_;
  std::unordered_map<uint32_t, size_t> by_qp_;
  PerftestResult result_;
  std::vector<uint64_t> posted_ns_, done_ns_; // of the first messages
  std::array<std::vector<uint8_t>, 2> endings_;
  uint64_t begun_ = 0, wake_at_ = kNever, quiet_since_ = 0;
  uint64_t size_ = 0;                                   // of what is sent
  bool sends_ = false, writes_ = false, reads_ = false; // came
  uint64_t most_owed_ = 0;                              // messages of a QP before it got one back
  bool mirrors_ = false; // the server sends a message for each that comes
  bool two_way_ = false, begun_flag_ = false, over_ = false;
  bool found_size_ = false; // it was looked for
  uint64_t probed_ = 0;     // WRITE latency of unknown size: bytes that were written
};

} // namespace xr::peer
