// SPDX-License-Identifier: Apache-2.0
// Defaults of the RDMA-CM connections of a device: RoCE v1 or v2, and the type of service, in
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
  std::string mode; // "v1", "v2", or the kernel's text for any other mode
  std::optional<uint64_t> tos;
};

// Error: they cannot be read. Does not create the device's directory in configfs.
Result<CmDefaults> read_cm_defaults(const Files &files, const RdmaPort &port);

// `mode` is "v1" or "v2". Creates the device's directory in configfs if missing, and verifies the
// value by reading it.
Status set_roce_mode(const Files &files, const std::string &device, const std::string &port,
                     const std::string &mode);

// Sets the type of service in the same way.
Status set_roce_tos(const Files &files, const std::string &device, const std::string &port,
                    uint8_t tos);

// Whether a client in one mode can connect to a server in the other: all pairs except v2 to v1.
bool modes_fit(const std::string &client, const std::string &server);

} // namespace xr::host
