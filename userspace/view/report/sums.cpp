// SPDX-License-Identifier: Apache-2.0
#include "report/sums.h"

#include <numeric>

#include "model/data_packet.h"

namespace xr::report {

namespace {

Tally tally(const roce_opcode_count &c) {
  return {std::accumulate(std::begin(c.packets), std::end(c.packets), uint64_t{0}), c.bytes};
}

} // namespace

PacketKind packet_kind(unsigned opcode) {
  const uint64_t info = roce_opcode_info[opcode];
  if (info & ROCE_OP_CNP)
    return PacketKind::Cnp;
  if (info & ROCE_OP_DATAGRAM)
    return PacketKind::Datagram;
  if (is_data(info))
    return PacketKind::Data;
  return info & ROCE_OP_RESPONSE ? PacketKind::Ack : PacketKind::Other;
}

Tally &Tally::operator+=(const Tally &other) {
  packets += other.packets;
  bytes += other.bytes;
  return *this;
}

Sums::Sums(const Snapshot &s) {
  for (size_t i = 0; i < s.opcodes.size(); i++) {
    const Tally item = tally(s.opcodes[i]);
    opcodes[i % ROCE_OPCODE_COUNT_V1] += item;
    (i < ROCE_OPCODE_COUNT_V1 ? v2 : v1) += item;
    if (i >= ROCE_OPCODE_COUNT_V1)
      opcodes_v1[i - ROCE_OPCODE_COUNT_V1] = item;
    const auto kind = static_cast<size_t>(packet_kind(i % ROCE_OPCODE_COUNT_V1));
    kinds[kind] += item.packets;
    for (size_t codepoint = 0; codepoint < ecn.size() && i < ROCE_OPCODE_COUNT_V1; codepoint++) {
      ecn[codepoint] += s.opcodes[i].packets[codepoint];
      kinds_ecn[kind][codepoint] += s.opcodes[i].packets[codepoint];
    }
  }
  frames = v2.packets + v1.packets + s.totals.frames[ROCE_CLASS_PFC] +
           s.totals.frames[ROCE_CLASS_OTHER] + s.totals.frames[ROCE_CLASS_MALFORMED] +
           s.totals.frames[ROCE_CLASS_FRAGMENT];
  bytes = v2.bytes + v1.bytes + s.totals.bytes;
}

} // namespace xr::report
