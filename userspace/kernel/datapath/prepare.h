// SPDX-License-Identifier: Apache-2.0
// Steps before a program is attached to a hook, and the undo of a failed attach. The caller holds
// the exclusive lock.
#pragma once

#include <string>
#include <vector>

#include "base/port_name.h"
#include "datapath/attach.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

// Whether the program accepts frames in several buffers. Adds a note if options.frags is set and
// the kernel does not support it.
bool take_frags(const AttachOptions &options, std::vector<std::string> &notes);

struct Prepared {
  Place place;
  PortStatus port; // before the attach
};

// Checks that the interface exists and its hook is free or can be shared, and removes the pins of
// previous attachments.
Result<Prepared> prepare(const PortName &port, const Bpffs &bpffs, std::vector<std::string> &notes);

// Restores the interface when an attach fails: its destructor cleans up unless disarm() was called.
class Undo {
public:
  Undo(const host::Netns &netns, unsigned ifindex, const Bpffs &bpffs, const Pins &pins)
      : netns_(netns), ifindex_(ifindex), bpffs_(bpffs), pins_(pins) {}
  ~Undo();
  Undo(const Undo &) = delete;
  Undo &operator=(const Undo &) = delete;
  void disarm() { armed_ = false; }

private:
  const host::Netns &netns_;
  unsigned ifindex_;
  const Bpffs &bpffs_;
  const Pins &pins_;
  bool armed_ = true;
};

} // namespace xr::datapath
