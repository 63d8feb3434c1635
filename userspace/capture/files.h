// SPDX-License-Identifier: Apache-2.0
// A capture as one file, or as a ring of them of which the last are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "capture/pcapng_writer.h"

namespace xr {

class CaptureFiles {
public:
  struct Options {
    std::string path; // "-" is standard output
    PcapngInterface interface = {};
    // With one of these two the files are NAME_00001_20260101120000.pcapng and so on, as dumpcap's.
    uint64_t file_bytes = 0; // none is longer, unless one packet is
    uint64_t file_ns = 0;    // from its first packet to its last
    uint32_t keep = 0;       // the oldest is removed before there are more; 0: all are kept
    PcapngWriter::Stop stop = {};
  };
  // What each file says at its end.
  using Statistics = std::function<PcapngStatistics()>;

  static Result<CaptureFiles> create(const Options &options, Statistics statistics);

  // `time_ns` of the packet decides when the next file begins.
  Status packet(const PcapngPacket &packet);
  Status flush() { return writer_->flush(); }
  Status finish() { return writer_->finish(statistics_()); }

  bool nobody_reads() const { return writer_->nobody_reads(); }
  bool stalled() const { return writer_->stalled(); }
  // Written, or to be: after an error, what is in the files.
  uint64_t packets() const { return packets_ + writer_->packets(); }
  uint64_t cut() const { return cut_ + writer_->cut(); }
  uint64_t bytes() const { return bytes_ + writer_->bytes(); }
  const std::deque<std::string> &paths() const { return paths_; } // that are there, in order
  uint64_t removed() const { return removed_; }

private:
  CaptureFiles(Options options, Statistics statistics)
      : options_(std::move(options)), statistics_(std::move(statistics)) {}
  bool is_ring() const { return options_.file_bytes || options_.file_ns; }
  bool is_full(const PcapngPacket &packet) const;
  Status next(uint64_t time_ns);

  Options options_;
  Statistics statistics_;
  std::optional<PcapngWriter> writer_;
  std::deque<std::string> paths_;
  uint64_t first_ns_ = 0;                      // of the file's first packet
  uint64_t packets_ = 0, cut_ = 0, bytes_ = 0; // of files before this one
  uint64_t removed_ = 0;
  uint32_t number_ = 0;
};

// "dir/x.pcapng", 2: "dir/x_00002_20260101120000.pcapng", in local time.
std::string ring_path(const std::string &path, uint32_t number, uint64_t realtime_ns);

} // namespace xr
