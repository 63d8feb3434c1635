// SPDX-License-Identifier: Apache-2.0
// What there is to tell of a stream: the columns of every table that has a row a stream.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/snapshot.h"
#include "report/document.h"

namespace xr::report {

struct StreamColumn {
  Column column;
  Value (*value)(const roce_stream &); // null: not in the record (the QP's number)
};

const std::vector<StreamColumn> &stream_columns();
// By the column's key; null: there is none.
const StreamColumn *stream_column(std::string_view key);

uint64_t missing_psns(const roce_stream &stream);

// For sorting: 0 where there is no number.
uint64_t number_of(const Value &value);

std::string_view key_bytes(const roce_key &key);
inline bool same_stream(const roce_key &a, const roce_key &b) {
  return key_bytes(a) == key_bytes(b);
}

// The streams of a snapshot by their keys; it must outlive this.
class Earlier {
public:
  explicit Earlier(const Snapshot &before) : streams_(before.streams) {}
  // `place`: where it stands now, and most likely stood then.
  const roce_stream *find(const roce_stream &stream, uint32_t place) const;

private:
  const std::vector<roce_stream> &streams_;
  mutable std::unordered_map<std::string_view, uint32_t> by_key_; // made when it is needed
};

} // namespace xr::report
