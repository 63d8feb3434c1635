// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>

namespace xr::test {

namespace {

void put8(Bytes &out, uint32_t v) { out.push_back(static_cast<uint8_t>(v)); }
void put16(Bytes &out, uint32_t v) {
  put8(out, v >> 8);
  put8(out, v);
}
void put24(Bytes &out, uint32_t v) {
  put8(out, v >> 16);
  put16(out, v);
}
void put32(Bytes &out, uint32_t v) {
  put16(out, v >> 16);
  put16(out, v);
}
void fill(Bytes &out, uint32_t n, uint8_t v) { out.insert(out.end(), n, v); }
void append(Bytes &out, const Bytes &more) { out.insert(out.end(), more.begin(), more.end()); }

} // namespace

Bytes from_hex(const std::string &hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    put8(bytes, static_cast<uint32_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

FrameBuilder &FrameBuilder::extension(uint8_t type, uint8_t words) {
  extensions_.push_back({type, words, 0});
  return *this;
}

FrameBuilder &FrameBuilder::fragment(uint16_t offset_and_more) {
  extensions_.push_back({ROCE_IPPROTO_FRAGMENT, 0, offset_and_more});
  return *this;
}

// In the order of include/roce/README.md 1.3. Which ones an opcode has is opcode_test's to check.
Bytes FrameBuilder::extension_headers() const {
  const uint32_t has = roce_opcode_info[opcode_];
  Bytes out;
  if (has & ROCE_HAS_RDETH)
    put32(out, 0x00ee0001);
  if (has & ROCE_HAS_DETH) {
    put32(out, 0x80010000);
    put8(out, 0xdd); // reserved
    put24(out, src_qp_);
  }
  if (has & ROCE_HAS_XRCETH)
    put32(out, 0x00cc0001);
  if (has & ROCE_HAS_FETH)
    put32(out, 0x00000011);
  if (has & ROCE_HAS_RETH) {
    fill(out, 8, 0xa1);
    fill(out, 4, 0xa2);
    put32(out, dma_len_);
  }
  if (has & ROCE_HAS_ATOMICETH)
    fill(out, 28, 0xa3);
  if (has & ROCE_HAS_AETH) {
    put8(out, syndrome_);
    put24(out, 0xa4a4a4);
  }
  if (has & ROCE_HAS_ATOMICACKETH)
    fill(out, 8, 0xa5);
  if (has & (ROCE_HAS_IMMDT | ROCE_HAS_IETH))
    fill(out, 4, 0xa6);
  return out;
}

Bytes FrameBuilder::transport() const {
  Bytes out;
  put8(out, opcode_);
  put8(out, flags_ | pad_ << 4 | tver_);
  put16(out, pkey_);
  put8(out, marks_);
  put24(out, qp_);
  put8(out, ack_);
  put24(out, psn_);
  append(out, extension_headers());
  append(out, payload_);
  fill(out, pad_, 0x7f);
  put32(out, 0xcccccccc); // iCRC
  return out;
}

void FrameBuilder::address6(Bytes &out, uint8_t host) const {
  if (mapped_) {
    fill(out, 10, 0);
    put16(out, 0xffff);
    put32(out, 0xc0000200u | host);
  } else {
    put32(out, 0x20010db8);
    fill(out, 11, 0);
    put8(out, host);
  }
}

void FrameBuilder::network(Bytes &out, uint32_t transport_bytes) const {
  const uint32_t claimed = transport_bytes + claim_;
  const uint32_t udp = udp_length_ >= 0 ? udp_length_ : 8 + claimed;
  if (net_ == Net::V4) {
    put8(out, (ip_version_ < 0 ? 4 : ip_version_) << 4 | (5 + ip_options_));
    put8(out, 0x68 | ecn_);
    put16(out, 20 + 4 * ip_options_ + udp);
    put16(out, 0xbeef);
    put16(out, frag_);
    put8(out, 64);
    put8(out, proto_ < 0 ? ROCE_IPPROTO_UDP : proto_);
    put16(out, 0xabcd);
    put32(out, 0xc0000200u | src_);
    put32(out, 0xc0000200u | dst_);
    fill(out, 4 * ip_options_, 1); // no-operation
  } else {
    uint32_t behind = 0;
    for (const Extension &e : extensions_)
      behind += 8 + 8 * e.words;
    const uint8_t last = net_ == Net::V1 ? ROCE_GRH_NEXT_BTH : ROCE_IPPROTO_UDP;
    const uint8_t upper = proto_ < 0 ? last : static_cast<uint8_t>(proto_);
    put32(out, (ip_version_ < 0 ? 6u : ip_version_) << 28 | (0x68u | ecn_) << 20 | 0xface5);
    put16(out, net_ == Net::V1 ? claimed : behind + udp);
    put8(out, extensions_.empty() ? upper : extensions_[0].type);
    put8(out, 64);
    address6(out, src_);
    address6(out, dst_);
    for (size_t i = 0; i < extensions_.size(); i++) {
      const Extension &e = extensions_[i];
      put8(out, i + 1 < extensions_.size() ? extensions_[i + 1].type : upper);
      put8(out, e.words); // reserved, and 0, in a fragment header
      put16(out, e.fragment);
      fill(out, 4 + 8 * e.words, 0);
    }
  }
  if (net_ == Net::V1)
    return;
  put16(out, 0xd872);
  put16(out, port_);
  put16(out, udp);
  put16(out, 0);
}

Frame FrameBuilder::build() const {
  Frame f;
  Bytes &out = f.bytes;
  const Bytes bth = transport();
  for (uint8_t host : {dst_, src_}) {
    put32(out, 0x02000000);
    put16(out, host);
  }
  for (uint16_t tpid : vlans_) {
    put16(out, tpid);
    put16(out, 0x6064);
  }
  put16(out, ethertype_ >= 0   ? ethertype_
             : net_ == Net::V4 ? ROCE_ETHERTYPE_IPV4
             : net_ == Net::V6 ? ROCE_ETHERTYPE_IPV6
                               : ROCE_ETHERTYPE_ROCEV1);
  f.l3 = static_cast<uint32_t>(out.size());
  network(out, static_cast<uint32_t>(bth.size()));
  f.bth = static_cast<uint32_t>(out.size());
  f.ext = f.bth + ROCE_BTH_LEN;
  append(out, bth);
  f.end = static_cast<uint32_t>(out.size());
  fill(out, trailer_, 0);
  f.length = static_cast<uint32_t>(out.size());
  out.resize(std::min<size_t>(out.size(), snap_));
  return f;
}

// The hot path's parser may pass a frame on, but must not see it otherwise.
static void expect_plain_agrees(const Bytes &bytes, uint16_t port, int class_,
                                const roce_packet &packet) {
  roce_packet plain{};
  const int plain_class =
      roce_parse_plain(bytes.data(), bytes.data() + bytes.size(), roce_swap16(port), &plain);
  if (plain_class == ROCE_CLASS_MAX)
    return;
  EXPECT_EQ(plain_class, class_);
  EXPECT_EQ(memcmp(&plain, &packet, sizeof(plain)), 0) << "roce_parse_plain and roce_parse differ";
}

Parsed parse(const Frame &frame, uint16_t port) {
  // A block of exactly the bytes at hand, so that AddressSanitizer sees one read too many.
  const Bytes exact(frame.bytes.begin(), frame.bytes.end());
  Parsed result;
  const int class_ =
      roce_parse(exact.data(), exact.data() + exact.size(), roce_swap16(port), &result.packet);
  expect_plain_agrees(exact, port, class_, result.packet);
  result.class_ = static_cast<roce_class>(roce_check_length(class_, frame.length, &result.packet));
  return result;
}

FrameBuilder &FrameBuilder::over(int network) {
  switch (network) {
  case 1:
    return ipv6();
  case 2:
    return v1();
  case 3:
    return ip_options(2);
  default:
    return *this;
  }
}

FrameBuilder &FrameBuilder::tags(int count) {
  if (count == 2)
    vlan(ROCE_ETHERTYPE_QINQ);
  return count ? vlan(ROCE_ETHERTYPE_VLAN) : *this;
}

std::vector<FrameBuilder> frame_kinds() {
  using B = FrameBuilder;
  std::vector<B> all;
  for (int opcode = 0; opcode < 256; opcode++)
    all.push_back(B(static_cast<uint8_t>(opcode)).qp(0x20).psn(static_cast<uint32_t>(opcode)));
  for (uint32_t psn : {1, 2, 5, 6, 3, 4, 5, 0x7fffff, 0x800000})
    all.push_back(B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).ecn(psn % 4));
  for (uint8_t syndrome : {0x1f, 0x60, 0x63, 0x2c, 0xff})
    all.push_back(B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).syndrome(syndrome));
  all.push_back(B(ROCE_OPCODE_CNP).from(2).to(1).payload(16));
  all.push_back(B(4).port(4789));
  all.push_back(B(4).ethertype(0x0806));
  all.push_back(B(4).ip_fragment(0x2000));
  all.push_back(B(4).udp_length(20));
  all.push_back(B(4).tver(1));
  return all;
}

} // namespace xr::test
