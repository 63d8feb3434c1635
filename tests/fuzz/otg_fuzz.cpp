// SPDX-License-Identifier: Apache-2.0
// Any bytes to the reader of Open Traffic Generator configurations. What is read once with its
// defaults is read the same again.
#include <cstdint>
#include <string>

#include "otg/config.h"
#include "require.h"

namespace {

using xr::otg::Config;
using xr::otg::Json;

// Indexes hold, also where there are errors.
void require_indexes(const Config &config) {
  for (const auto &ethernet : config.ethernets)
    REQUIRE(ethernet.port < config.ports.size());
  for (const auto &interface : config.interfaces)
    REQUIRE(interface.ethernet < config.ethernets.size());
  for (const auto &peer : config.peers) {
    REQUIRE(peer.interface < config.interfaces.size());
    for (const size_t qp : peer.qps)
      REQUIRE(qp < config.qps.size());
  }
  for (const auto &qp : config.qps)
    REQUIRE(qp.peer < config.peers.size() && qp.number <= 0xffffff && qp.ecn < 4);
  for (const auto &flow : config.flows)
    REQUIRE(flow.qp < config.qps.size() && flow.port < config.ports.size());
  for (const auto &capture : config.captures)
    for (const size_t port : capture.ports)
      REQUIRE(port < config.ports.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Json json = Json::parse(data, data + size, nullptr, false);
  if (json.is_discarded())
    return 0;
  xr::otg::Findings findings;
  require_indexes(xr::otg::read_config(json, findings));
  // Answers are JSON, which throws at what is not UTF-8.
  (void)Json(findings.all_errors()).dump();
  (void)Json(findings.all_warnings()).dump();
  if (!findings.ok())
    return 0;
  Json again = json;
  xr::otg::Findings none;
  require_indexes(xr::otg::read_config(again, none));
  REQUIRE(none.ok());
  REQUIRE(again == json);
  return 0;
}
