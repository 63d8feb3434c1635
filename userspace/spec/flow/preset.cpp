// SPDX-License-Identifier: Apache-2.0
// The four flows of the scripts of Freya, an FPGA traffic generator. docs/flows.md lists the
// intended differences.
// To add a preset: flow_parse_test, send_presets.sh, docs/flows.md.
#include <fmt/format.h>

#include "flow/words.h"

namespace xr::flow {

namespace {

struct Preset {
  const char *name, *addresses, *queue_pairs;
};

constexpr const char *kIpv4 = "src 10.10.10.10 dst 10.10.10.20";
constexpr const char *kIpv6 = "src 2000::10 dst 2000::20";
constexpr const char *kRc = "transport rc qp 5 src-qp 5";
constexpr const char *kUd = "transport ud qp 11 src-qp 10 qkey 1234";
constexpr Preset kPresets[] = {
    {"ipv4_rocev2_rc_send", kIpv4, kRc},
    {"ipv4_rocev2_ud_send", kIpv4, kUd},
    {"ipv6_rocev2_rc_send", kIpv6, kRc},
    {"ipv6_rocev2_ud_send", kIpv6, kUd},
};
constexpr const char *kAll =
    "src-mac aa:aa:0a:0a:0a:0a dst-mac aa:aa:0a:0a:0a:14 port 4791 verb send psn 0 frame-size 4500 "
    "frames 1000 repeat 0 rate 40%";

} // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset &preset : kPresets)
    names.emplace_back(preset.name);
  return names;
}

Result<FlowDraft> preset_draft(const std::string &name) {
  std::vector<std::string_view> names;
  for (const Preset &preset : kPresets)
    names.emplace_back(preset.name);
  const auto at = XR_TRY(parse::choice(name, names, "a preset").in("preset"));
  const Preset &chosen = kPresets[at];
  auto flow = XR_TRY(parse_flow({chosen.addresses, chosen.queue_pairs, kAll}));
  FlowDraft draft;
  draft.spec = std::move(flow);
  return draft;
}

Result<Flow> preset(const std::string &name) { return parse_flow({"preset", name}); }

} // namespace xr::flow
