// SPDX-License-Identifier: Apache-2.0
// Frames with all options, parsed again by include/roce/parse.h; other fields are checked at the
// offsets of include/roce/README.md 1. XR_SEED=n runs one seed.
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include "packet_checks.h"
#include "roce/cnp.h"

namespace xr::test::packet_frame_test {
namespace {

Made make(Random &rng, Network network, size_t tags, uint8_t opcode) {
  Made m;
  m.path = random_path(rng, network, tags);
  m.headers = random_headers(rng, opcode);
  m.payload = random_payload(rng, opcode);
  m.pad = static_cast<int>(rng() % 8) - 4;
  m.pad = m.pad < 0 ? -1 : m.pad;
  auto built = packet::build(m.path, m.headers, m.payload, m.pad);
  EXPECT_TRUE(built.ok()) << built.error().message;
  if (built)
    m.frame = std::move(built.get());
  if (opcode == 0x81)
    m.payload.assign(16, 0);
  return m;
}

TEST(PacketFrame, EveryOptionIsReadAgain) {
  for (uint64_t seed : seeds(12)) {
    Random rng(seed);
    for (Network network : kNetworks)
      for (size_t tags = 0; tags <= 2; tags++)
        for (uint8_t opcode : known_opcodes()) {
          if (!exists(network, opcode))
            continue;
          SCOPED_TRACE(testing::Message() << "XR_SEED=" << seed << " " << network_name(network)
                                          << ", " << tags << " tags, opcode " << int{opcode});
          check_frame(make(rng, network, tags, opcode));
          if (HasFailure())
            return;
        }
  }
}

// A reserved or manufacturer's opcode has no header of ours, and any payload.
TEST(PacketFrame, EveryOpcodeWithoutARow) {
  Random rng(3);
  int made = 0;
  for (unsigned opcode = 0; opcode < 256; opcode++) {
    if (roce_opcode_info[opcode])
      continue;
    Made m;
    m.path = random_path(rng, kNetworks[opcode % 3], opcode % 3);
    m.headers = random_headers(rng, static_cast<uint8_t>(opcode));
    m.payload = packet::counting_payload(opcode);
    auto built = packet::build(m.path, m.headers, m.payload);
    ASSERT_TRUE(built.ok()) << built.error().message;
    m.frame = std::move(built.get());
    EXPECT_EQ(m.frame.layout.payload, m.frame.layout.bth + ROCE_BTH_LEN);
    check_bth(m);
    check_network(m);
    made++;
  }
  EXPECT_GT(made, 100);
}

// RFC 1112 6.4 and RFC 2464 7, with their examples' shape.
TEST(PacketFrame, GroupsHaveTheirMac) {
  const auto v4 = [](uint32_t a) { return packet::Address{0, 0, ROCE_MAPPED_PREFIX, htonl(a)}; };
  const auto v6 = [](uint32_t a, uint32_t d) { return packet::Address{htonl(a), 0, 0, htonl(d)}; };
  EXPECT_TRUE(packet::is_multicast(v4(0xe0000001)) && packet::is_multicast(v4(0xefffffff)));
  EXPECT_FALSE(packet::is_multicast(v4(0xdfffffff)) || packet::is_multicast(v4(0xf0000000)));
  EXPECT_TRUE(packet::is_multicast(v6(0xff0e0000, 1)));
  EXPECT_FALSE(packet::is_multicast(v6(0xfe800000, 1)));
  const auto text = [](Network network, const packet::Address &group) {
    return packet::mac_text(packet::multicast_mac(network, group));
  };
  EXPECT_EQ(text(Network::Ipv4, v4(0xe0000001)), "01:00:5e:00:00:01");
  EXPECT_EQ(text(Network::Ipv4, v4(0xefffaabb)), "01:00:5e:7f:aa:bb");
  EXPECT_EQ(text(Network::Ipv6, v6(0xff020000, 0x12345678)), "33:33:12:34:56:78");
  EXPECT_EQ(text(Network::V1, v6(0xff120000, 0xabcdef01)), "33:33:ab:cd:ef:01");
}

TEST(PacketFrame, EveryPayloadLength) {
  Random rng(1);
  Made m;
  m.path = random_path(rng, Network::Ipv4, 0);
  for (uint32_t length = 0; length <= 4096; length++) {
    m.path.network = kNetworks[length % 3];
    m.payload = packet::counting_payload(length);
    m.frame = packet::build(m.path, m.headers, m.payload).get();
    check_frame(m);
    if (HasFailure())
      FAIL() << "payload " << length;
  }
}

// A sum of 0 is 0xffff on the wire: some PSN leads to it.
TEST(PacketFrame, UdpChecksumIsNeverZero) {
  Random rng(1);
  Made m;
  m.path = random_path(rng, Network::Ipv4, 0);
  m.path.udp_checksum = true;
  int all_ones = 0;
  for (m.headers.psn = 0; m.headers.psn < 400000; m.headers.psn++) {
    m.frame = packet::build(m.path, m.headers, {}).get();
    const uint64_t sum = number(m.at(m.frame.layout.bth - 2), 2);
    ASSERT_NE(sum, 0u);
    if (sum == 0xffff) {
      all_ones++;
      check_frame(m);
    }
  }
  EXPECT_GT(all_ones, 0);
}

// The CNP that the datapath answers with, byte for byte.
TEST(PacketFrame, CnpIsTheDatapathsCnp) {
  Random rng(1);
  for (Network network : {Network::Ipv4, Network::Ipv6}) {
    Path path = random_path(rng, network, 0);
    path.ttl = ROCE_CNP_TTL;
    path.flow_label = path.ip_id = 0;
    path.udp_checksum = false;
    const Headers headers{.opcode = ROCE_OPCODE_CNP, .becn = true, .dest_qp = 0x123456};
    const packet::Frame frame = packet::build(path, headers, {}).get();
    roce_packet from{};
    from.ipv4 = network == Network::Ipv4;
    memcpy(from.key.src, path.dst.data(), 16); // it goes back
    memcpy(from.key.dst, path.src.data(), 16);
    roce_cnp cnp;
    roce_cnp_build(&cnp, &from, headers.dest_qp, roce_swap16(path.src_port),
                   roce_swap16(path.dst_port), path.tos);
    EXPECT_EQ(Bytes(frame.bytes.begin() + 14, frame.bytes.end()),
              Bytes(cnp.bytes, cnp.bytes + cnp.length));
  }
}

// A frame that is refused, and what the message has to say.
struct Wrong {
  const char *what;
  void (*change)(Path &, Headers &, Bytes &, int &);
  const char *words;
};

constexpr Wrong kWrong[] = {
    {"TVer", [](Path &, Headers &h, Bytes &, int &) { h.tver = 16; }, "TVer 0x10"},
    {"resv6", [](Path &, Headers &h, Bytes &, int &) { h.resv6 = 64; }, "resv6 0x40"},
    {"resv7", [](Path &, Headers &h, Bytes &, int &) { h.resv7 = 128; }, "resv7 0x80"},
    {"DestQP", [](Path &, Headers &h, Bytes &, int &) { h.dest_qp = 1 << 24; },
     "DestQP 0x1000000 does not fit its 24 bits"},
    {"PSN", [](Path &, Headers &h, Bytes &, int &) { h.psn = 1 << 24; }, "PSN 0x1000000"},
    {"MSN", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0x10, h.msn = 1 << 24; }, "MSN"},
    {"SrcQP", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0x64, h.src_qp = 1 << 24; },
     "SrcQP"},
    {"SRQ", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0xa4, h.srq = 1 << 24; },
     "XRC SRQ"},
    {"EE", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0x44, h.ee_context = 1 << 24; },
     "EE-context"},
    {"placement",
     [](Path &, Headers &h, Bytes &p, int &) {
       p.clear(), h.opcode = 0x1c, h.flush_placement = 16;
     },
     "placement type 0x10 does not fit its 4 bits"},
    {"selectivity",
     [](Path &, Headers &h, Bytes &p, int &) {
       p.clear(), h.opcode = 0x1c, h.flush_selectivity = 4;
     },
     "selectivity 0x4 does not fit its 2 bits"},
    {"flow label",
     [](Path &p, Headers &, Bytes &, int &) { p.network = Network::V1, p.flow_label = 1 << 20; },
     "flow label 0x100000 does not fit its 20 bits"},
    {"tags", [](Path &p, Headers &, Bytes &, int &) { p.tags.resize(3); }, "3 VLAN tags"},
    {"TPID",
     [](Path &p, Headers &, Bytes &, int &) {
       p.tags = {{0x0800, 1}};
     },
     "TPID 0x0800"},
    {"source", [](Path &p, Headers &, Bytes &, int &) { p.src[0] = 1; },
     "source address is no IPv4 address"},
    {"destination", [](Path &p, Headers &, Bytes &, int &) { p.dst[2] = 0; },
     "destination address is no IPv4 address"},
    {"pad", [](Path &, Headers &, Bytes &, int &pad) { pad = 4; }, "pad of 4 bytes"},
    {"pad below", [](Path &, Headers &, Bytes &, int &pad) { pad = -2; }, "pad of -2 bytes"},
    {"CNP payload", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0x81; },
     "CNP has no payload of 4 bytes"},
    {"CNP of v1",
     [](Path &p, Headers &h, Bytes &b, int &) {
       p.network = Network::V1, h.opcode = 0x81, b.clear();
     },
     "RoCEv1 has no CNP"},
    {"ATOMIC WRITE", [](Path &, Headers &h, Bytes &, int &) { h.opcode = 0x1d; },
     "8 bytes, not of 4"},
    {"too long", [](Path &, Headers &, Bytes &b, int &) { b.resize(65536 - 44); },
     "makes a packet of 65536"},
    {"far too long", [](Path &, Headers &, Bytes &b, int &) { b.resize(1 << 20); },
     "at most 65535"},
};

struct Case {
  Path path;
  Headers headers;
  Bytes payload = {1, 2, 3, 4};
  int pad = -1;
  Case() {
    Random rng(1);
    path = random_path(rng, Network::Ipv4, 1);
  }
  Result<packet::Frame> build() const { return packet::build(path, headers, payload, pad); }
};

TEST(PacketFrame, WrongValuesAreRefused) {
  ASSERT_TRUE(Case().build().ok());
  for (const Wrong &wrong : kWrong) {
    Case c;
    wrong.change(c.path, c.headers, c.payload, c.pad);
    const auto built = c.build();
    ASSERT_FALSE(built.ok()) << wrong.what;
    const std::string said = built.error().message + " (" + built.error().hint + ")";
    EXPECT_NE(said.find(wrong.words), std::string::npos) << wrong.what << ": " << said;
  }
}

TEST(PacketFrame, PayloadWhereThereIsNoneIsRefused) {
  for (uint8_t opcode : known_opcodes()) {
    Case c;
    c.headers.opcode = opcode;
    c.payload = opcode == ROCE_RC_ATOMIC_WRITE ? Bytes(8) : Bytes(4);
    EXPECT_EQ(c.build().ok(), takes_payload(opcode)) << int{opcode};
  }
}

// What an opcode has not is not looked at.
TEST(PacketFrame, AbsentFieldsMayHoldAnything) {
  Case c;
  for (uint32_t *field : {&c.headers.msn, &c.headers.src_qp, &c.headers.srq, &c.headers.ee_context})
    *field = ~0u;
  c.headers.flush_placement = c.headers.flush_selectivity = 0xff;
  c.path.flow_label = ~0u;
  EXPECT_TRUE(c.build().ok());
}

// The largest that the length fields hold: all 65535 bytes.
TEST(PacketFrame, LargestPackets) {
  for (Network network : kNetworks) {
    Case c;
    c.path.network = network;
    const uint32_t uncounted = network == Network::Ipv4 ? 18 : 18 + 40; // Ethernet, tag; IPv6, GRH
    const uint32_t room = 65535 - (packet::overhead(c.path, c.headers.opcode) - uncounted);
    c.pad = 0;
    c.payload.resize(room);
    EXPECT_TRUE(c.build().ok()) << network_name(network);
    c.payload.resize(room + 1);
    EXPECT_FALSE(c.build().ok()) << network_name(network);
  }
}

TEST(PacketFrame, MacText) {
  const packet::Mac mac{0x02, 0, 0xab, 0xcd, 0xef, 0x01};
  EXPECT_EQ(packet::mac_text(mac), "02:00:ab:cd:ef:01");
  for (const char *text : {"02:00:ab:cd:ef:01", "02:00:AB:CD:EF:01"}) {
    ASSERT_TRUE(packet::parse_mac(text).ok()) << text;
    EXPECT_EQ(packet::parse_mac(text).get(), mac);
  }
  for (const char *text :
       {"", "02:00:ab:cd:ef", "02:00:ab:cd:ef:01:02", "02:00:ab:cd:ef:0g", "2:0:ab:cd:ef:1",
        "02-00-ab-cd-ef-01", "0200abcdef01", " 2:00:ab:cd:ef:01", "02:00:ab:cd:ef:01 "}) {
    const auto parsed = packet::parse_mac(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().message.find("is no MAC address"), std::string::npos);
  }
}

} // namespace
} // namespace xr::test::packet_frame_test
