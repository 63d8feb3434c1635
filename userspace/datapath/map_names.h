// SPDX-License-Identifier: Apache-2.0
// Names of the program's maps, which are those of their pins. object.cpp compares them with the
// object: one that it does not have does not compile.
#pragma once

// clang-format off
#define XR_MAP_NAMES(X)                                                                            \
  X(opcodes) X(totals) X(streams) X(shared) X(asides) X(hints) X(events) X(rodata)                 \
  X(sockets) X(endpoints)                                                                          \
  X(capture_ring) X(capture_filter) X(capture_counts)                                              \
  X(rules) X(rule_states) X(rule_counts) X(rule_points) X(rule_notes) X(peers)                     \
  X(forward) X(twice) X(with_cnp)
// clang-format on

namespace xr::datapath::map_names {

#define XR_NAME_(name) inline constexpr const char *name = #name;
XR_MAP_NAMES(XR_NAME_)
#undef XR_NAME_

// The set of rules in use, which is an entry of `rules`.
inline constexpr const char *ruleset = "ruleset";

} // namespace xr::datapath::map_names
