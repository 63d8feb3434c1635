// SPDX-License-Identifier: Apache-2.0
#include "capture/splitter.h"

#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>

#include "capture/capture_format.h"
#include "capture/capture_set.h"

namespace xr {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSecond = 1'000'000'000;

// "20260101T120000.500000000Z", which sorts by time.
std::string interval_name(uint64_t start_ns) {
  return fmt::format("{:%Y%m%dT%H%M%S}.{:09}Z",
                     fmt::gmtime(static_cast<std::time_t>(start_ns / kSecond)), start_ns % kSecond);
}

const char *link_suffix(Link link) {
  switch (link) {
  case Link::Sll:
    return "_sll";
  case Link::Sll2:
    return "_sll2";
  case Link::Raw:
    return "_raw";
  default:
    return "";
  }
}

template <typename T> std::string bytes_of(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

} // namespace

Result<Splitter> Splitter::create(SplitOptions options) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error)
    return Error{fmt::format("cannot make {}: {}", options.directory, error.message())};
  if (capture_paths({options.directory}).ok())
    return Error{fmt::format("{} has captures already", options.directory),
                 "name a directory that is new or empty"};
  return Splitter(std::move(options));
}

Result<PcapngWriter *> Splitter::add(const std::string &key, const CapturedFrame &frame,
                                     const roce_key *stream) {
  std::string name = "other";
  if (options_.every_ns)
    name = interval_name(frame.time_ns - frame.time_ns % options_.every_ns);
  else if (stream)
    name = options_.name(*stream);
  const std::string path =
      fmt::format("{}/{}{}.pcapng", options_.directory, name, link_suffix(frame.link));
  auto writer = XR_TRY(PcapngWriter::create(
      path, {.name = {}, .filter = {}, .snap = 0, .link = linktype_of(frame.link)}));
  XR_TRY(writer.close());
  report_.files++;
  return &files_.emplace(key, std::move(writer)).first->second;
}

// nullptr: there is no room for another file.
Result<PcapngWriter *> Splitter::file_of(const CapturedFrame &frame, const roce_key *stream) {
  std::string key(1, static_cast<char>(frame.link));
  if (options_.every_ns)
    key += bytes_of(frame.time_ns / options_.every_ns);
  else if (stream)
    key += bytes_of(*stream);
  const auto known = files_.find(key);
  if (known != files_.end())
    return &known->second;
  return files_.size() < options_.most_files ? add(key, frame, stream) : nullptr;
}

Status Splitter::frame(const CapturedFrame &frame, const roce_key *stream) {
  auto file = XR_TRY(file_of(frame, stream));
  if (!file) {
    report_.left_out++;
    return {};
  }
  const PcapngPacket packet{.time_ns = frame.time_ns,
                            .data = frame.data,
                            .captured = frame.captured,
                            .length = frame.length,
                            .comment = frame.comment,
                            .inbound = false,
                            .left_out = frame.left_out};
  report_.frames++;
  if (Status done = (file)->packet(packet); !done)
    return done;
  pending_ += PcapngWriter::size_of(packet);
  return pending_ < options_.most_pending ? Status() : finish();
}

Status Splitter::finish() {
  pending_ = 0;
  for (auto &[key, file] : files_)
    if (Status done = file.close(); !done)
      return done;
  return {};
}

} // namespace xr
