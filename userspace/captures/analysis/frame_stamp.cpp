// SPDX-License-Identifier: Apache-2.0
// To add a time that frames carry: its bytes here, stamp_clock.cpp (clocks, wraps), StampUnit in
// model/frame_times.h and its name in report/frame_times.cpp; include/roce/README.md 10,
// docs/captures.md; stamps_test, stamps.py, mirror_times.sh.
#include "analysis/frame_stamp.h"

#include <zlib.h>

namespace xr {

namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// Platform ids of the subheader that has more of the time in its last 4 bytes.
constexpr uint8_t kUpperBits[] = {3, 7}, kSeconds[] = {5, 6};

template <size_t N> bool has(const uint8_t (&ids)[N], uint8_t id) {
  for (const uint8_t value : ids)
    if (value == id)
      return true;
  return false;
}

// The offset of what follows the IP header at `ip`; 0: it ends before.
uint32_t after_ip(const CapturedFrame &frame, uint32_t ip, FrameStamp &stamp) {
  const uint8_t *data = frame.data + ip;
  if (ip + ROCE_IPV4_LEN > frame.captured)
    return 0;
  if (data[0] >> 4 == 4) {
    stamp.src = {0, 0, ROCE_MAPPED_PREFIX, roce_load32(data + 12)};
    stamp.dst = {0, 0, ROCE_MAPPED_PREFIX, roce_load32(data + 16)};
    return ip + (data[0] & 15) * 4;
  }
  if (ip + ROCE_IPV6_LEN > frame.captured)
    return 0;
  for (size_t i = 0; i < stamp.src.size(); i++) {
    stamp.src[i] = roce_load32(data + 8 + 4 * i);
    stamp.dst[i] = roce_load32(data + 24 + 4 * i);
  }
  uint32_t at = ip + ROCE_IPV6_LEN;
  uint8_t next = data[6];
  for (int i = 0; i < ROCE_IPV6_EXT_MAX && next != ROCE_IPPROTO_GRE; i++) {
    if (at + 8 > frame.captured)
      return 0;
    const uint8_t *header = frame.data + at;
    at += next == ROCE_IPPROTO_FRAGMENT ? 8u : 8u + 8u * header[1];
    next = header[0];
  }
  return at;
}

// The units of draft-foschiano-erspan-03, 4.3: field Gra.
void read_erspan(const uint8_t *header, FrameStamp &stamp) {
  const uint64_t low = roce_be32(header + 4);
  const auto granularity = static_cast<uint8_t>(header[11] >> 1 & 3);
  const bool more = header[11] & 1;
  const uint8_t platform = more ? header[ROCE_ERSPAN_III_LEN] >> 2 : 0;
  const uint64_t high = more ? roce_be32(header + ROCE_ERSPAN_III_LEN + 4) : 0;
  stamp.unit = static_cast<StampUnit>(granularity);
  stamp.session = roce_be16(header + 2) & ROCE_ERSPAN_SESSION;
  if (stamp.unit == StampUnit::Ieee1588) {
    stamp.whole = has(kSeconds, platform);
    stamp.valid = low < kNsPerSecond;
    stamp.value = low + (stamp.whole ? high * kNsPerSecond : 0);
    stamp.modulus = stamp.whole ? 0 : kNsPerSecond;
    return;
  }
  stamp.whole = has(kUpperBits, platform);
  stamp.value = stamp.whole ? high << 32 | low : low;
  stamp.modulus = stamp.whole ? 0 : uint64_t{1} << 32;
}

// original FCS 4, device 1, port 1, seconds since 1970 4, fraction of a second 5 bytes, reserved 1
constexpr uint32_t kTrailerLength = 16, kFcsLength = 4;

void read_trailer(const uint8_t *trailer, FrameStamp &stamp) {
  const uint64_t fraction = uint64_t{roce_be32(trailer + 10)} << 8 | trailer[14];
  stamp.unit = StampUnit::Trailer;
  stamp.whole = true;
  stamp.device = trailer[4];
  stamp.port = trailer[5];
  // fraction * 10^9 / 2^40 without overflow: 10^9 = 5^9 * 2^9
  stamp.value = roce_be32(trailer + 6) * kNsPerSecond + (fraction * 1'953'125 >> 31);
}

// A CRC as an FCS has it: the least byte first.
bool is_fcs(const uint8_t *at, uint64_t crc) {
  for (int i = 0; i < 4; i++)
    if (at[i] != (crc >> 8 * i & 0xff))
      return false;
  return true;
}

} // namespace

std::optional<FrameStamp> erspan_stamp(const CapturedFrame &outer, const roce_origin &from) {
  if (!(from.flags & ROCE_ORIGIN_SESSION) || from.tunnel != ROCE_TUNNEL_ERSPAN)
    return {};
  FrameStamp stamp;
  uint32_t at = after_ip(outer, from.ip, stamp);
  if (!at || at + ROCE_GRE_LEN > outer.captured)
    return {};
  const uint32_t flags = roce_be16(outer.data + at);
  if (roce_be16(outer.data + at + 2) != ROCE_ETHERTYPE_ERSPAN_III)
    return {};
  for (const uint32_t flag : {ROCE_GRE_CHECKSUM, ROCE_GRE_KEY, ROCE_GRE_SEQUENCE})
    at += flags & flag ? 4 : 0;
  at += ROCE_GRE_LEN;
  if (at + ROCE_ERSPAN_III_LEN + ROCE_ERSPAN_PLATFORM_LEN > outer.captured)
    return {};
  read_erspan(outer.data + at, stamp);
  return stamp;
}

std::optional<FrameStamp> take_trailer(CapturedFrame &frame) {
  if (frame.captured != frame.length || frame.captured < ROCE_ETH_LEN + kTrailerLength + kFcsLength)
    return {};
  uint32_t length = frame.captured - kTrailerLength - kFcsLength;
  uLong crc = crc32(0, frame.data, length);
  if (!is_fcs(frame.data + length, crc)) {
    crc = crc32(crc, frame.data + length, kFcsLength);
    length += kFcsLength;
    if (!is_fcs(frame.data + length, crc))
      return {};
  }
  FrameStamp stamp;
  read_trailer(frame.data + length, stamp);
  frame.captured = frame.length = length;
  return stamp;
}

} // namespace xr
