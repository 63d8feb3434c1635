// SPDX-License-Identifier: Apache-2.0
#include "endpoint/capture.h"

#include "capture/reader.h"

namespace xr::endpoint {

Result<Capture> load_capture(const requester::Replay &how, uint16_t udp_port, uint32_t longest) {
  auto reader = Reader::open(how.file);
  if (!reader)
    return reader.error();
  Capture capture;
  CapturedFrame frame;
  Next next = reader->next(frame);
  for (; next == Next::Frame; next = reader->next(frame)) {
    if (frame.link != Link::Ethernet)
      return Error{fmt::format("{}: its frames are not Ethernet's", how.file),
                   "capture on the interface itself, not on `any`"};
    if (frame.captured < frame.length || frame.length < ROCE_ETH_LEN) {
      capture.cut++;
      continue;
    }
    if (frame.length > longest) {
      capture.too_long++;
      continue;
    }
    const size_t offset = capture.bytes.size();
    capture.bytes.insert(capture.bytes.end(), frame.data, frame.data + frame.length);
    capture.frames.push_back({frame.time_ns, offset, frame.length});
    capture.rewritten +=
        requester::rewrite({capture.bytes.data() + offset, frame.length}, how, udp_port);
  }
  if (next == Next::Error)
    return reader->error();
  if (capture.frames.empty())
    return Error{fmt::format("{}: there is no whole frame in it", how.file)};
  return capture;
}

} // namespace xr::endpoint
