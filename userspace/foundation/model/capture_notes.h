// SPDX-License-Identifier: Apache-2.0
// What capture files themselves say about their capture: packets that it dropped, times that do not
// fit their unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace xr {

// An interface of a pcapng file with statistics, or with packets that say what was lost before
// them.
struct CapturedInterface {
  uint32_t file = 0;                // index of its path, of several captures
  uint32_t section = 0, number = 0; // in the file, from 0
  std::string name = {};
  // The largest of its interface statistics blocks, which count from the start of the capture.
  bool has_received = false, has_dropped = false, has_os_dropped = false;
  uint64_t received = 0, dropped = 0, os_dropped = 0;
  uint64_t dropped_between = 0; // sum of what its packets say was lost before each

  bool empty() const {
    return !has_received && !has_dropped && !has_os_dropped && !dropped_between;
  }
  // Both count the same losses; a file may have either.
  uint64_t lost() const {
    const uint64_t stated = dropped + os_dropped;
    return stated > dropped_between ? stated : dropped_between;
  }
};

struct CaptureNotes {
  static constexpr size_t kInterfaces = 256; // most rows; the rest is only in `dropped`

  // Packets of pcap files whose timestamp's fraction is a second or more, by the file's unit.
  uint64_t fractions_over_us = 0, fractions_over_ns = 0;
  uint64_t windows = 0;         // places where `capture --around` left frames out
  uint64_t copies = 0;          // frames that the mirror gave twice: left out
  bool has_dropped = false;     // a file says how many packets its capture dropped
  uint64_t dropped = 0;         // by the captures, before the file: sum of lost()
  uint64_t interfaces_more = 0; // interfaces without a row
  std::vector<CapturedInterface> interfaces = {};

  void add(const CapturedInterface &captured_interface) {
    if (captured_interface.empty())
      return;
    has_dropped = has_dropped || captured_interface.has_dropped ||
                  captured_interface.has_os_dropped || captured_interface.dropped_between;
    dropped += captured_interface.lost();
    if (interfaces.size() < kInterfaces)
      interfaces.push_back(captured_interface);
    else
      interfaces_more++;
  }
  void add(const CaptureNotes &other, uint32_t file) {
    fractions_over_us += other.fractions_over_us;
    fractions_over_ns += other.fractions_over_ns;
    copies += other.copies;
    windows += other.windows;
    has_dropped = has_dropped || other.has_dropped;
    dropped += other.dropped;
    interfaces_more += other.interfaces_more;
    for (CapturedInterface interface : other.interfaces) {
      interface.file = file;
      if (interfaces.size() < kInterfaces)
        interfaces.push_back(interface);
      else
        interfaces_more++;
    }
  }
};

} // namespace xr
