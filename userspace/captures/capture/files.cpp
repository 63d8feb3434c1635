// SPDX-License-Identifier: Apache-2.0
#include "capture/files.h"

#include <ctime>

#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"

namespace xr {

std::string ring_path(const std::string &path, uint32_t number, uint64_t realtime_ns) {
  const size_t slash = path.rfind('/'), dot = path.rfind('.');
  const bool has_suffix =
      dot != std::string::npos && dot != 0 && (slash == std::string::npos || dot > slash + 1);
  const std::string name = has_suffix ? path.substr(0, dot) : path,
                    suffix = has_suffix ? path.substr(dot) : "";
  const auto seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  tm local{};
  char when[16] = "";
  localtime_r(&seconds, &local);
  (void)strftime(when, sizeof(when), "%Y%m%d%H%M%S", &local);
  return fmt::format("{}_{:05}_{}{}", name, number, when, suffix);
}

Result<CaptureFiles> CaptureFiles::create(const Options &options, Statistics statistics) {
  CaptureFiles self(options, std::move(statistics));
  XR_TRY(self.next(realtime_ns()));
  return self;
}

Status CaptureFiles::next(uint64_t time_ns) {
  if (writer_) {
    if (auto done = writer_->finish(statistics_()); !done)
      return done;
  }
  if (options_.keep && paths_.size() >= options_.keep) {
    if (unlink(paths_.front().c_str()) < 0 && errno != ENOENT)
      return errno_error(errno, fmt::format("cannot remove {}", paths_.front()));
    paths_.pop_front();
    removed_++;
  }
  const std::string path = is_ring() ? ring_path(options_.path, ++number_, time_ns) : options_.path;
  auto writer = XR_TRY(PcapngWriter::create(path, options_.interface, options_.stop));
  if (writer_) {
    packets_ += writer_->packets();
    cut_ += writer_->cut();
    bytes_ += writer_->bytes();
  }
  writer_ = std::move(writer);
  paths_.push_back(path);
  return {};
}

bool CaptureFiles::is_full(const PcapngPacket &packet) const {
  if (!writer_->packets())
    return false;
  return (options_.file_bytes &&
          writer_->bytes() + PcapngWriter::size_of(packet) + PcapngWriter::kStatisticsSize >
              options_.file_bytes) ||
         (options_.file_ns && packet.time_ns >= first_ns_ + options_.file_ns);
}

Status CaptureFiles::packet(const PcapngPacket &packet) {
  if (is_full(packet))
    if (auto done = next(packet.time_ns); !done)
      return done;
  if (!writer_->packets())
    first_ns_ = packet.time_ns;
  return writer_->packet(packet);
}

} // namespace xr
