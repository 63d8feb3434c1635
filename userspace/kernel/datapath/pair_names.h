// SPDX-License-Identifier: Apache-2.0
// Names of the streams of QP pairs, by the keys of their requests.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "model/pair_name.h"

namespace xr::datapath {

class PairNames {
public:
  // `streams`: the map of that name.
  explicit PairNames(int streams) : streams_(streams) {}

  // The answers to these requests are the stream of record `response`, or ROCE_NO_STREAM.
  void add(const roce_key &requests, uint32_t response);
  // The requests, or the answers to them, which come to QPN `response_qp` if that is known.
  PairName of(const roce_key &requests, bool answers = false,
              uint32_t response_qp = ROCE_QPN_UNKNOWN) const;

private:
  using Words = std::array<uint32_t, sizeof(roce_key) / sizeof(uint32_t)>;
  static Words words(const roce_key &key);

  int streams_;
  std::map<Words, uint32_t> qps_; // to which answers come
};

} // namespace xr::datapath
