// SPDX-License-Identifier: Apache-2.0
// Which processor each thread of a port stays on: one that no other process of this program on the
// machine has taken. A process takes one by a lock, which the kernel releases when it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/processors.h"
#include "host/files.h"

namespace xr::host {

// What the choice depends on: of the machine, and of the device that is a port.
struct Topology {
  std::vector<uint32_t> allowed;                      // ascending
  std::map<uint32_t, int> nodes;                      // NUMA node by processor
  std::map<uint32_t, std::vector<uint32_t>> siblings; // of one core, the processor among them
  int port_node = -1;                                 // -1: none, or unknown
  // The processors that handle the interrupt of queue k.
  std::map<uint32_t, std::vector<uint32_t>> interrupts;

  // `bus`: LinkFacts::bus.
  static Topology read(const Files &files, const std::string &bus,
                       std::vector<uint32_t> allowed = allowed_processors());
};

// A receive queue's interrupt, and the processors that handle it; none: not known.
struct QueueInterrupt {
  uint32_t queue = 0;
  std::string number;
  std::vector<uint32_t> processors;
};
// In the order of queues. `bus`: LinkFacts::bus.
std::vector<QueueInterrupt> read_interrupts(const Files &files, const std::string &bus);

struct ThreadNeeds {
  // An AF_XDP thread of this queue: not where its interrupt is handled.
  std::optional<uint32_t> queue = {};
  // A thread whose processor chooses the queue of what it sends (live frames): of that many, the
  // processor's number modulo this. Drivers refuse frames of processors beyond it. 0: any.
  uint32_t queues = 0;
};

// The allowed processors, the best first: of the port's NUMA node; of the queues, one that no
// thread of `mine` has; not that of the interrupt; of a core of which none `is_taken`; ascending.
std::vector<uint32_t> by_preference(const Topology &topology, const ThreadNeeds &needs,
                                    const std::vector<uint32_t> &mine,
                                    const std::function<bool(uint32_t)> &is_taken);

// The processors that this process has taken, by locks of the files processor-N in `directory`.
class ProcessorLocks {
public:
  explicit ProcessorLocks(std::string directory = "/run/xdp-roce");

  // False: another process has it, or no lock can be made.
  bool take(uint32_t processor);
  bool is_taken(uint32_t processor) const; // by another process, or by another of these objects
  // Why a lock could not be made, although no other process had it. "": all could.
  const std::string &failure() const { return failure_; }

private:
  std::string path(uint32_t processor) const;
  std::string directory_, failure_;
  std::vector<Fd> held_;
};

class Placement {
public:
  // `asked`: the processors for the threads, in turn, also those that are taken; none: they are
  // chosen.
  explicit Placement(std::vector<uint32_t> asked = {}, ProcessorLocks locks = ProcessorLocks());

  bool is_asked() const { return !asked_.empty(); }
  // For the next thread.
  PlacedThread place(const Topology &topology, const ThreadNeeds &needs);

private:
  std::vector<uint32_t> asked_, mine_;
  size_t next_ = 0;
  ProcessorLocks locks_;
};

// Error: one that this process may not use.
Status check_processors(const std::vector<uint32_t> &asked,
                        const std::vector<uint32_t> &allowed = allowed_processors());

} // namespace xr::host
