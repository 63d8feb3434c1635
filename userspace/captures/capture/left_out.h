// SPDX-License-Identifier: Apache-2.0
// A pcapng option of ours: how many frames were left out before a packet, as `capture --around`
// keeps only those near events. Streams are not seen meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace xr {

// A custom option with text, which tools may copy with the packet
// (draft-ietf-opsawg-pcapng, 3.5.1).
constexpr uint16_t kCustomText = 2988;

// The option's value: a private enterprise number (32473, for documentation: RFC 5612), and words.
std::string left_out_text(uint64_t frames);
// Empty: it is another's.
std::optional<uint64_t> left_out_of(std::string_view value);

} // namespace xr
