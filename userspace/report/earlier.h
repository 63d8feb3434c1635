// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/snapshot.h"

namespace xr::report {

// Finds the streams of an earlier snapshot, which must outlive it.
class Earlier {
public:
  explicit Earlier(const Snapshot &before) : streams_(before.streams) {
    by_key_.reserve(streams_.size());
    for (uint32_t i = 0; i < streams_.size(); i++)
      by_key_.emplace(key_of(streams_[i]), i);
  }
  const roce_stream *find(const roce_stream &stream) const {
    const auto it = by_key_.find(key_of(stream));
    return it == by_key_.end() ? nullptr : &streams_[it->second];
  }

private:
  static std::string_view key_of(const roce_stream &s) {
    return {reinterpret_cast<const char *>(&s.key), sizeof(s.key)};
  }

  const std::vector<roce_stream> &streams_;
  std::unordered_map<std::string_view, uint32_t> by_key_;
};

} // namespace xr::report
