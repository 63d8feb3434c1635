// SPDX-License-Identifier: Apache-2.0
// The columns of every table of streams, one row per stream.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/snapshot.h"
#include "model/stream_loss.h"
#include "report/document.h"

namespace xr::report {

struct StreamColumn {
  Column column;
  Value (*value)(const roce_stream &); // null: not in the record: kQpNumber, kRecovery
};

// Columns whose cells are elsewhere: in the snapshot, and in the episodes.
inline constexpr const char *kQpNumber = "qp_number", *kRecovery = "recovery_us";

const std::vector<StreamColumn> &stream_columns();
// Null: no column has this key.
const StreamColumn *stream_column(std::string_view key);

// How much is wrong with a stream, for the order of streams: losses, then rewinds, then CE marks.
using Trouble = std::array<uint64_t, 3>;
Trouble trouble_of(const roce_stream &stream);
// The name of that order, beside the keys of columns.
inline constexpr const char *kTrouble = "trouble";

// For sorting: 0 for a value that is not a number.
uint64_t number_of(const Value &value);

std::string_view key_bytes(const roce_key &key);
inline bool same_stream(const roce_key &a, const roce_key &b) {
  return key_bytes(a) == key_bytes(b);
}

// Finds streams of an earlier snapshot by their keys. The snapshot must outlive it.
class StreamIndex {
public:
  explicit StreamIndex(const Snapshot &before) : streams_(before.streams) {}
  // `place`: the stream's index in the current snapshot, which is usually the same in the earlier
  // one.
  const roce_stream *find(const roce_stream &stream, uint32_t place) const;

private:
  const std::vector<roce_stream> &streams_;
  mutable std::unordered_map<std::string_view, uint32_t> by_key_; // built at the first miss
};

} // namespace xr::report
