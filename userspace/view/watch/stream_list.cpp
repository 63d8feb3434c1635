// SPDX-License-Identifier: Apache-2.0
#include "watch/stream_list.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "names/names.h"
#include "parse/words.h"
#include "report/reports.h"

namespace xr::watch {

namespace {

std::string words_of(const roce_stream &s) {
  const unsigned transport = s.flags >> ROCE_STREAM_TRANSPORT_SHIFT;
  return parse::lower(fmt::format("{} -> {} 0x{:06x} {} {} {}", names::address(s.key.src),
                                  names::address(s.key.dst), roce_key_qp(&s.key),
                                  roce_key_qp(&s.key), names::kind_name(s.key),
                                  transport ? names::transport_name((transport - 1) << 5) : "CNP"));
}

} // namespace

std::vector<std::string> sort_keys() {
  std::vector<std::string> keys = report::stream_sort_keys();
  keys.insert(keys.begin(), {kPacketRate, kBitRate});
  return keys;
}

void StreamList::sort_by(const std::string &key) {
  sort_ = key;
  inverted_ = false;
}

void StreamList::set_filter(const std::string &words) {
  if (words == filter_)
    return;
  filter_ = words;
  words_ = parse::split(parse::lower(words));
  cached_matches_.clear();
}

void StreamList::to_top() {
  followed_key_.reset();
  move_ = 0;
}

bool StreamList::matches(const roce_stream &stream, uint32_t place) {
  if (words_.empty())
    return true;
  if (place >= cached_matches_.size())
    cached_matches_.resize(place + 1, {});
  CachedMatch &cached = cached_matches_[place];
  if (!report::same_stream(cached.key, stream.key)) {
    const std::string text = words_of(stream);
    cached.key = stream.key;
    cached.matches = std::all_of(words_.begin(), words_.end(), [&text](const std::string &word) {
      return text.find(word) != std::string::npos;
    });
  }
  return cached.matches;
}

std::vector<StreamList::Keyed> StreamList::keyed(const PortView &port) {
  const report::StreamColumn *column = report::stream_column(sort_);
  const bool packet_rate = sort_ == kPacketRate, bit_rate = sort_ == kBitRate;
  const auto &streams = port.counted().streams;
  std::vector<Keyed> all;
  all.reserve(streams.size());
  for (uint32_t i = 0; i < streams.size(); i++) {
    if (!matches(streams[i], i))
      continue;
    std::array<double, 3> first{};
    if (packet_rate)
      first[0] = port.rates(i).packets;
    else if (bit_rate)
      first[0] = port.rates(i).bits;
    else if (column)
      first[0] = static_cast<double>(report::number_of(column->value(streams[i])));
    else
      std::ranges::copy(report::trouble_of(streams[i]), first.begin());
    all.push_back({first, roce_stream_packets(&streams[i]), i});
  }
  return all;
}

// Ties are broken by packets, then by order of appearance.
bool StreamList::before(const Keyed &a, const Keyed &b) const {
  if (a.first != b.first)
    return inverted_ ? a.first < b.first : a.first > b.first;
  return a.second != b.second ? a.second > b.second : a.place < b.place;
}

size_t StreamList::rank_of_selected(const PortView &port, const std::vector<Keyed> &all) const {
  const auto &streams = port.counted().streams;
  const auto is_it = [&](const Keyed &keyed) {
    return report::same_stream(streams[keyed.place].key, *followed_key_);
  };
  // `all` is sorted by index here, so the last known index is looked up first.
  auto it = std::lower_bound(all.begin(), all.end(), place_,
                             [](const Keyed &item, uint32_t place) { return item.place < place; });
  if (it == all.end() || !is_it(*it))
    it = std::find_if(all.begin(), all.end(), is_it);
  if (it == all.end()) // gone or filtered out: the stream at its rank is selected instead
    return rank_;
  place_ = it->place;
  return static_cast<size_t>(std::count_if(all.begin(), all.end(),
                                           [&](const Keyed &entry) { return before(entry, *it); }));
}

StreamList::Window StreamList::window(const PortView &port, size_t rows) {
  std::vector<Keyed> entries = keyed(port);
  Window window;
  window.matching = entries.size();
  const long move = std::exchange(move_, 0);
  if (entries.empty() || !rows) {
    selected_key_.reset();
    return window;
  }
  const long last = static_cast<long>(entries.size()) - 1;
  const long rank = static_cast<long>(followed_key_ ? rank_of_selected(port, entries) : 0) + move;
  rank_ = static_cast<size_t>(std::clamp(rank, 0L, last));
  // Scrolls as little as needed to show the selection.
  first_ = std::min(first_, entries.size() > rows ? entries.size() - rows : 0);
  first_ = std::clamp(first_, rank_ >= rows ? rank_ - rows + 1 : 0, rank_);
  const size_t end = std::min(first_ + rows, entries.size());
  const auto compare = [this](const Keyed &a, const Keyed &b) { return before(a, b); };
  const auto at = [&entries](size_t i) { return entries.begin() + static_cast<ptrdiff_t>(i); };
  if (first_ > 0)
    std::nth_element(entries.begin(), at(first_), entries.end(), compare);
  std::partial_sort(at(first_), at(end), entries.end(), compare);
  for (size_t i = first_; i < end; i++)
    window.places.push_back(entries[i].place);
  window.first = first_;
  window.selected = rank_ - first_;
  place_ = entries[rank_].place;
  selected_key_ = port.counted().streams[place_].key;
  if (move != 0)
    followed_key_ = rank_ ? selected_key_ : std::nullopt;
  return window;
}

std::optional<uint32_t> StreamList::selected(const PortView &port) const {
  return selected_key_ ? port.find(*selected_key_, place_) : std::nullopt;
}

} // namespace xr::watch
