// SPDX-License-Identifier: Apache-2.0
#include "compare/survey.h"

#include <algorithm>

#include "analysis/captured_packet.h"

namespace xr::compare {

namespace {

// Addresses beyond these only add to the sample of the last pair.
constexpr size_t kMostEnds = 65536;

uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccd;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53;
  return value ^ value >> 33;
}

uint8_t ttl_of(const CapturedFrame &frame, const roce_packet &packet) {
  const uint32_t l3 = packet.l3;
  if (l3 + ROCE_IPV4_LEN > frame.captured)
    return 0;
  return frame.data[l3] >> 4 == 4 ? frame.data[l3 + 8] : frame.data[l3 + 7];
}

} // namespace

void Survey::add(const CapturedFrame &frame, const roce_packet &packet) {
  uint32_t print = 0;
  if (packet.end <= frame.captured)
    print = roce_load32(frame.data + packet.end - ROCE_ICRC_LEN);
  const uint64_t hash = mix(key_hash(packet.key) +
                            (uint64_t{print} << 32 | uint64_t{packet.opcode} << 24 | packet.psn));
  if (hash > threshold_)
    return;
  const Ends ends = ends_of(packet.key);
  if (index_.size() >= kMostEnds && !index_.contains(ends))
    return;
  const auto [at, added] = index_.emplace(ends, static_cast<uint32_t>(ends_.size()));
  if (added)
    ends_.push_back(ends);
  anchors_.push_back({hash, frame.time_ns, at->second, ttl_of(frame, packet)});
  while (anchors_.size() > kSample) {
    threshold_ /= 2;
    std::erase_if(anchors_, [this](const Anchor &anchor) { return anchor.hash > threshold_; });
  }
}

void Survey::read(Reader &reader, uint16_t udp_port, const std::function<bool()> &stop) {
  const NativeDatapath parser({.udp_port = udp_port, .track = false});
  CapturedFrame frame;
  for (uint32_t n = 1; reader.next(frame) == Next::Frame; n++) {
    if (!any_ || frame.time_ns < span_.first_ns)
      span_.first_ns = frame.time_ns;
    span_.last_ns = std::max(span_.last_ns, frame.time_ns);
    any_ = true;
    roce_packet packet;
    const roce_class class_ = parse_captured(parser, frame, packet);
    if (roce_is_roce(class_)) {
      roce_key_fill(&packet.key);
      add(frame, packet);
    }
    if (!(n & 4095) && stop())
      break;
  }
}

} // namespace xr::compare
