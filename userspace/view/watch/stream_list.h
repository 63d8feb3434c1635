// SPDX-License-Identifier: Apache-2.0
// Order, filter and selection of the streams on the screen. The selected stream stays selected when
// its position changes. Only the visible streams are sorted, which is cheap with many streams.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/stream_columns.h"
#include "watch/port_view.h"

namespace xr::watch {

// Keys by which streams can be sorted: rates, and each numeric column.
std::vector<std::string> sort_keys();
inline constexpr const char *kPacketRate = "packets_per_s";
inline constexpr const char *kBitRate = "bits_per_s";

class StreamList {
public:
  struct Window {
    std::vector<uint32_t> places;   // indexes of the visible streams, in order
    size_t first = 0;               // rank of the first of them, from 0
    size_t matching = 0;            // number of streams that match the filter
    std::optional<size_t> selected; // row in the window
  };

  const std::string &sort() const { return sort_; }
  bool inverted() const { return inverted_; } // ascending
  const std::string &filter() const { return filter_; }
  void sort_by(const std::string &key);
  void invert() { inverted_ = !inverted_; }
  // All words must occur in "src -> dst 0xqp qp kind transport", ignoring case.
  void set_filter(const std::string &words);

  // Moves the selection at the next window(). At the top, no stream is followed: the selection
  // stays at the top.
  void move(long rows) { move_ += rows; }
  void to_top();

  Window window(const PortView &port, size_t rows);
  // Index of the selected stream in port.counted().streams, as of the last window().
  std::optional<uint32_t> selected(const PortView &port) const;

private:
  struct Keyed {
    std::array<double, 3> first;
    uint64_t second;
    uint32_t place;
  };
  struct CachedMatch {
    roce_key key;
    bool matches;
  };

  std::vector<Keyed> keyed(const PortView &port);
  bool matches(const roce_stream &stream, uint32_t place);
  bool before(const Keyed &a, const Keyed &b) const;
  size_t rank_of_selected(const PortView &port, const std::vector<Keyed> &all) const;

  std::string sort_ = report::kTrouble;
  bool inverted_ = false;
  std::string filter_;
  std::vector<std::string> words_;          // of the filter, in lower case
  std::vector<CachedMatch> cached_matches_; // by index: result of the filter
  std::optional<roce_key> followed_key_;    // the followed stream; empty: the first row is selected
  mutable uint32_t place_ = 0;              // its last known index
  size_t rank_ = 0, first_ = 0;
  long move_ = 0;
  std::optional<roce_key> selected_key_; // key of the selected stream, followed or not
};

} // namespace xr::watch
