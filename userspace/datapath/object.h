// SPDX-License-Identifier: Apache-2.0
// The program before it is in the kernel: opened from the binary, told its configuration.
#pragma once

#include <cstddef>
#include <memory>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/pins.h"

struct xdp_roce;
struct xdp_program;

namespace xr::datapath {

// Where this build's .rodata has its struct roce_config, and how long all of it is.
size_t object_config_offset();
size_t object_rodata_size();

// Frames in several buffers came with kernel 5.18.
bool kernel_has_frags();

class Object {
public:
  // Tells it all that is fixed for the life of the attachment. Maps will be pinned as they are
  // made, which is before the program can see a packet.
  static Result<Object> open(const AttachOptions &options, bool frags, const Pins &pins);

  xdp_program *handle() const { return handle_.get(); }
  // -1 until it is loaded, which libxdp does when it attaches.
  int program_fd() const;

private:
  struct WithoutFrags;
  struct Close {
    void operator()(struct xdp_roce *object) const;
    void operator()(xdp_program *program) const;
    void operator()(WithoutFrags *handler) const;
  };
  void configure(const AttachOptions &options, bool frags);
  Status pin_maps(const Pins &pins);

  // In this order: the handle stands on the object, and that on libbpf's handler for its section.
  std::unique_ptr<WithoutFrags, Close> handler_;
  std::unique_ptr<struct xdp_roce, Close> object_;
  std::unique_ptr<xdp_program, Close> handle_;
};

} // namespace xr::datapath
