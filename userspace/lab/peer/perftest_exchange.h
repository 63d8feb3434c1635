// SPDX-License-Identifier: Apache-2.0
// What perftest's client and server say to each other beside their QPs: over TCP, or as SENDs over
// a QP of RDMA CM (-R). Bytes in, bytes out. Facts: perftest 6.06 (Debian 12), linux-rdma/perftest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "packet/frame.h"
#include "peer/bytes.h"

namespace xr::peer {

// One end of a QP, as it is announced.
struct PerftestKey {
  uint32_t lid = 0, out_reads = 1;
  uint32_t qp = 0, psn = 0;
  uint32_t rkey = 0;
  uint64_t va = 0;
  packet::Address gid{};
  uint32_t srq = 0;

  bool operator==(const PerftestKey &) const = default;
};

inline constexpr size_t kVersionBytes = 16, kKeyBytes = 108, kCmKeyBytes = 56;
inline constexpr std::string_view kVersion = "6.06";

Bytes key_bytes(const PerftestKey &key, bool cm);
Result<PerftestKey> parse_key(std::span<const uint8_t> bytes, bool cm);
// 256 to 4096 as the enum of an MTU, and back; 0: there is none.
uint32_t mtu_code(uint32_t pmtu);
uint32_t mtu_of(uint32_t code);

// What a side reports after a test of bandwidth.
struct PerftestReport {
  uint64_t size = 0, iterations = 0;
  double peak = 0, average = 0; // MiB/s
  double message_rate = 0;      // million a second
};

// What either side knows of the test in the end.
struct PerftestFacts {
  std::string version; // the other side's
  uint32_t pmtu = 1024;
  std::vector<PerftestKey> own, theirs; // by QP
  std::optional<PerftestReport> their_report;
  bool done = false; // said by the other side
};

// The server. It answers what comes, so that it needs no option of the client.
class PerftestServer {
public:
  struct Calls {
    // The own end of QP number `number` of the client's.
    std::function<PerftestKey(uint32_t number, const PerftestKey &theirs)> make;
    // All QPs are known: they are connected.
    std::function<void(const PerftestFacts &facts)> connect;
    // The client is at the point before its traffic, and has said so `more` times than in a test
    // whose server does nothing.
    std::function<void(uint32_t more)> run;
    // The traffic is over. What the server reports.
    std::function<PerftestReport()> report;
  };
  // `pmtu`: the largest one of the port. `cm`: over a QP of RDMA CM.
  PerftestServer(uint32_t pmtu, bool cm, Calls calls);

  // Bytes of the record that begins with these; 0: not known before more come.
  size_t record(std::span<const uint8_t> begin) const;
  // The answer to a record. Error: it is not one of the exchange.
  Result<Bytes> answer(std::span<const uint8_t> record);
  const PerftestFacts &facts() const { return facts_; }
  bool done() const { return facts_.done; }

private:
  enum class Stage : uint8_t { Version, Cycle, Line, Mtu, Keys };

  Result<Bytes> version(std::span<const uint8_t> record);
  Result<Bytes> mtu(std::span<const uint8_t> record);
  Result<Bytes> key(std::span<const uint8_t> record);
  Bytes number(std::span<const uint8_t> record);

  uint32_t pmtu_;
  bool cm_;
  Calls calls_;
  Stage stage_ = Stage::Version;
  PerftestFacts facts_;
  size_t keys_ = 0;    // after all QPs were known
  bool known_ = false; // all QPs are
  size_t numbers_ = 0; // of the report
  PerftestReport own_;
};

// The tests, and how their exchange differs.
enum class PerftestTest : uint8_t {
  WriteBw,
  ReadBw,
  SendBw,
  AtomicBw,
  WriteLat,
  ReadLat,
  SendLat,
  AtomicLat,
};
inline constexpr std::string_view kPerftestTests[] = {"write_bw",  "read_bw",   "send_bw",
                                                      "atomic_bw", "write_lat", "read_lat",
                                                      "send_lat",  "atomic_lat"};
constexpr bool is_latency(PerftestTest test) { return test >= PerftestTest::WriteLat; }
constexpr bool is_send(PerftestTest test) {
  return test == PerftestTest::SendBw || test == PerftestTest::SendLat;
}
// READs and atomics: the answer has data.
constexpr bool is_answered(PerftestTest test) {
  return !is_send(test) && test != PerftestTest::WriteBw && test != PerftestTest::WriteLat;
}

// The client: what it says next, and what comes for it.
class PerftestClient {
public:
  struct Calls {
    std::function<PerftestKey(uint32_t number)> make;
    std::function<void(const PerftestFacts &facts)> connect;
    // With RDMA CM: the test's QPs are connected now, before `make` is called again.
    std::function<Status()> connect_cm;
    // The traffic of size number `size`; returns when it is over.
    std::function<Result<PerftestReport>(uint32_t size)> run;
  };
  // `sizes`: how many; more than one are -a.
  PerftestClient(PerftestTest test, uint32_t qps, bool both_ways, uint32_t sizes, uint32_t pmtu,
                 bool cm, Calls calls);

  // The steps in their order: what to send, and the length of the answer to await; 0: none comes.
  // nullopt: it is over.
  struct Step {
    Bytes say;
    size_t await = 0;
  };
  Result<std::optional<Step>> next();
  Status take(std::span<const uint8_t> answer);
  const PerftestFacts &facts() const { return facts_; }

private:
  enum class Part : uint8_t {
    Version,
    Cycle,
    Line,
    Mtu,
    Key, // of QP `number`, the first time
    KeyAgain,
    Barrier, // the key of the first QP
    Nothing, // a key of zeros: with RDMA CM, before there are any
    ConnectCm,
    Connect,
    Run,
    Number, // `number` of the report
    Done,
  };
  struct Planned {
    Part part;
    uint32_t number = 0;
  };
  void plan(Part part, uint32_t number = 0) { plan_.push_back({part, number}); }
  void plan_all(PerftestTest test, uint32_t qps, bool both_ways, uint32_t sizes);
  void plan_size(PerftestTest test, bool both_ways, uint32_t size, bool several);

  uint32_t pmtu_;
  bool cm_;
  Calls calls_;
  std::vector<Planned> plan_;
  size_t at_ = 0;
  PerftestFacts facts_;
  PerftestReport own_, theirs_;
};

} // namespace xr::peer
