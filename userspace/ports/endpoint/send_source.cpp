// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "capture/reader.h"
#include "requester/cm_source.h"
#include "requester/open.h"
#include "requester/verify.h"

namespace xr::endpoint {

using flow::Flow;

namespace {

std::unique_ptr<requester::Requester> make_sender(const SendRequest &request, const PortFacts &port,
                                                  std::vector<Flow> flows, double part,
                                                  const requester::Reliability &reliability) {
  congestion::Rate total = request.rate;
  total.value *= part;
  const auto line = static_cast<double>(port.line_bits);
  if (request.verify)
    return std::make_unique<requester::VerifySource>(std::move(flows), total, line, reliability);
  if (request.reliable)
    return std::make_unique<requester::ReliableSource>(std::move(flows), total, line, reliability);
  return std::make_unique<requester::OpenSource>(std::move(flows), total, line);
}

} // namespace

std::unique_ptr<requester::Requester> make_source(const SendRequest &request, const PortFacts &port,
                                                  std::vector<Flow> flows, double part) {
  if (!request.cm)
    return make_sender(request, port, std::move(flows), part, request.reliability);
  requester::CmOptions options = *request.cm;
  options.seed = request.seed;
  return std::make_unique<requester::CmSource>(
      std::move(flows), options, [&request, &port, part](std::vector<Flow> made, uint32_t reads) {
        requester::Reliability reliability = request.reliability;
        reliability.answered = std::max(1U, std::min(reliability.answered, reads));
        return make_sender(request, port, std::move(made), part, reliability);
      });
}

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
