// SPDX-License-Identifier: Apache-2.0
#include "report/run_parts.h"

#include <fmt/format.h>

#include "names/names.h"
#include "report/cells.h"

namespace xr::report {

Section cm_section(const CmCounts &c) {
  return {"connections", "CONNECTIONS (RDMA CM)",
          Group{count("requested", "requested", c.requested, Hide::Never),
                count("established", "established", c.established, Hide::Never),
                lost("rejected", "rejected", c.rejected),
                {{"reject_reason", "reason of the first REJ", Format::Text, Hide::Zero},
                 c.rejected ? names::cm_reason_name(c.reason) : std::string()},
                lost("timed_out", "REQs without an answer", c.timed_out),
                count("ended", "ended", c.ended),
                lost("ended_by_peer", "ended by the peer", c.ended_by_peer),
                lost("not_ended", "DREQs without an answer", c.not_ended),
                count("mads_sent", "MADs sent", c.mads_sent),
                lost("mads_resent", "of them again", c.mads_resent),
                count("mads_received", "MADs received", c.mads_received),
                count("mras", "MRAs: the peer needs time", c.mras),
                lost("strays", "MADs of other connections", c.strays)}};
}

Section hidden_when_zero(const char *key, const char *title, decltype(Section::body) body) {
  return {key, title, std::move(body), Where::Both, Hide::Zero};
}

Section memory_section(const MemoryReport &r) {
  return {"memory", "MEMORY",
          Group{{{"bytes", "bytes", Format::Count}, r.bytes},
                {{"va", "address", Format::Qpn}, r.va},
                {{"rkey", "R_Key", Format::Qpn}, uint64_t{r.rkey}},
                {{"access", "access"}, r.access}}};
}

void add_verified(std::vector<Section> &sections, const VerifyCounts &c) {
  sections.push_back({"verified", "VERIFIED",
                      Group{count("messages", "messages read back", c.messages, Hide::Never),
                            count("bytes", "bytes compared", c.bytes, Hide::Never),
                            count("different_packets", "packets that differ", c.different_packets,
                                  Hide::Zero, Tone::Alarm),
                            count("different_bytes", "bytes that differ", c.different_bytes,
                                  Hide::Zero, Tone::Alarm)}});
  std::vector<std::vector<Value>> rows;
  for (const VerifyCounts::Difference &difference : c.differences)
    rows.push_back({uint64_t{difference.qp}, difference.message, difference.offset, difference.va,
                    fmt::format("{:#04x}", difference.written),
                    fmt::format("{:#04x}", difference.read)});
  sections.push_back(hidden_when_zero("differences", "FIRST DIFFERENT BYTES",
                                      make_table({{"qp", "QP", Format::Qpn},
                                                  {"message", "MESSAGE", Format::Count},
                                                  {"offset", "OFFSET", Format::Count},
                                                  {"va", "ADDRESS", Format::Qpn},
                                                  {"written", "WRITTEN"},
                                                  {"read", "READ"}},
                                                 std::move(rows))));
}

namespace {

// Received PFC and PAUSE frames.
Section paused_of(const PauseReport &r) {
  std::vector<std::vector<Value>> rows;
  for (size_t priority = 0; priority < r.paused_ns.size(); priority++)
    if (r.paused_ns[priority])
      rows.push_back({uint64_t{priority}, static_cast<double>(r.paused_ns[priority]) / 1000});
  return hidden_when_zero(
      "paused", "PAUSED BY THE PEER",
      make_table({{"priority", "PRIORITY", Format::Count}, {"us", "US", Format::Rate}},
                 std::move(rows)));
}

} // namespace

// fill_ring_empty is not a loss: the driver still has buffers in its own ring.
Section port_section(const RunReport &r, bool sockets) {
  const char *transfer = r.zero_copy_queues == 0          ? "copy"
                         : r.zero_copy_queues == r.queues ? "zero-copy"
                                                          : "zero-copy in part";
  return {"port", "",
          Group{{{"name", "port"}, r.ifname},
                {{"xdp", "XDP", Format::Text, Hide::Zero}, known(r.xdp_mode)},
                {{"af_xdp", "AF_XDP", Format::Text, Hide::Zero},
                 sockets ? Value{std::string(transfer)} : Value{}},
                {{"queues", sockets ? "queues" : "threads", Format::Count}, uint64_t{r.queues}},
                {{"fill_ring_empty", "", Format::Count, Hide::Never, Tone::Plain, Where::Json},
                 r.engine.socket.fill_ring_empty}}};
}

Section engine_overflow(const EngineCounts &engine, std::vector<Field> more) {
  Group group = {
      lost("rx_ring_full", "frames lost: the RX ring was full", engine.socket.rx_ring_full),
      lost("rx_no_chunk", "frames lost: no free memory for them", engine.socket.rx_no_chunk),
      lost("rx_dropped", "frames lost: too long or invalid", engine.socket.rx_dropped),
      lost("not_sent", "frames that were not transmitted", engine.not_sent),
      lost("tx_invalid", "frames that the kernel refused", engine.socket.tx_invalid),
      lost("tx_dropped", "frames that the driver dropped", engine.socket.tx_dropped),
      lost("port_dropped", "frames that the port dropped, of all senders", engine.port_drops),
      lost("port_missed", "frames for which the NIC had no buffer, of all receivers",
           engine.port_missed),
      lost("too_long", "frames longer than the port's MTU, not sent", engine.too_long),
      lost("link_down", "times the kernel reported that the port is down", engine.socket.link_down),
  };
  group.insert(group.end(), more.begin(), more.end());
  Section section = hidden_when_zero("overflow", "LOST HERE", std::move(group));
  section.tone = Tone::Alarm;
  return section;
}

void add_sent(std::vector<Section> &sections, const SendCounts &c) {
  sections.push_back(hidden_when_zero(
      "faults", "FAULTS",
      Group{count("skipped", "skipped", c.skipped), count("repeated", "repeated", c.repeated),
            count("reordered", "reordered", c.reordered), count("bad_icrc", "bad iCRC", c.bad_icrc),
            count("bad_pad", "bad pad", c.bad_pad),
            count("ghost_acks", "ghost ACKs", c.ghost_acks)}));
  sections.push_back(hidden_when_zero(
      "answers", "ANSWERS",
      Group{count("acks", "ACKs", c.acks), lost("naks", "NAKs PSN sequence error", c.naks),
            lost("rnr_naks", "RNR NAKs", c.rnr_naks),
            lost("invalid_naks", "NAKs invalid request", c.invalid_naks),
            lost("access_naks", "NAKs remote access error", c.access_naks),
            lost("operational_naks", "NAKs remote operational error", c.operational_naks),
            count("read_responses", "READ responses", c.read_responses),
            count("cnps", "CNPs", c.cnps), count("ce", "READ responses marked CE", c.ce),
            count("cnps_sent", "CNPs sent for them", c.cnps_sent),
            count("cnps_paced", "CNPs not sent: within the interval", c.cnps_paced),
            count("kept", "kept until an earlier one comes", c.kept),
            count("duplicate_acks", "ACKs of nothing new", c.duplicate_acks),
            count("stray", "for unknown QPs", c.stray),
            count("bad_icrc_received", "bad iCRC", c.bad_icrc_received, Hide::Zero, Tone::Alarm)}));
  sections.push_back(hidden_when_zero(
      "recovery", "RECOVERY",
      Group{count("retransmitted", "packets sent again", c.retransmitted),
            count("timeouts", "timeouts", c.timeouts),
            count("failed_qps", "QPs that failed", c.failed_qps, Hide::Zero, Tone::Alarm),
            count("failed_messages", "messages that failed", c.failed_messages, Hide::Zero,
                  Tone::Alarm)}));
}

void add_pauses(std::vector<Section> &sections, const PauseReport &r) {
  sections.push_back(hidden_when_zero(
      "pauses", "PFC FRAMES",
      Group{count("pfc_received", "PFC received", r.pfc),
            count("pause_received", "PAUSE received", r.pause),
            lost("refused", "ignored: the line's rate is unknown (--pfc-line)", r.refused)}));
  sections.push_back(paused_of(r));
}

Document begin_run(const char *command, const std::string &ifname, double seconds) {
  Document document;
  document.title = fmt::format("{} {}  {:.2f} s", command, ifname, seconds);
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  document.sections.push_back(
      {"source", "", Group{{{"kind", ""}, std::string("interface")}, {{"name", ""}, ifname}},
       Where::Json});
  document.sections.push_back({"seconds", "", Value{rounded(seconds)}, Where::Json});
  return document;
}

} // namespace xr::report
