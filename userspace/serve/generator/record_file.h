// SPDX-License-Identifier: Apache-2.0
// Recorded frames as the bytes of a capture file, with their FCS, which is computed here.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "station/frame_record.h"

namespace xr::generator {

struct RecordFile {
  size_t first = 0, count = 0; // of the frames
  bool pcapng = false;         // else pcap; both with ns
  uint32_t snaplen = 0;        // 0: whole frames
  std::string name;            // of the port
};
Result<std::string> record_file(const station::FrameRecord &record, const RecordFile &file);

} // namespace xr::generator
