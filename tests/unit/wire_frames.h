// SPDX-License-Identifier: Apache-2.0
// Frames for links, and what comes out of them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "parse/words.h"
#include "wire/link.h"
#include "wire/link_words.h"

namespace xr::wire {

inline LinkSpec link_spec(const std::string &words) {
  const auto spec = parse_link(parse::split(words));
  if (!spec)
    throw std::runtime_error(words + ": " + spec.error().message);
  return spec.get();
}

constexpr uint8_t kEct0 = 2;

// ECT(0), DSCP 0, from port 0.
inline Frame sized(uint32_t handle, uint32_t length, uint8_t dscp = 0) {
  return {.handle = handle, .length = length, .ecn = kEct0, .dscp = dscp};
}

// Everything that has left until `now`.
inline std::vector<Frame> taken(Link &link, uint64_t now) {
  std::vector<Frame> frames;
  for (Frame frame; link.take(now, frame);)
    frames.push_back(frame);
  return frames;
}

// Everything that leaves without another frame coming, up to `end`.
inline std::vector<Frame> drained(Link &link, uint64_t end = kNever - 1) {
  std::vector<Frame> frames;
  for (uint64_t at; (at = link.next()) <= end;) {
    for (const Frame &frame : taken(link, at))
      frames.push_back(frame);
    Frame dropped;
    LinkDrop cause;
    while (link.take_dropped(at, dropped, cause))
      continue;
  }
  return frames;
}

} // namespace xr::wire
