// SPDX-License-Identifier: Apache-2.0
// Reads pcapng 1.x (draft-ietf-opsawg-pcapng); not through libpcap for the reason in pcap_file.cpp.
// Unlike libpcap, it accepts interfaces with different link types in one file.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "capture/capture_format.h"
#include "capture/left_out.h"

namespace xr {

namespace {

constexpr uint32_t kSection = 0x0a0d0d0a;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
enum ReadBlock : uint32_t {
  kInterface = 1,
  kOldPacket = 2,
  kSimplePacket = 3,
  kStatistics = 5,
  kPacket = 6
};
enum ReadOption : uint16_t {
  kEnd = 0,
  kComment = 1,
  kFlags = 2,
  kName = 2,
  kReceived = 4, // of an interface's statistics; so are:
  kDropped = 5,
  kOsDropped = 7,
  kDroppedBefore = 4, // of a packet
  kTimeResolution = 9,
  kFcsLength = 13,
  kTimeOffset = 14
};

constexpr uint32_t kMaxBlock = 16 << 20; // as in libpcap
constexpr uint32_t kFrame = 12;          // type, length, and the length again at the end

// The format sets no limit on interfaces; this one bounds memory.
constexpr size_t kMaxInterfaces = 65536;

struct Interface {
  uint32_t linktype = 0;
  std::optional<Link> link;
  uint32_t snap = 0;                    // 0: none
  uint32_t fcs = 0;                     // bytes
  uint64_t multiply = 1000, divide = 1; // converts units of time to nanoseconds
  uint32_t shift = 0;                   // if not 0: units of 2^-shift seconds
  uint64_t offset_ns = 0;
  CapturedInterface stated = {};

  uint64_t time_ns(uint64_t units) const {
    uint64_t ns;
    if (shift)
      ns = static_cast<uint64_t>(static_cast<unsigned __int128>(units) * 1000000000 >> shift);
    else
      ns = units * multiply / divide;
    return ns + offset_ns;
  }
};

uint64_t power_of_ten(uint32_t exponent) {
  uint64_t value = 1;
  while (exponent--)
    value *= 10;
  return value;
}

class PcapngFile final : public CaptureFormat {
public:
  using CaptureFormat::CaptureFormat;

  Next next(CapturedFrame &frame) override {
    for (;;) {
      if (!source_.ensure(8))
        return ended("a block's header");
      const uint32_t type = ByteOrder().u32(source_.data()); // the same in both byte orders
      const Next verdict = type == kSection ? section() : block(frame);
      if (verdict != Next::End) // End: a block without a frame
        return verdict;
      if (finished_)
        return Next::End;
    }
  }

  CaptureNotes notes() const override {
    CaptureNotes all = notes_;
    for (const Interface &it : interfaces_)
      all.add(it.stated);
    return all;
  }

private:
  // A new section may have another byte order, and describes its own interfaces.
  Next section() {
    if (!source_.ensure(12))
      return finish("a section's header");
    const uint32_t magic = ByteOrder().u32(source_.data() + 8);
    if (magic != kByteOrder && magic != __builtin_bswap32(kByteOrder))
      return damaged("a section header without its byte-order magic");
    order_ = ByteOrder(magic != kByteOrder);
    const uint8_t *body = nullptr;
    uint32_t length = 0;
    const Next verdict = whole(body, length);
    if (!body)
      return verdict;
    if (length < 16)
      return damaged("a section header that is too short");
    if (order_.u16(body + 4) != 1)
      return damaged(fmt::format("pcapng version {}.{}; version 1 is read", order_.u16(body + 4),
                                 order_.u16(body + 6)));
    leave_section();
    return Next::End;
  }

  // Reads and consumes a whole block. `body` stays null on failure; the return value says why.
  Next whole(const uint8_t *&body, uint32_t &length) {
    const uint32_t total = order_.u32(source_.data() + 4);
    if (total < kFrame || total % 4 || total > kMaxBlock)
      return damaged(fmt::format("a block of {} bytes, after packet {}", total, packets_));
    if (!source_.ensure(total))
      return finish("a block");
    const uint8_t *block = source_.data();
    if (order_.u32(block + total - 4) != total)
      return damaged(fmt::format("a block whose two lengths differ ({} and {}), after packet {}",
                                 total, order_.u32(block + total - 4), packets_));
    if (source_.is_lost())
      return finish("a block");
    body = block + 8;
    length = total - kFrame;
    source_.consume(total);
    return Next::End;
  }

  Next finish(const char *what) {
    const Next verdict = ended(what);
    finished_ = verdict == Next::End;
    return verdict;
  }

  Next block(CapturedFrame &frame) {
    const uint32_t type = order_.u32(source_.data());
    const uint8_t *body = nullptr;
    uint32_t length = 0;
    const Next verdict = whole(body, length);
    if (!body)
      return verdict;
    switch (type) {
    case kInterface:
      return interface(body, length);
    case kPacket:
      if (length < 20)
        return damaged("a packet block that is too short");
      return packet(frame, order_.u32(body), body, length);
    case kOldPacket: // like kPacket, but with 16 bits of interface and 16 of drops
      if (length < 20)
        return damaged("a packet block that is too short");
      if (const uint16_t drops = order_.u16(body + 2); drops != 0xffff)
        dropped_before(order_.u16(body), drops);
      return packet(frame, order_.u16(body), body, length);
    case kSimplePacket:
      return simple_packet(frame, body, length);
    case kStatistics:
      return statistics(body, length);
    default: // name resolution, secrets, custom blocks
      return Next::End;
    }
  }

  Next interface(const uint8_t *body, uint32_t length) {
    Interface it;
    if (length < 8 || interfaces_.size() >= kMaxInterfaces)
      return damaged(length < 8 ? "an interface block that is too short" : "too many interfaces");
    it.linktype = order_.u16(body);
    it.link = known_link(it.linktype);
    it.snap = order_.u32(body + 4);
    bool sane = true;
    it.stated.section = section_;
    it.stated.number = static_cast<uint32_t>(interfaces_.size());
    options(body + 8, body + length, [&](uint16_t code, const uint8_t *value, uint16_t size) {
      if (code == kTimeResolution && size >= 1)
        sane = sane && resolution(it, *value);
      else if (code == kTimeOffset && size >= 8)
        it.offset_ns = order_.u64(value) * 1000000000;
      else if (code == kName)
        it.stated.name.assign(reinterpret_cast<const char *>(value), size);
      else if (code == kFcsLength && size >= 1)
        it.fcs = *value < 16 ? *value : *value / 8; // the draft says bits, but writers store bytes
    });
    if (!sane)
      return damaged("an interface whose unit of time is out of range");
    interfaces_.push_back(std::move(it));
    return Next::End;
  }

  // Each block counts from the start of the capture.
  Next statistics(const uint8_t *body, uint32_t length) {
    if (length < 12)
      return damaged("a statistics block that is too short");
    const uint32_t number = order_.u32(body);
    if (number >= interfaces_.size())
      return Next::End; // of no packet: nothing that is read depends on it
    CapturedInterface &stated = interfaces_[number].stated;
    const auto take = [](bool &has, uint64_t &most, uint64_t value) {
      has = true;
      most = std::max(most, value);
    };
    options(body + 12, body + length, [&](uint16_t code, const uint8_t *value, uint16_t size) {
      if (size < 8)
        return;
      if (code == kReceived)
        take(stated.has_received, stated.received, order_.u64(value));
      else if (code == kDropped)
        take(stated.has_dropped, stated.dropped, order_.u64(value));
      else if (code == kOsDropped)
        take(stated.has_os_dropped, stated.os_dropped, order_.u64(value));
    });
    return Next::End;
  }

  void dropped_before(uint32_t number, uint64_t packets) {
    if (number < interfaces_.size())
      interfaces_[number].stated.dropped_between += packets;
  }

  void leave_section() {
    for (const Interface &it : interfaces_)
      notes_.add(it.stated);
    interfaces_.clear();
    section_ += begun_;
    begun_ = true;
  }

  static bool resolution(Interface &it, uint8_t value) {
    const uint32_t exponent = value & 0x7f;
    it.multiply = it.divide = 1;
    it.shift = 0;
    if (value & 0x80) {
      it.shift = exponent;
      it.multiply = 1000000000; // 2^0: seconds
      return exponent < 64;
    }
    if (exponent <= 9)
      it.multiply = power_of_ten(9 - exponent);
    else if (exponent <= 19)
      it.divide = power_of_ten(exponent - 9);
    return exponent <= 19;
  }

  // Calls f for each option; stops at one that is longer than the block.
  template <typename F> void options(const uint8_t *at, const uint8_t *end, F f) const {
    while (end - at >= 4) {
      const uint16_t code = order_.u16(at), size = order_.u16(at + 2);
      if (code == kEnd || end - at - 4 < size)
        return;
      f(code, at + 4, size);
      const uint32_t step = 4 + ((size + 3u) & ~3u);
      if (end - at < static_cast<ptrdiff_t>(step))
        return;
      at += step;
    }
  }

  const Interface *of(uint32_t number, Next &verdict) {
    if (number >= interfaces_.size()) {
      verdict =
          damaged(fmt::format("packet {} refers to interface {}, which the file does not describe",
                              packets_ + 1, number));
      return nullptr;
    }
    if (!interfaces_[number].link) {
      verdict = failed(unknown_link(source_.name(), interfaces_[number].linktype));
      return nullptr;
    }
    return &interfaces_[number];
  }

  Next packet(CapturedFrame &frame, uint32_t number, const uint8_t *body, uint32_t length) {
    constexpr uint32_t kFixed = 20;
    Next verdict = Next::Error;
    const Interface *it = of(number, verdict);
    if (!it)
      return verdict;
    const uint32_t captured = order_.u32(body + 12);
    if (captured > length - kFixed || captured > kMaxCaptured)
      return damaged(fmt::format("packet {} claims {} bytes in a block with room for {}",
                                 packets_ + 1, captured, length - kFixed));
    uint32_t fcs = it->fcs;
    frame.comment = {};
    frame.left_out = 0;
    const uint32_t options_at = kFixed + ((captured + 3) & ~3u);
    if (options_at < length)
      options(body + options_at, body + length,
              [&](uint16_t code, const uint8_t *value, uint16_t size) {
                if (code == kFlags && size >= 4 && order_.u32(value) >> 5 & 15)
                  fcs = order_.u32(value) >> 5 & 15;
                else if (code == kDroppedBefore && size >= 8)
                  dropped_before(number, order_.u64(value));
                else if (code == kComment && frame.comment.empty())
                  frame.comment = {reinterpret_cast<const char *>(value), size};
                else if (code == kCustomText)
                  frame.left_out = left_out_of({reinterpret_cast<const char *>(value), size})
                                       .value_or(frame.left_out);
              });
    const uint64_t units = static_cast<uint64_t>(order_.u32(body + 4)) << 32 | order_.u32(body + 8);
    return fill_frame(frame, *it, body + kFixed, captured, order_.u32(body + 16), fcs,
                      it->time_ns(units));
  }

  Next simple_packet(CapturedFrame &frame, const uint8_t *body, uint32_t length) {
    Next verdict = Next::Error;
    if (length < 4)
      return damaged("a packet block that is too short");
    const Interface *it = of(0, verdict);
    if (!it)
      return verdict;
    frame.comment = {};
    frame.left_out = 0;
    const uint32_t on_wire = order_.u32(body), room = length - 4;
    const uint32_t captured = std::min({on_wire, room, it->snap ? it->snap : room, kMaxCaptured});
    return fill_frame(frame, *it, body + 4, captured, on_wire, it->fcs, 0);
  }

  Next fill_frame(CapturedFrame &frame, const Interface &it, const uint8_t *data, uint32_t captured,
                  uint32_t length, uint32_t fcs, uint64_t time_ns) {
    frame.data = data;
    set_lengths(frame, captured, length, fcs);
    frame.time_ns = time_ns;
    frame.link = *it.link;
    packets_++;
    return Next::Frame;
  }

  ByteOrder order_;
  std::vector<Interface> interfaces_; // of the current section
  uint32_t section_ = 0;
  bool begun_ = false;
  CaptureNotes notes_; // of sections before it
  bool finished_ = false;
};

} // namespace

Result<std::unique_ptr<CaptureFormat>> open_pcapng(ByteSource &source) {
  if (!source.ensure(12))
    return source.failure()
               ? source.failure()->error
               : Error{fmt::format("{}: it ends inside the file header", source.name())};
  const uint32_t magic = ByteOrder().u32(source.data() + 8);
  if (magic != kByteOrder && magic != __builtin_bswap32(kByteOrder))
    return Error{
        fmt::format("{}: it begins like pcapng, but has no byte-order magic", source.name())};
  return std::unique_ptr<CaptureFormat>(std::make_unique<PcapngFile>(source));
}

} // namespace xr
