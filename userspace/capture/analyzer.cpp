// SPDX-License-Identifier: Apache-2.0
#include "capture/analyzer.h"

#include "base/draw.h"
#include "capture/captured_packet.h"

namespace xr {

Analyzer::Analyzer(const Options &options)
    : options_(options), accountant_({.udp_port = options.udp_port,
                                      .track = options.track,
                                      .follow = options.episodes,
                                      .latency = options.passive_latency,
                                      .classes = true,
                                      .quantum_ps = options.quantum_ps,
                                      .decap = options.decap,
                                      .cnp_times = !options.share.index}),
      latency_(options.latency) {}

// The two directions between two hosts are one share: what is learnt of one is used for the other.
uint32_t Analyzer::share_of(roce_class class_, const roce_packet &packet, uint32_t shares) {
  if (!roce_is_roce(class_))
    return 0;
  uint64_t mixed = 0;
  for (unsigned i = 0; i < 4; i++)
    mixed = mix(mixed ^ (packet.key.src[i] ^ packet.key.dst[i]));
  return static_cast<uint32_t>(mixed % shares);
}

void Analyzer::merge(const Analyzer &other) {
  icrc_.checked += other.icrc_.checked;
  icrc_.bad += other.icrc_.bad;
  icrc_.zero += other.icrc_.zero;
  latency_.merge(other.latency_);
  accountant_.merge_latency(other.accountant_);
}

void Analyzer::on_event(std::function<void(const roce_event &)> callback) {
  accountant_.on_event(std::move(callback));
}

Icrc Analyzer::check(const NativeDatapath::FrameView &frame, const roce_packet &packet) {
  const Icrc verdict = icrc_check(frame.data, frame.captured, packet);
  icrc_.checked += verdict != Icrc::Absent;
  icrc_.bad += verdict == Icrc::Bad;
  icrc_.zero += verdict == Icrc::Zero;
  return verdict;
}

// Timestamps of captures are of CLOCK_REALTIME; 0: the file has none.
void Analyzer::read_stamp(const NativeDatapath::FrameView &frame, const roce_packet &packet) {
  const auto stamp = packet::read_stamp({frame.data, frame.captured}, packet);
  if (!stamp)
    return;
  std::optional<uint64_t> arrived;
  if (frame.time_ns)
    arrived = frame.time_ns + static_cast<uint64_t>(int64_t{options_.tai_offset_s} * 1'000'000'000);
  latency_.add(packet, *stamp, arrived);
}

LatencyReport Analyzer::latency() const {
  LatencyReport report = latency_.report();
  report.tai_offset_s = options_.tai_offset_s;
  return report;
}

const roce_key *Analyzer::frame(const CapturedFrame &captured) {
  NativeDatapath::FrameView frame = view_of(captured);
  frame.sequence = ++frames_;
  frame.number =
      captured.number ? uint64_t{captured.file} << kFileShift | captured.number : frames_;
  if (frames_ == 1)
    first_ns_ = captured.time_ns;
  if (options_.microbursts && !options_.share.index)
    microbursts_.frame(captured.time_ns, captured.length);
  roce_packet &packet = packet_;
  const roce_class class_ = options_.decap ? accountant_.unwrap(frame, layer3_of(captured), packet)
                                           : parse_captured(accountant_, captured, packet);
  if (options_.share.of > 1 &&
      share_of(class_, packet, options_.share.of) != options_.share.index) {
    accountant_.pass(captured.time_ns);
    if (!options_.share.index && options_.episodes && roce_is_roce(class_) &&
        packet.info & ROCE_OP_CNP)
      accountant_.time_cnp(packet.key, captured.time_ns);
    return nullptr;
  }
  bool track = true, damaged = false;

  // What a mirror left of a packet has no iCRC to check.
  if (options_.check_icrc && roce_is_roce(class_) && !(options_.decap && accountant_.truncated())) {
    damaged = check(frame, packet) == Icrc::Bad;
    track = !damaged || !options_.drop_bad_icrc;
  }
  if (roce_is_roce(class_) && !damaged)
    read_stamp(frame, packet);
  if (options_.connections && roce_is_roce(class_) && !damaged)
    connections_.packet(captured.time_ns, {frame.data, frame.captured}, packet);
  accountant_.account(frame, class_, packet, track);
  if (!roce_is_roce(class_))
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
}

} // namespace xr
