// SPDX-License-Identifier: Apache-2.0
// pcapng out: one section, one Ethernet interface, each packet with a comment, which libpcap cannot
// write.
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
  std::string filter; // in words; "": none
  uint32_t snap = 0;  // bytes of a frame at most
};

struct PcapngPacket {
  uint64_t time_ns = 0; // since 1970
  const uint8_t *data = nullptr;
  uint32_t captured = 0;
  uint32_t length = 0; // on the wire, without FCS
  std::string_view comment = {};
};

struct PcapngStatistics {
  uint64_t start_ns = 0, end_ns = 0; // since 1970
  uint64_t received = 0;             // by the interface, wanted or not
  uint64_t accepted = 0;             // by the filter
  uint64_t dropped = 0;              // of those, for want of room
  uint64_t delivered = 0;            // written, of all files together
};

class PcapngWriter {
public:
  // Is it time to end?
  using Stop = std::function<bool()>;

  // A new file in the place of what was there; "-" is standard output, behind what it has. The
  // reader of a pipe is waited for until `stop` says that it is time to end.
  static Result<PcapngWriter> create(const std::string &path, const PcapngInterface &interface,
                                     Stop stop = {});

  // A file that could not be written (no room, an I/O error) ends behind its last whole block: it
  // can be read. What a pipe's reader has taken cannot be taken back.
  Status packet(const PcapngPacket &packet);
  Status flush();
  // The statistics at the end.
  Status finish(const PcapngStatistics &statistics);

  // A pipe's reader has gone away, or was not waited for any longer.
  bool nobody_reads() const;
  bool stalled() const { return stalled_; } // the latter
  // Those in the file, and those that are still to be flushed.
  uint64_t bytes() const { return written_ + buffer_.size(); }
  uint64_t packets() const { return packets_; }
  uint64_t cut() const { return cut_; } // of them, packets of which not all was captured

  static constexpr uint64_t kStatisticsSize = 100; // of what finish() writes
  // Bytes that a packet takes in a file.
  static uint64_t size_of(const PcapngPacket &packet);

private:
  PcapngWriter(Fd fd, std::string path, Stop stop);
  bool wait_for_room() const;
  Status give_up(size_t done, int error);
  size_t keep_whole_blocks(size_t bytes);

  template <typename T> void put(T value);
  void put_bytes(const void *data, size_t size); // and what fills the word
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
  uint64_t base_ = 0;           // bytes in the file before ours
  uint64_t written_ = 0;
  uint64_t packets_ = 0, cut_ = 0;
  bool nobody_reads_ = false, stalled_ = false;
};

} // namespace xr
