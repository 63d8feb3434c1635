// SPDX-License-Identifier: Apache-2.0
#include "host/rdma.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>

#include <fmt/format.h>

namespace xr::host {

namespace {

constexpr const char *kClass = "/sys/class/infiniband/";

// The PCI device has the name of the network driver; this maps it to the RDMA driver.
constexpr std::pair<const char *, const char *> kDrivers[] = {
    {"mlx5_core", "mlx5"}, {"mlx4_core", "mlx4"},  {"ice", "irdma"},     {"i40e", "irdma"},
    {"idpf", "irdma"},     {"bnxt_en", "bnxt_re"}, {"qede", "qedr"},     {"hns3", "hns_roce"},
    {"ionic", "ionic"},    {"efa", "efa"},         {"cxgb4", "iw_cxgb4"}};

void add_once(std::vector<std::string> &names, const std::string &name) {
  if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
    names.push_back(name);
}

std::string rdma_driver_of(const Files &files, const std::string &device) {
  const std::string directory = kClass + device;
  if (auto driver = files.link(directory + "/device/driver")) {
    for (const auto &[network, rdma] : kDrivers)
      if (*driver == network)
        return rdma;
    return *driver;
  }
  // rxe and siw run on an interface; only rxe has a `parent` file.
  if (files.exist(directory + "/parent"))
    return "rxe";
  return device.starts_with("siw") ? "siw" : "";
}

// The word in "4: ACTIVE".
std::string state_word(const Files &files, const std::string &path) {
  const std::string line = files.line(path).value_or("");
  const size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

void read_state(const Files &files, RdmaPort &port) {
  const std::string directory = port.directory();
  port.infiniband = files.line(directory + "/link_layer") == "InfiniBand";
  port.state = state_word(files, directory + "/state");
  port.physical_state = state_word(files, directory + "/phys_state");
  port.rate = files.line(directory + "/rate").value_or("");
  port.firmware = files.line(kClass + port.device + "/fw_ver").value_or("");
}

void read_gids(const Files &files, RdmaPort &port) {
  const std::string types = port.directory() + "/gid_attrs/types/";
  const std::string gids = port.directory() + "/gids/";
  for (const std::string &index : files.list(types)) {
    const auto type = files.line(types + index); // fails for empty entries
    if (!type)
      continue;
    const bool v2 = *type == "RoCE v2", v1 = is_roce_v1(*type);
    add_once(port.gid_types, v1 ? "RoCE v1" : *type);
    if (v1)
      port.v1_name = *type;
    Address address{};
    const auto gid = files.line(gids + index);
    if (v2 && gid && inet_pton(AF_INET6, gid->c_str(), address.data()) == 1)
      port.addresses.push_back(address);
  }
  std::sort(port.gid_types.begin(), port.gid_types.end());
}

RdmaPort read_port(const Files &files, const std::string &device, const std::string &number) {
  RdmaPort port;
  port.device = device;
  port.number = number;
  port.driver = rdma_driver_of(files, device);
  const auto parent = files.link(kClass + device + "/device");
  if (parent && parent->find(':') != std::string::npos)
    port.pci = *parent;
  // include/rdma/ib_verbs.h: node type 4 is RDMA_NODE_RNIC; RoCE devices are channel adapters.
  port.iwarp = files.line(kClass + device + "/node_type").value_or("").starts_with("4:");
  read_state(files, port);
  const std::string interfaces = port.directory() + "/gid_attrs/ndevs/";
  for (const std::string &index : files.list(interfaces))
    add_once(port.interfaces, files.line(interfaces + index).value_or(""));
  // There may be no GID yet.
  if (port.interfaces.empty())
    add_once(port.interfaces, files.line(kClass + device + "/parent").value_or(""));
  // GIDs may belong to a bond only, while its members carry the packets.
  if (files.list(kClass + device + "/ports").size() == 1)
    for (const std::string &ifname : files.list(kClass + device + "/device/net"))
      add_once(port.interfaces, ifname);
  if (port.roce()) // InfiniBand GIDs are also called "IB/RoCE v1"
    read_gids(files, port);
  return port;
}

} // namespace

bool is_roce_v1(const std::string &name) { return name == "IB/RoCE v1" || name == "RoCE v1"; }

bool RdmaPort::on(const std::string &ifname) const {
  return std::find(interfaces.begin(), interfaces.end(), ifname) != interfaces.end();
}

std::vector<RdmaPort> read_rdma(const Files &files) {
  std::vector<RdmaPort> ports;
  for (const std::string &device : files.list(kClass))
    for (const std::string &number : files.list(kClass + device + "/ports"))
      ports.push_back(read_port(files, device, number));
  return ports;
}

Result<RdmaPort> find_rdma(const Files &files, const std::string &name) {
  const size_t slash = name.find('/');
  const std::string device = name.substr(0, slash);
  const auto all = read_rdma(files);
  std::vector<std::string> names;
  for (const RdmaPort &port : all) {
    if (port.device == device &&
        (slash == std::string::npos || port.number == name.substr(slash + 1)))
      return port;
    names.push_back(port.name());
  }
  return Error{fmt::format("no such RDMA device: {}", name),
               names.empty() ? "there is none here; `rdma link` lists them"
                             : fmt::format("there are {}", fmt::join(names, ", "))};
}

HwCounters read_hw_counters(const Files &files, const RdmaPort &port) {
  const std::string directory = port.directory() + "/hw_counters/";
  HwCounters counters;
  for (const std::string &name : files.list(directory))
    if (auto value = files.number(directory + name))
      counters[name] = *value;
  return counters;
}

} // namespace xr::host
