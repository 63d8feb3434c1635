// SPDX-License-Identifier: Apache-2.0
// For this folder only: what a flow of an experiment is in a configuration of OTG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "otg/object.h"
#include "simulate/scenario.h"

namespace xr::importers {

struct OtgFlow {
  otg::Json verb = otg::Json::object(); // rocev2_verb
  uint64_t size = 0;                    // message_size, in `unit`
  std::string_view unit;
  uint32_t pmtu = 0;              // one of InfiniBand
  double percent = 100;           // of the line, of all its QPs; may be above 100
  bool top = true;                // as fast as the line: no rate is asked for
  otg::Json dcqcn;                // dcqcn_settings
  std::vector<std::string> notes; // without the flow's name
};

// The line of the host that sends.
struct OtgLine {
  uint64_t rate = 0;   // bit/s
  bool layer1 = false; // it counts FCS, preamble and gap; otherwise a frame's bytes alone
};
// The error is without the flow's name.
Result<OtgFlow> otg_flow(const simulate::FlowSetup &setup, const OtgLine &line);

// connection_type.reliable_connection of a QP.
otg::Json otg_connection(const flow::Flow &flow, uint32_t index);

} // namespace xr::importers
