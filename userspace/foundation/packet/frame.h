// SPDX-License-Identifier: Apache-2.0
// Builds any RoCE frame from its header fields: RoCEv2 over IPv4 and IPv6, RoCEv1 with a GRH, up to
// two VLAN tags (IBA vol. 1, chapters 8 and 9; annexes A16, A17). Numbers are in host order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "roce/opcode.h"
#include "roce/wire.h"

namespace xr::packet {

using Mac = std::array<uint8_t, 6>;
using xr::Address;
using xr::is_mapped;

enum class Network : uint8_t { Ipv4, Ipv6, V1 }; // V1: the GRH of RoCEv1

struct Tag {
  uint16_t tpid = ROCE_ETHERTYPE_VLAN;
  uint16_t tci = 0; // priority << 13 | DEI << 12 | VID
};

// The headers before the BTH.
struct Path {
  Mac src_mac{}, dst_mac{};
  std::vector<Tag> tags; // outer tag first, at most ROCE_VLAN_MAX
  Network network = Network::Ipv4;
  Address src{}, dst{};        // RoCEv1: GIDs
  uint8_t tos = ROCE_ECN_ECT0; // DSCP << 2 | ECN; traffic class of IPv6 and GRH
  uint8_t ttl = 64;
  uint32_t flow_label = 0;
  uint16_t ip_id = 0; // IPv4 only; DF is set
  uint16_t src_port = 0xc000, dst_port = ROCE_UDP_PORT;
  bool udp_checksum = false; // false: 0 is sent, over IPv6 too, as RNICs do
};

// The BTH and the extension headers of the opcode; fields of other headers are ignored.
struct Headers {
  uint8_t opcode = ROCE_RC_SEND_ONLY;
  bool solicited = false, mig_req = false, fecn = false, becn = false, ack_req = false;
  uint8_t tver = 0;             // receivers drop a packet whose version is not 0
  uint8_t resv6 = 0, resv7 = 0; // reserved bits after FECN and BECN, and after AckReq
  uint16_t pkey = 0xffff;
  uint32_t dest_qp = 0, psn = 0;

  uint64_t va = 0;                    // RETH, AtomicETH
  uint32_t rkey = 0;                  // RETH, AtomicETH
  uint32_t dma_len = 0;               // RETH
  uint64_t swap_add = 0, compare = 0; // AtomicETH
  uint8_t syndrome = 0x1f;            // AETH: ACK without credits
  uint32_t msn = 0;                   // AETH
  uint64_t original = 0;              // AtomicAckETH
  uint32_t immediate = 0;             // ImmDt
  uint32_t invalidate = 0;            // IETH: an R_Key
  uint32_t qkey = 0, src_qp = 0;      // DETH
  uint32_t srq = 0;                   // XRCETH
  uint32_t ee_context = 0;            // RDETH
  uint8_t flush_placement = 1;        // FETH: 1 global visibility, 2 persistence
  uint8_t flush_selectivity = 0;      // FETH: 0 range, 1 whole MR
};

// Offsets and lengths in bytes; `end` is the offset after the iCRC. Frames are not padded to 60
// bytes.
struct Layout {
  uint32_t l3 = 0, bth = 0, ext = 0, payload = 0, payload_length = 0, pad = 0, end = 0;
};

struct Frame {
  std::vector<uint8_t> bytes;
  Layout layout;
};

// Bytes of a frame with this opcode without payload and pad, from the Ethernet header to the iCRC
// (no FCS).
uint32_t overhead(const Path &path, uint8_t opcode);

// Builds a frame with correct iCRC and checksums. Errors: a value is too large for its field, or
// the opcode carries no such payload. The payload of a CNP must be empty: its 16 reserved bytes are
// added here. A reserved opcode has no extension headers. `pad`: PadCnt and number of pad bytes, at
// most 3; -1: as the payload needs.
Result<Frame> build(const Path &path, const Headers &headers, std::span<const uint8_t> payload,
                    int pad = -1);

// The headers alone of the frame that build() makes of so many bytes of payload; the layout is that
// of the whole frame.
Result<Frame> build_headers(const Path &path, const Headers &headers, uint32_t payload,
                            int pad = -1);

// A multicast group: 224.0.0.0/4 or ff00::/8.
bool is_multicast(const Address &address);
// The MAC address of a multicast group: 01:00:5e and its last 23 bits (RFC 1112), or 33:33 and its
// last 32 bits (RFC 2464; also for the GIDs of RoCEv1).
Mac multicast_mac(Network network, const Address &group);

// Text form: "02:00:00:00:00:01".
Result<Mac> parse_mac(const std::string &text);
std::string mac_text(const Mac &mac);

// Bytes 0, 1, ... 255, 0, ...: lost and repeated bytes are visible.
std::vector<uint8_t> counting_payload(uint32_t length);

} // namespace xr::packet
