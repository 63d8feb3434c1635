// SPDX-License-Identifier: Apache-2.0
// How each QP of a flow is controlled: the kind and its parameters, a value. RateControl
// (congestion/) acts on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rate/dcqcn_parameters.h"
#include "rate/pacing.h"
#include "rate/plugin.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

// How many bytes of payload each QP may have in flight, whatever its control says.
struct Window {
  enum class Kind : uint8_t { None, Bdp, Bytes };
  Kind kind = Kind::None; // Bdp: of the line's rate and the path's RTT without queues
  uint64_t bytes = 0;
  bool vary = false; // times the QP's rate / the line's rate
  bool operator==(const Window &) const = default;
};

// What is known of the path of a flow: in experiments only.
struct PathFacts {
  uint64_t base_rtt_ns = 0; // without queues; 0: unknown
  uint32_t switches = 0;
};

// How each QP of a flow is controlled.
struct Control {
  // None: QPs have no rate of their own.
  enum class Kind : uint8_t {
    None,
    Fixed,
    Dcqcn,
    Timely,
    TimelyPatched,
    Dctcp,
    Hpcc,
    Swift,
    Copa,
    Plugin
  };
  Kind kind = Kind::None;
  // Fixed: of each QP; not Top. Others: the line's rate, at which a QP starts; Top: the port's.
  Rate rate = {};
  uint32_t burst = 1; // packets of a QP that are sent at once; the pause after them is as long
  DcqcnParameters dcqcn = {};
  TableParameters table = {}; // of the other kinds
  std::shared_ptr<const Plugin> plugin = {};
  Window window = {};
  PathFacts path = {};

  // With the defaults of its table.
  static Control of(Kind kind);
  static Control of(std::shared_ptr<const Plugin> plugin);

  // The parameters of `kind`; null: it has none.
  ParameterSet *parameters();
  const ParameterSet *parameters() const { return const_cast<Control *>(this)->parameters(); }
  // Whether the rate changes by itself: it starts at the line's rate.
  bool is_dynamic() const { return kind != Kind::None && kind != Kind::Fixed; }
  // XDP_ROCE_NEEDS_*, of its window too.
  uint32_t needs() const;
  const char *word() const; // after `cc`; not for None
};

// What is common to the controls of a kind.
struct ControlRow {
  Control::Kind kind;
  const char *word;                        // after `cc`
  uint32_t needs;                          // XDP_ROCE_NEEDS_*
  const char *about;                       // what rate and window follow; "": its presets say it
  const char *source;                      // where it was read
  std::span<const ParameterRow> (*rows)(); // nullptr: it has no table of its own
};
// All but None, in the order of `cc list`.
std::span<const ControlRow> control_rows();
// The rows of the documents' table: those that have a table of parameters.
std::string control_markdown();

} // namespace xr::congestion
