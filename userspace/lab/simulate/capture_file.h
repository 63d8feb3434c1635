// SPDX-License-Identifier: Apache-2.0
// The capture of a port in simulated time: PORT.pcapng. The clock begins at 1970.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/pcapng_writer.h"
#include "simulate/rule_setup.h"

namespace xr::simulate {

class CaptureFile {
public:
  static Result<std::unique_ptr<CaptureFile>> create(const CaptureSetup &setup,
                                                     const std::string &directory);

  // After an error nothing more is written; close() has it.
  void packet(uint64_t now, const std::vector<uint8_t> &bytes, std::string_view comment = {});
  Status close(uint64_t now);

private:
  CaptureFile(PcapngWriter writer, uint32_t snap) : writer_(std::move(writer)), snap_(snap) {}

  PcapngWriter writer_;
  uint32_t snap_;
  Status status_;
};

} // namespace xr::simulate
