// SPDX-License-Identifier: Apache-2.0
// Waits for links that a driver restarts: many NICs lose their carrier for some seconds when the
// first XDP program comes, and frames that are sent meanwhile are lost.
#pragma once

#include <string>
#include <vector>

namespace xr::datapath {

class LinkRestart {
public:
  // Before the programs are attached, in the ports' namespace.
  explicit LinkRestart(const std::vector<unsigned> &ifindexes);
  // Until each port that had a carrier has one again, at most 15 s. A note for each that lost it.
  void wait(std::vector<std::string> &notes) const;

private:
  std::vector<unsigned> had_carrier_;
};

} // namespace xr::datapath
