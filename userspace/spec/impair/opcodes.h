// SPDX-License-Identifier: Apache-2.0
// Sets of packet types by name.
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

// Class names (data, ack, nak, ...) that opcode_packets() accepts in addition to names and numbers.
std::vector<std::string_view> opcode_classes();

// These, and the names of opcodes with and without their transport.
std::vector<std::string_view> opcode_names();

// All entries of roce_ruleset.what that packets with this opcode can have.
What what_of(unsigned opcode);

// rc, uc, rd, ud, xrc, cnp, manufacturer.
Result<Packets> transport_packets(const std::string &word);

// RC_SEND_ONLY, SEND_ONLY, 0x04, or a class: data, ack, nak, rnr-nak, cnp, read, atomic, cm.
Result<Packets> opcode_packets(const std::string &word);

} // namespace xr::impair
