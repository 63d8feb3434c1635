// SPDX-License-Identifier: Apache-2.0
// Writes pcapng: one section, one interface, and a comment per packet, which libpcap cannot write.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace xr {

struct PcapngInterface {
  std::string name;
  std::string filter;           // as text; "": none
  uint32_t snap = 0;            // maximum bytes of a frame
  uint16_t link = 1;            // https://www.tcpdump.org/linktypes.html: Ethernet
  std::string description = {}; // "": none
};

struct PcapngPacket {
  uint64_t time_ns = 0; // since 1970
  const uint8_t *data = nullptr;
  uint32_t captured = 0;
  uint32_t length = 0; // on the wire
  std::string_view comment = {};
  bool inbound = true;   // false: not known
  uint64_t left_out = 0; // frames before this one, since the one before it in the file
  uint32_t fcs = 0;      // of the length: bytes of an FCS at the end; 0: there is none
};

struct PcapngStatistics {
  uint64_t start_ns = 0, end_ns = 0; // since 1970
  uint64_t received = 0;             // by the interface, matching the filter or not
  uint64_t accepted = 0;             // matched the filter
  uint64_t dropped = 0;              // of those, lost because a buffer was full
  uint64_t delivered = 0;            // written, in all files of the ring
};

class PcapngWriter {
public:
  // Returns true when the run should end.
  using Stop = std::function<bool()>;

  // Creates or replaces a file; "-" is standard output, which is appended to. Waits for the reader
  // of a pipe until `stop` returns true.
  static Result<PcapngWriter> create(const std::string &path, const PcapngInterface &interface,
                                     Stop stop = {});

  // For many files: the file is closed, and open only while a buffer is written. Not for pipes.
  Status close();

  // If a write fails (disk full, I/O error), the file is cut after its last whole block and stays
  // readable. Bytes that a pipe's reader has taken remain.
  Status packet(const PcapngPacket &packet);
  Status flush();
  // Writes the statistics block and flushes.
  Status finish(const PcapngStatistics &statistics);

  // The reader of a pipe has exited, or did not read for too long.
  bool nobody_reads() const;
  bool stalled() const { return stalled_; } // it did not read for too long
  // Includes what is not flushed yet.
  uint64_t bytes() const { return written_ + buffer_.size(); }
  uint64_t packets() const { return packets_; }
  uint64_t cut() const { return cut_; } // packets that were not captured completely

  static constexpr uint64_t kStatisticsSize = 100; // bytes that finish() writes
  // Bytes of a packet's block.
  static uint64_t size_of(const PcapngPacket &packet);

private:
  PcapngWriter(Fd fd, std::string path, Stop stop);
  bool wait_for_room() const;
  Status give_up(size_t done, int error);
  size_t keep_whole_blocks(size_t bytes);

  template <typename T> void put(T value);
  void put_bytes(const void *data, size_t size); // and padding to 32 bits
  void put_option(uint16_t code, const void *data, size_t size);
  void put_option(uint16_t code, std::string_view text);
  void put_count(uint16_t code, uint64_t value);
  size_t begin(uint32_t type);
  void end(size_t block);

  Fd fd_;
  std::string path_;
  Stop stop_;
  bool pipe_ = false;           // or a socket
  std::vector<uint8_t> buffer_; // whole blocks
  bool keeps_closed_ = false;
  uint64_t base_ = 0; // file size before the first block of ours
  uint64_t written_ = 0;
  uint64_t packets_ = 0, cut_ = 0;
  bool nobody_reads_ = false, stalled_ = false;
};

} // namespace xr
