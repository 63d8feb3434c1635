// SPDX-License-Identifier: Apache-2.0
// Requests for a responder, and its responses, whole.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "packet/icrc.h"
#include "responder/responder.h"
#include "unit/outgoing.h"

namespace xr::responder {

using Bytes = std::vector<uint8_t>;
using packet::Headers;
using packet::ipv4;

inline constexpr uint32_t kQp = 0x11;
inline constexpr packet::Mac kPeerMac{2, 0, 0, 0, 0, 1}, kOwnMac{2, 0, 0, 0, 0, 2};

inline packet::Address ipv6(uint8_t host) {
  return {roce_swap32(0x20010db8U), 0, 0, roce_swap32(uint32_t{host})};
}

inline packet::Path path_to(uint8_t host, packet::Network network = packet::Network::Ipv4) {
  packet::Path path;
  path.src_mac = kPeerMac;
  path.dst_mac = kOwnMac;
  path.network = network;
  path.src = network == packet::Network::Ipv4 ? ipv4(1) : ipv6(1);
  path.dst = network == packet::Network::Ipv4 ? ipv4(host) : ipv6(host);
  return path;
}

// A frame that came out, whole.
struct Wire {
  Bytes bytes;
  roce_class class_ = ROCE_CLASS_MAX;
  roce_packet packet{};

  uint32_t qp() const { return roce_key_qp(&packet.key); }
  const uint8_t *ext() const { return &bytes[packet.bth + ROCE_BTH_LEN]; }
  uint32_t msn() const { return roce_be24(ext()); }
  uint64_t original() const {
    return static_cast<uint64_t>(roce_be32(ext() + 4)) << 32 | roce_be32(ext() + 8);
  }
};

inline Wire parsed(Bytes bytes) {
  Wire wire{.bytes = std::move(bytes)};
  const uint8_t *data = wire.bytes.data();
  const int class_ =
      roce_parse(data, data + wire.bytes.size(), roce_swap16(ROCE_UDP_PORT), &wire.packet);
  wire.class_ = static_cast<roce_class>(
      roce_check_length(class_, static_cast<uint32_t>(wire.bytes.size()), &wire.packet));
  return wire;
}

inline Headers request(uint8_t opcode, uint32_t psn, bool ack_req = true) {
  Headers headers;
  headers.opcode = opcode;
  headers.dest_qp = kQp;
  headers.psn = psn;
  headers.ack_req = ack_req;
  headers.src_qp = 0x77;
  return headers;
}

class ResponderTest : public testing::Test {
protected:
  void restart() { responder_ = std::make_unique<Responder>(options_); }
  Responder &responder() {
    if (!responder_)
      restart();
    return *responder_;
  }
  const RespondCounts &counts() { return responder().counts(); }

  void feed_frame(Bytes bytes, uint64_t now = 0) {
    Wire wire = parsed(std::move(bytes));
    responder().receive(now, wire.bytes, wire.class_, wire.packet);
  }
  void feed(const Headers &headers, uint32_t payload = 0, uint64_t now = 0) {
    feed(headers, packet::counting_payload(payload), now);
  }
  void feed(const Headers &headers, const Bytes &payload, uint64_t now = 0) {
    auto frame = packet::build(path_, headers, payload);
    ASSERT_TRUE(frame.ok()) << frame.error().message;
    feed_frame(frame->bytes, now);
  }
  // What is to leave; RoCE frames have a good iCRC and go back where the requests came from.
  std::vector<Wire> drain(size_t room = 7) {
    std::vector<Wire> all;
    std::vector<packet::Outgoing> out(room);
    while (const size_t count = responder().next(0, out))
      for (size_t i = 0; i < count; i++)
        all.push_back(parsed(bytes_of(out[i])));
    EXPECT_EQ(responder().wake_at(), kNever);
    for (const Wire &wire : all)
      if (roce_is_roce(wire.class_))
        check(wire);
    return all;
  }
  void check(const Wire &wire) {
    EXPECT_EQ(icrc_check(wire.bytes.data(), static_cast<uint32_t>(wire.bytes.size()), wire.packet),
              Icrc::Good);
    EXPECT_TRUE(std::equal(path_.src_mac.begin(), path_.src_mac.end(), wire.bytes.begin()));
    EXPECT_TRUE(std::equal(path_.dst_mac.begin(), path_.dst_mac.end(), wire.bytes.begin() + 6));
    EXPECT_EQ(wire.packet.key.src[3], path_.dst[3]);
    EXPECT_EQ(wire.packet.key.dst[3], path_.src[3]);
  }
  Wire only() {
    std::vector<Wire> all = drain();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Wire{} : all[0];
  }
  void expect_ack(uint32_t psn, uint32_t msn) {
    const Wire ack = only();
    EXPECT_EQ(ack.packet.opcode, ROCE_RC_ACKNOWLEDGE);
    EXPECT_EQ(ack.packet.syndrome, 0x1f);
    EXPECT_EQ(ack.packet.psn, psn);
    EXPECT_EQ(ack.msn(), msn);
  }
  void expect_nak(uint8_t syndrome, uint32_t psn) {
    const Wire nak = only();
    EXPECT_EQ(nak.packet.opcode, ROCE_RC_ACKNOWLEDGE);
    EXPECT_EQ(nak.packet.syndrome, syndrome);
    EXPECT_EQ(nak.packet.psn, psn);
  }
  Headers read(uint32_t psn, uint32_t length) {
    Headers headers = request(ROCE_RC_RDMA_READ_REQUEST, psn);
    headers.dma_len = length;
    return headers;
  }
  void mark() { path_.tos = ROCE_ECN_CE; }

  ResponderOptions options_;
  packet::Path path_ = path_to(2);
  std::unique_ptr<Responder> responder_;
};

} // namespace xr::responder
