// SPDX-License-Identifier: Apache-2.0
// A capture over time, in bounded memory: what its plots show (analyze --out).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/histogram.h"
#include "roce/parse.h"
#include "roce/pfc_record.h"

namespace xr {

// Bins of equal width from the first frame on. Where the capture is longer than all bins, pairs of
// bins have become one: the width doubled.
struct CaptureSeries {
  static constexpr size_t kBins = 1024;
  static constexpr uint64_t kFirstBinNs = 1024;
  static constexpr size_t kStreams = 1024;    // with bins of their own; the rest is one row
  static constexpr size_t kPsnPoints = 1024;  // of a stream, at most
  static constexpr size_t kMarks = 1 << 14;   // of all streams
  static constexpr size_t kStreamMarks = 512; // of one of them
  static constexpr size_t kColumns = 128;     // of a heat map: each is that many bins wide:
  static constexpr size_t kColumnBins = kBins / kColumns;
  using HeatRows = LogBuckets<1, 34>; // ns; two rows an octave

  // Sums over all RoCE streams.
  struct Bin {
    uint64_t packets = 0, bytes = 0; // of streams; frames without FCS
    uint64_t ce = 0, cnps = 0;
    uint64_t skipped = 0, rewinds = 0; // PSNs after a gap; times that a stream went back
    uint64_t naks = 0, rnr_naks = 0;
    uint64_t frames = 0, frame_bytes = 0; // of everything
  };
  struct StreamBin {
    uint64_t bytes = 0;
    uint32_t packets = 0, ce = 0, cnps = 0;
  };

  // A packet in the PSN space that its stream has gone through: without the wrap at 2^24.
  struct PsnPoint {
    uint64_t ns = 0;
    int64_t psn = 0;
  };
  struct Stream {
    roce_key key{};
    uint64_t packets = 0, bytes = 0, ce = 0, cnps = 0, skipped = 0, rewinds = 0, naks = 0;
    std::vector<StreamBin> bins;  // as many as `bins`; of the rest of streams without PSNs
    std::vector<PsnPoint> points; // each `stride`th packet
    uint64_t stride = 1;
  };

  enum class MarkKind : uint8_t { Gap, GoBack, Nak, RnrNak };
  static constexpr size_t kMarkKinds = 4;
  struct Mark {
    uint64_t ns = 0, frame = 0; // frame: as of findings (kFileShift)
    int64_t psn = 0;            // as of points
    uint64_t count = 0;         // PSNs skipped; of others 1
    uint32_t stream = 0;        // in `streams`
    MarkKind kind = MarkKind::Gap;
  };

  struct PauseBin {
    uint64_t paused_ns = 0; // 0 if the link's speed is not known
    uint64_t xoffs = 0;     // PFC or PAUSE frames that pause
  };

  // Times by column and row: counts.
  enum class Heat : uint8_t { Ack, AckBound, Message, MessageBound };
  static constexpr size_t kHeats = 4;
  using HeatMap = std::vector<std::array<uint32_t, HeatRows::kBuckets>>; // columns; empty: none

  // The most bytes of a window of this length that begins in the bin.
  static constexpr std::array<uint64_t, 3> kWindowsNs = {10'000, 100'000, 1'000'000};

  uint64_t first_ns = 0, last_ns = 0;
  uint64_t bin_ns = kFirstBinNs;
  std::vector<Bin> bins;       // up to that of the last frame
  std::vector<Stream> streams; // in order of appearance
  std::vector<Mark> marks;
  std::array<std::vector<PauseBin>, ROCE_PFC_COUNTS> pauses; // empty: none of that priority
  std::array<HeatMap, kHeats> heats;
  std::array<std::vector<uint64_t>, kWindowsNs.size()> windows;

  // What found no room.
  Stream rest;                 // the other streams as one, without PSNs
  uint64_t rest_streams = 0;   // how many these are
  uint64_t marks_left_out = 0; // they are in the bins
  uint64_t untimed = 0;        // frames without a time: nowhere

  double bin_s() const { return static_cast<double>(bin_ns) / 1e9; }
  double seconds() const { return static_cast<double>(last_ns - first_ns) / 1e9; }
  double at_s(uint64_t ns) const {
    return ns > first_ns ? static_cast<double>(ns - first_ns) / 1e9 : 0;
  }
};

} // namespace xr
