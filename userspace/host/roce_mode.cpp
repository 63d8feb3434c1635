// SPDX-License-Identifier: Apache-2.0
#include "host/roce_mode.h"

namespace xr::host {

namespace {

constexpr const char *kConfigfs = "/sys/kernel/config";
constexpr const char *kCm = "/sys/kernel/config/rdma_cm";

// As the kernel has them.
constexpr const char *kV1 = "IB/RoCE v1", *kV2 = "RoCE v2";

std::string directory_of(const std::string &device, const std::string &port) {
  return fmt::format("{}/{}/ports/{}", kCm, device, port);
}

Status check_configfs(const Files &files) {
  if (files.exist(kCm))
    return {};
  if (files.text("/proc/mounts").value_or("").find(" configfs ") == std::string::npos)
    return Error{"configfs is not mounted, so what RDMA-CM begins with is out of reach",
                 fmt::format("modprobe configfs; mount -t configfs none {}", kConfigfs)};
  return Error{"rdma_cm is not loaded, so nothing uses RDMA-CM yet", "modprobe rdma_cm"};
}

} // namespace

bool modes_fit(const std::string &client, const std::string &server) {
  return client != "v2" || server != "v1";
}

Result<CmDefaults> read_cm_defaults(const Files &files, const RdmaPort &port) {
  if (auto there = check_configfs(files); !there)
    return there.error();
  const std::string directory = directory_of(port.device, port.number);
  const auto mode = files.line(directory + "/default_roce_mode");
  if (!mode)
    return Error{
        fmt::format("what RDMA-CM begins with is not shown before {}/{} is made", kCm, port.device),
        fmt::format("mkdir {}/{}; cat {}/default_roce_mode", kCm, port.device, directory)};
  CmDefaults defaults;
  defaults.mode = *mode == kV1 ? "v1" : *mode == kV2 ? "v2" : *mode;
  defaults.tos = files.number(directory + "/default_roce_tos");
  return defaults;
}

Status set_roce_mode(const Files &files, const std::string &device, const std::string &port,
                     const std::string &mode) {
  if (auto found = find_rdma(files, device + "/" + port); !found)
    return std::move(found).error();
  if (auto there = check_configfs(files); !there)
    return there;
  const std::string entry = directory_of(device, port) + "/default_roce_mode";
  const std::string wanted = mode == "v1" ? kV1 : kV2;
  if (auto made = files.make_directory(fmt::format("{}/{}", kCm, device)); !made)
    return Error{made.error().message, "run it as root; has the device RoCE ports?"};
  if (!files.exist(entry))
    return Error{fmt::format("there is no {}", entry), "is that port one of RoCE?"};
  if (auto done = files.write(entry, wanted); !done)
    return Error{done.error().message, "run it as root; `doctor IF` tells the GID types there are"};
  if (const auto now = files.line(entry); now != wanted)
    return Error{fmt::format("{} was written and '{}' is read back", wanted, now.value_or("")),
                 "`doctor IF` tells the GID types that the device has"};
  return {};
}

} // namespace xr::host
