// SPDX-License-Identifier: Apache-2.0
// Divides a capture into pcapng files: one a stream, or one an interval of time. Frames keep their
// bytes, times, comments and order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "capture/pcapng_writer.h"
#include "capture/reader.h"
#include "model/split.h"
#include "roce/parse.h"

namespace xr {

struct SplitOptions {
  std::string directory; // is made; files in it are not replaced
  uint64_t every_ns = 0; // length of the intervals, which begin at multiples of it; 0: by stream
  // The name of a stream's file, without .pcapng.
  std::function<std::string(const roce_key &)> name;
  size_t most_files = 65536;
  size_t most_pending = 64 << 20; // bytes that wait to be written, of all files
};

class Splitter {
public:
  // Error: the directory cannot be made, or has captures.
  static Result<Splitter> create(SplitOptions options);

  // `stream`: nullptr if the frame is of none; those share a file, other.pcapng.
  Status frame(const CapturedFrame &frame, const roce_key *stream);
  // Writes what is pending; call it once, at the end.
  Status finish();
  const SplitReport &report() const { return report_; }

private:
  explicit Splitter(SplitOptions options)
      : options_(std::move(options)), report_{.directory = options_.directory} {}
  Result<PcapngWriter *> file_of(const CapturedFrame &frame, const roce_key *stream);
  Result<PcapngWriter *> add(const std::string &key, const CapturedFrame &frame,
                             const roce_key *stream);

  SplitOptions options_;
  std::map<std::string, PcapngWriter> files_; // by stream or interval, and link type
  size_t pending_ = 0;
  SplitReport report_;
};

} // namespace xr
