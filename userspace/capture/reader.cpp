// SPDX-License-Identifier: Apache-2.0
#include "capture/reader.h"

#include "capture/capture_format.h"

namespace xr {

Next CaptureFormat::failed(Error error) {
  error_ = std::move(error);
  return Next::Error;
}

Next CaptureFormat::damaged(const std::string &what) {
  if (source_.is_lost())
    return ended("");
  return failed({fmt::format("{}: damaged: {}", source_.name(), what)});
}

Next CaptureFormat::ended(const char *what) {
  if (const auto &failure = source_.failure()) {
    error_ = failure->error;
    return failure->truncated ? Next::Truncated : Next::Error;
  }
  if (source_.stopped() || !source_.available())
    return Next::End;
  return truncated(what);
}

Next CaptureFormat::truncated(const char *what) {
  error_ = {fmt::format("{}: truncated: it ends inside {}, after {} whole packets", source_.name(),
                        what, packets_)};
  return Next::Truncated;
}

std::optional<Link> known_link(uint32_t linktype) {
  switch (linktype) {
  case 1:
    return Link::Ethernet;
  case 113:
    return Link::Sll;
  case 276:
    return Link::Sll2;
  case 101: // either
  case 228: // IPv4
  case 229: // IPv6
    return Link::Raw;
  default:
    return std::nullopt;
  }
}

uint16_t linktype_of(Link link) {
  switch (link) {
  case Link::Sll:
    return 113;
  case Link::Sll2:
    return 276;
  case Link::Raw:
    return 101;
  default:
    return 1;
  }
}

Reader::Reader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
Reader::Reader(Reader &&) noexcept = default;
Reader &Reader::operator=(Reader &&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string &path, const std::atomic<bool> *stop) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::open(path, stop);
  if (!source)
    return std::move(source).error();
  return begin(std::move(source).get());
}

Result<Reader> Reader::from_memory(std::vector<uint8_t> bytes, size_t chunk) {
  return begin(ByteSource::memory(std::move(bytes), "memory", chunk));
}

Result<Reader> Reader::begin(std::unique_ptr<ByteSource> source) {
  if (!source->ensure(4)) {
    if (source->failure())
      return source->failure()->error;
    return Error{fmt::format("{}: {}", source->name(),
                             source->stopped()     ? "interrupted before the first packet"
                             : source->available() ? "too short to be a capture"
                                                   : "it is empty")};
  }
  const uint32_t magic = ByteOrder().u32(source->data());
  Result<std::unique_ptr<CaptureFormat>> format =
      magic == 0x0a0d0d0a ? open_pcapng(*source)
      : magic == 0xa1b2c3d4 || magic == 0xd4c3b2a1 || magic == 0xa1b23c4d || magic == 0x4d3cb2a1
          ? open_pcap(*source)
          : open_libpcap(*source);
  if (!format)
    return std::move(format).error();
  Reader reader(std::move(source));
  reader.format_ = std::move(format).get();
  return reader;
}

Next Reader::next(CapturedFrame &frame) {
  if (last_ == Next::Frame)
    last_ = format_->next(frame);
  return last_;
}

const Error &Reader::error() const { return format_->error(); }

Reader::Progress Reader::progress() const {
  return {source_->bytes_read(), source_->bytes_total()};
}

} // namespace xr
