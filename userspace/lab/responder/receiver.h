// SPDX-License-Identifier: Apache-2.0
// What a program above the responder has and hears: receives, and what came for its QPs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "packet/cm.h"
#include "packet/frame.h"

namespace xr::responder {

// A QP that is connected with one of the peer's, and how it receives.
struct Connected {
  packet::Address peer{};
  uint32_t own_qp = 0, peer_qp = 0;
  uint32_t psn = 0; // of the peer's first request
  uint32_t pmtu = 1024;
  uint8_t transport = ROCE_RC;
  uint32_t own_id = 0, peer_id = 0; // of RDMA CM, where it connected them
};

// A message that is complete.
struct Arrived {
  uint32_t qp = 0; // the own one
  uint8_t transport = ROCE_RC;
  bool send = false, write = false; // SEND; RDMA WRITE; neither: READ or atomic
  bool read = false;
  uint64_t bytes = 0;
  uint64_t va = 0;                   // READ, WRITE: its address, with a memory
  std::optional<uint32_t> immediate; // in host byte order
  uint32_t peer_qp = 0;              // UD: the source
};

// Its functions are called while the responder handles a packet, and must not call it.
class Receiver {
public:
  virtual ~Receiver() = default;
  // A message that takes a receive begins for this QP: takes one. False: there is none, so RC
  // answers with an RNR NAK, and UC and UD drop the message.
  virtual bool take_receive(uint32_t qp) = 0;
  // Payload of a SEND, in order.
  virtual void payload(uint32_t qp, uint64_t offset, std::span<const uint8_t> bytes) = 0;
  virtual void arrived(const Arrived &message) = 0;

  // RDMA CM. What a REQ gets: a REJ with this reason, or a REP with the QP's number.
  struct Answer {
    std::optional<uint16_t> reject;
    std::optional<uint32_t> qp; // nullopt: the responder chooses one
  };
  virtual Answer requested(const packet::CmMessage &request) = 0;
  // `back`: the path to the peer. It sends with `request.psn` as its first PSN.
  virtual void connected(const Connected &connected, const packet::CmMessage &request,
                         const packet::Path &back) = 0;
  virtual void disconnected(uint32_t own_qp) = 0;
};

} // namespace xr::responder
