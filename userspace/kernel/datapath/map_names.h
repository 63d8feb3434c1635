// SPDX-License-Identifier: Apache-2.0
// Names of the program's maps, also the names of their pins. object.cpp checks at compile time that
// the BPF object has each of them.
#pragma once

#include <cstdint>

// clang-format off
#define XR_MAP_NAMES(X)                                                                            \
  X(opcodes) X(totals) X(streams) X(shared) X(asides) X(hints) X(events) X(rodata)                 \
  X(mirrors) X(mirrored) X(classes) X(pfc)                                                         \
  X(follows) X(episodes) X(findings) X(timings) X(pair_times) X(port_times) X(job_pairs)           \
  X(sockets) X(endpoints)                                                                          \
  X(capture_ring) X(capture_filter) X(capture_counts)                                              \
  X(rules) X(rule_states) X(rule_counts) X(rule_points) X(rule_notes) X(peers)                     \
  X(forward) X(twice) X(with_cnp) X(hold) X(link) X(wire)
// clang-format on

namespace xr::datapath {

inline constexpr uint32_t kOnlyKey = 0; // of maps with one element

namespace map_names {

#define XR_NAME_(name) inline constexpr const char *name = #name;
XR_MAP_NAMES(XR_NAME_)
#undef XR_NAME_

// The pin of the rule set in use, the inner map of `rules`.
inline constexpr const char *ruleset = "ruleset";

} // namespace map_names
} // namespace xr::datapath
