// SPDX-License-Identifier: Apache-2.0
// The files of HPCC's simulator, to their importer. The input: config.txt, topology.txt and
// flow.txt, with NUL between them.
#include <algorithm>
#include <cstdint>
#include <string>

#include "importers/hpcc.h"
#include "require.h"

namespace {

std::string take_text(const uint8_t *&data, size_t &size) {
  const uint8_t *end = std::find(data, data + size, 0);
  std::string text(data, end);
  const size_t used = text.size() + (end != data + size);
  data += used;
  size -= used;
  return text;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string config = take_text(data, size), topology = take_text(data, size),
                    flows = take_text(data, size);
  const auto imported = xr::importers::hpcc({.config = config,
                                             .config_name = "config.txt",
                                             .topology = topology,
                                             .topology_name = "topology.txt",
                                             .flows = flows,
                                             .flows_name = "flow.txt"});
  if (!imported) {
    REQUIRE(!imported.error().message.empty() && !imported.error().hint.empty());
    return 0;
  }
  REQUIRE(!imported.get().fct_flows.empty());
  for (const xr::importers::FctFlow &flow : imported.get().fct_flows)
    REQUIRE(flow.bytes && flow.src_ip != flow.dst_ip);
  return 0;
}
