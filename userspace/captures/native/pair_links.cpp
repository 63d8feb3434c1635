// SPDX-License-Identifier: Apache-2.0
#include "native/pair_links.h"

namespace xr {

PairName pair_name(const std::vector<roce_stream> &streams, uint32_t id, uint32_t other) {
  PairName name;
  if (id >= streams.size())
    return name;
  name.key = streams[id].key;
  if (other < streams.size())
    name.src_qp = roce_key_qp(&streams[other].key);
  else if (streams[id].flags & ROCE_STREAM_SRC_QP)
    name.src_qp = streams[id].src_qp;
  return name;
}

} // namespace xr
