// SPDX-License-Identifier: Apache-2.0
// Frames of a job's messages, as they are captured: a QP for each sender.
#pragma once

#include <cstdint>

#include "capture/reader.h"
#include "unit/frames.h"

namespace xr::test {

inline Frame job_frame(uint8_t opcode, uint8_t from, uint8_t to, uint32_t psn, uint32_t payload) {
  return FrameBuilder(opcode).from(from).to(to).qp(0x100u + from).psn(psn).payload(payload).build();
}

inline CapturedFrame captured(const Frame &built, uint64_t ns) {
  CapturedFrame frame{};
  frame.data = built.bytes.data();
  frame.captured = static_cast<uint32_t>(built.bytes.size());
  frame.length = built.length;
  frame.time_ns = ns;
  return frame;
}

} // namespace xr::test
