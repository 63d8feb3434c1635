// SPDX-License-Identifier: Apache-2.0
#include "endpoint/replay_file.h"

#include <fmt/format.h>

#include "capture/reader.h"

namespace xr::endpoint {

Result<ReplayFile> load_replay_file(const requester::Replay &how, uint16_t udp_port,
                                    uint32_t longest) {
  auto reader = XR_TRY(Reader::open(how.file));
  ReplayFile loaded;
  CapturedFrame frame;
  Next next = reader.next(frame);
  for (; next == Next::Frame; next = reader.next(frame)) {
    if (frame.link != Link::Ethernet)
      return Error{fmt::format("{}: its frames are not Ethernet frames", how.file),
                   "capture on the interface itself, not on `any`"};
    if (frame.captured < frame.length || frame.length < ROCE_ETH_LEN) {
      loaded.cut++;
      continue;
    }
    if (frame.length > longest) {
      loaded.too_long++;
      continue;
    }
    const size_t offset = loaded.bytes.size();
    loaded.bytes.insert(loaded.bytes.end(), frame.data, frame.data + frame.length);
    loaded.frames.push_back({frame.time_ns, offset, frame.length});
    loaded.rewritten +=
        requester::rewrite({loaded.bytes.data() + offset, frame.length}, how, udp_port);
  }
  if (next == Next::Error)
    return reader.error();
  if (loaded.frames.empty())
    return Error{fmt::format("{}: there is no whole frame in it", how.file)};
  return loaded;
}

} // namespace xr::endpoint
