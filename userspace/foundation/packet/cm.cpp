// SPDX-License-Identifier: Apache-2.0
// To add a message: its name in include/roce/cm.h, its fields here; requester/cm_connector.cpp
// (states, timers), responder/cm_listener.cpp, analysis/connections.cpp, report/connections.cpp;
// packet_cm_test, cm_connector_test, connections_test, cm_fuzz, send_cm.sh.
#include "packet/cm.h"

#include <algorithm>

#include "packet/bytes.h"

namespace xr::packet {

namespace {

constexpr uint32_t kMadHeader = 24;
constexpr uint8_t kBaseVersion = 1, kClassVersion = 2, kMethodSend = 3;
constexpr uint32_t kQp1Key = 0x80010000;

constexpr uint16_t kPermissiveLid = 0xffff; // RoCE has no LIDs
constexpr uint8_t kCmHopLimit = 64;

// Offsets in the CM data of the fields that message kinds share; room == 0: unknown kind.
struct Shape {
  uint32_t qpn = 0, psn = 0, resources = 0, depth = 0; // 0: no such field
  uint32_t private_data = 0, room = 0;
};

Shape shape_of(uint16_t kind) {
  switch (static_cast<CmKind>(kind)) {
  case CmKind::Req:
    return {32, 44, 35, 39, 140, 92};
  case CmKind::Mra:
    return {0, 0, 0, 0, 10, 222};
  case CmKind::Rej:
    return {0, 0, 0, 0, 84, 148};
  case CmKind::Rep:
    return {12, 20, 24, 25, 36, 196};
  case CmKind::Rtu:
  case CmKind::Drep:
    return {0, 0, 0, 0, 8, 224};
  case CmKind::Dreq:
    return {8, 0, 0, 0, 12, 220};
  case CmKind::SidrReq:
    return {0, 0, 0, 0, 16, 216};
  case CmKind::SidrRep:
    return {8, 0, 0, 0, 96, 136};
  case CmKind::Lap:
    return {12, 0, 0, 0, 64, 168};
  case CmKind::Apr:
    return {0, 0, 0, 0, 84, 148};
  }
  return {};
}

bool is_sidr(CmKind kind) { return kind == CmKind::SidrReq || kind == CmKind::SidrRep; }

void write_mad_header(Writer &out, const CmMessage &message) {
  out.put8(kBaseVersion);
  out.put8(ROCE_CM_CLASS);
  out.put8(kClassVersion);
  out.put8(kMethodSend);
  out.put32(0); // status, class specific
  out.put64(message.transaction);
  out.put16(static_cast<uint16_t>(message.kind));
  out.put16(0);
  out.put32(0); // attribute modifier
}

// The GUID must differ between hosts: a peer treats two connections with the same GUID and QPN as
// one.
void write_guid(Writer &out, const Address &gid) {
  Writer whole(sizeof(gid));
  whole.ipv6_address(gid);
  out.append({whole.at(8), 8});
}

// The primary path. The alternate path is all zeros: none.
void write_primary_path(Writer &out, const CmMessage &message) {
  out.put16(kPermissiveLid);
  out.put16(kPermissiveLid);
  out.ipv6_address(message.local_gid);
  out.ipv6_address(message.remote_gid);
  out.put32(0); // flow label, rate
  out.put8(0);  // traffic class
  out.put8(kCmHopLimit);
  out.put8(0); // SL; the subnet-local bit is 0
  out.put8(static_cast<uint32_t>(message.ack_timeout) << 3);
}

// IBA vol. 1, 12.6.5
void write_req(Writer &out, const CmMessage &m) {
  out.put32(m.local_id);
  out.put32(0);
  out.put64(m.service_id);
  write_guid(out, m.local_gid);
  out.put64(0); // Q_Keys
  out.put24(m.qpn);
  out.put8(m.responder_resources);
  out.put24(0); // local EE-context
  out.put8(m.initiator_depth);
  out.put24(0); // remote EE-context
  out.put8((m.remote_timeout & 31u) << 3 | (m.transport & 3u) << 1);
  out.put24(m.psn);
  out.put8((m.local_timeout & 31u) << 3 | (m.retries & 7u));
  out.put16(m.pkey);
  out.put8((m.pmtu_code & 15u) << 4 | (m.rnr_retries & 7u));
  out.put8((m.cm_retries & 15u) << 4);
  write_primary_path(out, m);
}

// IBA vol. 1, 12.6.6 to 12.6.11. All of these messages begin with the two IDs.
void write_other(Writer &out, const CmMessage &m) {
  out.put32(m.local_id);
  out.put32(m.remote_id);
  switch (m.kind) {
  case CmKind::Mra:
    out.put8(static_cast<uint32_t>(m.about) << 6);
    out.put8((m.remote_timeout & 31u) << 3);
    break;
  case CmKind::Rej:
    out.put8(static_cast<uint32_t>(m.about) << 6);
    out.put8(0); // no additional information
    out.put16(m.reject_reason);
    break;
  case CmKind::Rep:
    out.put32(0); // Q_Key
    out.put32(m.qpn << 8);
    out.put32(0); // EE-context
    out.put32(m.psn << 8);
    out.put8(m.responder_resources);
    out.put8(m.initiator_depth);
    out.put8((m.ack_delay & 31u) << 3);
    out.put8((m.rnr_retries & 7u) << 5);
    write_guid(out, m.local_gid);
    break;
  case CmKind::Dreq:
    out.put32(m.qpn << 8);
    break;
  case CmKind::Lap:
    out.put32(0); // reserved
    out.put24(m.qpn);
    out.put8((m.remote_timeout & 31u) << 3);
    break;
  case CmKind::Apr:
    out.put8(0); // no additional information
    out.put8(m.status);
    break;
  default:
    break;
  }
}

// IBA vol. 1, 12.11.1: service ID resolution.
void write_sidr(Writer &out, const CmMessage &m) {
  out.put32(m.local_id);
  if (m.kind == CmKind::SidrReq) {
    out.put16(m.pkey);
    out.put16(0);
    out.put64(m.service_id);
    return;
  }
  out.put8(m.status);
  out.put24(0); // no additional information
  out.put32(m.qpn << 8);
  out.put64(m.service_id);
  out.put32(m.qkey);
}

Address address_at(const uint8_t *from) {
  Address address;
  memcpy(address.data(), from, sizeof(address));
  return address;
}

void parse_req(const uint8_t *data, CmMessage &message) {
  message.service_id = roce_be64(data + 8);
  message.transport = data[43] >> 1 & 3;
  message.pkey = roce_be16(data + 48);
  message.pmtu_code = data[50] >> 4;
  message.remote_timeout = data[43] >> 3;
  message.local_timeout = data[47] >> 3;
  message.retries = data[47] & 7;
  message.rnr_retries = data[50] & 7;
  message.cm_retries = data[51] >> 4;
  message.ack_timeout = data[95] >> 3;
  message.local_gid = address_at(data + 56);
  message.remote_gid = address_at(data + 72);
}

void parse_sidr(const uint8_t *data, CmMessage &message) {
  if (message.kind == CmKind::SidrReq) {
    message.pkey = roce_be16(data + 4);
    message.service_id = roce_be64(data + 8);
    return;
  }
  message.status = data[4];
  message.service_id = roce_be64(data + 12);
  message.qkey = roce_be32(data + 20);
}

void parse_other(const uint8_t *data, CmMessage &message) {
  message.remote_id = roce_be32(data + 4);
  switch (message.kind) {
  case CmKind::Mra:
    message.about = static_cast<CmAbout>(std::min(data[8] >> 6, 2));
    message.remote_timeout = data[9] >> 3;
    break;
  case CmKind::Rej:
    message.about = static_cast<CmAbout>(std::min(data[8] >> 6, 2));
    message.reject_reason = roce_be16(data + 10);
    break;
  case CmKind::Rep:
    message.ack_delay = data[26] >> 3;
    message.rnr_retries = data[27] >> 5;
    break;
  case CmKind::Lap:
    message.remote_timeout = data[15] >> 3;
    break;
  case CmKind::Apr:
    message.status = data[9];
    break;
  default:
    break;
  }
}

void parse_data(const uint8_t *data, const Shape &shape, CmMessage &message) {
  message.local_id = roce_be32(data);
  if (message.kind == CmKind::Req)
    parse_req(data, message);
  else if (is_sidr(message.kind))
    parse_sidr(data, message);
  else
    parse_other(data, message);
  if (shape.qpn)
    message.qpn = roce_be32(data + shape.qpn) >> 8;
  if (shape.psn)
    message.psn = roce_be32(data + shape.psn) >> 8;
  if (shape.resources) {
    message.responder_resources = data[shape.resources];
    message.initiator_depth = data[shape.depth];
  }
  message.private_data.assign(data + shape.private_data, data + shape.private_data + shape.room);
}

} // namespace

// Annex A11. An IPv4 address is in the last four bytes, after zeros.
std::vector<uint8_t> cma_header(const Address &src, const Address &dst, uint16_t src_port) {
  const bool ipv4 = is_mapped(src);
  Writer out(36);
  out.put8(0);
  out.put8((ipv4 ? 4u : 6u) << 4);
  out.put16(src_port);
  for (const Address *address : {&src, &dst}) {
    if (!ipv4) {
      out.ipv6_address(*address);
      continue;
    }
    out.zeros(12);
    out.ipv4_address(*address);
  }
  return out.take();
}

constexpr uint32_t kMemoryMagic = 0x78726d72, kMemoryLength = 24; // "xrmr"

std::vector<uint8_t> cm_memory(const CmMemory &memory) {
  Writer out(kMemoryLength);
  out.put32(kMemoryMagic);
  out.put32(memory.rkey);
  out.put64(memory.va);
  out.put64(memory.length);
  return out.take();
}

std::optional<CmMemory> parse_cm_memory(std::span<const uint8_t> data) {
  if (data.size() < kMemoryLength || roce_be32(data.data()) != kMemoryMagic)
    return {};
  return CmMemory{roce_be32(&data[4]), roce_be64(&data[8]), roce_be64(&data[16])};
}

uint8_t cm_time_code(uint64_t ns) {
  uint8_t code = 0;
  while (code < 31 && cm_time_ns(code) < ns)
    code++;
  return code;
}

std::array<uint8_t, ROCE_MAD_LEN> cm_mad(const CmMessage &message) {
  Writer out(ROCE_MAD_LEN);
  write_mad_header(out, message);
  if (message.kind == CmKind::Req)
    write_req(out, message);
  else if (is_sidr(message.kind))
    write_sidr(out, message);
  else
    write_other(out, message);
  const Shape shape = shape_of(static_cast<uint16_t>(message.kind));
  out.zeros(kMadHeader + shape.private_data - out.size());
  const size_t room = std::min<size_t>(message.private_data.size(), shape.room);
  out.append({message.private_data.data(), room});

  std::array<uint8_t, ROCE_MAD_LEN> mad{};
  memcpy(mad.data(), out.at(0), out.size());
  return mad;
}

// Sets missing GIDs in the message to the addresses of the path.
Result<Frame> cm_frame(const Path &path, const CmMessage &message, uint32_t psn) {
  Headers headers;
  headers.opcode = ROCE_UD_SEND_ONLY;
  headers.dest_qp = headers.src_qp = ROCE_QPN_GSI;
  headers.qkey = kQp1Key;
  headers.psn = psn;
  CmMessage whole = message;
  if (whole.local_gid == Address{})
    whole.local_gid = path.src;
  if (whole.remote_gid == Address{})
    whole.remote_gid = path.dst;
  return build(path, headers, cm_mad(whole));
}

std::optional<CmMessage> parse_cm_mad(std::span<const uint8_t> mad) {
  if (mad.size() < ROCE_MAD_LEN || mad[0] != kBaseVersion || mad[1] != ROCE_CM_CLASS ||
      mad[2] != kClassVersion || mad[3] != kMethodSend)
    return {};
  const uint16_t kind = roce_be16(mad.data() + 16);
  const Shape shape = shape_of(kind);
  if (!shape.room)
    return {};
  CmMessage message;
  message.kind = static_cast<CmKind>(kind);
  message.transaction = roce_be64(mad.data() + 8);
  parse_data(mad.data() + kMadHeader, shape, message);
  return message;
}

} // namespace xr::packet
