// SPDX-License-Identifier: Apache-2.0
#include "datapath/maps.h"
#include "datapath/map_names.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include <fmt/format.h>

#include "datapath/object.h"

namespace xr::datapath {

namespace {

bpf_map_info map_info(int fd) {
  bpf_map_info info{};
  __u32 size = sizeof(info);
  if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
    return {};
  return info;
}

bpf_prog_info program_info(int fd) {
  bpf_prog_info info{};
  __u32 size = sizeof(info);
  if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
    return {};
  return info;
}

// Offset and size of the configuration in .rodata, from the map's BTF, because another build may
// have another layout. Without the privilege to read BTF (CAP_SYS_ADMIN) this build's layout is
// used, if .rodata has this build's size.
struct Range {
  size_t offset = 0, size = 0;
};
std::optional<Range> config_range(const bpf_map_info &info) {
  std::unique_ptr<btf, decltype(&btf__free)> types(
      info.btf_id ? btf__load_from_kernel_by_id(info.btf_id) : nullptr, btf__free);
  const btf_type *section = types ? btf__type_by_id(types.get(), info.btf_value_type_id) : nullptr;

  if (!section || !btf_is_datasec(section)) {
    if (info.value_size != object_rodata_size())
      return {};
    return Range{object_config_offset(), sizeof(roce_config)};
  }
  const btf_var_secinfo *entry = btf_var_secinfos(section);
  for (int i = 0; i < btf_vlen(section); i++, entry++) {
    const btf_type *variable = btf__type_by_id(types.get(), entry->type);
    const char *name = variable ? btf__name_by_offset(types.get(), variable->name_off) : nullptr;
    if (name && std::string_view(name) == "config")
      return Range{entry->offset, std::min<size_t>(entry->size, sizeof(roce_config))};
  }
  return {};
}

} // namespace

std::string pin_name(const std::string &map_name) {
  size_t dot = map_name.rfind('.');
  return dot == std::string::npos ? map_name : map_name.substr(dot + 1);
}

uint32_t map_id(int fd) { return map_info(fd).id; }
uint32_t program_id(int fd) { return program_info(fd).id; }
std::string program_name(int fd) { return program_info(fd).name; }

std::vector<uint32_t> program_map_ids(int fd) {
  std::vector<uint32_t> ids(program_info(fd).nr_map_ids);
  bpf_prog_info info{};
  __u32 size = sizeof(info);

  info.nr_map_ids = static_cast<__u32>(ids.size());
  info.map_ids = reinterpret_cast<uintptr_t>(ids.data());
  if (ids.empty() || bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
    return {};
  return ids;
}

Maps Maps::of_pins(const Pins &pins, bool next) {
  const std::string suffix = Pins::kNext;
  Maps maps;
  for (std::string name : pins.objects()) {
    Fd fd = pins.open(name);
    bool is_next = name.ends_with(suffix);
    if (is_next)
      name.resize(name.size() - suffix.size());
    if (name != Pins::kProgram && fd && (next || !is_next) && (is_next || !maps.fds_.count(name)))
      maps.fds_[name] = std::move(fd);
  }
  return maps;
}

Maps Maps::of_program(int program_fd) {
  Maps maps;
  for (uint32_t id : program_map_ids(program_fd))
    if (Fd fd{bpf_map_get_fd_by_id(id)})
      maps.fds_[pin_name(map_info(fd.get()).name)] = std::move(fd);
  return maps;
}

int Maps::fd(const std::string &name) const {
  auto found = fds_.find(name);
  return found == fds_.end() ? -1 : found->second.get();
}

std::vector<uint32_t> Maps::ids() const {
  std::vector<uint32_t> ids;
  for (const auto &[name, fd] : fds_)
    ids.push_back(map_id(fd.get()));
  return ids;
}

uint64_t Maps::memory() const {
  uint64_t sum = 0;
  for (const auto &[name, fd] : fds_) {
    std::ifstream fdinfo(fmt::format("/proc/self/fdinfo/{}", fd.get()));
    std::string label;
    uint64_t bytes = 0;
    while (fdinfo >> label)
      if (label == "memlock:" && fdinfo >> bytes)
        sum += bytes;
  }
  return sum;
}

std::optional<roce_config> Maps::config() const {
  bpf_map_info info = map_info(fd(map_names::rodata));
  auto range = info.value_size ? config_range(info) : std::nullopt;
  std::vector<char> value(info.value_size);
  roce_config config{};
  __u32 zero = 0;

  if (!range || range->size < sizeof(config.abi) || range->offset + range->size > value.size() ||
      bpf_map_lookup_elem(fd(map_names::rodata), &zero, value.data()) < 0)
    return {};
  std::memcpy(&config, value.data() + range->offset, range->size);
  return config;
}

roce_shared Maps::shared() const {
  roce_shared shared{};
  __u32 zero = 0;
  if (map_info(fd(map_names::shared)).value_size != sizeof(shared) ||
      bpf_map_lookup_elem(fd(map_names::shared), &zero, &shared) < 0)
    return {};
  return shared;
}

} // namespace xr::datapath
