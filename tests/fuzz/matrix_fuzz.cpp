// SPDX-License-Identifier: Apache-2.0
// htsim's connection matrix and topology, to their importer. The input: both texts, with NUL
// between them.
#include <algorithm>
#include <cstdint>
#include <string>

#include "importers/cm.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *middle = std::find(data, data + size, 0);
  const std::string topology(middle == data + size ? middle : middle + 1, data + size);
  const auto imported = xr::importers::cm({.matrix = std::string(data, middle),
                                           .matrix_name = "a.cm",
                                           .topology = topology,
                                           .topology_name = middle == data + size ? "" : "a.topo"});
  if (!imported)
    REQUIRE(!imported.error().message.empty() && !imported.error().hint.empty());
  else
    REQUIRE(imported.get().yaml.find("flows:\n  - ") != std::string::npos);
  return 0;
}
