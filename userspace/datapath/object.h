// SPDX-License-Identifier: Apache-2.0
// The program before it is in the kernel: opened from the binary, told its configuration.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/log.h"
#include "datapath/pins.h"

struct xdp_roce;
struct xdp_program;
struct roce_config;

namespace xr::datapath {

// Where this build's .rodata has its struct roce_config, and how long all of it is.
size_t object_config_offset();
size_t object_rodata_size();

// Of all maps that an attachment may have, as the kernel lists them (there the first 15
// characters).
std::vector<std::string> object_map_names();

// Frames in several buffers came with kernel 5.18.
bool kernel_has_frags();

// Why the kernel did not load the program, whose log that is.
Error load_error(int error, uint32_t streams, const LogCapture &log);

// The configuration of a new attachment.
roce_config make_config(const AttachOptions &options, bool frags);

class Object {
public:
  // Told its configuration. Maps of `pins` that it can go on with are taken from there; the others
  // are pinned there as they are made, which is before the program can see a packet, each as NAME
  // and `suffix`. `ring_bytes` is for the ring of events.
  static Result<Object> open(const roce_config &config, uint32_t ring_bytes, const Pins &pins,
                             const std::string &suffix = "");
  // With no pins: gone with this object.
  static Result<Object> open(const roce_config &config, uint32_t ring_bytes);
  // Shares the streams, and what goes with them, of the port with these pins: a bridge's other one.
  // They get pins of their own beside the rest, so that each port can be read alone.
  Status share(const Pins &other);

  // For libxdp, which loads it when it attaches.
  Result<xdp_program *> handle(unsigned priority);
  Status load();

  // -1 until it is loaded.
  int program_fd() const;
  int cnp_fd() const; // the program on copies that become CNPs, if the features want one

private:
  struct WithoutFrags;
  struct Close {
    void operator()(struct xdp_roce *object) const;
    void operator()(xdp_program *program) const;
    void operator()(WithoutFrags *handler) const;
  };
  static std::unique_ptr<struct xdp_roce, Close> open_skeleton(bool resizes);
  void configure(const roce_config &config, uint32_t ring_bytes);
  Status place_maps(const Pins &pins, const std::string &suffix);

  // In this order: the handle stands on the object, and that on libbpf's handler for its section.
  std::unique_ptr<WithoutFrags, Close> handler_;
  std::unique_ptr<struct xdp_roce, Close> object_;
  std::unique_ptr<xdp_program, Close> handle_;
};

} // namespace xr::datapath
