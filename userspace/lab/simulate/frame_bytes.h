// SPDX-License-Identifier: Apache-2.0
// Whole frames as bytes, for rules and captures, and frames of the simulation from bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/frames.h"
#include "wire/shared_buffer.h"

namespace xr::simulate {

// The frame as it is on the wire, with its iCRC. The payload is the template's; that of a frame
// without template is zero.
void write_bytes(FramePool &pool, const wire::Frame &frame, std::vector<uint8_t> &bytes);
// What a rule made of the frame: `before`, as it was, has become `after`, of the same length.
void take_changes(FramePool &pool, wire::Frame &frame, const std::vector<uint8_t> &before,
                  const std::vector<uint8_t> &after);
// A frame from its bytes. Flow and destination are left to the caller.
wire::Frame hold_bytes(FramePool &pool, uint32_t handle, const std::vector<uint8_t> &bytes);
// A PFC frame without padding.
std::vector<uint8_t> pause_bytes(const wire::PfcOut &frame);
// The frame once more, with `handle`.
wire::Frame copy_frame(FramePool &pool, uint32_t handle, const wire::Frame &frame);

} // namespace xr::simulate
