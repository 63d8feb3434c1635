// SPDX-License-Identifier: Apache-2.0
#include "capture/reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "capture/pcap_record.h"

namespace xr {

Error damaged_error(const std::string &name, const std::string &what) {
  return {fmt::format("{}: damaged: {}", name, what)};
}

Error truncated_error(const std::string &name, const char *what, uint64_t packets) {
  return {
      fmt::format("{}: truncated: it ends inside {}, after {} whole packets", name, what, packets)};
}

Next CaptureFormat::failed(Error error) {
  error_ = std::move(error);
  return Next::Error;
}

Next CaptureFormat::damaged(const std::string &what) {
  if (source_.is_lost())
    return ended("");
  return failed(damaged_error(source_.name(), what));
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
  error_ = truncated_error(source_.name(), what, packets_);
  return Next::Truncated;
}

namespace {

// A link with several numbers is written with the first.
constexpr std::pair<uint16_t, Link> kLinktypes[] = {
    {1, Link::Ethernet},
    {113, Link::Sll},
    {276, Link::Sll2},
    {101, Link::Raw}, // IPv4 or IPv6
    {228, Link::Raw}, // IPv4
    {229, Link::Raw}, // IPv6
    // Raw IP too: numbers of the machine that captured, written without being translated
    {12, Link::Raw},
    {14, Link::Raw}, // OpenBSD
};

} // namespace

// To add a link type: Link in reader.h, a case here, layer3 in analyzer.cpp; reader_test,
// analyzer_test.
std::optional<Link> known_link(uint32_t linktype) {
  for (const auto &[number, link] : kLinktypes)
    if (number == linktype)
      return link;
  return std::nullopt;
}

uint16_t linktype_of(Link link) {
  return std::ranges::find(kLinktypes, link, &std::pair<uint16_t, Link>::second)->first;
}

Reader::Reader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
Reader::Reader(Reader &&) noexcept = default;
Reader &Reader::operator=(Reader &&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string &path, const std::atomic<bool> *stop, bool keep,
                            const ReadOptions &options) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::open(path, stop, keep);
  if (!source)
    return std::move(source).error();
  return begin(std::move(source).get(), options);
}

Result<Reader> Reader::from_memory(std::vector<uint8_t> bytes, size_t chunk,
                                   const ReadOptions &options) {
  return begin(ByteSource::memory(std::move(bytes), "memory", chunk), options);
}

Result<Reader> Reader::begin(std::unique_ptr<ByteSource> source, const ReadOptions &options) {
  if (!source->ensure(4)) {
    if (source->failure())
      return source->failure()->error;
    return Error{fmt::format("{}: {}", source->name(),
                             source->stopped()     ? "interrupted before the first packet"
                             : source->available() ? "too short to be a capture"
                                                   : "it is empty")};
  }
  const uint32_t magic = ByteOrder().u32(source->data());
  Result<std::unique_ptr<CaptureFormat>> format = magic == 0x0a0d0d0a ? open_pcapng(*source)
                                                  : PcapRecords::is_pcap(source->data())
                                                      ? open_pcap(*source, options)
                                                      : open_libpcap(*source, options);
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

CaptureNotes Reader::notes() const { return format_->notes(); }

std::vector<LeftBytes> Reader::leave(bool all) { return source_->leave(all); }

std::span<const uint8_t> Reader::ahead(size_t distance) { return source_->ahead(distance); }

Reader::Progress Reader::progress() const {
  return {source_->bytes_read(), source_->bytes_total()};
}

} // namespace xr
