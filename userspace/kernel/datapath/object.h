// SPDX-License-Identifier: Apache-2.0
// The BPF object that is built into this program: opened, configured, loaded into the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/log.h"
#include "datapath/pins.h"

struct bpf_map;
struct xdp_roce;
struct xdp_program;
struct roce_config;

namespace xr::datapath {

// In this build: offset of struct roce_config in .rodata, and size of .rodata, in bytes.
size_t object_config_offset();
size_t object_rodata_size();

// Full names of all maps that an attachment may have. (The kernel shows the first 15 characters.)
std::vector<std::string> object_map_names();

// The BTF id of the kernel's function that gives XDP a NIC's receive time (kernel 6.3).
Result<int32_t> nic_time_function();

// Whether the kernel supports XDP on frames in several buffers (5.18 and later).
bool kernel_has_frags();

// The error for a load that failed with errno `error`; `log` has the verifier's output.
Error load_error(int error, uint32_t streams, const LogCapture &log);

// The configuration of a new attachment.
// 512 bits at the port's speed (bits per second; 0: not known), in picoseconds.
uint32_t quantum_of(uint64_t speed);
roce_config make_config(const AttachOptions &options, bool frags);

class Object {
public:
  // Opens and configures the object. Reuses the maps of `pins` that have the right type and size;
  // new maps are pinned there as NAME + `suffix` when they are created, before the program can see
  // a packet. `ring_bytes`: size of the event ring.
  static Result<Object> open(const roce_config &config, uint32_t ring_bytes, const Pins &pins,
                             const std::string &suffix = "");
  // Opens it without pins: the kernel frees all with this object.
  static Result<Object> open(const roce_config &config, uint32_t ring_bytes);
  // Uses the stream table of the bridge's other port, whose pins these are. The shared maps are
  // also pinned in this port's directory, so that each port can be read alone.
  Status share(const Pins &other);
  // Counts together with the port that has these pins.
  Status share_all(const Pins &other);

  // The handle for libxdp, which loads the program when it attaches it.
  Result<xdp_program *> handle(unsigned priority);
  Status load();

  // -1 until load().
  int program_fd() const;
  int cnp_fd() const; // cnp_egress; -1 without ROCE_FEATURE_CLONE

private:
  Status share_maps(const Pins &other, std::initializer_list<bpf_map *> maps);
  struct Close {
    void operator()(struct xdp_roce *object) const;
    void operator()(xdp_program *program) const;
  };
  // `nic_time`: the kernel function that gives the NIC's time; 0: none.
  static std::unique_ptr<struct xdp_roce, Close> open_skeleton(uint32_t features, int32_t nic_time);
  void bind_to(unsigned ifindex);
  void configure(const roce_config &config, uint32_t ring_bytes);
  Status place_maps(const Pins &pins, const std::string &suffix);

  // Destroyed in reverse order: the handle uses the object.
  std::unique_ptr<struct xdp_roce, Close> object_;
  std::unique_ptr<xdp_program, Close> handle_;
};

} // namespace xr::datapath
