// SPDX-License-Identifier: Apache-2.0
// For this folder only: what a configuration of Lumina says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace xr::importers {

struct LuminaEvent {
  enum class Type : uint8_t { Drop, Ecn, BitError };
  static constexpr uint64_t kAll = UINT64_MAX;
  unsigned line = 0;
  uint64_t qpn = 0, psn = 0; // from 0, of the message; psn kAll: all packets of the message
  uint64_t iter = 1;         // transmission, from 1
  Type type = Type::Drop;

  bool loses() const { return type != Type::Ecn; }
};

struct LuminaHost {
  std::vector<std::string> addresses;
  std::optional<bool> rp, np;                  // DCQCN's reaction and notification point
  std::optional<uint64_t> cnp_interval_us;     // min-time-between-cnps
  bool slow_restart = false, adaptive = false; // of ConnectX
};

struct LuminaFile {
  uint64_t qps = 1, messages = 1, mtu = 1024, message_size = 1024, tx_depth = 1;
  uint64_t timeout = 14, retries = 7, repeats = 1;
  std::string verb = "write", port_speed;
  bool multi_gid = false, barrier_sync = false;
  std::vector<unsigned> dscps;
  std::vector<LuminaEvent> events;
  LuminaHost requester, responder;
  std::vector<std::string> unused; // keys of Lumina's testbed

  uint64_t packets() const { return (message_size + mtu - 1) / mtu; } // of a message
};

Result<LuminaFile> read_lumina(const std::string &text, const std::string &name);

} // namespace xr::importers
