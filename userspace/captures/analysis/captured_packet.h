// SPDX-License-Identifier: Apache-2.0
// A captured frame of any link type for the native datapath.
#pragma once

#include <optional>

#include "capture/reader.h"
#include "native/native_datapath.h"

namespace xr {

NativeDatapath::FrameView view_of(const CapturedFrame &frame);

// Where the network layer of a frame without Ethernet header is; none: it has one.
std::optional<NativeDatapath::Layer3> layer3_of(const CapturedFrame &frame);

// Classifies the frame; fills `packet`.
roce_class parse_captured(const NativeDatapath &datapath, const CapturedFrame &frame,
                          roce_packet &packet);

} // namespace xr
