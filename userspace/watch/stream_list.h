// SPDX-License-Identifier: Apache-2.0
// Which streams are on the screen: order, filter, and the one that is selected, which stays so
// wherever the order takes it. Cheap with many streams: only what is seen is put in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "watch/port_view.h"

namespace xr::watch {

// What streams can be sorted by: rates, and each column that is a number.
std::vector<std::string> sort_keys();
inline constexpr const char *kPacketRate = "packets_per_s";
inline constexpr const char *kBitRate = "bits_per_s";

class StreamList {
public:
  struct Window {
    std::vector<uint32_t> places;   // of the streams to be seen, in order
    size_t first = 0;               // rank of the first of them, from 0
    size_t matching = 0;            // streams that the filter lets through
    std::optional<size_t> selected; // row of the window
  };

  const std::string &sort() const { return sort_; }
  bool inverted() const { return inverted_; } // smallest first
  const std::string &filter() const { return filter_; }
  void sort_by(const std::string &key);
  void invert() { inverted_ = !inverted_; }
  // Every word must be somewhere in: src -> dst 0xqp qp kind transport. Case does not matter.
  void set_filter(const std::string &words);

  // Up and down; takes effect with the next window. At the top no stream is followed.
  void move(long rows) { move_ += rows; }
  void to_top();

  Window window(const PortView &port, size_t rows);
  // The selected stream's place among port.counted().streams; as of the last window.
  std::optional<uint32_t> selected(const PortView &port) const;

private:
  struct Keyed {
    double first;
    uint64_t second;
    uint32_t place;
  };
  struct Seen {
    roce_key key;
    bool matches;
  };

  std::vector<Keyed> keyed(const PortView &port);
  bool matches(const roce_stream &stream, uint32_t place);
  bool before(const Keyed &a, const Keyed &b) const;
  size_t rank_of_selected(const PortView &port, const std::vector<Keyed> &all) const;

  std::string sort_ = "missing";
  bool inverted_ = false;
  std::string filter_;
  std::vector<std::string> words_; // of the filter, in lower case
  std::vector<Seen> seen_;         // by place: what the filter said
  std::optional<roce_key> key_;    // of the stream that is followed; none: the first
  mutable uint32_t place_ = 0;     // where it stood last
  size_t rank_ = 0, first_ = 0;
  long move_ = 0;
  std::optional<roce_key> under_; // the selected one, followed or not
};

} // namespace xr::watch
