// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "otg/read_flows.h"
#include "otg/reading.h"
#include "otg/words.h"

namespace xr::otg {

namespace {

// Metrics name a flow by its name alone.
void check_flow_names(const Reading &reading, Findings &findings) {
  for (const PlainFlow &flow : reading.config.plain_flows)
    if (reading.flows.knows(flow.name))
      findings.error(
          "flows", {fmt::format("there is a flow {} of stateful_flows too", shown(Json(flow.name))),
                    "each has a name of its own"});
}

} // namespace

// To read another key: in the reader of its section; tests/unit/otg_config_test.cpp,
// tests/otg_words.py.
Config read_config(Json &json, Findings &findings) {
  Object root(json, findings, "a configuration");
  Reading reading;
  read_ports(root, reading);
  read_layer1(root, reading);
  read_lags(root, reading);
  read_lldp(root, reading);
  read_devices(root, reading);
  check_lag_peers(reading, findings);
  check_qp_numbers(reading, findings);
  read_stateful_flows(root, reading);
  read_options(root, reading);
  read_captures(root, reading);
  read_flows(root, reading.config);
  check_flow_names(reading, findings);
  for (const char *other : {"events", "egress_only_tracking"})
    root.unsupported(other);
  root.done();
  return std::move(reading.config);
}

uint8_t read_ecn(Object &object, const char *key) {
  static_assert(ROCE_ECN_ECT1 == 1 && ROCE_ECN_ECT0 == 2);
  return static_cast<uint8_t>(object.word(key, {std::begin(kEcn), std::end(kEcn)}, ROCE_ECN_ECT1));
}

} // namespace xr::otg
