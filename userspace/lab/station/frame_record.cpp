// SPDX-License-Identifier: Apache-2.0
#include "station/frame_record.h"

#include <algorithm>

namespace xr::station {

namespace {

constexpr uint64_t kFrameCost = sizeof(RecordedFrame) + 32; // bytes beside the frame's own

} // namespace

void FrameRecord::add(uint64_t now, std::span<const uint8_t> frame) {
  received_++;
  const auto holds = [&](const std::vector<packet::BitMatch> &filter) {
    return std::ranges::all_of(filter,
                               [&](const packet::BitMatch &match) { return match.holds(frame); });
  };
  if (!options_.filters.empty() && std::ranges::none_of(options_.filters, holds))
    return;
  matched_++;
  const auto kept =
      options_.snaplen ? frame.first(std::min<size_t>(options_.snaplen, frame.size())) : frame;
  const uint64_t cost = kept.size() + kFrameCost;
  while (bytes_ + cost > options_.most_bytes) {
    lost_++;
    if (!options_.overwrite || frames_.empty())
      return;
    bytes_ -= frames_.front().bytes.size() + kFrameCost;
    frames_.pop_front();
  }
  bytes_ += cost;
  frames_.push_back(
      {now, static_cast<uint32_t>(frame.size()), std::vector<uint8_t>(kept.begin(), kept.end())});
}

} // namespace xr::station
