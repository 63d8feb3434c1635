// SPDX-License-Identifier: Apache-2.0
// The figures of one `capture` run: frames seen, written, lost, and its files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr {

struct CaptureSummary {
  std::string ifname;
  std::string xdp_mode;
  double seconds = 0;
  uint64_t seen = 0;    // frames on the port
  uint64_t taken = 0;   // of those, wanted by the filter
  uint64_t written = 0; // frames
  uint64_t bytes = 0;   // of files
  uint64_t cut = 0;     // frames written that are longer than what was kept of them
  bool around = false;
  uint64_t events = 0;            // that frames were kept around
  uint64_t not_around = 0;        // frames near no event
  uint64_t unwritten = 0;         // frames behind the last one asked for, or that could not be
  std::vector<std::string> files; // that are there
  uint64_t files_removed = 0;
  // what could not be kept
  uint64_t lost = 0;          // frames that found the ring full
  uint64_t outcomes_lost = 0; // frames without a word of what became of them
  uint64_t unread = 0;        // frames for which there was no ring
  uint64_t late = 0;          // frames behind a later one
};

} // namespace xr
