// SPDX-License-Identifier: Apache-2.0
#include "simulate/capture_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "roce/capture.h"

namespace xr::simulate {

Result<std::unique_ptr<CaptureFile>> CaptureFile::create(const CaptureSetup &setup,
                                                         const std::string &directory) {
  const uint32_t snap = setup.snap ? setup.snap : ROCE_CAPTURE_SNAP;
  const char *name = capture_port_name(setup.port);
  auto writer =
      PcapngWriter::create(fmt::format("{}/{}.pcapng", directory, name), {name, "", snap});
  if (!writer)
    return writer.error().in(fmt::format("capture {}", name));
  return std::unique_ptr<CaptureFile>(new CaptureFile(std::move(writer).get(), snap));
}

void CaptureFile::packet(uint64_t now, const std::vector<uint8_t> &bytes,
                         std::string_view comment) {
  const auto length = static_cast<uint32_t>(bytes.size());
  if (status_)
    status_ = writer_.packet({now, bytes.data(), std::min(length, snap_), length, comment});
}

Status CaptureFile::close(uint64_t now) {
  if (!status_)
    return status_;
  const uint64_t all = writer_.packets();
  return writer_.finish({0, now, all, all, 0, all});
}

} // namespace xr::simulate
