// SPDX-License-Identifier: Apache-2.0
// For this folder only: the connections of a .cm file, and what each of them waits for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

struct CmConnection {
  // Another connection that has been sent, or received.
  struct Activator {
    size_t connection = 0; // index
    bool received = false;
  };

  uint32_t src = 0, dst = 0;
  uint64_t bytes = 0; // of each message; 0: it never ends
  uint64_t messages = 1, start_ns = 0;
  // "id-7" of a flow id, "id-7.2" of a message that is not like the first; else "flow-9" by place.
  std::string name;
  // It starts when so many of these have happened; 0: at its start time.
  uint64_t fewest = 0;
  std::vector<Activator> after;
  bool activates = false; // another connection
};

struct CmMatrix {
  uint32_t nodes = 0;
  // Each comes after those for which it waits; otherwise in the file's order.
  std::vector<CmConnection> connections;
  std::vector<std::string> notes;
};
Result<CmMatrix> read_cm_matrix(std::string_view text, const std::string &name);

} // namespace xr::importers
