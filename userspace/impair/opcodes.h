// SPDX-License-Identifier: Apache-2.0
// What packets are, by the words for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "impair/tables.h"

namespace xr::impair {

struct Packets {
  std::string text; // canonical
  What what;
};

// data, ack, nak, ...: what opcode_packets takes beside names and numbers.
std::vector<std::string_view> opcode_classes();

// All that can stand for an opcode in roce_ruleset.what.
What what_of(unsigned opcode);

// rc, uc, rd, ud, xrc, cnp, manufacturer.
Result<Packets> transport_packets(const std::string &word);

// RC_SEND_ONLY, SEND_ONLY, 0x04, or a class: data, ack, nak, rnr-nak, cnp, read, atomic, cm.
Result<Packets> opcode_packets(const std::string &word);

} // namespace xr::impair
