// SPDX-License-Identifier: Apache-2.0
// Waits for links that a driver restarts: many NICs lose their carrier for some seconds when the
// first XDP program comes, and when the last one goes; frames that are sent meanwhile are lost.
#pragma once

#include <string>
#include <vector>

#include "host/netns.h"

namespace xr::datapath {

class LinkRestart {
public:
  // Before programs come or go. `netns`: the ports' namespace, which outlives this.
  LinkRestart(const host::Netns &netns, const std::vector<unsigned> &ifindexes);
  // Until each port that had a carrier has one again, at most 15 s. A note for each that lost it.
  void wait(std::vector<std::string> &notes) const;

private:
  const host::Netns &netns_;
  std::vector<unsigned> had_carrier_;
};

} // namespace xr::datapath
