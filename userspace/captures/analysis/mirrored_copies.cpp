// SPDX-License-Identifier: Apache-2.0
#include "analysis/mirrored_copies.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/captured_packet.h"
#include "capture/capture_set.h"

namespace xr {

namespace {

// Hashes the packet's bytes, without those that change on the way.
uint64_t hash_of(const NativeDatapath::FrameView &frame, const roce_packet &packet) {
  const uint32_t end = std::min(frame.captured, packet.end);
  if (packet.l3 >= end)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(frame.data) + packet.l3,
                               end - packet.l3);
  std::array<char, 12> first{};
  const size_t size = std::min(bytes.size(), first.size());
  std::copy_n(bytes.begin(), size, first.begin());
  if (bytes[0] >> 4 == 4)
    first[1] = first[8] = first[10] = first[11] = 0; // TOS, TTL, checksum
  else
    first[0] = first[1] = first[2] = first[3] = first[7] = 0; // class and flow label, hop limit
  const std::hash<std::string_view> hash;
  return hash({first.data(), size}) ^ hash(bytes.substr(size)) * 31;
}

} // namespace

bool MirroredCopies::is_copy(const NativeDatapath::FrameView &frame, const roce_packet &packet) {
  const uint64_t hash = hash_of(frame, packet), now = frame.time_ns;
  packets_++;
  const auto is_recent = [&](const Seen &seen) {
    return now - seen.ns <= window_ns_ && packets_ - seen.number <= kPackets;
  };
  const auto found = seen_.find(hash);
  if (found != seen_.end() && is_recent(found->second)) {
    longest_ns_ = std::max(longest_ns_, now - found->second.ns);
    seen_.erase(found);
    copies_++;
    return true;
  }
  seen_[hash] = {now, packets_};
  if (packets_ % (16 * kPackets) == 0)
    std::erase_if(seen_, [&](const auto &packet) { return !is_recent(packet.second); });
  return false;
}

std::optional<uint64_t> find_copies(const std::vector<std::string> &paths,
                                    const NativeDatapath::Options &datapath,
                                    const ReadOptions &options) {
  constexpr unsigned kFrames = 4096, kFewest = 20;
  if (paths == std::vector<std::string>{"-"})
    return {};
  auto set = CaptureSet::open(paths, nullptr, false, options);
  if (!set)
    return {};
  NativeDatapath parser(datapath);
  MirroredCopies copies(MirroredCopies::kLongest);
  uint64_t packets = 0;
  CapturedFrame captured;
  for (unsigned n = 0; n < kFrames && set->next(captured) == Next::Frame; n++) {
    NativeDatapath::FrameView frame = view_of(captured);
    roce_packet packet;
    const roce_class class_ = datapath.decap ? parser.unwrap(frame, layer3_of(captured), packet)
                                             : parse_captured(parser, captured, packet);
    if (!roce_is_roce(class_) || packet.info & ROCE_OP_CNP) // all CNPs to one QP are the same
      continue;
    packets++;
    copies.is_copy(frame, packet);
  }
  if (packets < kFewest || 5 * copies.copies() < 2 * packets)
    return {};
  return std::max(MirroredCopies::kShortest, 4 * copies.longest_ns());
}

} // namespace xr
