// SPDX-License-Identifier: Apache-2.0
// Streams as short tables: each step is a packet of one connection, with PSNs relative to a base.
#pragma once

#include <cstdint>
#include <vector>

#include "memory_env.h"

namespace xr::test {

struct Step {
  uint8_t opcode = ROCE_RC_SEND_ONLY;
  uint32_t psn = 0;
  uint32_t dma_len = 0;
  uint32_t payload = 0;
  uint8_t syndrome = 0x1f;
};
using Steps = std::vector<Step>;

// RC packets by what the tables call them. Negative PSNs are before the base.
inline Step only(int psn) { return {.psn = static_cast<uint32_t>(psn)}; }
inline Step op(uint8_t opcode, int psn, uint32_t payload = 0) {
  return {.opcode = opcode, .psn = static_cast<uint32_t>(psn), .payload = payload};
}
inline Step first(int psn, uint32_t payload) { return op(ROCE_RC_SEND_FIRST, psn, payload); }
inline Step last(int psn) { return op(ROCE_RC_SEND_LAST, psn, 4); }
inline Step read(int psn, uint32_t bytes) {
  return {.opcode = ROCE_RC_RDMA_READ_REQUEST, .psn = static_cast<uint32_t>(psn), .dma_len = bytes};
}
inline Step read_first(int psn, uint32_t payload = 1024) {
  return op(ROCE_RC_RDMA_READ_RESPONSE_FIRST, psn, payload);
}
inline Step read_middle(int psn, uint32_t payload = 1024) {
  return op(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, psn, payload);
}
inline Step read_last(int psn) { return op(ROCE_RC_RDMA_READ_RESPONSE_LAST, psn, 4); }
inline Step read_only(int psn) { return op(ROCE_RC_RDMA_READ_RESPONSE_ONLY, psn, 4); }
inline Step atomic_ack(int psn) { return op(ROCE_RC_ATOMIC_ACKNOWLEDGE, psn); }
inline Step ack(int psn, uint8_t syndrome = 0x1f) {
  return {.opcode = ROCE_RC_ACKNOWLEDGE, .psn = static_cast<uint32_t>(psn), .syndrome = syndrome};
}

// SEND ONLYs with these PSNs.
inline Steps onlys(const std::vector<int> &psns) {
  Steps steps;
  for (int psn : psns)
    steps.push_back(only(psn));
  return steps;
}

inline Steps operator+(Steps a, const Steps &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The headers are all that a tracker sees, so payloads are claimed and not written.
inline Frame frame_of(const Step &s, uint32_t base = 0, uint8_t ecn = 2) {
  FrameBuilder b(s.opcode);
  b.psn((base + s.psn) & 0xffffff).dma_len(s.dma_len).syndrome(s.syndrome).ecn(ecn);
  Frame frame = b.claim(static_cast<int>(s.payload)).build();
  frame.length += s.payload;
  return frame;
}

inline Seen seen_of(const Step &s, const Frame &frame, uint32_t base = 0, uint8_t ecn = 2) {
  return {.opcode = s.opcode,
          .psn = (base + s.psn) & 0xffffff,
          .dma_len = s.dma_len,
          .payload = s.payload,
          .ce = ecn == ROCE_ECN_CE,
          .length = frame.length};
}

// One stream through include/roce and through the reference.
class Tracked {
public:
  explicit Tracked(uint32_t base = 0, uint8_t ecn = 2) : base_(base), ecn_(ecn) {}

  void step(const Step &s) {
    const Frame frame = frame_of(s, base_, ecn_);
    feed(env, frame);
    reference.packet(seen_of(s, frame, base_, ecn_));
  }
  void steps(const Steps &all) {
    for (const Step &s : all)
      step(s);
  }
  roce_stream &stream() { return table.streams.at(0); } // the first that appeared

  MemoryTable table{64};
  roce_env env{table};
  Reference reference;

private:
  uint32_t base_;
  uint8_t ecn_;
};

} // namespace xr::test
