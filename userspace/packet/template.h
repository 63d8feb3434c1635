// SPDX-License-Identifier: Apache-2.0
// A frame of which the next one differs in a few fields only. CRC is linear, so the iCRC follows
// from what changed by a few table lookups, without a pass over headers and payload (spec: iCRC of
// IBA annex A17.3; addresses, lengths and payload stay).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/frame.h"

namespace xr::packet {

// What may differ. The last four are written where the opcode has such a header.
struct Fields {
  uint32_t dest_qp = 0;
  uint32_t psn = 0;
  uint16_t src_port = 0; // RoCEv1 has none
  bool ack_req = false;
  bool solicited = false;
  uint32_t src_qp = 0;    // DETH
  uint32_t immediate = 0; // ImmDt
  uint32_t aeth = 0;      // AETH: syndrome << 24 | MSN
  uint32_t dma_len = 0;   // RETH
  uint64_t va = 0;        // RETH, AtomicETH
};

class Template {
public:
  // Of a frame without UDP checksum. Errors are build()'s.
  static Result<Template> make(const Path &path, const Headers &headers,
                               std::span<const uint8_t> payload, int pad = -1);

  std::span<const uint8_t> bytes() const { return frame_.bytes; }
  const Layout &layout() const { return frame_.layout; }
  uint8_t opcode() const;

  // `frame` holds bytes() or what was stamped on them before. The iCRC is right again, whatever
  // set_byte() and spoil_icrc() did to it before, when all bytes that set_byte changed are back.
  void stamp(uint8_t *frame, const Fields &fields) const;

  // Another value for a byte between BTH and the first byte of the payload, after stamp(); the iCRC
  // stays right. To undo it, copy bytes() again.
  void set_byte(uint8_t *frame, uint32_t offset, uint8_t value) const;
  // The iCRC of this frame is wrong from now until the next stamp().
  void spoil_icrc(uint8_t *frame) const;

private:
  // What so many bytes of payload and pad behind the headers make of a change of the CRC before
  // them, by byte of the change. Shared by all templates of the same length.
  using Advance = std::array<std::array<uint32_t, 256>, 4>;
  static std::shared_ptr<const Advance> advance_over(uint32_t bytes);

  // A field of the extension headers that may vary, all in one row.
  struct Place {
    uint32_t offset = 0; // 0: there is none
    uint64_t base = 0;   // the template's value
  };
  Place place(uint32_t header, uint32_t within, uint32_t bytes) const;
  void find_places();
  template <unsigned Bytes>
  uint32_t write(uint8_t *frame, const Place &place, uint64_t value) const;
  uint32_t write_extensions(uint8_t *frame, const Fields &fields) const;
  uint32_t after_payload(uint32_t delta) const;

  Frame frame_;
  std::shared_ptr<const Advance> advance_;
  uint32_t icrc_ = 0;      // of frame_
  uint8_t flags_ = 0;      // BTH byte 1 without SE
  uint32_t psn_flags_ = 0; // BTH bytes 8 to 11 without AckReq and PSN
  bool extends_ = false;
  Place src_port_, bth1_, dest_qp_, psn_;
  Place src_qp_, immediate_, aeth_, dma_len_, va_;
};

} // namespace xr::packet
