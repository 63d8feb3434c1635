// SPDX-License-Identifier: Apache-2.0
// Rules of `impair` at the links of a scenario, what a schedule does to them, and captures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "impair/spec.h"

namespace xr::simulate {

struct RuleSetup {
  std::string name;       // its own, or rule-N
  std::string link;       // the queue that its frames are going to: "switch:receiver"
  impair::RuleSpec spec;  // with the name
  bool from_start = true; // false: the schedule adds it
};

struct RuleChange {
  enum class Kind : uint8_t { Add, Delete, Enable, Disable, Clear };
  uint64_t at_ns = 0;
  Kind kind = Kind::Add;
  size_t rule = 0; // index; Clear: all
};

struct Rules {
  std::vector<RuleSetup> all;      // in the order in which they match
  std::vector<RuleChange> changes; // in the order of time
};

// Frames as they enter a port.
struct CaptureSetup {
  enum class Point : uint8_t {
    Senders,   // answers, as the senders get them
    Left,      // requests, as the senders sent them, each with its rule's action
    Right,     // answers, as the receivers sent them, each with its rule's action
    Receivers, // requests, as the receivers get them
  };
  Point port = Point::Left;
  uint32_t snap = 0; // bytes of a frame; 0: all
};
inline constexpr const char *kCapturePorts[] = {"senders", "left", "right", "receivers"};
inline const char *capture_port_name(CaptureSetup::Point port) {
  return kCapturePorts[static_cast<size_t>(port)];
}

} // namespace xr::simulate
