// SPDX-License-Identifier: Apache-2.0
#include "requester/pfc.h"

#include <algorithm>

#include <fmt/format.h>

namespace xr::requester {

namespace {

// Percent of the pause time: below the half, so that a frame may be late by a fourth of its
// interval.
constexpr uint64_t kRefreshPercent = 40;

packet::Pause frame_of(const Pfc &pfc) {
  packet::Pause pause;
  pause.src = pfc.src_mac.value_or(packet::Mac{});
  pause.global = pfc.priorities.empty();
  if (pause.global)
    pause.quanta.fill(pfc.quanta.front());
  for (size_t i = 0; i < pfc.priorities.size(); i++) {
    pause.enable |= static_cast<uint16_t>(1 << pfc.priorities[i]);
    pause.quanta[pfc.priorities[i]] = pfc.quanta[i];
  }
  pause.enable = pfc.enable.value_or(pause.enable);
  return pause;
}

std::vector<uint8_t> resume_of(const Pfc &pfc) {
  packet::Pause pause = frame_of(pfc);
  pause.quanta.fill(0);
  return packet::build_pause(pause);
}

// The shortest pause of a priority.
uint64_t pause_of(const Pfc &pfc) {
  return packet::pause_ns(*std::min_element(pfc.quanta.begin(), pfc.quanta.end()), pfc.line_bits);
}

uint64_t interval_of(const Pfc &pfc) {
  return pfc.every_ns ? pfc.every_ns : pause_of(pfc) * kRefreshPercent / 100;
}

congestion::Pacing pfc_pacing(const Pfc &pfc) {
  congestion::Pacing pacing;
  pacing.rate.kind = congestion::Rate::Kind::Packets;
  pacing.rate.value = 1e9 / static_cast<double>(interval_of(pfc));
  return pacing;
}

} // namespace

Status check_pfc(const Pfc &pfc) {
  constexpr uint64_t kShortest = 1000; // ns
  if (pfc.every_ns)
    return {};
  if (!pfc.line_bits)
    return Error{"storm: the driver does not report the line rate", "storm line 100gbit"};
  if (interval_of(pfc) < kShortest)
    return Error{
        fmt::format("storm: quanta that last {} ns are not refreshed in time", pause_of(pfc)),
        "larger quanta: 65535 are the most"};
  return {};
}

PfcSource::PfcSource(const Pfc &pfc)
    : frame_(packet::build_pause(frame_of(pfc))), storm_(!pfc.every_ns), count_(pfc.count),
      duration_ns_(pfc.duration_ns), pacer_(pfc_pacing(pfc), 0, 0) {
  const packet::Pause pause = frame_of(pfc);
  const bool pauses =
      std::any_of(pfc.quanta.begin(), pfc.quanta.end(), [](uint16_t quanta) { return quanta; });
  if (pfc.xon && pauses)
    xon_ = resume_of(pfc);
  report_.global = pause.global;
  report_.enable = pause.enable;
  report_.priorities = pfc.priorities;
  report_.quanta = pfc.quanta;
  report_.storm = storm_;
  report_.interval_ns = interval_of(pfc);
  report_.pause_ns = pause_of(pfc);
}

size_t PfcSource::next(uint64_t now, std::span<packet::Outgoing> out) {
  if (!started_) {
    started_ = true;
    pacer_.start(now);
    if (duration_ns_)
      end_ = now + duration_ns_;
    pacer_.end_at(end_);
  }
  size_t made = 0;
  while (!over_ && made < out.size() && pacer_.due() <= now) {
    if ((count_ && counts_.packets == count_) || pacer_.due() >= end_) {
      over_ = true;
      break;
    }
    out[made] = {.shape = nullptr, .fields = {}, .raw = frame_, .due = pacer_.due()};
    made++;
    counts_.packets++;
    counts_.bytes += frame_.size();
    if (storm_) // refreshes that are late are not caught up with
      pacer_.not_before(now);
    pacer_.sent(now, static_cast<uint32_t>(frame_.size()));
  }
  over_ = over_ || now >= end_;
  counts_.slipped_ns = pacer_.slipped_ns();
  unflushed_ = unflushed_ || made;
  return made;
}

uint64_t PfcSource::wake_at() const { return started_ ? std::min(pacer_.due(), end_) : 0; }

void PfcSource::flushed(uint64_t now) {
  if (!unflushed_)
    return;
  unflushed_ = false;
  if (flushed_) {
    const uint64_t gap = now - flushed_;
    report_.gap_ns.add(gap);
    report_.late += report_.pause_ns && 2 * gap > report_.pause_ns;
    report_.lapsed += report_.pause_ns && gap > report_.pause_ns;
  }
  flushed_ = now;
}

size_t PfcSource::last(std::span<packet::Outgoing> out) {
  if (xon_.empty() || report_.xons || !counts_.packets || out.empty())
    return 0;
  out[0] = {.shape = nullptr, .fields = {}, .raw = xon_};
  report_.xons++;
  counts_.packets++;
  counts_.bytes += xon_.size();
  unflushed_ = true; // how long the last refresh lasted counts, too
  return 1;
}

} // namespace xr::requester
