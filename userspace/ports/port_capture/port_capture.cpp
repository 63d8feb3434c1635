// SPDX-License-Identifier: Apache-2.0
#include "port_capture/port_capture.h"

#include <algorithm>
#include <bit>

#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/capture_tap.h"
#include "datapath/object.h"
#include "datapath/remedy.h"
#include "host/link.h"
#include "host/netdev_family.h"
#include "host/netns.h"
#include "host/nic_clock.h"
#include "port_capture/comment.h"
#include "port_capture/event_window.h"
#include "port_capture/frame_merger.h"

namespace xr::port_capture {

namespace {

constexpr int kPollMs = 50;
// The time within which a program writes its record after it has read the clock; generous.
constexpr uint64_t kWindowNs = 20'000'000;
// Time that a stalled reader of a pipe has after the end of the run.
constexpr uint64_t kGraceNs = 5'000'000'000;
constexpr uint64_t kProgressNs = 250'000'000, kLookNs = 1'000'000'000;
// Limits of the ring size: of all CPUs together, and of one.
constexpr uint64_t kAllRings = 256 << 20, kLargest = 16 << 20, kSmallest = 1 << 20;

uint64_t ring_of_each(uint64_t asked) {
  const auto page = static_cast<uint64_t>(getpagesize());
  if (asked)
    return std::bit_floor(std::max(asked, page));
  const auto cpus = static_cast<uint64_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  return std::bit_floor(std::clamp(kAllRings / cpus, kSmallest, kLargest));
}

// Offset from CLOCK_MONOTONIC to CLOCK_REALTIME, taken once: times in the file do not jump when the
// clock is set.
uint64_t realtime_offset() {
  const uint64_t before = monotonic_ns(), now = realtime_ns(), after = monotonic_ns();
  return now - (before + (after - before) / 2);
}

bool is_event(const TracedFrame &frame, uint32_t events) {
  const roce_capture &c = frame.record;
  return (events & kGap && c.trace.found & ROCE_FOUND_GAP) ||
         (events & kCnp && c.kinds & ROCE_CAPTURE_CNP) ||
         (events & kNak && c.kinds & ROCE_CAPTURE_NAK) || (events & kRule && c.trace.act) ||
         (events & kEpisode && c.trace.found & ROCE_FOUND_EPISODE);
}

Error has_no_streams(const PortStatus &port, const char *events) {
  return {fmt::format("{}s need the port's streams, and it was attached with --no-track", events),
          datapath::attach_again(port, "", "--no-track")};
}

// The capture itself attached a port with ROCE_FEATURE_PASSING, and detaches it.
Error does_not_follow(const PortStatus &port) {
  return {"episodes need a port that follows QP pairs, and it was attached without --follow",
          port.features & ROCE_FEATURE_PASSING ? "add --follow"
                                               : datapath::attach_again(port, "--follow")};
}

// The NIC's clock, which stamps the frames, and where its frames that have no time are on it.
struct NicTimes {
  host::NicClock clock;
  std::optional<host::ReceiveStamps> stamps;
  std::optional<host::ClockOffset> offset;
  uint64_t none = 0; // frames without a time
};

// Error: the driver gives XDP no times. Otherwise `notes` has what may be missing.
Result<NicTimes> open_nic_times(const PortName &port, std::vector<std::string> &notes) {
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  const auto link = XR_TRY(host::read_link(port));
  XR_TRY(datapath::nic_time_function());
  const auto xdp = host::read_xdp_features(link.ifindex);
  if (xdp && (!xdp.get().native || xdp.get().rx_time == false))
    return Error{fmt::format("{} gives XDP no receive times",
                             link.driver.empty() ? "the driver" : link.driver),
                 "--time-stamp-type host: the kernel's clock when XDP saw the frame"};
  NicTimes times;
  if (auto clock = host::read_nic_clock(port.ifname))
    times.clock = clock.get();
  if (auto stamps = host::ReceiveStamps::begin(port.ifname))
    times.stamps.emplace(std::move(stamps.get()));
  else
    notes.push_back(stamps.error().message + "; frames without a time have the kernel's");
  if (times.clock.index < 0)
    notes.emplace_back("the NIC has no clock that can be read (no /dev/ptpN): its distance from "
                       "CLOCK_TAI is unknown");
  else if (auto offset = host::read_clock_offset(times.clock.index))
    times.offset = offset.get();
  else
    notes.push_back(offset.error().message + ": its distance from CLOCK_TAI is unknown");
  return times;
}

} // namespace

struct CaptureRun::State {
  State(CaptureRequest asked, const std::atomic<bool> &stopped)
      : request(std::move(asked)), stop(stopped),
        window(request.nearby.value_or(Nearby{}).before, request.nearby.value_or(Nearby{}).after) {}

  Status open_port();
  Status make_files();
  PcapngStatistics statistics() const;
  void select(TracedFrame frame);
  uint64_t time_of(const roce_capture &frame);
  void write(const TracedFrame &frame);
  bool limit_reached() const { return request.count && files->packets() >= request.count; }
  // The run was stopped, or its time limit and `grace_ns` have passed.
  bool is_over(uint64_t grace_ns = 0) const {
    return stop || (started_ns && request.duration_ns &&
                    monotonic_ns() - started_ns >= request.duration_ns + grace_ns);
  }
  Status step(uint64_t horizon_ns);
  Status finish();

  CaptureRequest request;
  const std::atomic<bool> &stop;
  std::optional<datapath::CaptureTap> tap;
  std::optional<CaptureFiles> files;
  FrameMerger merger;
  EventWindow<TracedFrame> window;
  roce_capture_counts counts{}; // as last read
  bool tracked = false;
  uint64_t offset_ns = 0, started_ns = 0, begun_ns = 0, stopped_ns = 0, ended_ns = 0;
  uint64_t selected = 0, events = 0, not_around = 0;
  uint64_t left_out_before = 0; // not_around at the packet written last
  std::optional<NicTimes> nic;
  std::vector<std::string> notes;
  Status wrote;
};

Status CaptureRun::State::open_port() {
  const uint32_t events = request.nearby ? request.nearby->events : 0;
  const char *tracked_events = events & kGap ? "gap" : events & kEpisode ? "episode" : nullptr;
  if (tracked_events && !request.attach.track)
    return Error{
        fmt::format("--around {} needs streams, but --no-track disables them", tracked_events),
        "leave out one of the two"}
        .as_usage();
  if (request.nic_clock)
    nic.emplace(XR_TRY(open_nic_times({request.ifname, request.netns}, notes)));
  auto open = datapath::CaptureTap::open(
      {request.ifname, request.netns}, request.attach, ring_of_each(request.ring_bytes),
      request.nic_clock, [this](unsigned cpu, const roce_capture &record, const uint8_t *bytes) {
        merger.add(cpu, record, bytes);
      });
  if (!open)
    return open.error();
  tap.emplace(std::move(*open));
  tracked = tap->port().track;
  if (tracked_events && !tracked)
    return has_no_streams(tap->port(), tracked_events);
  if (events & kEpisode && !(tap->port().features & ROCE_FEATURE_FOLLOW))
    return does_not_follow(tap->port());
  return {};
}

Status CaptureRun::State::make_files() {
  request.files.interface.name = request.ifname;
  if (nic)
    request.files.interface.description = nic->clock.index < 0
                                              ? "times of the NIC's clock"
                                              : "times of the NIC's clock, " + nic->clock.name();
  request.files.interface.snap = request.filter.snap;
  request.files.stop = [this] { return is_over(kGraceNs); };
  auto made = CaptureFiles::create(request.files, [this] { return statistics(); });
  if (!made)
    return made.error();
  files.emplace(std::move(*made));
  return {};
}

PcapngStatistics CaptureRun::State::statistics() const {
  roce_capture_counts now = counts;
  if (auto read = tap->counts())
    now = *read;
  return {started_ns + offset_ns, monotonic_ns() + offset_ns,  now.seen, now.taken,
          now.lost + now.unread,  files ? files->packets() : 0};
}

// A frame without the NIC's time has the kernel's, at about the same place of the NIC's clock.
uint64_t CaptureRun::State::time_of(const roce_capture &frame) {
  const uint64_t kernel = frame.time_ns + offset_ns;
  if (!nic || frame.nic_ns)
    return nic ? frame.nic_ns : kernel;
  nic->none++;
  return kernel + static_cast<uint64_t>(nic->offset ? nic->offset->realtime_ns : 0);
}

void CaptureRun::State::write(const TracedFrame &frame) {
  selected++;
  if (!wrote || limit_reached())
    return;
  const roce_capture &c = frame.record;
  const std::string text = comment(frame, tracked);
  wrote = files->packet({.time_ns = time_of(c),
                         .data = frame.bytes.data(),
                         .captured = c.captured,
                         .length = c.length,
                         .comment = text,
                         .left_out = not_around - std::exchange(left_out_before, not_around)});
}

void CaptureRun::State::select(TracedFrame frame) {
  if (!request.nearby) {
    write(frame);
    return;
  }
  const bool event = is_event(frame, request.nearby->events);
  events += event;
  window.add(
      std::move(frame), event, [this](const TracedFrame &kept) { write(kept); },
      [this](const TracedFrame &) { not_around++; });
}

Status CaptureRun::State::step(uint64_t horizon_ns) {
  merger.release(horizon_ns, [this](TracedFrame frame) { select(std::move(frame)); });
  if (wrote)
    wrote = files->flush();
  return wrote;
}

Status CaptureRun::State::finish() {
  stopped_ns = monotonic_ns();
  auto stopped = tap->stop();
  auto done = step(UINT64_MAX);
  window.finish([this](const TracedFrame &) { not_around++; });
  if (auto now = tap->counts())
    counts = *now;
  ended_ns = monotonic_ns();
  if (done)
    done = files->finish();
  // An error caused by a reader that has exited, or by a requested stop, is not reported.
  if (!done && (!files->nobody_reads() || (files->stalled() && !stop)))
    return done;
  return stopped;
}

Result<CaptureRun> CaptureRun::prepare(CaptureRequest request, const std::atomic<bool> &stop) {
  auto state = std::make_unique<State>(std::move(request), stop);
  XR_TRY(state->open_port());
  XR_TRY(state->make_files());
  return CaptureRun(std::move(state));
}

Status CaptureRun::run(const std::function<void()> &begun,
                       const std::function<void(const CaptureSummary &)> &progress) {
  State &s = *state_;
  s.offset_ns = realtime_offset();
  s.started_ns = monotonic_ns();
  if (auto done = s.tap->start(s.request.filter); !done)
    return done;
  s.begun_ns = monotonic_ns();
  begun();
  uint64_t last_progress = s.started_ns, last_look = s.started_ns;
  Status status;
  while (!s.is_over() && !s.limit_reached() && !s.files->nobody_reads()) {
    const uint64_t now = monotonic_ns();
    if (status = s.tap->poll(kPollMs); !status)
      break;
    // All frames from before this poll are now in `merger`.
    if (!s.step(now - kWindowNs))
      break;
    if (now - last_progress >= kProgressNs) {
      last_progress = now;
      progress(report());
    }
    if (now - last_look < kLookNs)
      continue;
    last_look = now;
    if (auto alive = s.tap->alive(); alive.ok() && !*alive) {
      status = Error{"it was detached, or the interface is gone"};
      break;
    }
  }
  auto done = s.finish();
  return status ? done : status;
}

CaptureSummary CaptureRun::report() const {
  const State &s = *state_;
  CaptureSummary r;
  roce_capture_counts counts = s.counts;
  if (!s.ended_ns)
    if (auto now = s.tap->counts())
      counts = *now;
  r.ifname = s.request.ifname;
  r.xdp_mode = mode_name(s.tap->port().mode);
  r.seconds = static_cast<double>((s.ended_ns ? s.ended_ns : monotonic_ns()) - s.started_ns) / 1e9;
  if (s.begun_ns) {
    r.begun_ns = s.begun_ns + s.offset_ns;
    r.ended_ns = (s.stopped_ns ? s.stopped_ns : monotonic_ns()) + s.offset_ns;
  }
  r.seen = counts.seen;
  r.taken = counts.taken;
  r.lost = counts.lost;
  r.outcomes_lost = counts.outcomes_lost;
  r.unread = counts.unread;
  r.written = s.files->packets();
  r.bytes = s.files->bytes();
  r.cut = s.files->cut();
  r.around = s.request.nearby.has_value();
  r.events = s.events;
  r.not_around = s.not_around;
  r.unwritten = s.selected - r.written;
  r.files.assign(s.files->paths().begin(), s.files->paths().end());
  r.files_removed = s.files->removed();
  r.late = s.merger.late();
  if (s.nic)
    r.nic = {s.nic->clock.name(), s.nic->none,
             s.nic->offset ? std::optional(s.nic->offset->tai_ns) : std::nullopt,
             s.nic->offset ? s.nic->offset->within_ns : 0};
  return r;
}

Status CaptureRun::close() { return state_->tap->close(); }

std::vector<std::string> CaptureRun::notes() const {
  std::vector<std::string> all = state_->notes;
  all.insert(all.end(), state_->tap->notes().begin(), state_->tap->notes().end());
  return all;
}

CaptureRun::CaptureRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureRun::CaptureRun(CaptureRun &&) noexcept = default;
CaptureRun::~CaptureRun() = default;

} // namespace xr::port_capture
