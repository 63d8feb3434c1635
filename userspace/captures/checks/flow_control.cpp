// SPDX-License-Identifier: Apache-2.0
// Whether PFC protects the data, and protects it.
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks/hosts.h"
#include "checks/judgement.h"
#include "model/stream_loss.h"

namespace xr::checks {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr double kStorm = 0.1; // of a second

// Priorities of RoCE data, a bit each: the PCP, else what the map makes of the DSCP.
struct DataPriorities {
  uint64_t bits = 0;
  uint64_t unknown = 0; // DSCPs whose priority is not known
};

// Adds to the map what the data's own PCP shows: streams with one DSCP, tagged with one PCP.
void learn_map(const Snapshot &s, DscpMap &map) {
  constexpr unsigned kTagged = (1u << PartTraffic::kUntagged) - 1;
  for (const roce_stream &stream : s.streams) {
    const PartTraffic &data = traffic_of(s, stream).of(TrafficPart::Data);
    const unsigned pcps = data.pcps & kTagged;
    if (is_v1(stream) || !std::has_single_bit(data.dscps) || !std::has_single_bit(pcps))
      continue;
    uint8_t &priority = map.priority[static_cast<size_t>(std::countr_zero(data.dscps))];
    if (priority == DscpMap::kUnknown)
      priority = static_cast<uint8_t>(std::countr_zero(pcps));
  }
}

DataPriorities data_priorities(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  DscpMap map = facts.dscp_map;
  learn_map(s, map);
  uint64_t tagged = 0, dscps = 0;
  for (const roce_stream &stream : s.streams) {
    const PartTraffic &data = traffic_of(s, stream).of(TrafficPart::Data);
    tagged |= data.pcps & ((1u << PartTraffic::kUntagged) - 1);
    dscps |= is_v1(stream) || !(data.pcps >> PartTraffic::kUntagged) ? 0 : data.dscps;
  }
  if (s.traffic.empty() && !s.classes.empty()) { // of a port: data, answers and CNPs
    for (unsigned i = 0; i < ROCE_CLASS_PCP; i++)
      dscps |= s.classes[i].packets ? uint64_t{1} << i : 0;
    for (unsigned i = ROCE_CLASS_PCP; i < ROCE_CLASS_UNTAGGED; i++)
      tagged |= s.classes[i].packets ? uint64_t{1} << (i - ROCE_CLASS_PCP) : 0;
  }
  DataPriorities data{tagged};
  for (unsigned dscp = 0; dscp < 64; dscp++) {
    if (!(dscps >> dscp & 1))
      continue;
    if (map.priority[dscp] == DscpMap::kUnknown)
      data.unknown |= uint64_t{1} << dscp;
    else
      data.bits |= uint64_t{1} << map.priority[dscp];
  }
  return data;
}

// Priorities for which PFC was seen that paused, a bit each.
uint64_t paused_priorities(const Snapshot &s) {
  uint64_t bits = 0;
  for (unsigned i = 0; i < ROCE_PFC_ALL; i++)
    bits |= s.totals.pfc_xoff[i] ? uint64_t{1} << i : 0;
  return bits;
}

bool any(const Snapshot &s, unsigned begin, unsigned end) {
  for (unsigned i = begin; i < end; i++)
    if (s.totals.pfc_xoff[i] || s.totals.pfc_xon[i])
      return true;
  return false;
}

std::string mac_text(const PfcSender &sender) {
  return fmt::format("{:02x}", fmt::join(sender.source, ":"));
}

std::string priority_text(unsigned priority) {
  return priority == ROCE_PFC_ALL ? "PAUSE" : fmt::format("priority {}", priority);
}

std::string sender_text(const PfcSender &sender, unsigned priority) {
  return mac_text(sender) + " " + priority_text(priority);
}

// A second of which more than kStorm was paused is certain if the mean over the seconds is. Without
// the link's speed only what a link of 1 Gbit/s would have been paused is known.
void add_storm(const PfcSender &sender, unsigned priority, bool speed_known, Judgement &judgement) {
  const PfcSender::Row &row = sender.rows[priority];
  const uint64_t whole = 1 + (row.last_ns - row.first_ns) / kSecond;
  const auto seconds = static_cast<double>(whole);
  const uint64_t ns = speed_known ? row.paused.paused_ns : row.slow.paused_ns;
  const double share = static_cast<double>(ns) / static_cast<double>(kSecond) / seconds;
  if (share <= kStorm)
    return;
  if (speed_known)
    judgement.add(Status::Fail, fmt::format("{}: paused {:.0f} % of a second",
                                            sender_text(sender, priority), share * 100));
  else
    judgement.add(Status::Unknown,
                  fmt::format("{}: paused at most {:.0f} % of a second; how long depends on the "
                              "link's speed, --speed",
                              sender_text(sender, priority), share * 100));
}

void add_faults(const PfcSender &sender, Judgement &judgement) {
  uint64_t frames = 0;
  for (const PfcSender::Fault &fault : sender.faults) {
    frames += fault.frames;
    if (fault.frames)
      judgement.frame(fault.first_frame);
  }
  if (frames)
    judgement.add(Status::Fail,
                  fmt::format("{}: faults in PFC or PAUSE frames: {}", mac_text(sender), frames));
}

void add_not_released(const PfcSender &sender, Judgement &judgement) {
  std::vector<std::string> paused;
  for (unsigned priority = 0; priority < ROCE_PFC_COUNTS; priority++)
    if (sender.rows[priority].xoff && !sender.rows[priority].xon)
      paused.push_back(priority_text(priority));
  if (!paused.empty())
    judgement.add(Status::Warn, fmt::format("{}: paused and never released: {}", mac_text(sender),
                                            fmt::join(paused, ", ")));
}

} // namespace

Judgement pfc_class(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  const bool pfc = any(s, 0, ROCE_PFC_ALL), pause = any(s, ROCE_PFC_ALL, ROCE_PFC_COUNTS);
  if (!pfc && !pause && !s.pfc_senders.frames)
    return {Status::Unknown, "no PFC or PAUSE frames: a switch sends them to its neighbour only, "
                             "and only when it must"};
  Judgement judgement(Status::Ok,
                      pfc ? "PFC of priority " + bits_text(paused_priorities(s)) : "PAUSE");
  if (pfc && pause)
    judgement.add(Status::Fail, "both PFC and PAUSE frames");
  for (const PfcSender &sender : s.pfc_senders.senders)
    add_faults(sender, judgement);
  for (const PfcSender &sender : s.pfc_senders.senders)
    for (unsigned priority = 0; priority < ROCE_PFC_COUNTS; priority++)
      add_storm(sender, priority, s.quantum_ps != 0, judgement);
  const DataPriorities data = data_priorities(facts);
  const uint64_t other = paused_priorities(s) & ~data.bits;
  if (other && data.unknown)
    judgement.add(Status::Unknown,
                  fmt::format("PFC for priority {}; the switches' map of the data's DSCP {} is not "
                              "known: --dscp-map",
                              bits_text(other), bits_text(data.unknown)));
  else if (other && data.bits)
    judgement.add(Status::Warn, fmt::format("PFC for priority {}; RoCE data has priority {}",
                                            bits_text(other), bits_text(data.bits)));
  for (const PfcSender &sender : s.pfc_senders.senders)
    add_not_released(sender, judgement);
  return judgement;
}

Judgement lossless(const Facts &facts) {
  const Snapshot &s = facts.snapshot;
  if (!s.tracked)
    return {Status::Unknown, "streams were not tracked"};
  if (s.streams.empty())
    return {Status::Unknown, "no RoCE streams"};
  std::map<Hosts, uint64_t> lost, after;
  std::map<Hosts, uint64_t> frames;
  uint64_t all = 0;
  for (const roce_stream &stream : s.streams) {
    if (const uint64_t psns = lost_psns(stream)) {
      lost[hosts_of(stream.key)] += psns;
      all += psns;
    }
    if (const uint64_t packets = lost_after(stream))
      after[hosts_of(stream.key)] += packets;
  }
  if (facts.episodes)
    for (const EpisodeRow &row : facts.episodes->episodes)
      frames.try_emplace(hosts_of(row.name.key), row.episode.resent_frame);
  if (!all && after.empty())
    return {Status::Ok, "no PSN was lost"};
  const auto frame_of = [&frames](const Hosts &hosts) {
    return frames.contains(hosts) ? frames[hosts] : 0;
  };
  Judgement judgement(Status::Ok, "");
  const DataPriorities data = data_priorities(facts);
  const uint64_t paused = paused_priorities(s);
  if (all && !(paused & data.bits) && !s.totals.pfc_xoff[ROCE_PFC_ALL])
    judgement.add(Status::Unknown,
                  fmt::format("{} PSNs were lost, and no PFC of the data's priority was seen: "
                              "whether the class is to be lossless is not known{}",
                              all, paused && data.unknown ? ", without --dscp-map" : ""));
  else
    for (const auto &[hosts, count] : lost)
      judgement.add(Status::Fail,
                    fmt::format("{}: {} PSNs lost in a class with {}", text_of(hosts), count,
                                paused & data.bits ? "PFC" : "PAUSE"),
                    frame_of(hosts));
  for (const auto &[hosts, count] : after)
    judgement.add(Status::Warn,
                  fmt::format("{}: at least {} lost after this {}, by the NAKs", text_of(hosts),
                              count, s.source == Snapshot::Source::Interface ? "port" : "tap"),
                  frame_of(hosts));
  return judgement;
}

} // namespace xr::checks
