// SPDX-License-Identifier: Apache-2.0
#include "places/measured_columns.h"

namespace xr::places {

namespace {

using experiment::RowKind;

constexpr uint8_t kNowhere = UINT8_MAX; // no place with frames measures it

// `all` of these, and one of `any` if there are any.
struct Need {
  RowKind kind;
  const char *column;
  uint8_t all, any;
  const char *words;
};

constexpr const char *kSend = "send=IF in this process";
constexpr const char *kWire = "left=IF,right=IF in this process";
constexpr const char *kRespond = "respond=IF in this process";
constexpr const char *kWhole = "send=IF, and respond=IF in this process";
constexpr const char *kOurs = "send=IF: other hosts start their flows by themselves";
constexpr const char *kBoth = "left=IF,right=IF and respond=IF in one process";
constexpr const char *kRates = "left=IF,right=IF or respond=IF in this process";
constexpr const char *kCnps = "send=IF or left=IF,right=IF in this process";

constexpr Need kNeeds[] = {
    {RowKind::Flow, "rate_bps", 0, kHasWire | kHasReceiver, kRates},
    {RowKind::Flow, "control_bps", kHasSender, 0, kSend},
    {RowKind::Flow, "target_bps", kHasSender, 0, kSend},
    {RowKind::Flow, "alpha", kHasSender, 0, kSend},
    {RowKind::Flow, "bytes", kHasReceiver | kFlowsAreOurs, 0, kWhole},
    {RowKind::Flow, "packets", kHasWire, 0, kWire},
    {RowKind::Flow, "start_ns", kFlowsAreOurs, 0, kOurs},
    {RowKind::Flow, "end_ns", kHasReceiver | kFlowsAreOurs, 0, kWhole},
    {RowKind::Flow, "fct_ns", kHasReceiver | kFlowsAreOurs, 0, kWhole},
    {RowKind::Flow, "slowdown", kNowhere, 0, "virtual time"},
    {RowKind::Flow, "marked", kHasReceiver, 0, kRespond},
    {RowKind::Flow, "cnps", 0, kHasSender | kHasWire, kCnps},
    {RowKind::Flow, "cuts", kHasSender, 0, kSend},
    {RowKind::Flow, "retransmitted", kHasWire, 0, kWire},
    {RowKind::Flow, "timeouts", kHasSender, 0, kSend},
    {RowKind::Flow, "naks", kHasSender, 0, kSend},
    {RowKind::Flow, "drops", kHasWire | kHasReceiver, 0, kBoth},
    {RowKind::Flow, "failed", kHasSender, 0, kSend},
    {RowKind::Total, "jain", 0, kHasWire | kHasReceiver, kRates},
    {RowKind::Total, "packet_hops", kHasWire, 0, kWire},
};

} // namespace

uint8_t having(const RunPorts &ports, bool ours) {
  return static_cast<uint8_t>(
      (ports.sender.here() ? kHasSender : 0) | (ports.wire() ? kHasWire : 0) |
      (ports.receiver.here() ? kHasReceiver : 0) | (ours ? kFlowsAreOurs : 0));
}

std::map<std::pair<RowKind, std::string>, std::string> absent_columns(uint8_t having) {
  std::map<std::pair<RowKind, std::string>, std::string> absent;
  for (const Need &need : kNeeds)
    if ((need.all & ~having) || (need.any && !(need.any & having)))
      absent.emplace(std::pair(need.kind, need.column), need.words);
  return absent;
}

} // namespace xr::places
