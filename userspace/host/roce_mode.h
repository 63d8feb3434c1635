// SPDX-License-Identifier: Apache-2.0
// What RDMA-CM connections of a device begin with: RoCE v1 or v2, and the type of service. In
// configfs (Documentation/ABI/testing/configfs-rdma_cm).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/files.h"
#include "host/rdma.h"

namespace xr::host {

struct CmDefaults {
  std::string mode; // "v1", "v2", or the kernel's own words for another
  std::optional<uint64_t> tos;
};

// An error says why it cannot be told. Reading needs the device's directory there; it makes none.
Result<CmDefaults> read_cm_defaults(const Files &files, const RdmaPort &port);

// "v1" or "v2". Makes the device's directory if need be, and reads back what was written.
Status set_roce_mode(const Files &files, const std::string &device, const std::string &port,
                     const std::string &mode);

// The same for the type of service.
Status set_roce_tos(const Files &files, const std::string &device, const std::string &port,
                    uint8_t tos);

// Whether a client of one mode reaches a server of the other: all but v2 to v1.
bool modes_fit(const std::string &client, const std::string &server);

} // namespace xr::host
