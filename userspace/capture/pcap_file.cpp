// SPDX-License-Identifier: Apache-2.0
// pcap 2.4 (draft-ietf-opsawg-pcap). By hand because it is the hot path: libpcap copies every
// packet twice. Over 2 million packets of 1 KB in the page cache, libpcap 1.10 with its stdio
// buffer enlarged to 256 KiB and a CRC over each packet take 475 ms of one processor before any
// accounting; all that `analyze` does takes 350 this way (one run, on a busy machine).
#include "capture/format.h"

namespace xr {

namespace {

constexpr size_t kFileHeader = 24;
constexpr size_t kRecordHeader = 16;
constexpr uint32_t kMicro = 0xa1b2c3d4;
constexpr uint32_t kNano = 0xa1b23c4d;

class PcapFile final : public CaptureFormat {
public:
  PcapFile(ByteSource &source, ByteOrder order, bool nano, uint32_t fcs, Link link)
      : CaptureFormat(source), order_(order), fraction_ns_(nano ? 1 : 1000), fcs_(fcs),
        link_(link) {}

  Next next(CapturedFrame &frame) override {
    if (!source_.need(kRecordHeader))
      return ended("a packet's header");
    const uint32_t captured = order_.u32(source_.at() + 8);
    if (source_.lost())
      return ended("a packet");
    if (captured > kMaxCaptured)
      return damaged(fmt::format("packet {} claims {} bytes; none may have more than {}",
                                 packets_ + 1, captured, kMaxCaptured));
    if (!source_.need(kRecordHeader + captured))
      return ended("a packet");
    const uint8_t *header = source_.at();
    frame.data = header + kRecordHeader;
    set_lengths(frame, captured, order_.u32(header + 12), fcs_);
    frame.time_ns = order_.u32(header) * 1000000000ull + order_.u32(header + 4) * fraction_ns_;
    frame.link = link_;
    source_.take(kRecordHeader + captured);
    packets_++;
    return Next::Frame;
  }

private:
  ByteOrder order_;
  uint64_t fraction_ns_;
  uint32_t fcs_;
  Link link_;
};

} // namespace

Result<std::unique_ptr<CaptureFormat>> open_pcap(ByteSource &source) {
  if (!source.need(kFileHeader))
    return source.why_ended()
               ? source.why_ended()->error
               : Error{fmt::format("{}: it ends inside the file header", source.name())};
  const uint8_t *header = source.at();
  const uint32_t magic = ByteOrder().u32(header);
  const ByteOrder order(magic != kMicro && magic != kNano);
  const bool nano = order.u32(header) == kNano;
  if (order.u16(header + 4) != 2 || order.u16(header + 6) != 4)
    return open_libpcap(source); // older ones have other records

  // The link type's upper bits may tell of an FCS, in units of two bytes.
  const uint32_t field = order.u32(header + 20), linktype = field & 0x03ffffff;
  const uint32_t fcs = field & 0x04000000 ? 2 * (field >> 28) : 0;
  const std::optional<Link> link = known_link(linktype);
  if (!link)
    return unknown_link(source.name(), linktype);
  source.take(kFileHeader);
  return std::unique_ptr<CaptureFormat>(
      std::make_unique<PcapFile>(source, order, nano, fcs, *link));
}

} // namespace xr
