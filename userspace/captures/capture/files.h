// SPDX-License-Identifier: Apache-2.0
// Writes a capture to one file, or to a ring of files of which the newest are kept.
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
    // If one of these two is set, files are named NAME_00001_20260101120000.pcapng and so on, as by
    // dumpcap.
    uint64_t file_bytes = 0; // maximum size of a file, unless one packet is larger
    uint64_t file_ns = 0;    // maximum time from a file's first packet to its last
    uint32_t keep = 0;       // maximum number of files, the oldest is removed; 0: all are kept
    PcapngWriter::Stop stop = {};
  };
  // Called for the statistics block at the end of each file.
  using Statistics = std::function<PcapngStatistics()>;

  static Result<CaptureFiles> create(const Options &options, Statistics statistics);

  // The packet's time decides whether a new file begins.
  Status packet(const PcapngPacket &packet);
  Status flush() { return writer_->flush(); }
  Status finish() { return writer_->finish(statistics_()); }

  bool nobody_reads() const { return writer_->nobody_reads(); }
  bool stalled() const { return writer_->stalled(); }
  // Written and not yet flushed; after an error, only what is in the files.
  uint64_t packets() const { return packets_ + writer_->packets(); }
  uint64_t cut() const { return cut_ + writer_->cut(); }
  uint64_t bytes() const { return bytes_ + writer_->bytes(); }
  const std::deque<std::string> &paths() const { return paths_; } // existing files, oldest first
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
  uint64_t first_ns_ = 0;                      // of the first packet of the current file
  uint64_t packets_ = 0, cut_ = 0, bytes_ = 0; // of earlier files
  uint64_t removed_ = 0;
  uint32_t number_ = 0;
};

// "dir/x.pcapng", 2: "dir/x_00002_20260101120000.pcapng", in local time.
std::string ring_path(const std::string &path, uint32_t number, uint64_t realtime_ns);

} // namespace xr
