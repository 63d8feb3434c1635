// SPDX-License-Identifier: Apache-2.0
// The two ports of a bridge whose frames a process may hold: what the process shares with the
// program (include/roce/hold.h) and with other commands, all in pinned maps.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/lock.h"
#include "datapath/pins.h"
#include "datapath/preflight.h"
#include "datapath/wire_reading.h"
#include "impair/rule.h"
#include "model/wire_counts.h"
#include "roce/hold.h"

namespace xr::datapath {

// Rule i of a set, as bit i of roce_held.rules.
struct RuleInForce {
  uint32_t id = 0, slot = 0;
  impair::Rule rule;
  std::string words = {}; // rule.text(): ids restart after `impair clear`
};
struct RulesInForce {
  uint16_t generation = 0;                           // roce_held.generation
  std::shared_ptr<const roce_ruleset> set = nullptr; // as the program has it
  std::vector<RuleInForce> rules = {};
  uint64_t unread = 0;  // bit i: rule i holds frames and could not be read, so that it holds none
  bool again = false;   // of a rule because the kernel did not give its text: to be read again
  std::string why = {}; // "": all rules were read
};

// The rules of a set. `note_of` reads the text in a slot; null: the kernel did not give it.
RulesInForce rules_in_force(std::shared_ptr<const roce_ruleset> set,
                            const std::function<const roce_rule_note *(uint32_t slot)> &note_of);

// The value of a map of one entry, in memory that every process which has the map open shares.
class MapMemory {
public:
  MapMemory() = default;
  MapMemory(MapMemory &&other) noexcept;
  MapMemory &operator=(MapMemory &&other) noexcept;
  ~MapMemory();
  static Result<MapMemory> map(int fd, size_t bytes, bool writable);
  std::span<uint8_t> bytes() const { return bytes_; }

private:
  std::span<uint8_t> bytes_;
};

class WirePorts {
public:
  static constexpr unsigned kPorts = 2;

  // Makes the bridge, or joins the one that is there, which then stays. Both ports hand over what
  // is to be held from now on. One process per pair of ports. Errors and troubles as of bridge().
  static Result<WirePorts> open(const std::string &a, const std::string &b,
                                const std::string &netns, const AttachOptions &options, bool fix);
  WirePorts(WirePorts &&) noexcept = default;
  WirePorts &operator=(WirePorts &&) = delete;
  ~WirePorts();

  // Hands the held frames of receive queue `queue` of the port to `socket`.
  Status add(unsigned port, uint32_t queue, int socket);

  Mode mode() const { return mode_; }
  const PortStatus &status(unsigned port) const { return ports_[port].status; } // at open()
  MapMemory &memory(unsigned port) { return ports_[port].memory; }
  // Frames that the port's program has handed over to any process.
  Result<uint64_t> handed_over(unsigned port) const;
  // How many of `handed_over` previous processes held, or had not read, when they were killed.
  uint64_t lost_by_former(unsigned port, uint64_t handed_over) const;
  // False: the ports were detached, or another program took their place. Does not wait: true while
  // another process has the lock.
  bool alive() const;

  // The rules of the port if they changed since the last call for it, or were not all read then.
  // Takes no lock. Error: the set cannot be read; the next call tries again.
  Result<std::optional<RulesInForce>> new_rules(unsigned port);
  // Rises when the words of the port's link change. Without a system call.
  uint64_t link_changes(unsigned port) const;
  // The words of the port's link. Takes no lock.
  LinkWords link(unsigned port) const;

  const std::vector<Trouble> &troubles() const { return troubles_; }
  const std::vector<std::string> &notes() const { return notes_; }

  // The programs forward all frames by themselves again. When it returns, what they handed over is
  // on the sockets' rings.
  void release();
  // release(), and a bridge that open() made is detached.
  Status close();

private:
  struct OpenPort {
    PortStatus status;
    std::optional<Pins> pins;
    Fd sockets, rules, link, totals;
    MapMemory memory;    // of its map `wire`
    MapMemory link_note; // struct roce_link_note
    std::vector<uint32_t> queues;
    std::optional<WireIngress> former;  // what the last process counted
    std::optional<uint32_t> rules_seen; // id of the set
  };
  WirePorts() = default;
  Status join(const std::string &netns);
  bool attached() const; // waits for the lock

  std::array<OpenPort, kPorts> ports_;
  std::array<std::optional<Lock>, kPorts> locks_;
  std::string netns_;
  Mode mode_ = Mode::Auto;
  bool made_bridge_ = false, open_ = false;
  std::vector<Trouble> troubles_;
  std::vector<std::string> notes_;
};

// Sets the words of the link; "" removes it. Frames that leave by the port are handed over while it
// has one. Errors: no port of a bridge.
Status set_link_words(const PortName &port, const std::string &words);

} // namespace xr::datapath
