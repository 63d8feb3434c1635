// SPDX-License-Identifier: Apache-2.0
// A file in memory through the reader and the analyser. The input: how many bytes the reader looks
// at together, 16 bits little-endian, then the file.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "analysis/analyzer.h"
#include "require.h"

using namespace xr;

namespace {

struct Outcome {
  uint64_t frames = 0, bytes = 0;
  Next last = Next::Error;
  std::string error;
  bool operator==(const Outcome &) const = default;
};

// gzip makes much of little.
constexpr uint64_t kFramesMost = 20000;

void check(const Analyzer &analyzer, const Outcome &outcome) {
  Snapshot s;
  analyzer.snapshot(s);
  uint64_t frames = 0, bytes = s.totals.bytes;
  for (const roce_opcode_count &c : s.opcodes) {
    bytes += c.bytes;
    for (uint64_t packets : c.packets)
      frames += packets;
  }
  for (uint64_t n : s.totals.frames)
    frames += n;
  REQUIRE(frames == outcome.frames);
  REQUIRE(bytes == outcome.bytes);
}

Outcome read(const std::vector<uint8_t> &file, size_t chunk, Analyzer *analyzer = nullptr) {
  Outcome outcome;
  Result<Reader> reader = Reader::from_memory(file, chunk);
  if (!reader) {
    REQUIRE(!reader.error().message.empty());
    outcome.error = reader.error().message;
    return outcome;
  }
  CapturedFrame frame;
  while (outcome.frames < kFramesMost && (outcome.last = reader->next(frame)) == Next::Frame) {
    REQUIRE(frame.captured <= frame.length);
    if (analyzer)
      analyzer->frame(frame);
    outcome.frames++;
    outcome.bytes += frame.length;
  }
  if (outcome.last == Next::Truncated || outcome.last == Next::Error) {
    outcome.error = reader->error().message;
    REQUIRE(!outcome.error.empty());
  }
  return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2)
    return 0;
  const size_t chunk = 1 + (data[0] | data[1] << 8);
  const std::vector<uint8_t> file(data + 2, data + size);
  const bool packed = file.size() > 1 && file[0] == 0x1f && file[1] == 0x8b;
  Analyzer analyzer({});
  const Outcome outcome = read(file, chunk, &analyzer);
  check(analyzer, outcome);
  // How it is cut into pieces makes no difference. (Damaged gzip gives up at the end of a piece.)
  if (!packed)
    REQUIRE(outcome == read(file, 64 << 10));
  return 0;
}
