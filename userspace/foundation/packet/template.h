// SPDX-License-Identifier: Apache-2.0
// A frame with a few variable fields. CRC is linear, so a few table lookups update the iCRC for the
// changed fields, without a pass over headers and payload (iCRC: IBA annex A17.3). Addresses,
// lengths and payload do not change.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/frame.h"
#include "roce/parse.h"

namespace xr::packet {

// The variable fields. Those from src_qp to va are written only if the opcode has the header.
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
  uint64_t sequence = 0;  // of the stamp: not written by stamp(), but by set_stamp()
};

class Template {
public:
  // A template without UDP checksum. Errors are those of build().
  // `stamped`: the payload begins with a stamp (packet/stamp.h), whose sequence and time vary.
  static Result<Template> make(const Path &path, const Headers &headers,
                               std::span<const uint8_t> payload, int pad = -1,
                               bool stamped = false);

  // For frames with a counting_payload() of so many bytes, without memory for it, where hardly
  // anyone asks for their bytes: of what writes a frame, only write_headers(), write_whole() and
  // spoil_icrc() may be called.
  static Result<Template> make_headers(const Path &path, const Headers &headers, uint32_t payload,
                                       int pad = -1);

  // The fields of make_headers() are the headers.
  std::span<const uint8_t> bytes() const { return frame_.bytes; }
  uint32_t size() const { return frame_.layout.end; } // of the frame
  const Layout &layout() const { return frame_.layout; }
  uint8_t opcode() const;
  bool stamped() const { return sequence_.offset != 0; }

  // `frame` holds bytes(), possibly stamped before. The iCRC is correct afterwards, also after
  // spoil_icrc(). Bytes changed by set_byte() must be restored first.
  // With stamped(), the iCRC is correct only after set_stamp().
  void stamp(uint8_t *frame, const Fields &fields) const;
  // Writes sequence and time of the stamp, after stamp(); only with stamped().
  void set_stamp(uint8_t *frame, uint64_t sequence, uint64_t time_ns) const;

  // Writes another payload of the same length, after stamp(), in a pass over the whole frame. Copy
  // bytes() again to undo it.
  void set_payload(uint8_t *frame, std::span<const uint8_t> payload) const;

  // Writes the headers alone, `layout().payload` bytes, where nothing reads payload or iCRC. A
  // stamp is payload.
  void write_headers(uint8_t *frame, const Fields &fields) const;

  // A whole frame with these fields.
  void write_whole(std::vector<uint8_t> &frame, const Fields &fields) const;

  // What roce_parse() and roce_check_length() find in a frame with these fields.
  roce_class parsed(const Fields &fields, roce_packet &packet) const {
    packet = parsed_;
    packet.key.qp_kind |= fields.dest_qp & 0xffffff;
    packet.psn = fields.psn & ROCE_PSN_MASK;
    packet.ack_req = fields.ack_req;
    if (parsed_.info & ROCE_OP_READ_REQUEST)
      packet.dma_len = fields.dma_len;
    else if (parsed_.info & ROCE_HAS_AETH)
      packet.syndrome = static_cast<uint8_t>(fields.aeth >> 24);
    else if (parsed_.info & ROCE_HAS_DETH)
      packet.src_qp = fields.src_qp & 0xffffff;
    return class_;
  }

  // The fields that do not vary.
  const roce_packet &known() const { return parsed_; }

  // Changes a byte between the BTH and the first payload byte, after stamp(); the iCRC stays
  // correct. Copy bytes() again to undo it.
  void set_byte(uint8_t *frame, uint32_t offset, uint8_t value) const;
  // Makes the iCRC wrong until the next stamp().
  void spoil_icrc(uint8_t *frame) const;

private:
  // The effect on the iCRC of a change of the CRC before the constant bytes, by byte of that
  // change. Shared by all templates with as many constant bytes.
  using Advance = std::array<std::array<uint32_t, 256>, 4>;
  static std::shared_ptr<const Advance> advance_over(uint32_t bytes);

  // A variable field.
  template <typename Value> struct PlaceOf {
    uint32_t offset = 0; // 0: none
    Value base = 0;      // the template's value
  };
  using Place = PlaceOf<uint32_t>;
  using LongPlace = PlaceOf<uint64_t>;
  // Offset of a field at `within` in the extension header with this bit; 0: there is none.
  uint32_t offset_of(uint32_t header, uint32_t within) const;
  template <typename To> void find(To &place, uint32_t offset, uint32_t bytes) const;
  void find_places();
  void parse();
  template <unsigned Bytes, typename Value>
  uint32_t write(uint8_t *frame, const PlaceOf<Value> &place, uint64_t value) const;
  uint32_t write_extensions(uint8_t *frame, const Fields &fields) const;
  uint32_t after_constant(uint32_t delta) const;

  Frame frame_;
  roce_packet parsed_{}; // without DestQP
  roce_class class_ = ROCE_CLASS_OTHER;
  std::shared_ptr<const Advance> advance_; // nullptr: of make_headers()
  uint32_t constant_ = 0;  // offset of the bytes after all variable fields: payload and pad
  uint32_t icrc_ = 0;      // of frame_
  uint8_t flags_ = 0;      // BTH byte 1 without SE
  uint32_t psn_flags_ = 0; // BTH bytes 8 to 11 without AckReq and PSN
  bool extends_ = false;
  Place src_port_, bth1_, dest_qp_, psn_;
  Place src_qp_, immediate_, aeth_, dma_len_;
  LongPlace va_;
  LongPlace sequence_, time_; // of the stamp
};

} // namespace xr::packet
