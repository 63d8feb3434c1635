// SPDX-License-Identifier: Apache-2.0
#include "capture/analyzer.h"

#include "capture/captured_packet.h"

namespace xr {

Analyzer::Analyzer(const Options &options)
    : options_(options), accountant_({.udp_port = options.udp_port,
                                      .track = options.track,
                                      .follow = options.episodes,
                                      .classes = true,
                                      .quantum_ps = options.quantum_ps,
                                      .decap = options.decap}),
      latency_(options.latency) {}

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

void Analyzer::frame(const CapturedFrame &captured) {
  NativeDatapath::FrameView frame = view_of(captured);
  frame.number = ++frames_;
  if (frames_ == 1)
    first_ns_ = captured.time_ns;
  roce_packet packet;
  const roce_class class_ = options_.decap ? accountant_.unwrap(frame, layer3_of(captured), packet)
                                           : parse_captured(accountant_, captured, packet);
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

Result<Analysis> analyze(const std::string &path, const AnalyzeRun &run) {
  Result<Reader> opened = Reader::open(path, run.stop);
  if (!opened)
    return std::move(opened).error();
  Reader &reader = opened.get();
  Analyzer analyzer(run.options);
  analyzer.on_event(run.on_event);

  Analysis analysis;
  CapturedFrame frame;
  Next next;
  uint64_t progress_at = run.progress_step;
  // The stop flag and the progress are checked once per 256 frames.
  constexpr uint32_t kLookMask = 255;
  for (uint32_t n = 1; (next = reader.next(frame)) == Next::Frame; n++) {
    analyzer.frame(frame);
    if (n & kLookMask)
      continue;
    if (run.stop && run.stop->load(std::memory_order_relaxed))
      break;
    if (run.on_progress && reader.progress().bytes >= progress_at) {
      run.on_progress(reader.progress());
      progress_at = reader.progress().bytes + run.progress_step;
    }
  }
  analyzer.snapshot(analysis.snapshot);
  analysis.latency = analyzer.latency();
  if (run.options.episodes)
    analyzer.episodes(analysis.episodes);
  if (run.options.connections)
    analysis.connections = analyzer.connections();
  analysis.snapshot.name = path;
  analysis.snapshot.truncated = next == Next::Truncated;
  if (next == Next::Truncated || next == Next::Error)
    analysis.trouble = reader.error();
  else
    analysis.stopped = run.stop && run.stop->load();
  return analysis;
}

} // namespace xr
