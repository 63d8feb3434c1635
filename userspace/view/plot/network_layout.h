// SPDX-License-Identifier: Apache-2.0
// Where the page draws the nodes, links and labels of a network.
#pragma once

#include <string>
#include <vector>

#include "plot/page.h"

namespace xr::plot {

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool overlaps(const Box &other) const {
    return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1;
  }
};

struct NetworkLayout {
  struct Link {
    double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
    std::vector<std::string> words; // lines of its label
    Box label;                      // of `words`
  };
  double width = 0, height = 0;
  std::vector<Box> nodes; // by node
  std::vector<Link> links;
};

// No label lies on another one or on a node. A label for which there is no room is left out, and
// `about` has its words. `about`: of each link.
NetworkLayout lay_out(const PageNetwork &network, const std::vector<std::string> &about);

} // namespace xr::plot
