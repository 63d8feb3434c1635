// SPDX-License-Identifier: Apache-2.0
// What the build embeds.
#pragma once

#include <span>

namespace xr::otg_grpc {

extern const std::span<const unsigned char> kDescriptors; // of otg.proto: a FileDescriptorSet

} // namespace xr::otg_grpc
