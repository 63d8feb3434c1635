// SPDX-License-Identifier: Apache-2.0
#include "host/placement.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xr::host {

namespace {

bool has(const std::vector<uint32_t> &all, uint32_t one) {
  return std::ranges::find(all, one) != all.end();
}

std::vector<uint32_t> read_list(const Files &files, const std::string &path) {
  auto list = parse_processors(files.line(path).value_or(""));
  return list ? std::move(list.get()) : std::vector<uint32_t>();
}

std::optional<uint32_t> number_in(const std::string &digits) {
  uint32_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// The receive queue of an interrupt called "ens1-TxRx-3", "mlx5_comp3@pci:0000:08:00.0" or
// "virtio0-input.3".
std::optional<uint32_t> queue_of(std::string name) {
  name.resize(std::min(name.find('@'), name.size()));
  if (name.find("async") != std::string::npos || name.find("-output.") != std::string::npos)
    return {};
  return number_in(name.substr(name.find_last_not_of("0123456789") + 1));
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

} // namespace

Topology Topology::read(const Files &files, const std::string &bus, std::vector<uint32_t> allowed) {
  Topology all;
  all.allowed = std::move(allowed);
  const std::string nodes = "/sys/devices/system/node/";
  for (const std::string &name : files.list(nodes))
    if (name.starts_with("node"))
      for (const uint32_t processor : read_list(files, nodes + name + "/cpulist"))
        all.nodes[processor] = static_cast<int>(number_in(name.substr(4)).value_or(0));
  for (const uint32_t processor : all.allowed)
    all.siblings[processor] =
        read_list(files, fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list",
                                     processor));
  if (bus.empty())
    return all;
  const std::string device = "/sys/bus/pci/devices/" + bus;
  if (const auto node = files.number(device + "/numa_node")) // not where it is -1: none
    all.port_node = static_cast<int>(*node);
  // One that may be handled anywhere excludes none.
  for (const auto &[queue, number, handle] : read_interrupts(files, bus))
    if (handle.size() < all.allowed.size())
      all.interrupts[queue].insert(all.interrupts[queue].end(), handle.begin(), handle.end());
  return all;
}

std::vector<QueueInterrupt> read_interrupts(const Files &files, const std::string &bus) {
  std::vector<QueueInterrupt> all;
  if (bus.empty())
    return all;
  for (const std::string &irq : files.list("/sys/bus/pci/devices/" + bus + "/msi_irqs")) {
    const auto queue = queue_of(files.line("/sys/kernel/irq/" + irq + "/actions").value_or(""));
    if (!queue)
      continue;
    auto handle = read_list(files, "/proc/irq/" + irq + "/effective_affinity_list");
    if (handle.empty())
      handle = read_list(files, "/proc/irq/" + irq + "/smp_affinity_list");
    all.push_back({*queue, irq, std::move(handle)});
  }
  std::ranges::stable_sort(all, {}, &QueueInterrupt::queue);
  return all;
}

std::vector<uint32_t> by_preference(const Topology &topology, const ThreadNeeds &needs,
                                    const std::vector<uint32_t> &mine,
                                    const std::function<bool(uint32_t)> &is_taken) {
  const auto rank = [&](uint32_t processor) {
    const auto node = topology.nodes.find(processor);
    const bool far = topology.port_node >= 0 && node != topology.nodes.end() &&
                     node->second != topology.port_node;
    const bool same_queue = needs.queues && std::ranges::any_of(mine, [&](uint32_t other) {
                              return other % needs.queues == processor % needs.queues;
                            });
    const auto interrupt = topology.interrupts.find(needs.queue.value_or(UINT32_MAX));
    const bool interrupted =
        interrupt != topology.interrupts.end() && has(interrupt->second, processor);
    const auto core = topology.siblings.find(processor);
    const bool half =
        core != topology.siblings.end() && std::ranges::any_of(core->second, [&](uint32_t sibling) {
          return sibling != processor && (has(mine, sibling) || is_taken(sibling));
        });
    return std::tuple(needs.queues && processor >= needs.queues, far, same_queue, interrupted, half,
                      processor);
  };
  std::vector<decltype(rank(0))> ranks;
  ranks.reserve(topology.allowed.size());
  for (const uint32_t processor : topology.allowed)
    ranks.push_back(rank(processor));
  std::ranges::sort(ranks);
  std::vector<uint32_t> all;
  all.reserve(ranks.size());
  for (const auto &each : ranks)
    all.push_back(std::get<uint32_t>(each));
  return all;
}

ProcessorLocks::ProcessorLocks(std::string directory) : directory_(std::move(directory)) {}

std::string ProcessorLocks::path(uint32_t processor) const {
  return fmt::format("{}/processor-{}", directory_, processor);
}

// Locks of an open file: those of a process end when it closes any of its descriptors of a file,
// and those of flock() cannot be looked at.
bool ProcessorLocks::take(uint32_t processor) {
  (void)mkdir(directory_.c_str(), 0755);
  Fd file(open(path(processor).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock lock = whole_file();
  if (file && fcntl(file.get(), F_OFD_SETLK, &lock) == 0) {
    held_.push_back(std::move(file));
    return true;
  }
  if (errno != EAGAIN && failure_.empty())
    failure_ = errno_error(errno, fmt::format("cannot lock {}", path(processor))).message;
  return false;
}

bool ProcessorLocks::is_taken(uint32_t processor) const {
  const Fd file(open(path(processor).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock = whole_file();
  lock.l_type = F_RDLCK;
  return file && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Placement::Placement(std::vector<uint32_t> asked, ProcessorLocks locks)
    : asked_(std::move(asked)), locks_(std::move(locks)) {}

PlacedThread Placement::place(const Topology &topology, const ThreadNeeds &needs) {
  if (!asked_.empty()) {
    const uint32_t processor = asked_[next_++ % asked_.size()];
    const bool shared = has(mine_, processor);
    const bool taken = !shared && !locks_.take(processor) && locks_.failure().empty();
    mine_.push_back(processor);
    return {processor, shared  ? "--cpus; for another of its threads, too"
                       : taken ? "--cpus; another xdp-roce has it, too"
                               : "--cpus"};
  }
  for (const uint32_t processor : by_preference(
           topology, needs, mine_, [this](uint32_t other) { return locks_.is_taken(other); })) {
    if (!locks_.take(processor))
      continue;
    mine_.push_back(processor);
    const auto node = topology.nodes.find(processor);
    const bool near = topology.port_node >= 0 && node != topology.nodes.end() &&
                      node->second == topology.port_node;
    return {processor, near ? fmt::format("no other xdp-roce has it; NUMA node {}, as the port",
                                          topology.port_node)
                            : "no other xdp-roce has it"};
  }
  return {{},
          locks_.failure().empty() ? "all are taken: where the kernel puts it" : locks_.failure()};
}

Status check_processors(const std::vector<uint32_t> &asked, const std::vector<uint32_t> &allowed) {
  for (const uint32_t processor : asked)
    if (!has(allowed, processor))
      return Error{
          fmt::format("--cpus: processor {} is not one that this process may use", processor),
          fmt::format("of {}", fmt::join(allowed, ","))};
  return {};
}

} // namespace xr::host
