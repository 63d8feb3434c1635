// SPDX-License-Identifier: Apache-2.0
#include "host/roce_mode.h"

#include <vector>

#include <fmt/format.h>

namespace xr::host {

namespace {

constexpr const char *kConfigfs = "/sys/kernel/config";
constexpr const char *kCm = "/sys/kernel/config/rdma_cm";

// The kernel's names; the first is in Documentation/ABI/testing/configfs-rdma_cm.
constexpr const char *kV1[] = {"IB/RoCE v1", "RoCE v1"}, *kV2 = "RoCE v2";

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

// "v1", "v2", or the kernel's text for any other mode.
std::string mode_of(const std::string &words) {
  return is_roce_v1(words) ? "v1" : words == kV2 ? "v2" : words;
}

struct Entry {
  RdmaPort port;
  std::string path;
};

// A writable entry of the port; creates the directory of the device.
Result<Entry> open_entry(const Files &files, const std::string &device, const std::string &number,
                         const char *name) {
  auto found = XR_TRY(find_rdma(files, device + "/" + number));
  const RdmaPort &port = found;
  if (!port.roce())
    return Error{fmt::format("{} speaks {}, not RoCE", port.name(),
                             port.infiniband ? "InfiniBand" : "iWARP"),
                 "`doctor` lists the RDMA devices and what each speaks"};
  XR_TRY(check_configfs(files));
  std::string entry = fmt::format("{}/{}", directory_of(port.device, port.number), name);
  if (auto made = files.make_directory(fmt::format("{}/{}", kCm, port.device)); !made)
    return Error{made.error().message, "run it as root; has the device RoCE ports?"};
  if (!files.exist(entry))
    return Error{fmt::format("there is no {}", entry), "is that port one of RoCE?"};
  return Entry{std::move(found), std::move(entry)};
}

} // namespace

bool modes_fit(const std::string &client, const std::string &server) {
  return client != "v2" || server != "v1";
}

Result<CmDefaults> read_cm_defaults(const Files &files, const RdmaPort &port) {
  XR_TRY(check_configfs(files));
  const std::string directory = directory_of(port.device, port.number);
  const auto mode = files.line(directory + "/default_roce_mode");
  if (!mode)
    return Error{
        fmt::format("what RDMA-CM begins with is not shown before {}/{} is made", kCm, port.device),
        fmt::format("mkdir {}/{}; cat {}/default_roce_mode", kCm, port.device, directory)};
  CmDefaults defaults;
  defaults.mode = mode_of(*mode);
  defaults.tos = files.number(directory + "/default_roce_tos");
  return defaults;
}

Status set_roce_mode(const Files &files, const std::string &device, const std::string &port,
                     const std::string &mode) {
  auto entry = XR_TRY(open_entry(files, device, port, "default_roce_mode"));
  std::vector<std::string> names = {kV2};
  if (mode == "v1") // the name in the kernel's GID types first
    names = {entry.port.v1_name, entry.port.v1_name == kV1[0] ? kV1[1] : kV1[0]};
  Status refused;
  for (const std::string &name : names) {
    const auto done = files.write(entry.path, name);
    const auto now = files.line(entry.path);
    if (done && now && mode_of(*now) == mode)
      return {};
    if (!refused)
      continue; // report the error of the first name
    if (!done)
      refused = Error{done.error().message,
                      "run it as root; `doctor IF` shows the GID types of the device"};
    else
      refused = Error{fmt::format("{} was written and '{}' is read back", name, now.value_or("")),
                      "`doctor IF` shows the GID types of the device"};
  }
  return refused;
}

Status set_roce_tos(const Files &files, const std::string &device, const std::string &port,
                    uint8_t tos) {
  auto entry = XR_TRY(open_entry(files, device, port, "default_roce_tos"));
  if (auto done = files.write(entry.path, std::to_string(tos)); !done)
    return Error{done.error().message, "run it as root"};
  if (const auto now = files.line(entry.path); now != std::to_string(tos))
    return Error{fmt::format("{} was written and '{}' is read back", tos, now.value_or("")),
                 fmt::format("cat {}", entry.path)};
  return {};
}

} // namespace xr::host
