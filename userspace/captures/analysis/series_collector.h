// SPDX-License-Identifier: Apache-2.0
// Collects what plots of a capture show, in bounded memory.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "model/capture_series.h"
#include "native/native_datapath.h"

namespace xr {

class SeriesCollector {
public:
  // After the datapath has accounted for the frame, in which it found `record`
  // (NativeDatapath::kNoStream: no stream's).
  void add(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
           roce_class class_, const roce_packet &packet, uint32_t record);
  // A time that the datapath took, which ended at `now`: enum roce_latency.
  void add_time(uint64_t now, unsigned kind, bool bound, uint64_t ns);
  // Pauses end now.
  CaptureSeries result(const NativeDatapath &datapath, uint64_t now);

private:
  // What of a stream is for the collecting only. All that most packets touch is in the first line
  // of the cache: what a packet adds to the current bin goes to the stream when its next bin
  // begins.
  struct alignas(64) Place {
    uint32_t stream = 0; // in series_.streams, + 1; kRest: it is one of the rest; 0: not seen yet
    uint32_t last_psn = 0;
    int64_t psn = 0;         // of last_psn, without the wrap
    uint32_t until_next = 1; // packets until the next point
    uint32_t bin = 0;        // of `now`
    CaptureSeries::StreamBin now{};

    uint32_t marks = 0;
    uint64_t skipped = 0, rewinds = 0;
  };
  static constexpr uint32_t kRest = UINT32_MAX;

  size_t bin_of(uint64_t ns);
  void widen();
  void begin(Place &place, const roce_packet &packet);
  CaptureSeries::Stream &stream_of(const Place &place);
  void flush(Place &place);
  void flush_all();
  void point(Place &place, uint64_t ns, uint32_t psn);
  void found(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
             uint32_t record, CaptureSeries::Bin &bin);
  void mark(Place &place, const NativeDatapath::FrameView &frame, CaptureSeries::MarkKind kind,
            uint64_t count);
  void add_window(uint64_t ns, uint32_t bytes);
  void end_window(size_t which);
  void pauses(const NativeDatapath &datapath, uint64_t now);
  void add_pause(unsigned priority, uint64_t from, uint64_t to);

  CaptureSeries series_;
  std::vector<Place> places_; // by record
  unsigned bin_shift_ = std::countr_zero(CaptureSeries::kFirstBinNs);
  std::array<roce_pfc, ROCE_PFC_COUNTS> pfc_{};
  std::array<uint64_t, ROCE_PFC_COUNTS> xoffs_{};
  struct Window {
    uint64_t begin = 0, bytes = 0; // begin: since the first frame
  };
  std::array<Window, CaptureSeries::kWindowsNs.size()> windows_{};
};

} // namespace xr
