// SPDX-License-Identifier: Apache-2.0
// The traffic of rping, of the pingpongs, and of rdma_client, ucmatose and cmtime, on either side,
// with the data that they send and verify. Facts: rdma-core, libibverbs/examples,
// librdmacm/examples. Virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "peer/perftest_exchange.h"
#include "station/queue_pairs.h"

namespace xr::peer {

// One end of a QP of a pingpong, as text: "LID:QPN:PSN:GID" and NUL.
inline constexpr size_t kPingpongBytes = 52;
inline constexpr uint32_t kSrqLines = 256; // that ibv_srq_pingpong says, whatever it has
Bytes pingpong_bytes(const PerftestKey &key);
Result<PerftestKey> parse_pingpong(std::span<const uint8_t> bytes);

// What happened in a test.
struct ToolResult {
  uint64_t begun_ns = 0, ended_ns = 0;
  uint64_t size = 0, sent = 0, arrived = 0, bad_data = 0;
  uint64_t failed_qps = 0;
  uint8_t syndrome = 0;
  std::vector<double> turns_us; // of a client's QP: from a message to the one that answers it
};

class ToolTraffic : public station::QpProgram {
public:
  explicit ToolTraffic(station::QueuePairs &qps) : qps_(qps) {}
  // A client: its QPs are connected.
  virtual void begin(uint64_t now, const std::vector<uint32_t> &qps) = 0;
  // A server whose part it is to disconnect.
  virtual bool leaves() const { return false; }
  bool over() const { return over_; }
  const ToolResult &result() const { return result_; }

protected:
  void failed(const station::QpEvent &event);
  void count(uint64_t now);

  station::QueuePairs &qps_;
  ToolResult result_;
  bool over_ = false;
};

// A side sends messages at first, or one for each that arrives.
struct EchoPlan {
  bool client = false;
  uint64_t size = 16;  // of what this side sends first
  uint64_t first = 0;  // messages that each QP sends at once when it is connected
  uint64_t most = 0;   // messages that all QPs send; 0: as many as arrive
  bool answers = true; // one for each that arrives
  uint64_t awaits = 0; // client: it is over when so many have arrived
  uint8_t fill = 0;    // each byte, but those that begin a page
  bool checks = false; // what arrives is the same
  bool leaves = false; // server: it disconnects when as much has arrived as it sent at first
};

class EchoTraffic : public ToolTraffic {
public:
  EchoTraffic(station::QueuePairs &qps, const EchoPlan &plan) : ToolTraffic(qps), plan_(plan) {}
  void begin(uint64_t now, const std::vector<uint32_t> &qps) override;
  void event(uint64_t now, const station::QpEvent &event) override;
  bool leaves() const override {
    return plan_.leaves && open_ && result_.arrived >= plan_.first * open_;
  }

private:
  void open(uint64_t now, uint32_t qp);
  void send(uint64_t now, uint32_t qp, uint64_t bytes);
  bool is_right(std::span<const uint8_t> bytes) const;
  void finish_if_done();

  EchoPlan plan_;
  std::vector<uint8_t> data_;
  uint64_t posted_ = 0;
  size_t open_ = 0;
  std::unordered_map<uint32_t, uint64_t> sent_at_; // by QP
};

// rping: the client says where its data is, the server READs it and WRITEs it back.
struct RpingPlan {
  bool client = false;
  uint64_t size = 64;
  uint64_t rounds = 0;                 // client; 0: until it is ended
  responder::Memory *memory = nullptr; // client: the source, and after it the sink
};

class RpingTraffic : public ToolTraffic {
public:
  RpingTraffic(station::QueuePairs &qps, const RpingPlan &plan);
  void begin(uint64_t now, const std::vector<uint32_t> &qps) override;
  void event(uint64_t now, const station::QpEvent &event) override;

private:
  enum class Stage : uint8_t { Source, Reading, Sink, Writing };
  struct Place {
    uint64_t va = 0;
    uint32_t rkey = 0, size = 0;
  };

  void server(uint64_t now, const station::QpEvent &event);
  void client(uint64_t now, const station::QpEvent &event);
  void say(uint64_t now, uint32_t qp, const Place &place);
  void round(uint64_t now);
  std::string text(uint64_t round) const;

  RpingPlan plan_;
  Stage stage_ = Stage::Source;
  std::vector<uint8_t> data_;    // that was READ, and is WRITten
  std::vector<uint8_t> said_[2]; // the newest messages
  unsigned next_said_ = 0;
  uint32_t qp_ = 0; // client
  uint64_t round_ = 0, round_at_ = 0;
};

} // namespace xr::peer
