// SPDX-License-Identifier: Apache-2.0
// Follows RDMA CM in captured frames. A connection's state follows from which of its messages were
// seen, in any order: one direction is enough, and captures of several ports may follow one
// another.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/connections.h"
#include "packet/cm.h"
#include "roce/parse.h"

namespace xr {

class ConnectionFollower {
public:
  explicit ConnectionFollower(size_t room = 65536) : room_(room) {}

  // A RoCE packet; others than MADs are ignored. `frame` holds what was captured of it.
  void packet(uint64_t time_ns, std::span<const uint8_t> frame, const roce_packet &packet);

  const Connections &result() const { return result_; }

private:
  enum class From : uint8_t { Active, Passive, Unknown };
  using Key = std::tuple<Address, Address, uint32_t>; // active and passive side, the active's ID
  struct Entry {
    size_t row = 0;
    uint32_t seen = 0; // bits of the messages of the active side, and of the passive side above
    uint64_t transaction = 0;
  };

  void message(uint64_t time_ns, const Address &src, const Address &dst, bool v1,
               const packet::CmMessage &message);
  Entry *entry_of(const Address &src, const Address &dst, const packet::CmMessage &message,
                  From &from);
  Entry *add(const Key &key);
  static void note(ConnectionRow &row, From from, const packet::CmMessage &message);
  static void set_state(ConnectionRow &row, uint32_t seen);

  size_t room_;
  Connections result_;
  std::map<Key, Entry> entries_;
};

// The connections in captures, one after the other. Error: one cannot be read.
Result<Connections> read_connections(const std::vector<std::string> &paths, uint16_t udp_port);

} // namespace xr
