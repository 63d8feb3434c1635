// SPDX-License-Identifier: Apache-2.0
// Reads a capture to its end; makes small captures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture/reader.h"
#include "capture_writer.h"

namespace xr::test {

struct Got {
  FileBytes data;
  uint32_t length = 0;
  uint64_t time_ns = 0;
  Link link = Link::Ethernet;
  bool operator==(const Got &) const = default;
};

struct Outcome {
  std::vector<Got> frames;
  Next last = Next::Error;
  std::string error; // of opening too
  bool opened = false;
};

constexpr size_t kManyFrames = 1000000; // more is a hang

inline Outcome drain(Result<Reader> reader) {
  Outcome outcome;
  if (!reader) {
    outcome.error = reader.error().message;
    return outcome;
  }
  outcome.opened = true;
  CapturedFrame frame;
  while ((outcome.last = reader->next(frame)) == Next::Frame) {
    EXPECT_LE(frame.captured, frame.length);
    outcome.frames.push_back({FileBytes(frame.data, frame.data + frame.captured), frame.length,
                              frame.time_ns, frame.link});
    if (outcome.frames.size() > kManyFrames)
      break;
  }
  if (outcome.last == Next::Truncated || outcome.last == Next::Error)
    outcome.error = reader->error().message;
  // The end stays the end.
  EXPECT_EQ(reader->next(frame), outcome.last);
  return outcome;
}

inline Outcome read(const FileBytes &bytes, size_t chunk = 64 << 10) {
  return drain(Reader::from_memory(bytes, chunk));
}
inline Outcome read(const Writer &writer, size_t chunk = 64 << 10) {
  return read(writer.bytes, chunk);
}

inline FileBytes data(size_t n, uint8_t first = 1) {
  FileBytes bytes(n);
  for (size_t i = 0; i < n; i++)
    bytes[i] = static_cast<uint8_t>(first + i);
  return bytes;
}

inline FileBytes three_packets() {
  return PcapWriter().packet(data(60)).packet(data(61)).packet(data(62), 1, 2, 1000).bytes;
}

inline FileBytes three_blocks() {
  return PcapngWriter()
      .interface()
      .packet(data(60))
      .packet(data(61))
      .packet(data(62), 3, 0, 1000, {{2, {0, 0, 0, 0}}})
      .bytes;
}

} // namespace xr::test
