// SPDX-License-Identifier: Apache-2.0
#include "datapath/pair_names.h"

#include <bit>
#include <utility>

#include <bpf/bpf.h>

#include "roce/stream.h"

namespace xr::datapath {

PairNames::Words PairNames::words(const roce_key &key) { return std::bit_cast<Words>(key); }

void PairNames::add(const roce_key &requests, uint32_t response) {
  roce_stream stream{};
  if (bpf_map_lookup_elem(streams_, &response, &stream) == 0)
    qps_[words(requests)] = roce_key_qp(&stream.key);
}

PairName PairNames::of(const roce_key &requests, bool answers, uint32_t response_qp) const {
  const auto known = qps_.find(words(requests));
  PairName name;
  name.key = requests;
  name.key.qp_kind &= ~ROCE_KEY_SIDE;
  if (response_qp != ROCE_QPN_UNKNOWN)
    name.src_qp = response_qp;
  else if (known != qps_.end())
    name.src_qp = known->second;
  if (!answers)
    return name;
  const uint32_t qp = roce_key_qp(&requests);
  std::swap(name.key.src, name.key.dst);
  name.key.qp_kind = (name.key.qp_kind & ~0xffffffu) | name.src_qp.value_or(0) |
                     ROCE_KIND_RESPONSE << ROCE_KIND_SHIFT;
  name.src_qp = qp;
  return name;
}

} // namespace xr::datapath
