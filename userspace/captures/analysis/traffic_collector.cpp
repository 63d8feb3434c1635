// SPDX-License-Identifier: Apache-2.0
#include "analysis/traffic_collector.h"

#include <algorithm>
#include <utility>

#include "model/data_packet.h"
#include "roce/cm.h"

namespace xr {

namespace {

// The fields of a packet in one word: TOS, PCP or PartTraffic::kUntagged, part, UDP source port.
constexpr unsigned kClassShift = 8, kPartShift = 12, kPortShift = 16;
constexpr uint64_t kClassMask = 0xfff; // TOS and PCP

TrafficPart part_of(const roce_packet &packet) {
  if (packet.info & ROCE_OP_CNP)
    return TrafficPart::Cnp;
  const bool datagram = packet.info & ROCE_OP_DATAGRAM && roce_key_qp(&packet.key) != ROCE_QPN_GSI;
  return datagram || is_data(packet.info) ? TrafficPart::Data : TrafficPart::Control;
}

uint64_t fields_of(const roce_packet &packet, uint64_t port) {
  const bool v1 = packet.key.qp_kind & ROCE_KEY_V1;
  const uint64_t tos = (packet.tos & ~3u) | (v1 ? 0u : packet.ecn & 3u);
  const uint64_t pcp = packet.vlan & ROCE_VLAN_TAGGED ? uint64_t{packet.vlan} >> ROCE_VLAN_PCP_SHIFT
                                                      : PartTraffic::kUntagged;
  return tos | pcp << kClassShift | static_cast<uint64_t>(part_of(packet)) << kPartShift |
         port << kPortShift;
}

TrafficPart part_in(uint64_t fields) { return static_cast<TrafficPart>(fields >> kPartShift & 3); }

void note_port(uint16_t port, StreamTraffic &into) {
  const auto end = into.ports.begin() + into.ports_used;
  if (!port || std::find(into.ports.begin(), end, port) != end)
    return;
  if (into.ports_used < StreamTraffic::kPorts)
    into.ports[into.ports_used++] = port;
  else
    into.ports_more++;
}

} // namespace

// Counts `packets` of the same fields.
void TrafficCollector::fold(uint64_t fields, uint64_t packets, StreamTraffic &into) {
  into.of(part_in(fields)).ecn[fields & 3] += packets;
}

// A packet whose fields differ from those of the stream's packet before.
void TrafficCollector::changed(Entry &entry, uint64_t fields, uint64_t frame) {
  StreamTraffic &traffic = entry.traffic;
  if (entry.again)
    fold(entry.fields, std::exchange(entry.again, 0), traffic);
  entry.fields = fields;
  const TrafficPart part = part_in(fields);
  PartTraffic &of = traffic.of(part);
  const uint64_t dscp = uint64_t{1} << (fields >> 2 & 63);
  const auto pcp = static_cast<uint16_t>(1u << ((fields & kClassMask) >> kClassShift));
  if (!of.first_frame)
    of.first_frame = frame;
  else if (!of.other_frame && !(of.dscps & dscp && of.pcps & pcp))
    of.other_frame = frame;
  of.dscps |= dscp;
  of.pcps |= pcp;
  if (part == TrafficPart::Data && !(fields & 3) && !traffic.not_ect_frame)
    traffic.not_ect_frame = frame;
  if ((fields & 3) == ROCE_ECN_CE && !traffic.ce_frame)
    traffic.ce_frame = frame;
  if (part != TrafficPart::Cnp)
    note_port(static_cast<uint16_t>(fields >> kPortShift), traffic);
}

void TrafficCollector::stray(const NativeDatapath::FrameView &frame, roce_class class_) {
  const auto note = [&frame](uint64_t &first) {
    if (!first)
      first = frame.number;
  };
  if (class_ == ROCE_CLASS_FRAGMENT)
    note(strays_.fragment_frame);
  else if (class_ == ROCE_CLASS_MALFORMED)
    note(strays_.malformed_frame);
}

void TrafficCollector::add(const NativeDatapath::FrameView &frame, roce_class class_,
                           const roce_packet &packet, uint16_t source_port, uint32_t record) {
  if (record == NativeDatapath::kNoStream)
    return stray(frame, class_);
  if (record >= entries_.size())
    entries_.resize(std::max<size_t>(record + size_t{1}, entries_.size() * 2));
  Entry &entry = entries_[record];
  StreamTraffic &traffic = entry.traffic;
  if (frame.damaged) {
    if (!traffic.bad_icrcs++)
      traffic.bad_icrc_frame = frame.number;
    return;
  }
  if (const uint64_t fields = fields_of(packet, source_port); fields != entry.fields)
    changed(entry, fields, frame.number);
  entry.again++;
  traffic.largest_payload = std::max(traffic.largest_payload, packet.payload);
  traffic.largest_frame = std::max(traffic.largest_frame, frame.length);
}

void TrafficCollector::result(const std::vector<const TrafficCollector *> &parts,
                              const std::vector<NativeDatapath::StreamPlace> &places,
                              Snapshot &into) {
  into.strays = parts[0]->strays_;
  into.traffic.clear();
  into.traffic.reserve(places.size());
  for (const NativeDatapath::StreamPlace &at : places) {
    StreamTraffic &traffic = into.traffic.emplace_back();
    const std::vector<Entry> &entries = parts[at.part]->entries_;
    if (at.record >= entries.size())
      continue;
    const Entry &entry = entries[at.record];
    traffic = entry.traffic;
    if (entry.again)
      fold(entry.fields, entry.again, traffic);
  }
}

} // namespace xr
