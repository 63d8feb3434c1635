// SPDX-License-Identifier: Apache-2.0
// What comes before a program goes on a hook, and after it could not. The lock is held.
#pragma once

#include <string>
#include <vector>

#include "datapath/attach.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

// Whether frames in several buffers are to be taken; a note where that is wanted and cannot be.
bool take_frags(const AttachOptions &options, std::vector<std::string> &notes);

struct Prepared {
  Place place;
  PortStatus port; // as it was
};

// The interface is there and its hook is ours to take; what former attachments left is gone.
Result<Prepared> prepare(const std::string &ifname, const std::string &netns, const Bpffs &bpffs,
                         std::vector<std::string> &notes);

// An attach that fails leaves the interface as it was.
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
