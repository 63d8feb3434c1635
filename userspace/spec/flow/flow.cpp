// SPDX-License-Identifier: Apache-2.0
// Values derived from the description of a flow.
#include "flow/flow.h"

#include <algorithm>

#include "base/draw.h"
#include "roce/psn.h"

namespace xr::flow {

namespace {

constexpr uint16_t kFirstPort = 0xc000; // to 0xffff (IBA annex A17.9.2: flow label to UDP port)

const Sizes::Part &pick(const std::vector<Sizes::Part> &parts, uint64_t number, uint64_t seed) {
  double all = 0;
  for (const Sizes::Part &part : parts)
    all += part.weight;
  double left = draw_real(seed, number) * all;
  for (const Sizes::Part &part : parts)
    if ((left -= part.weight) < 0)
      return part;
  return parts.back();
}

} // namespace

uint64_t Sizes::of(uint64_t number, uint64_t seed) const {
  if (kind == Kind::List)
    return parts.size() == 1 ? parts[0].bytes : parts[number % parts.size()].bytes;
  if (kind == Kind::Mix)
    return pick(parts, number, seed).bytes;
  const uint64_t from = parts.front().bytes, to = parts.back().bytes;
  return from + draw_below(seed, number, to - from + 1);
}

uint64_t Sizes::largest() const {
  return std::max_element(parts.begin(), parts.end(),
                          [](const Part &a, const Part &b) { return a.bytes < b.bytes; })
      ->bytes;
}

uint64_t Flow::size_seed(uint32_t index) const {
  return seed_for(seed, Draws::Sizes, first_index + index);
}

uint32_t Flow::first_psn(uint32_t index) const {
  if (!begins.empty())
    return begins[first_index + index].psn;
  if (psn)
    return *psn;
  return static_cast<uint32_t>(draw(seed_for(seed, Draws::Psn), first_index + index)) &
         ROCE_PSN_MASK;
}

uint16_t Flow::source_port(uint32_t index) const {
  if (port == PortChoice::Fixed)
    return path.src_port;
  uint64_t hash = uint64_t{own_qp(index)} << 24 | dest_qp(index);
  for (const packet::Address *address : {&path.src, &path.dst})
    for (size_t i = 0; i < 4; i += 2)
      hash = draw(hash, uint64_t{(*address)[i]} << 32 | (*address)[i + 1]);
  return static_cast<uint16_t>(kFirstPort | (hash & (0xffff - kFirstPort)));
}

packet::Headers Flow::headers(uint8_t opcode) const {
  packet::Headers headers;
  headers.opcode = opcode;
  headers.dest_qp = dest_qp(0);
  headers.va = va;
  headers.rkey = rkey;
  headers.swap_add = 1;
  headers.immediate = immediate;
  headers.invalidate = rkey;
  headers.qkey = qkey;
  headers.src_qp = own_qp(0);
  headers.srq = srq;
  headers.ee_context = ee_context;
  headers.syndrome = syndrome;
  headers.solicited = bth.solicited;
  headers.mig_req = bth.mig_req;
  headers.fecn = bth.fecn;
  headers.becn = bth.becn.value_or(opcode == ROCE_OPCODE_CNP); // IBA annex A17.9.3
  headers.tver = bth.tver;
  headers.resv6 = bth.resv6;
  headers.resv7 = bth.resv7;
  headers.pkey = bth.pkey;
  return headers;
}

uint32_t Flow::packets_of(uint64_t bytes) const {
  return opcodes.empty() ? packet::packets_of(verb, bytes, pmtu) : 1;
}

packet::Segment Flow::segment(uint64_t bytes, uint32_t index, uint64_t number) const {
  if (opcodes.empty())
    return packet::segment(transport, verb, bytes, pmtu, index);
  const uint8_t opcode = opcodes[number % opcodes.size()];
  return {opcode, packet::payload_of(opcode, bytes)};
}

uint32_t Flow::pad_of(uint32_t payload) const {
  if (bth.pad)
    return *bth.pad;
  return extra_pad && payload == pmtu ? extra_pad : -payload & 3;
}

} // namespace xr::flow
