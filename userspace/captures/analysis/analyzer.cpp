// SPDX-License-Identifier: Apache-2.0
#include "analysis/analyzer.h"

#include <algorithm>

#include "analysis/captured_packet.h"

namespace xr {

Analyzer::Analyzer(const Options &options)
    : options_(options), accountant_({.udp_port = options.udp_port,
                                      .track = options.track,
                                      .follow = options.episodes,
                                      .latency = options.passive_latency || options.series,
                                      .classes = true,
                                      .quantum_ps = options.quantum_ps,
                                      .decap = options.decap}),
      in_order_(options.decap || options.clock != FrameClock::Capture), latency_(options.latency),
      stamp_clock_(options.clock, options.user_tick_ns), hidden_tunnels_(options.udp_port),
      pfc_senders_(options.quantum_ps) {
  if (options.copies_ns)
    copies_.emplace(options.copies_ns);
  if (options.series)
    accountant_.on_time([this](uint64_t at, unsigned kind, bool bound, uint64_t ns) {
      series_.add_time(at, kind, bound, ns);
    });
}

void Analyzer::on_event(std::function<void(const roce_event &)> callback) {
  accountant_.on_event(std::move(callback));
}

// What a mirror left of a packet has no iCRC to check: it is not `whole`.
void Analyzer::inspect(const NativeDatapath::FrameView &frame, bool whole,
                       ParsedFrame &parsed) const {
  parsed.icrc = Icrc::Absent;
  parsed.stamp.reset();
  if (!roce_is_roce(parsed.class_))
    return;
  if (options_.check_icrc && whole)
    parsed.icrc = icrc_check(frame.data, frame.captured, parsed.packet);
  if (parsed.icrc != Icrc::Bad)
    parsed.stamp = packet::read_stamp({frame.data, frame.captured}, parsed.packet);
}

// Tunnels belong to sessions, and the mirror's clock to a session: these are followed in order.
void Analyzer::parse(const CapturedFrame &frame, ParsedFrame &parsed) const {
  if (in_order_)
    return;
  parsed.class_ = parse_captured(accountant_, frame, parsed.packet);
  inspect(view_of(frame), true, parsed);
}

void Analyzer::parse_in_order(CapturedFrame &captured, NativeDatapath::FrameView &frame,
                              ParsedFrame &parsed) {
  std::optional<FrameStamp> stamp;
  if (options_.clock == FrameClock::Trailer)
    stamp = take_trailer(captured);
  frame = view_of(captured);
  parsed.class_ = options_.decap ? accountant_.unwrap(frame, layer3_of(captured), parsed.packet)
                                 : parse_captured(accountant_, captured, parsed.packet);
  if (options_.decap && options_.clock != FrameClock::Trailer)
    stamp = erspan_stamp(captured, accountant_.origin());
  if (stamp || options_.clock != FrameClock::Capture)
    frame.time_ns = stamp_clock_.time(captured.time_ns, stamp);
  inspect(frame, !(options_.decap && accountant_.truncated()), parsed);
}

// Timestamps of captures are of CLOCK_REALTIME; 0: the file has none.
void Analyzer::note_stamp(const NativeDatapath::FrameView &frame, const ParsedFrame &parsed) {
  std::optional<uint64_t> arrived;
  if (frame.time_ns)
    arrived = frame.time_ns + static_cast<uint64_t>(int64_t{options_.tai_offset_s} * 1'000'000'000);
  latency_.add(parsed.packet, *parsed.stamp, arrived);
}

LatencyReport Analyzer::latency() const {
  LatencyReport report = latency_.report();
  report.tai_offset_s = options_.tai_offset_s;
  return report;
}

const roce_key *Analyzer::account(const CapturedFrame &whole, ParsedFrame &parsed) {
  NativeDatapath::FrameView frame = view_of(whole);
  std::optional<CapturedFrame> shorter; // without its trailer
  if (in_order_)
    parse_in_order(shorter.emplace(whole), frame, parsed);
  const CapturedFrame &captured = shorter ? *shorter : whole;
  roce_packet &packet = parsed.packet;
  const bool roce = roce_is_roce(parsed.class_), damaged = parsed.icrc == Icrc::Bad;
  const uint64_t now = frame.time_ns;
  if (copies_ && roce && copies_->is_copy(frame, packet))
    return nullptr;
  if (captured.left_out) {
    windows_++;
    accountant_.away();
  }
  bool track = !damaged || !options_.drop_bad_icrc;

  frame.damaged = damaged;
  frame.number =
      captured.number ? uint64_t{captured.file} << kFileShift | captured.number : frames_ + 1;
  if (!frames_++)
    first_ns_ = now;
  last_ns_ = std::max(last_ns_, now);
  if (options_.microbursts)
    microbursts_.frame(now, captured.length);
  icrc_.checked += parsed.icrc != Icrc::Absent;
  icrc_.bad += damaged;
  icrc_.zero += parsed.icrc == Icrc::Zero;
  if (parsed.stamp)
    note_stamp(frame, parsed);
  if (options_.connections && roce && !damaged)
    connections_.packet(now, {frame.data, frame.captured}, packet);
  if (options_.outcome) {
    const Options::Outcome outcome = options_.outcome(captured);
    track = track && !outcome.lost;
    if (outcome.marked)
      packet.ecn = ROCE_ECN_CE;
  }
  const uint32_t record = accountant_.account(frame, parsed.class_, packet, track);
  if (options_.traffic)
    traffic_.add(frame, parsed.class_, packet, record);
  if (options_.series)
    series_.add(accountant_, frame, parsed.class_, packet, record);
  if (options_.job)
    job_.add(accountant_, frame, packet, record);
  if (parsed.class_ == ROCE_CLASS_OTHER && !options_.decap)
    hidden_tunnels_.look_at(captured);
  if (captured.link == Link::Ethernet &&
      (parsed.class_ == ROCE_CLASS_PFC || parsed.class_ == ROCE_CLASS_OTHER))
    pfc_senders_.look_at(frame, !(options_.decap && accountant_.truncated()));
  if (!roce)
    return nullptr;
  roce_key_fill(&packet.key);
  return &packet.key;
}

void Analyzer::episodes(Episodes &into) {
  accountant_.episodes(into);
  into.first_ns = first_ns_;
}

void Analyzer::snapshot(Snapshot &into) const {
  accountant_.snapshot(into);
  into.source = Snapshot::Source::Capture;
  into.icrc = icrc_;
  if (options_.traffic)
    traffic_.result(accountant_.records(), into);
  into.pfc_senders = pfc_senders_.result(first_ns_, last_ns_);
  into.hidden_tunnels = hidden_tunnels_.result();
}

} // namespace xr
