// SPDX-License-Identifier: Apache-2.0
#include "requester/frames.h"

#include <algorithm>

#include <stdexcept>

#include "packet/stamp.h"
#include "roce/cnp.h"

namespace xr::requester {

packet::Template FlowFrames::make(const packet::Path &path, uint8_t opcode, uint32_t payload,
                                  uint32_t rkey) const {
  packet::Headers headers = flow_.headers(opcode);
  headers.rkey = rkey;
  const uint32_t pad = flow_.pad_of(opcode == ROCE_OPCODE_CNP ? ROCE_CNP_PAYLOAD : payload);
  const bool stamped = flow_.stamp && payload >= packet::kStampBytes;
  const auto whole = [&] {
    std::vector<uint8_t> bytes = packet::counting_payload(payload);
    if (stamped)
      packet::write_stamp(bytes.data(), {.run = flow_.stamp_run});
    return packet::Template::make(path, headers, bytes, static_cast<int>(pad), stamped);
  };
  auto made = headers_only_ && !stamped
                  ? packet::Template::make_headers(path, headers, payload, static_cast<int>(pad))
                  : whole();
  if (!made)
    throw std::logic_error("a flow that was checked has no frames: " + made.error().message);
  return std::move(made).get();
}

const packet::Template *FlowFrames::of(uint8_t opcode, uint32_t payload, uint32_t rkey) {
  const uint64_t key = uint64_t{opcode} << 56 | uint64_t{payload} << 32 | rkey;
  std::unique_ptr<packet::Template> &kept = templates_[key];
  if (!kept)
    kept = std::make_unique<packet::Template>(make(flow_.path, opcode, payload, rkey));
  return kept.get();
}

const packet::Template *FlowFrames::ack() {
  return of(static_cast<uint8_t>(flow_.transport | unsigned{ROCE_RC_ACKNOWLEDGE}), 0);
}

const packet::Template *FlowFrames::cnp(uint8_t dscp) {
  if (!cnp_) {
    packet::Path path = flow_.path;
    path.tos = static_cast<uint8_t>(dscp << 2);
    cnp_ = std::make_unique<packet::Template>(make(path, ROCE_OPCODE_CNP, 0, flow_.rkey));
  }
  return cnp_.get();
}

double average_frame(const flow::Flow &flow) {
  constexpr uint64_t kMessages = 16, kPackets = 1024;
  const uint64_t seed = flow.size_seed(0);
  const bool same = flow.size.kind == flow::Sizes::Kind::List && flow.size.parts.size() == 1;
  double bytes = 0, packets = 0;
  for (uint64_t number = 0; number < (same ? 1 : kMessages); number++) {
    const uint64_t size = flow.size.of(number, seed);
    const auto all = static_cast<uint32_t>(
        std::min<uint64_t>(packet::packets_of(flow.verb, size, flow.pmtu), kPackets));
    const auto frame = [&](uint32_t index) {
      const auto segment = flow.segment(size, index);
      return packet::overhead(flow.path, segment.opcode) + segment.payload +
             flow.pad_of(segment.payload);
    };
    bytes += frame(0);
    if (all > 2) // all but the first and the last are equal
      bytes += static_cast<double>(all - 2) * frame(1);
    if (all > 1)
      bytes += frame(all - 1);
    packets += all;
  }
  return bytes / packets;
}

congestion::PacketSize packet_size(const flow::Flow &flow) {
  const uint64_t size = flow.size.of(0, flow.size_seed(0));
  return {static_cast<uint32_t>(std::clamp<uint64_t>(size, 1, flow.pmtu)),
          static_cast<uint32_t>(average_frame(flow))};
}

} // namespace xr::requester
