// SPDX-License-Identifier: Apache-2.0
#include "places/measured_columns.h"

namespace xr::places {

namespace {

using experiment::RowKind;

constexpr uint8_t kNowhere = UINT8_MAX; // no place with frames measures it

// `all` of these, and one of `any` if there are any.
struct Need {
  RowKind kind;
  uint8_t all, any;
  const char *column, *words;
};

constexpr const char *kSend = "send=IF in this process";
constexpr const char *kWire = "left=IF,right=IF in this process";
constexpr const char *kRespond = "respond=IF in this process";
constexpr const char *kWhole = "send=IF, and respond=IF in this process";
constexpr const char *kOurs = "send=IF: other hosts start their flows by themselves";
constexpr const char *kBoth = "send=IF or left=IF,right=IF, and respond=IF, in one process";
constexpr const char *kRates = "left=IF,right=IF or respond=IF in this process";
constexpr const char *kCnps = "send=IF or left=IF,right=IF in this process";

constexpr Need kNeeds[] = {
    {RowKind::Flow, 0, kHasWire | kHasReceiver, "goodput_bps", kRates},
    {RowKind::Flow, 0, kHasWire | kHasReceiver, "wire_bps", kRates},
    {RowKind::Flow, kHasSender, 0, "control_bps", kSend},
    {RowKind::Flow, kHasSender, 0, "target_bps", kSend},
    {RowKind::Flow, kHasSender, 0, "alpha", kSend},
    {RowKind::Flow, kHasReceiver | kFlowsAreOurs, 0, "bytes", kWhole},
    {RowKind::Flow, 0, kHasWire | kHasSender, "packets", kCnps},
    {RowKind::Flow, kFlowsAreOurs, 0, "start_ns", kOurs},
    {RowKind::Flow, kHasReceiver | kFlowsAreOurs, 0, "end_ns", kWhole},
    {RowKind::Flow, kHasReceiver | kFlowsAreOurs, 0, "fct_ns", kWhole},
    {RowKind::Flow, kNowhere, 0, "slowdown", "virtual time"},
    {RowKind::Flow, kHasReceiver, 0, "marked", kRespond},
    {RowKind::Flow, 0, kHasSender | kHasWire, "cnps", kCnps},
    {RowKind::Flow, kHasSender, 0, "cuts", kSend},
    {RowKind::Flow, kHasWire, 0, "retransmitted", kWire},
    {RowKind::Flow, kHasSender, 0, "timeouts", kSend},
    {RowKind::Flow, kHasSender, 0, "naks", kSend},
    {RowKind::Flow, kHasReceiver, kHasWire | kHasSender, "drops", kBoth},
    {RowKind::Flow, kHasSender, 0, "failed", kSend},
    {RowKind::Flow, kNowhere, 0, "kept_no_room", "virtual time"},
    {RowKind::Flow, kNowhere, 0, "arrived", "virtual time"},
    {RowKind::Flow, kNowhere, 0, "messages", "virtual time"},
    {RowKind::Flow, kNowhere, 0, "acks", "virtual time"},
    {RowKind::Total, 0, kHasWire | kHasReceiver, "jain", kRates},
    {RowKind::Total, kHasWire, 0, "packet_hops", kWire},
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
