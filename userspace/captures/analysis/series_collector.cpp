// SPDX-License-Identifier: Apache-2.0
#include "analysis/series_collector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "roce/timed.h"

namespace xr {

namespace {

using Series = CaptureSeries;

template <class Item, class Add> void halve(std::vector<Item> &items, const Add &add) {
  const size_t half = (items.size() + 1) / 2;
  for (size_t i = 0; i < half; i++) {
    Item sum = items[2 * i];
    if (2 * i + 1 < items.size())
      add(sum, items[2 * i + 1]);
    items[i] = sum;
  }
  items.resize(half);
}

void add_bin(Series::Bin &to, const Series::Bin &more) {
  to.packets += more.packets;
  to.bytes += more.bytes;
  to.ce += more.ce;
  to.cnps += more.cnps;
  to.skipped += more.skipped;
  to.rewinds += more.rewinds;
  to.naks += more.naks;
  to.rnr_naks += more.rnr_naks;
  to.frames += more.frames;
  to.frame_bytes += more.frame_bytes;
}

void add_stream_bin(Series::StreamBin &to, const Series::StreamBin &more) {
  to.bytes += more.bytes;
  to.packets += more.packets;
  to.ce += more.ce;
  to.cnps += more.cnps;
}

// The item at `index`, up to which the list grows.
template <class Item> Item &at(std::vector<Item> &items, size_t index) {
  if (index >= items.size())
    items.resize(index + 1);
  return items[index];
}

std::optional<Series::Heat> heat_of(unsigned kind, bool bound) {
  switch (kind) {
  case ROCE_LATENCY_ACK:
    return bound ? Series::Heat::AckBound : Series::Heat::Ack;
  case ROCE_LATENCY_READ:
  case ROCE_LATENCY_ATOMIC:
  case ROCE_LATENCY_MESSAGE:
    return bound ? Series::Heat::MessageBound : Series::Heat::Message;
  default:
    return {};
  }
}

} // namespace

void SeriesCollector::widen() {
  flush_all();
  bin_shift_++;
  series_.bin_ns *= 2;
  halve(series_.bins, add_bin);
  for (Series::Stream &stream : series_.streams)
    halve(stream.bins, add_stream_bin);
  halve(series_.rest.bins, add_stream_bin);
  for (auto &pauses : series_.pauses)
    halve(pauses, [](Series::PauseBin &to, const Series::PauseBin &more) {
      to.paused_ns += more.paused_ns;
      to.xoffs += more.xoffs;
    });
  for (Series::HeatMap &map : series_.heats)
    halve(map, [](auto &to, const auto &more) {
      for (size_t row = 0; row < to.size(); row++)
        to[row] += more[row];
    });
  for (auto &most : series_.windows)
    halve(most, [](uint64_t &to, uint64_t more) { to = std::max(to, more); });
}

// A time before the first frame's is in the first.
size_t SeriesCollector::bin_of(uint64_t ns) {
  const uint64_t since = ns - std::min(ns, series_.first_ns);
  while (since >> bin_shift_ >= Series::kBins)
    widen();
  return since >> bin_shift_;
}

void SeriesCollector::begin(Place &place, const roce_packet &packet) {
  if (series_.streams.size() == Series::kStreams) {
    series_.rest_streams++;
    place.stream = kRest;
    return;
  }
  Series::Stream &stream = series_.streams.emplace_back();
  stream.key = packet.key;
  roce_key_fill(&stream.key);
  stream.bins.reserve(Series::kBins);
  place.stream = static_cast<uint32_t>(series_.streams.size());
  place.last_psn = packet.psn;
  place.psn = packet.psn;
}

Series::Stream &SeriesCollector::stream_of(const Place &place) {
  return place.stream == kRest ? series_.rest : series_.streams[place.stream - 1];
}

void SeriesCollector::flush(Place &place) {
  if (!place.now.packets)
    return;
  Series::Stream &stream = stream_of(place);
  add_stream_bin(at(stream.bins, place.bin), place.now);
  stream.packets += place.now.packets;
  stream.bytes += place.now.bytes;
  stream.ce += place.now.ce;
  stream.cnps += place.now.cnps;
  place.now = {};
}

void SeriesCollector::flush_all() {
  for (Place &place : places_)
    flush(place);
}

void SeriesCollector::point(Place &place, uint64_t ns, uint32_t psn) {
  constexpr uint32_t kHalf = (ROCE_PSN_MASK + 1) / 2;
  const uint32_t ahead = (psn - place.last_psn) & ROCE_PSN_MASK;
  place.psn += ahead < kHalf ? int64_t{ahead} : int64_t{ahead} - (int64_t{ROCE_PSN_MASK} + 1);
  place.last_psn = psn;
  if (--place.until_next)
    return;
  Series::Stream &stream = stream_of(place);
  if (stream.points.size() == Series::kPsnPoints) {
    for (size_t i = 0; i < Series::kPsnPoints / 2; i++)
      stream.points[i] = stream.points[2 * i];
    stream.points.resize(Series::kPsnPoints / 2);
    stream.stride *= 2;
  }
  place.until_next = static_cast<uint32_t>(stream.stride);
  stream.points.push_back({ns, place.psn});
}

void SeriesCollector::mark(Place &place, const NativeDatapath::FrameView &frame,
                           Series::MarkKind kind, uint64_t count) {
  if (place.stream == kRest || place.marks == Series::kStreamMarks ||
      series_.marks.size() == Series::kMarks) {
    series_.marks_left_out++;
    return;
  }
  place.marks++;
  series_.marks.push_back({frame.time_ns, frame.number, place.psn, count, place.stream - 1, kind});
}

// A packet that was not simply the next one.
void SeriesCollector::found(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
                            uint32_t record, Series::Bin &bin) {
  Place &place = places_[record];
  Series::Stream &stream = stream_of(place);
  const roce_stream &now = datapath.stream(record);
  const uint32_t what = datapath.trace().found;
  // What a counter of the stream has grown by since the packet before.
  const auto grown = [&](int counter, uint64_t &before, uint64_t &of_bin, uint64_t &of_stream,
                         Series::MarkKind kind) {
    const uint64_t is = roce_stream_counter(&now, counter), more = is - std::min(is, before);
    if (std::exchange(before, is) == is)
      return;
    of_bin += more;
    of_stream += more;
    mark(place, frame, kind, more);
  };
  grown(ROCE_SKIPPED, place.skipped, bin.skipped, stream.skipped, Series::MarkKind::Gap);
  grown(ROCE_REWINDS, place.rewinds, bin.rewinds, stream.rewinds, Series::MarkKind::GoBack);
  if (what & ROCE_FOUND_NAK) {
    bin.naks++;
    stream.naks++;
    mark(place, frame, Series::MarkKind::Nak, 1);
  }
  if (what & ROCE_FOUND_RNR_NAK) {
    bin.rnr_naks++;
    mark(place, frame, Series::MarkKind::RnrNak, 1);
  }
}

void SeriesCollector::end_window(size_t which) {
  const Window &window = windows_[which];
  uint64_t &most = at(series_.windows[which], bin_of(series_.first_ns + window.begin));
  most = std::max(most, window.bytes);
}

void SeriesCollector::add_window(uint64_t ns, uint32_t bytes) {
  const uint64_t since = ns - std::min(ns, series_.first_ns);
  for (size_t i = 0; i < windows_.size(); i++) {
    constexpr auto &kWindows = Series::kWindowsNs;
    if (since >= windows_[i].begin + kWindows[i]) { // a late frame is of the window that is open
      end_window(i);
      windows_[i] = {since - since % kWindows[i], 0};
    }
    windows_[i].bytes += bytes;
  }
}

void SeriesCollector::add_pause(unsigned priority, uint64_t from, uint64_t to) {
  while (from < to) {
    const size_t bin = bin_of(from);
    const uint64_t end = std::min(to, series_.first_ns + (bin + 1) * series_.bin_ns);
    at(series_.pauses[priority], bin).paused_ns += end - from;
    from = end;
  }
}

// The datapath counts pauses; what is new since the last such frame is of now.
void SeriesCollector::pauses(const NativeDatapath &datapath, uint64_t now) {
  const roce_totals &totals = datapath.totals();
  for (unsigned i = 0; i < ROCE_PFC_COUNTS; i++) {
    const roce_pfc &pfc = datapath.pfc()[i], &before = pfc_[i];
    if (pfc.paused_ns != before.paused_ns)
      add_pause(i, before.since_ns, before.since_ns + (pfc.paused_ns - before.paused_ns));
    pfc_[i] = pfc;
    if (totals.pfc_xoff[i] != xoffs_[i])
      at(series_.pauses[i], bin_of(now)).xoffs += totals.pfc_xoff[i] - xoffs_[i];
    xoffs_[i] = totals.pfc_xoff[i];
  }
}

void SeriesCollector::add(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
                          roce_class class_, const roce_packet &packet, uint32_t record) {
  const uint64_t now = frame.time_ns;
  if (!now) {
    series_.untimed++;
    return;
  }
  if (!series_.first_ns)
    series_.first_ns = now;
  series_.last_ns = std::max(series_.last_ns, now);
  const size_t number = bin_of(now);
  Series::Bin &bin = at(series_.bins, number);
  bin.frames++;
  bin.frame_bytes += frame.length;
  add_window(now, frame.length);
  if (class_ == ROCE_CLASS_PFC)
    pauses(datapath, now);
  if (record == NativeDatapath::kNoStream)
    return;
  Place &place = at(places_, record);
  if (!place.stream)
    begin(place, packet);
  if (place.bin != number) {
    flush(place);
    place.bin = static_cast<uint32_t>(number);
  }
  const bool ce = packet.ecn == ROCE_ECN_CE, cnp = packet.info & ROCE_OP_CNP;
  bin.packets++;
  bin.bytes += frame.length;
  bin.ce += ce;
  bin.cnps += cnp;
  place.now.packets++;
  place.now.bytes += frame.length;
  place.now.ce += ce;
  place.now.cnps += cnp;
  if (place.stream != kRest && !cnp)
    point(place, now, packet.psn);
  if (datapath.trace().found & ROCE_FOUND_SLOW)
    found(datapath, frame, record, bin);
}

void SeriesCollector::add_time(uint64_t now, unsigned kind, bool bound, uint64_t ns) {
  const auto heat = heat_of(kind, bound);
  if (!heat || !series_.first_ns)
    return;
  const size_t column = bin_of(now) / Series::kColumnBins;
  at(series_.heats[static_cast<size_t>(*heat)], column)[Series::HeatRows::bucket(ns)]++;
}

Series SeriesCollector::result(const NativeDatapath &datapath, uint64_t now) {
  flush_all();
  for (size_t i = 0; series_.first_ns && i < windows_.size(); i++)
    end_window(i);
  for (unsigned i = 0; i < ROCE_PFC_COUNTS; i++) {
    const roce_pfc &pfc = datapath.pfc()[i];
    add_pause(i, pfc.since_ns, pfc.since_ns + (roce_pfc_paused(&pfc, now) - pfc.paused_ns));
  }
  return std::move(series_);
}

} // namespace xr
