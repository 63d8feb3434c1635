// SPDX-License-Identifier: Apache-2.0
// A frame with a few variable fields. CRC is linear, so a few table lookups update the iCRC for the
// changed fields, without a pass over headers and payload (iCRC: IBA annex A17.3). Addresses,
// lengths and payload do not change.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/frame.h"

namespace xr::packet {

// The variable fields. The last five are written only if the opcode has the header.
struct Fields {
  uint32_t dest_qp = 0;
  uint32_t psn = 0;
  uint16_t src_port = 0; // RoCEv2 only
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
  // A template without UDP checksum. Errors are those of build().
  static Result<Template> make(const Path &path, const Headers &headers,
                               std::span<const uint8_t> payload, int pad = -1);

  std::span<const uint8_t> bytes() const { return frame_.bytes; }
  const Layout &layout() const { return frame_.layout; }
  uint8_t opcode() const;

  // `frame` holds bytes(), possibly stamped before. The iCRC is correct afterwards, also after
  // spoil_icrc(). Bytes changed by set_byte() must be restored first.
  void stamp(uint8_t *frame, const Fields &fields) const;

  // Changes a byte between the BTH and the first payload byte, after stamp(); the iCRC stays
  // correct. Copy bytes() again to undo it.
  void set_byte(uint8_t *frame, uint32_t offset, uint8_t value) const;
  // Makes the iCRC wrong until the next stamp().
  void spoil_icrc(uint8_t *frame) const;

private:
  // The effect on the iCRC of a change of the CRC before payload and pad, by byte of that change.
  // Shared by all templates of the same length.
  using Advance = std::array<std::array<uint32_t, 256>, 4>;
  static std::shared_ptr<const Advance> advance_over(uint32_t bytes);

  // A variable field.
  struct Place {
    uint32_t offset = 0; // 0: none
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
