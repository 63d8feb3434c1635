// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "names/names.h"
#include "report/classes.h"
#include "report/episodes.h"
#include "report/sections.h"
#include "report/sums.h"
#include "report/tunnels.h"

namespace xr::report {

namespace {

// ACKs and NAKs of which a capture kept the BTH, but not the AETH: not known which.
uint64_t cut_aeths(const Snapshot &s, const Sums &sums) {
  uint64_t packets = 0;
  for (unsigned opcode = 0; opcode < sums.opcodes.size(); opcode++)
    if (roce_opcode_info[opcode] & ROCE_HAS_AETH &&
        !(roce_opcode_info[opcode] & ROCE_OP_READ_RESPONSE))
      packets += sums.opcodes[opcode].packets;
  const auto &aeth = s.totals.aeth;
  const uint64_t known = std::accumulate(std::begin(aeth), std::end(aeth), uint64_t{0});
  return packets - std::min(packets, known);
}

Section frames_section(const Snapshot &s, const Sums &sums) {
  const auto &frames = s.totals.frames;
  Group group = {
      count("total", "total", sums.frames, Hide::Never),
      count("rocev2", "RoCEv2", sums.v2.packets, Hide::Never),
      count("rocev1", "RoCEv1", sums.v1.packets),
      count("cnp", "of these CNP", sums.opcodes[ROCE_OPCODE_CNP].packets),
      count("pfc", "PFC and PAUSE", frames[ROCE_CLASS_PFC]),
      count("other", "other", frames[ROCE_CLASS_OTHER]),
      count("malformed", "malformed", frames[ROCE_CLASS_MALFORMED], Hide::Zero, Tone::Alarm),
      count("fragment", "fragments", frames[ROCE_CLASS_FRAGMENT]),
  };
  if (s.source == Snapshot::Source::Capture) {
    group.push_back(count("cut", "of other: cut short", s.totals.cut, Hide::Zero, Tone::Alarm));
    group.push_back(
        count("aeth_cut", "ACK or NAK: cut short", cut_aeths(s, sums), Hide::Zero, Tone::Alarm));
  }
  return {"frames", "FRAMES", std::move(group)};
}

Section bytes_section(const Sums &sums) {
  return {"bytes", "BYTES",
          Group{count("total", "total", sums.bytes, Hide::Never),
                count("rocev2", "RoCEv2", sums.v2.bytes, Hide::Never),
                count("rocev1", "RoCEv1", sums.v1.bytes)}};
}

// The codepoints by their bits in the IP header (RFC 3168, section 5): 01 is ECT(1), 10 ECT(0).
Section ecn_of(const Sums &sums) {
  return {"ecn", "",
          Group{count("not_ect", "", sums.ecn[0]), count("ect0", "", sums.ecn[2]),
                count("ect1", "", sums.ecn[1]), count("ce", "", sums.ecn[3])},
          Where::Json};
}

// By kind of packet: ACKs and CNPs are usually not ECT, and say nothing about the data.
Section ecn_kinds_of(const Sums &sums) {
  std::vector<std::vector<Value>> rows;
  for (size_t kind = 0; kind < kPacketKinds.size(); kind++) {
    const EcnCounts &ecn = sums.kinds_ecn[kind];
    const uint64_t all = ecn[0] + ecn[1] + ecn[2] + ecn[3];
    if (all)
      rows.push_back({std::string(kPacketKinds[kind]), ecn[0], ecn[2], ecn[1], ecn[3],
                      100 * static_cast<double>(all - ecn[0]) / static_cast<double>(all)});
  }
  return {"ecn_kinds", "",
          make_table({{"kind", "ECN OF"},
                      {"not_ect", "NOT ECT", Format::Count},
                      {"ect0", "ECT(0)", Format::Count},
                      {"ect1", "ECT(1)", Format::Count},
                      {"ce", "CE", Format::Count, Hide::Never, Tone::Alarm},
                      {"ect_percent", "ECT, CE %", Format::Rate}},
                     std::move(rows))};
}

// To add a syndrome: roce_aeth_count and roce_aeth_index (all eight counts are in use, and their
// number must stay a power of two), ROCE_ABI, a field here, nak_name in names.cpp, watch/meters.cpp
// (which counts are NAKs), requester/send_counts.h and kLastFatal in requester/reliable_qp.cpp,
// refuse in responder/connection.cpp; opcode_test, account_test, report_test;
// include/roce/README.md 1.3.
Section aeth_of(const Snapshot &s) {
  static constexpr struct {
    const char *key;
    const char *heading;
  } kNames[ROCE_AETH_COUNTS] = {
      {"ack", "ACK"},
      {"rnr_nak", "RNR NAK"},
      {"nak_psn_sequence_error", "NAK PSN sequence error"},
      {"nak_invalid_request", "NAK invalid request"},
      {"nak_remote_access_error", "NAK remote access error"},
      {"nak_remote_operational_error", "NAK remote operational error"},
      {"nak_invalid_rd_request", "NAK invalid RD request"},
      {"reserved", "reserved"},
  };
  Group group;
  for (unsigned i = 0; i < ROCE_AETH_COUNTS; i++)
    group.push_back(count(kNames[i].key, kNames[i].heading, s.totals.aeth[i], Hide::Zero,
                          i == ROCE_AETH_ACK ? Tone::Plain : Tone::Alarm));
  return {"aeth", "AETH", std::move(group), Where::Both, Hide::Zero};
}

Section icrc_of(const Snapshot &s) {
  return {"icrc", "iCRC",
          Group{count("checked", "checked", s.icrc.checked, Hide::Never),
                count("bad", "bad", s.icrc.bad, Hide::Never, Tone::Alarm),
                count("zero", "none (all zero)", s.icrc.zero)},
          Where::Both, Hide::Zero};
}

// CNPs received, by the event that preceded them.
Section cnp_causes_of(const Snapshot &s) {
  const roce_totals &t = s.totals;
  return {"cnp_causes", "CNP AFTER",
          Group{count("after_ce", "a CE mark", t.cnps_after_ce),
                count("after_nak", "a NAK", t.cnps_after_nak),
                count("after_neither", "neither", t.cnps_after_neither),
                count("unexplained", "stream not known", t.cnps_unexplained)},
          Where::Both, Hide::Zero};
}

// Packets changed or dropped by rules, and actions that failed.
Section impaired_of(const Snapshot &s) {
  const roce_totals &t = s.totals;
  return {
      "impaired", "IMPAIRED",
      Group{count("dropped_programmed", "dropped: programmed", t.dropped_programmed),
            count("dropped_policed", "dropped: policed", t.dropped_policed),
            count("marked", "marked CE", t.marked), count("corrupted", "corrupted", t.corrupted),
            count("rewritten", "header fields set", t.rewritten),
            count("duplicated", "duplicated", t.duplicated),
            count("cnps_sent", "CNPs sent", t.cnps_sent),
            count("cnps_paced", "CNPs not sent: within the interval", t.cnps_paced),
            lost("cnp_unknown_peer", "CNPs not sent: sender's QPN not known", t.cnps_unknown_peer),
            lost("not_cloned", "copies not made: frame too long for one buffer", t.not_cloned),
            lost("not_forwarded", "dropped: the bridge's other port is gone", t.not_forwarded),
            count("held", "handed over to the wire process", t.held),
            lost("not_held", "to be held, but no wire process took them", t.not_held),
            lost("held_without_rules", "held without their rules: no room for metadata",
                 t.held_without_rules)},
      Where::Both, Hide::Zero};
}

// Rates of the port, and of the signs of congestion and loss.
Section rates_of(const Moment &moment, const Sums &now, const Sums &before) {
  const double seconds = seconds_of(moment);
  const auto packets = [](const char *key, const char *heading, double rate, Hide hide) {
    return Field{{key, heading, Format::Rate, hide}, rate};
  };
  const auto bits = [](const char *key, const char *heading, double rate) {
    return Field{{key, heading, Format::Scaled}, rate};
  };
  const auto naks = [](const Snapshot &s) {
    return std::accumulate(std::begin(s.totals.aeth) + 1, std::end(s.totals.aeth), uint64_t{0});
  };
  const auto cnps = [](const Sums &sums) { return sums.opcodes[ROCE_OPCODE_CNP].packets; };
  return {
      "rates", "RATES",
      Group{
          {{"seconds", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}, seconds},
          packets("packets", "packets/s", rate_of(now.frames, before.frames, seconds), Hide::Never),
          bits("bits", "bit/s", 8 * rate_of(now.bytes, before.bytes, seconds)),
          packets("rocev2_packets", "RoCEv2 packets/s",
                  rate_of(now.v2.packets, before.v2.packets, seconds), Hide::Never),
          bits("rocev2_bits", "RoCEv2 bit/s", 8 * rate_of(now.v2.bytes, before.v2.bytes, seconds)),
          packets("ce", "CE/s", rate_of(now.ecn[3], before.ecn[3], seconds), Hide::Zero),
          packets("cnps", "CNP/s", rate_of(cnps(now), cnps(before), seconds), Hide::Zero),
          packets("naks", "NAK/s", rate_of(naks(moment.now), naks(*moment.before), seconds),
                  Hide::Zero),
      }};
}

void add_rate_columns(std::vector<Column> &columns) {
  columns.push_back({"packets_per_s", "packets/s", Format::Rate});
  columns.push_back({"bits_per_s", "bit/s", Format::Scaled});
}

void add_rate_cells(std::vector<Value> &row, const Tally &now, const Tally &before,
                    double seconds) {
  row.emplace_back(rate_of(now.packets, before.packets, seconds));
  row.emplace_back(8 * rate_of(now.bytes, before.bytes, seconds));
}

Section opcodes_of(const Moment &moment, const Sums &now, const Sums *before) {
  std::vector<Column> columns = {{"opcode", "OPCODE", Format::Opcode},
                                 {"name", "NAME"},
                                 {"packets", "PACKETS", Format::Count},
                                 {"bytes", "BYTES", Format::Count},
                                 {"rocev1_packets", "OF RoCEv1", Format::Count, Hide::Zero},
                                 {"rocev1_bytes", "BYTES", Format::Count, Hide::Zero}};
  if (before)
    add_rate_columns(columns);
  std::vector<std::vector<Value>> rows;
  for (unsigned opcode = 0; opcode < now.opcodes.size(); opcode++) {
    const Tally &tally = now.opcodes[opcode];
    if (!tally.packets)
      continue;
    const Tally &v1 = now.opcodes_v1[opcode];
    rows.push_back({uint64_t{opcode}, names::opcode_name(opcode), tally.packets, tally.bytes,
                    v1.packets, v1.bytes});
    if (before)
      add_rate_cells(rows.back(), tally, before->opcodes[opcode], seconds_of(moment));
  }
  return {"opcodes", "", make_table(std::move(columns), std::move(rows))};
}

// In the order of opcode prefixes; transports without packets are omitted.
struct Transport {
  std::string name;
  Tally now, before;
};

std::vector<Transport> transports(const Sums &now, const Sums *before) {
  std::vector<Transport> rows;
  for (unsigned opcode = 0; opcode < now.opcodes.size(); opcode++) {
    if (!now.opcodes[opcode].packets)
      continue;
    const std::string name = names::transport_name(opcode);
    auto it = std::find_if(rows.begin(), rows.end(),
                           [&name](const Transport &transport) { return transport.name == name; });
    if (it == rows.end())
      it = rows.insert(rows.end(), {name, {}, {}});
    it->now += now.opcodes[opcode];
    if (before)
      it->before += before->opcodes[opcode];
  }
  return rows;
}

Section transports_of(const Moment &moment, const Sums &now, const Sums *before) {
  std::vector<Column> columns = {{"transport", "TRANSPORT"},
                                 {"packets", "PACKETS", Format::Count},
                                 {"bytes", "BYTES", Format::Count}};
  if (before)
    add_rate_columns(columns);
  std::vector<std::vector<Value>> rows;
  for (const Transport &transport : transports(now, before)) {
    rows.push_back({transport.name, transport.now.packets, transport.now.bytes});
    if (before)
      add_rate_cells(rows.back(), transport.now, transport.before, seconds_of(moment));
  }
  // A single transport adds nothing to the list of opcodes.
  const Where where = rows.size() > 1 ? Where::Both : Where::Json;
  return {"transports", "", make_table(std::move(columns), std::move(rows)), where};
}

} // namespace

void add_counters(Document &document, const Moment &moment) {
  const Sums now(moment.now);
  const Sums before = moment.before ? Sums(*moment.before) : now;
  const Sums *rates_from = moment.before ? &before : nullptr;
  auto &sections = document.sections;
  if (rates_from)
    sections.push_back(rates_of(moment, now, before));
  sections.push_back(frames_section(moment.now, now));
  sections.push_back(bytes_section(now));
  sections.push_back(opcodes_of(moment, now, rates_from));
  sections.push_back(transports_of(moment, now, rates_from));
  sections.push_back(ecn_of(now));
  sections.push_back(ecn_kinds_of(now));
  sections.push_back(aeth_of(moment.now));
  sections.push_back(icrc_of(moment.now));
  add_classes(document, moment.now);
  add_tunnels(document, moment.now);
  add_episode_causes(document, moment.now);
  sections.push_back(cnp_causes_of(moment.now));
  if (moment.now.source == Snapshot::Source::Interface)
    sections.push_back(impaired_of(moment.now));
}

} // namespace xr::report
