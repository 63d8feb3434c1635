// SPDX-License-Identifier: Apache-2.0
// CM datagrams: written ones are parsed again, also by include/roce/cm.h; those of a real rping
// session (tests/data/rping_v4.pcap) are parsed and rebuilt identically.
#include <algorithm>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "frames.h"
#include "packet/cm.h"
#include "packet/icrc.h"
#include "packet_random.h"
#include "roce/cm.h"

namespace xr::test::packet_cm_test {
namespace {

using packet::Address;
using packet::CmKind;
using packet::CmMessage;

constexpr CmKind kKinds[] = {CmKind::Req,     CmKind::Mra,  CmKind::Rej,  CmKind::Rep,
                             CmKind::Rtu,     CmKind::Dreq, CmKind::Drep, CmKind::SidrReq,
                             CmKind::SidrRep, CmKind::Lap,  CmKind::Apr};

Address ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const uint8_t bytes[] = {a, b, c, d};
  Address address{0, 0, ROCE_MAPPED_PREFIX, 0};
  memcpy(&address[3], bytes, 4);
  return address;
}

const Address kA = ipv4(10, 77, 0, 1), kB = ipv4(10, 77, 0, 2);

// Packets of a little-endian pcap.
std::vector<Bytes> rping() {
  std::ifstream file(XR_TEST_DATA "/rping_v4.pcap", std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Bytes> frames;
  for (size_t at = 24; at + 16 <= all.size();) {
    uint32_t captured;
    memcpy(&captured, &all[at + 8], 4);
    at += 16;
    frames.emplace_back(all.begin() + static_cast<ptrdiff_t>(at),
                        all.begin() + static_cast<ptrdiff_t>(at + captured));
    at += captured;
  }
  return frames;
}

constexpr size_t kMadAt = 14 + 20 + 8 + 12 + 8; // Ethernet, IPv4, UDP, BTH, DETH

Bytes mad_of(const Bytes &frame) {
  return Bytes(frame.begin() + kMadAt, frame.begin() + kMadAt + ROCE_MAD_LEN);
}

// The five datagrams: REQ, REP, RTU at the start, DREQ and DREP at the end.
std::vector<Bytes> real_frames() {
  const std::vector<Bytes> all = rping();
  if (all.size() != 245)
    return {};
  return {all[0], all[1], all[2], all[243], all[244]};
}

CmMessage parsed(const Bytes &frame) {
  const auto message = packet::parse_cm_mad(mad_of(frame));
  EXPECT_TRUE(message.has_value());
  return message.value_or(CmMessage{});
}

TEST(PacketCm, ReadsARealHandshake) {
  const auto frames = real_frames();
  ASSERT_EQ(frames.size(), 5u);
  const CmMessage req = parsed(frames[0]), rep = parsed(frames[1]), rtu = parsed(frames[2]);
  EXPECT_EQ(req.kind, CmKind::Req);
  EXPECT_EQ(req.transaction, 0x2e6d0deb6u);
  EXPECT_EQ(req.local_id, 0xb6ded0e6);
  EXPECT_EQ(req.service_id, packet::cm_service(7174));
  EXPECT_EQ(req.qpn, 0x31u);
  EXPECT_EQ(req.psn, 0x8940f8u);
  EXPECT_EQ(req.transport, 0);
  EXPECT_EQ(req.pmtu_code, 3);
  EXPECT_EQ(req.responder_resources, 1);
  EXPECT_EQ(req.initiator_depth, 1);
  EXPECT_EQ(req.pkey, 0xffff);
  EXPECT_EQ(req.local_gid, kA);
  EXPECT_EQ(req.remote_gid, kB);
  EXPECT_EQ(rep.kind, CmKind::Rep);
  EXPECT_EQ(rep.transaction, req.transaction);
  EXPECT_EQ(rep.local_id, 0xc0693138);
  EXPECT_EQ(rep.remote_id, req.local_id);
  EXPECT_EQ(rep.qpn, 0x38u);
  EXPECT_EQ(rep.psn, 0xe9e0f0u);
  EXPECT_EQ(rtu.kind, CmKind::Rtu);
  EXPECT_EQ(rtu.remote_id, rep.local_id);
}

TEST(PacketCm, ReadsARealGoodbye) {
  const auto frames = real_frames();
  ASSERT_EQ(frames.size(), 5u);
  const CmMessage dreq = parsed(frames[3]), drep = parsed(frames[4]);
  EXPECT_EQ(dreq.kind, CmKind::Dreq);
  EXPECT_EQ(dreq.local_id, 0xb6ded0e6);
  EXPECT_EQ(dreq.remote_id, 0xc0693138);
  EXPECT_EQ(dreq.qpn, 0x38u) << "the receiver's";
  EXPECT_EQ(drep.kind, CmKind::Drep);
  EXPECT_EQ(drep.local_id, 0xc0693138);
}

TEST(PacketCm, CmaHeaderIsTheRealOne) {
  const auto frames = real_frames();
  ASSERT_EQ(frames.size(), 5u);
  const CmMessage req = parsed(frames[0]);
  ASSERT_EQ(req.private_data.size(), 92u);
  const Bytes header(req.private_data.begin(), req.private_data.begin() + 36);
  const auto port = static_cast<uint16_t>(header[2] << 8 | header[3]);
  EXPECT_EQ(packet::cma_header(kA, kB, port), header);
}

TEST(PacketCm, CmaHeaderOfIpv6) {
  Random rng(1);
  const Address src = random_address(rng, false), dst = random_address(rng, false);
  const Bytes header = packet::cma_header(src, dst, 0x1234);
  ASSERT_EQ(header.size(), 36u);
  EXPECT_EQ(Bytes(header.begin(), header.begin() + 4), (Bytes{0, 0x60, 0x12, 0x34}));
  EXPECT_EQ(memcmp(&header[4], src.data(), 16), 0);
  EXPECT_EQ(memcmp(&header[20], dst.data(), 16), 0);
}

// Linux chose the same values where we are free to choose; but for the CA's GUID, and a flow label.
TEST(PacketCm, WhatIsReadIsMadeAgain) {
  for (const Bytes &frame : real_frames()) {
    const CmMessage message = parsed(frame);
    Bytes real = mad_of(frame);
    const auto made = packet::cm_mad(message);
    const size_t guid = 24 + (message.kind == CmKind::Req ? 16 : 28);
    if (message.kind == CmKind::Req || message.kind == CmKind::Rep)
      std::copy_n(made.begin() + static_cast<ptrdiff_t>(guid), 8,
                  real.begin() + static_cast<ptrdiff_t>(guid));
    if (message.kind == CmKind::Req)
      std::fill_n(real.begin() + 24 + 88, 3, 0);
    EXPECT_EQ(Bytes(made.begin(), made.end()), real) << static_cast<int>(message.kind);
  }
}

CmMessage random_message(Random &rng, CmKind kind) {
  CmMessage m;
  m.kind = kind;
  m.transaction = rng();
  m.local_id = static_cast<uint32_t>(rng());
  m.private_data.resize(256);
  for (uint8_t &byte : m.private_data)
    byte = static_cast<uint8_t>(rng());
  if (kind == CmKind::Req) {
    m.service_id = rng();
    m.transport = rng() & 3;
    m.pmtu_code = static_cast<uint8_t>(1 + rng() % 5);
    m.pkey = static_cast<uint16_t>(rng());
    m.local_gid = random_address(rng, rng() % 2);
    m.remote_gid = random_address(rng, rng() % 2);
    m.local_timeout = rng() & 31;
    m.retries = rng() & 7;
    m.cm_retries = rng() & 15;
    m.ack_timeout = rng() & 31;
  } else if (kind == CmKind::SidrReq || kind == CmKind::SidrRep) {
    m.service_id = rng();
  } else {
    m.remote_id = static_cast<uint32_t>(rng());
  }
  if (kind == CmKind::SidrReq)
    m.pkey = static_cast<uint16_t>(rng());
  if (kind == CmKind::SidrRep) {
    m.qpn = rng() & 0xffffff;
    m.qkey = static_cast<uint32_t>(rng());
  }
  if (kind == CmKind::SidrRep || kind == CmKind::Apr)
    m.status = static_cast<uint8_t>(rng());
  if (kind == CmKind::Req || kind == CmKind::Mra || kind == CmKind::Lap)
    m.remote_timeout = rng() & 31;
  if (kind == CmKind::Mra || kind == CmKind::Rej)
    m.about = static_cast<packet::CmAbout>(rng() % 3);
  if (kind == CmKind::Rep)
    m.ack_delay = rng() & 31;
  if (kind == CmKind::Req || kind == CmKind::Rep)
    m.rnr_retries = rng() & 7;
  if (kind == CmKind::Req || kind == CmKind::Rep) {
    m.psn = rng() & 0xffffff;
    m.responder_resources = static_cast<uint8_t>(rng());
    m.initiator_depth = static_cast<uint8_t>(rng());
  }
  if (kind == CmKind::Req || kind == CmKind::Rep || kind == CmKind::Dreq || kind == CmKind::Lap)
    m.qpn = rng() & 0xffffff;
  if (kind == CmKind::Rej)
    m.reject_reason = static_cast<uint16_t>(rng());
  return m;
}

size_t room(CmKind kind) {
  switch (kind) {
  case CmKind::Req:
    return 92;
  case CmKind::Mra:
    return 222;
  case CmKind::Rej:
    return 148;
  case CmKind::Rep:
    return 196;
  case CmKind::Dreq:
    return 220;
  case CmKind::SidrReq:
    return 216;
  case CmKind::SidrRep:
    return 136;
  case CmKind::Lap:
    return 168;
  case CmKind::Apr:
    return 148;
  default:
    return 224;
  }
}

void expect_same(const CmMessage &got, const CmMessage &want) {
  EXPECT_EQ(got.kind, want.kind);
  EXPECT_EQ(got.transaction, want.transaction);
  EXPECT_EQ(got.local_id, want.local_id);
  EXPECT_EQ(got.remote_id, want.remote_id);
  EXPECT_EQ(got.service_id, want.service_id);
  EXPECT_EQ(got.qpn, want.qpn);
  EXPECT_EQ(got.psn, want.psn);
  EXPECT_EQ(got.transport, want.transport);
  EXPECT_EQ(got.pmtu_code, want.pmtu_code);
  EXPECT_EQ(got.responder_resources, want.responder_resources);
  EXPECT_EQ(got.initiator_depth, want.initiator_depth);
  EXPECT_EQ(got.pkey, want.pkey);
  EXPECT_EQ(got.local_gid, want.local_gid);
  EXPECT_EQ(got.remote_gid, want.remote_gid);
  EXPECT_EQ(got.reject_reason, want.reject_reason);
  EXPECT_EQ(got.remote_timeout, want.remote_timeout);
  EXPECT_EQ(got.local_timeout, want.local_timeout);
  EXPECT_EQ(got.cm_retries, want.cm_retries);
  EXPECT_EQ(got.retries, want.retries);
  EXPECT_EQ(got.rnr_retries, want.rnr_retries);
  EXPECT_EQ(got.ack_timeout, want.ack_timeout);
  EXPECT_EQ(got.ack_delay, want.ack_delay);
  EXPECT_EQ(got.about, want.about);
  EXPECT_EQ(got.status, want.status);
  EXPECT_EQ(got.qkey, want.qkey);
  const size_t kept = room(want.kind);
  ASSERT_EQ(got.private_data.size(), kept);
  EXPECT_EQ(memcmp(got.private_data.data(), want.private_data.data(), kept), 0);
}

TEST(PacketCm, WhatIsMadeIsRead) {
  for (uint64_t seed : seeds(200)) {
    Random rng(seed);
    for (CmKind kind : kKinds) {
      SCOPED_TRACE(testing::Message() << "XR_SEED=" << seed << " kind " << static_cast<int>(kind));
      const CmMessage message = random_message(rng, kind);
      const auto got = packet::parse_cm_mad(packet::cm_mad(message));
      ASSERT_TRUE(got.has_value());
      expect_same(*got, message);
    }
  }
}

TEST(PacketCm, AnnouncesMemory) {
  const Bytes bytes = packet::cm_memory({0x1234, 0x10000, 1 << 20});
  ASSERT_EQ(bytes.size(), 24u);
  const auto read = packet::parse_cm_memory(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->rkey, 0x1234u);
  EXPECT_EQ(read->va, 0x10000u);
  EXPECT_EQ(read->length, 1u << 20);
  EXPECT_FALSE(packet::parse_cm_memory(std::span(bytes).first(23)));
  Bytes other = bytes;
  other[0] ^= 1;
  EXPECT_FALSE(packet::parse_cm_memory(other));
}

TEST(PacketCm, CodesOfTimes) {
  EXPECT_EQ(packet::cm_time_code(0), 0);
  EXPECT_EQ(packet::cm_time_code(4096), 0);
  EXPECT_EQ(packet::cm_time_code(4097), 1);
  EXPECT_EQ(packet::cm_time_code(500'000'000), 17);
  EXPECT_EQ(packet::cm_time_ns(17), 536'870'912u);
  EXPECT_EQ(packet::cm_time_code(UINT64_MAX), 31);
}

// The parser of the datapath sees the same.
TEST(PacketCm, FramesAreReadByTheDatapath) {
  Random rng(1);
  for (packet::Network network : {packet::Network::Ipv4, packet::Network::Ipv6})
    for (CmKind kind : {CmKind::Req, CmKind::Rep}) {
      packet::Path path = random_path(rng, network, 1);
      path.dst_port = ROCE_UDP_PORT;
      const CmMessage message = random_message(rng, kind);
      const auto built = packet::cm_frame(path, message, 0x123456);
      ASSERT_TRUE(built.ok()) << built.error().message;
      Frame frame;
      frame.bytes = built.get().bytes;
      frame.length = static_cast<uint32_t>(frame.bytes.size());
      const Parsed got = parse(frame);
      EXPECT_EQ(got.class_, ROCE_CLASS_V2);
      EXPECT_EQ(got.packet.opcode, ROCE_OPCODE_UD_SEND_ONLY);
      EXPECT_EQ(roce_key_qp(&got.packet.key), 1u);
      EXPECT_EQ(got.packet.src_qp, 1u);
      EXPECT_EQ(got.packet.psn, 0x123456u);
      EXPECT_EQ(got.packet.payload, 256u);
      EXPECT_EQ(roce_be32(&frame.bytes[got.packet.bth + 12]), 0x80010000u);
      EXPECT_EQ(icrc_check(frame.bytes.data(), frame.length, got.packet), Icrc::Good);
      roce_cm cm{};
      roce_parse_cm(frame.bytes.data() + got.packet.bth, frame.bytes.data() + frame.bytes.size(),
                    &cm);
      EXPECT_EQ(cm.attribute, static_cast<int>(kind));
      EXPECT_EQ(cm.local_id, roce_swap32(message.local_id)); // as on the wire
      EXPECT_EQ(cm.qpn, message.qpn);
      EXPECT_EQ(cm.psn, message.psn);
      EXPECT_EQ(cm.pmtu_code, kind == CmKind::Req ? message.pmtu_code : 0);
    }
}

TEST(PacketCm, GidsAreThePathsUnlessSaid) {
  Random rng(1);
  const packet::Path path = random_path(rng, packet::Network::Ipv4, 0);
  const auto frame = packet::cm_frame(path, {}, 0);
  ASSERT_TRUE(frame.ok());
  const CmMessage got = parsed(frame.get().bytes);
  EXPECT_EQ(got.local_gid, path.src);
  EXPECT_EQ(got.remote_gid, path.dst);
}

// Hosts that a peer may not take for one another.
TEST(PacketCm, GuidsDifferBetweenHosts) {
  for (const auto &[kind, guid] : {std::pair{CmKind::Req, 24 + 16}, {CmKind::Rep, 24 + 28}}) {
    const auto a = packet::cm_mad({.kind = kind, .local_gid = kA});
    const auto b = packet::cm_mad({.kind = kind, .local_gid = kB});
    EXPECT_EQ(memcmp(&a[guid], &kA[2], 8), 0);
    EXPECT_EQ(memcmp(&b[guid], &kB[2], 8), 0);
  }
}

// By this a Linux host finds the connection that the REJ is about.
TEST(PacketCm, RejectsRequests) {
  const auto mad = packet::cm_mad({.kind = CmKind::Rej, .reject_reason = 0x1c});
  EXPECT_EQ(Bytes(mad.begin() + 24 + 8, mad.begin() + 24 + 12), (Bytes{0, 0, 0, 0x1c}));
}

TEST(PacketCm, ShortPrivateDataIsFilledWithZeros) {
  CmMessage message;
  message.private_data = {1, 2, 3};
  for (CmKind kind : kKinds) {
    message.kind = kind;
    const auto got = packet::parse_cm_mad(packet::cm_mad(message));
    ASSERT_TRUE(got.has_value());
    Bytes want(room(kind));
    want[0] = 1, want[1] = 2, want[2] = 3;
    EXPECT_EQ(got->private_data, want);
  }
}

TEST(PacketCm, OtherMadsAreNone) {
  const auto mad = packet::cm_mad({});
  const Bytes whole(mad.begin(), mad.end());
  EXPECT_TRUE(packet::parse_cm_mad(whole).has_value());
  for (size_t length : {0, 1, 24, 255})
    EXPECT_FALSE(packet::parse_cm_mad(Bytes(whole.begin(), whole.begin() + length)).has_value());
  for (size_t at : {0, 1, 2, 3, 16}) { // versions, class, method, attribute
    Bytes other = whole;
    other[at] ^= 0x40;
    EXPECT_FALSE(packet::parse_cm_mad(other).has_value()) << at;
  }
  for (uint8_t attribute : {0x0f, 0x1b, 0x1c}) { // before REQ, after APR
    Bytes other = whole;
    other[17] = attribute;
    EXPECT_FALSE(packet::parse_cm_mad(other).has_value()) << int{attribute};
  }
}

} // namespace
} // namespace xr::test::packet_cm_test
