// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send_source.h"

#include <algorithm>

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

} // namespace xr::endpoint
