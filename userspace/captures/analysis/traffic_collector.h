// SPDX-License-Identifier: Apache-2.0
// Collects what the headers of packets say about the set-up, by stream.
#pragma once

#include <cstdint>
#include <vector>

#include "model/snapshot.h"
#include "native/native_datapath.h"

namespace xr {

class TrafficCollector {
public:
  // `source_port`: of UDP; 0: RoCEv1. `record`: what NativeDatapath::account() returned for the
  // frame.
  void add(const NativeDatapath::FrameView &frame, roce_class class_, const roce_packet &packet,
           uint16_t source_port, uint32_t record);
  // Fills `traffic` and `strays`, from one for each datapath; the first one has the strays.
  // `places`: those of the snapshot's streams.
  static void result(const std::vector<const TrafficCollector *> &parts,
                     const std::vector<NativeDatapath::StreamPlace> &places, Snapshot &into);

private:
  // Most packets of a stream repeat the header fields of the one before: these are only counted.
  struct Entry {
    uint64_t fields = ~uint64_t{0}; // of the last packet
    uint64_t again = 0;             // packets with the same, not yet in `traffic`
    StreamTraffic traffic;
  };

  static void fold(uint64_t fields, uint64_t packets, StreamTraffic &into);
  static void changed(Entry &entry, uint64_t fields, uint64_t frame);
  void stray(const NativeDatapath::FrameView &frame, roce_class class_);

  std::vector<Entry> entries_; // by record
  StraysTraffic strays_;
};

} // namespace xr
