// SPDX-License-Identifier: Apache-2.0
// One direction of a wire: frames that one port's program handed over are held by rules, then by
// the other port's link, and leave by that port. One thread, which may have both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "afxdp/shared_umem.h"
#include "base/fd.h"
#include "base/result.h"
#include "datapath/wire_ports.h"
#include "endpoint/match_again.h"
#include "endpoint/port_carrier.h"
#include "endpoint/system_clock.h"
#include "endpoint/wire_frame.h"
#include "endpoint/wire_rules.h"
#include "model/wire_counts.h"
#include "packet/pause.h"
#include "wire/hold_stage.h"
#include "wire/link.h"

namespace xr::endpoint {

// What another thread asks of a direction.
struct WireMail {
  enum class Kind : uint8_t {
    Rules,   // of the ingress port
    Link,    // of the egress port
    Frame,   // to send through the link: a CNP
    Control, // to send at once: a PFC frame
    Pause,   // received by the egress port: its link obeys
  };
  Kind kind = Kind::Frame;
  datapath::RulesInForce rules = {};
  std::optional<LinkSpec> link = {}; // none: no link
  wire::TracePointer trace = nullptr;
  std::vector<uint8_t> bytes = {};
  packet::Pause pause = {};
};

struct WireDirectionSetup {
  unsigned ingress = 0;     // number of the ingress port
  uint16_t port_be = 0;     // UDP port of RoCEv2, in network order
  uint64_t line_rate = 0;   // of the egress port, bit/s; 0: unknown
  packet::Mac egress_mac{}; // the source of PFC frames that leave by it
  uint64_t seed = 0;
  uint32_t first_chunk = 0, chunks = 0; // its share of the memory
  PortCarrier *carrier = nullptr;       // performs the flaps of the egress port
};

// `Socket` is afxdp::ForwardSocket, `Clock` SystemClock, but for tests.
template <typename Socket, typename Clock> class BasicWireDirection {
public:
  // The sockets of both ports, one a queue. `in` counts for the ingress port, `out` for the egress
  // port: the other direction writes the other halves.
  BasicWireDirection(const WireDirectionSetup &setup, afxdp::ChunkMemory &memory,
                     std::vector<Socket *> rx, std::vector<Socket *> tx, WirePortCounts &in,
                     WirePortCounts &out, Clock clock = {});
  BasicWireDirection(const BasicWireDirection &) = delete;
  BasicWireDirection &operator=(const BasicWireDirection &) = delete;

  void set_opposite(BasicWireDirection &opposite) { opposite_ = &opposite; }

  // For any thread.
  void post(WireMail mail);

  // Receives, moves and sends what is due now; true: there was something. Error: a port is gone.
  Result<bool> turn(uint64_t now);
  // After an empty turn of all of them: waits for frames or mail, but not beyond the next frame
  // that is due, nor `longest` ns.
  static void wait(std::span<BasicWireDirection *const> all, uint64_t now, uint64_t longest);
  // Frames wait for rules that the direction has not received yet.
  bool lacks_rules() const { return !pending_.empty(); }
  // Sends what is on the rings; what is held is lost, and counted.
  void end();

private:
  struct Pending {
    wire::Frame frame;
    roce_held held;
    bool unmatched; // came without metadata, and has met no rule yet
  };

  void read_mail(uint64_t now);
  void take_link(uint64_t now, WireMail &mail);
  size_t receive(uint64_t &now);
  void take_frame(uint64_t now, uint32_t handle);
  void enter(uint64_t now, const wire::Frame &frame, const roce_held &held);
  void enter_unmatched(uint64_t now, const wire::Frame &frame);
  bool match_again(uint64_t now, const wire::Frame &frame, roce_held &held);
  bool hold_pending(uint64_t now, Pending &pending);
  bool hold(uint64_t now, const wire::Frame &frame, const roce_held &held);
  void copy(uint64_t now, const wire::Frame &frame, const roce_held &held);
  void obey(std::span<const uint8_t> first);
  void to_link(uint64_t now, const wire::Frame &frame);
  void free_dropped(uint64_t now);
  size_t send(uint64_t now);
  void put(uint64_t now, const wire::Frame &frame);
  void send_pfc(uint64_t now);
  size_t room();
  uint64_t next() const;
  uint64_t patience(uint64_t now) const;
  void report_flaps();
  void ask_kernel(size_t socket);
  void count(uint64_t now);

  [[no_unique_address]] Clock clock_;
  WireDirectionSetup setup_;
  afxdp::ChunkMemory &memory_;
  afxdp::ChunkPool pool_;
  std::vector<Socket *> rx_, tx_;
  WirePortCounts &in_, &out_;
  BasicWireDirection *opposite_ = nullptr;

  std::deque<Pending> pending_; // frames whose rules are not known yet, and those after them

  wire::HoldStage stage_;
  WireRules rules_; // of the ingress port
  MatchAgain again_;
  std::unique_ptr<wire::Link> link_; // none: frames leave at once
  bool linked_ = false;              // the egress port has a link: every frame is handed over
  std::vector<uint32_t> frames_;
  std::vector<afxdp::KernelCounts> kernel_; // of rx_, then of tx_: one is read at a time
  size_t asked_ = 0;
  uint64_t quiet_since_ = 0, counted_ = 0;
  uint64_t flaps_ = 0; // as reported to the carrier
  bool down_ = false;

  Fd wake_;
  std::mutex mutex_;
  std::vector<WireMail> mail_;
  std::atomic<bool> has_mail_{false};
};

using WireDirection = BasicWireDirection<afxdp::ForwardSocket, SystemClock>;
extern template class BasicWireDirection<afxdp::ForwardSocket, SystemClock>;

} // namespace xr::endpoint
