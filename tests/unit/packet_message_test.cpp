// SPDX-License-Identifier: Apache-2.0
// Messages cut into packets (include/roce/README.md 1.4 to 1.6): the table of verbs and transports,
// the limits of every PMTU, and the resulting frames.
#include <numeric>

#include <gtest/gtest.h>

#include "packet/message.h"
#include "packet_random.h"
#include "roce/psn.h"

namespace xr::test::packet_message_test {
namespace {

using packet::Segment;
using packet::Verb;

constexpr uint8_t kTransports[] = {ROCE_RC, ROCE_UC, ROCE_UD, ROCE_XRC};
constexpr uint32_t kPmtus[] = {256, 512, 1024, 2048, 4096};

Verb verb(unsigned i) { return static_cast<Verb>(i); }

bool cut_by_pmtu(Verb v) { return v <= Verb::WriteImmediate; }

// Every packet of a message: opcodes, and the sum of their payloads.
struct Cut {
  std::vector<int> opcodes;
  std::vector<uint32_t> payloads;
};

Cut cut(uint8_t transport, Verb v, uint64_t size, uint32_t pmtu) {
  Cut all;
  for (uint32_t i = 0; i < packet::packets_of(v, size, pmtu); i++) {
    const Segment s = packet::segment(transport, v, size, pmtu, i);
    all.opcodes.push_back(s.opcode);
    all.payloads.push_back(s.payload);
  }
  return all;
}

TEST(PacketMessage, Names) {
  const std::vector<std::string> names = {"send", "send-imm", "send-inv",  "write", "write-imm",
                                          "read", "cmp-swap", "fetch-add", "flush", "atomic-write"};
  ASSERT_EQ(names.size(), packet::kVerbs);
  for (unsigned i = 0; i < packet::kVerbs; i++)
    EXPECT_EQ(packet::verb_name(verb(i)), names[i]);
  EXPECT_EQ(packet::transport_name(ROCE_RC), "rc");
  EXPECT_EQ(packet::transport_name(ROCE_UC), "uc");
  EXPECT_EQ(packet::transport_name(ROCE_UD), "ud");
  EXPECT_EQ(packet::transport_name(ROCE_XRC), "xrc");
}

// What a message of 100 bytes moves, and what its RETH says of its length.
TEST(PacketMessage, WhatAMessageMoves) {
  const uint64_t moves[] = {100, 100, 100, 100, 100, 100, 8, 8, 0, 8};
  for (unsigned i = 0; i < packet::kVerbs; i++) {
    EXPECT_EQ(packet::moved_bytes(verb(i), 100), moves[i]) << packet::verb_name(verb(i));
    EXPECT_EQ(packet::dma_length(verb(i), 100), verb(i) == Verb::AtomicWrite ? 8u : 100u);
  }
  EXPECT_EQ(packet::segment(ROCE_RC, Verb::AtomicWrite, 100, 1024, 0).payload, 8u);
  EXPECT_EQ(packet::segment(ROCE_RC, Verb::FetchAdd, 100, 1024, 0).payload, 0u);
}

TEST(PacketMessage, WhatATransportHas) {
  // send, imm, inv, write, imm, read, cas, faa, flush, atomic write
  const std::string has[] = {"1111111111", "1101100000", "1100000000", "1111111100"};
  for (size_t t = 0; t < std::size(kTransports); t++)
    for (unsigned i = 0; i < packet::kVerbs; i++)
      EXPECT_EQ(packet::transport_has(kTransports[t], verb(i)), has[t][i] == '1')
          << packet::transport_name(kTransports[t]) << " " << packet::verb_name(verb(i));
}

TEST(PacketMessage, OpcodesOfSend) {
  EXPECT_EQ(cut(ROCE_RC, Verb::Send, 2049, 1024).opcodes, (std::vector{0x00, 0x01, 0x02}));
  EXPECT_EQ(cut(ROCE_RC, Verb::SendImmediate, 2049, 1024).opcodes, (std::vector{0x00, 0x01, 0x03}));
  EXPECT_EQ(cut(ROCE_RC, Verb::SendInvalidate, 2049, 1024).opcodes,
            (std::vector{0x00, 0x01, 0x16}));
  EXPECT_EQ(cut(ROCE_UC, Verb::Send, 2048, 1024).opcodes, (std::vector{0x20, 0x22}));
  EXPECT_EQ(cut(ROCE_XRC, Verb::SendInvalidate, 0, 1024).opcodes, (std::vector{0xb7}));
  EXPECT_EQ(cut(ROCE_RC, Verb::Send, 0, 1024).opcodes, (std::vector{0x04}));
  EXPECT_EQ(cut(ROCE_RC, Verb::SendImmediate, 1024, 1024).opcodes, (std::vector{0x05}));
  EXPECT_EQ(cut(ROCE_UD, Verb::Send, 100, 1024).opcodes, (std::vector{0x64}));
  EXPECT_EQ(cut(ROCE_UD, Verb::SendImmediate, 0, 1024).opcodes, (std::vector{0x65}));
}

TEST(PacketMessage, OpcodesOfTheRest) {
  EXPECT_EQ(cut(ROCE_RC, Verb::Write, 1025, 512).opcodes, (std::vector{0x06, 0x07, 0x08}));
  EXPECT_EQ(cut(ROCE_XRC, Verb::WriteImmediate, 1025, 512).opcodes,
            (std::vector{0xa6, 0xa7, 0xa9}));
  EXPECT_EQ(cut(ROCE_UC, Verb::Write, 0, 512).opcodes, (std::vector{0x2a}));
  EXPECT_EQ(cut(ROCE_RC, Verb::WriteImmediate, 512, 512).opcodes, (std::vector{0x0b}));
  EXPECT_EQ(cut(ROCE_RC, Verb::Read, 1 << 20, 512).opcodes, (std::vector{0x0c}));
  EXPECT_EQ(cut(ROCE_XRC, Verb::CompareSwap, 8, 512).opcodes, (std::vector{0xb3}));
  EXPECT_EQ(cut(ROCE_RC, Verb::FetchAdd, 8, 512).opcodes, (std::vector{0x14}));
  EXPECT_EQ(cut(ROCE_RC, Verb::Flush, 1 << 20, 512).opcodes, (std::vector{0x1c}));
  EXPECT_EQ(cut(ROCE_RC, Verb::AtomicWrite, 8, 512).opcodes, (std::vector{0x1d}));
}

TEST(PacketMessage, PayloadsOfWhatIsNotCut) {
  const Segment datagram = packet::segment(ROCE_UD, Verb::Send, 2000, 1024, 0);
  EXPECT_EQ(datagram.opcode, 0x64);
  EXPECT_EQ(datagram.payload, 2000u);
  for (Verb v : {Verb::Read, Verb::CompareSwap, Verb::FetchAdd, Verb::Flush})
    EXPECT_EQ(cut(ROCE_RC, v, 65536, 512).payloads, (std::vector<uint32_t>{0}))
        << packet::verb_name(v);
  EXPECT_EQ(cut(ROCE_RC, Verb::AtomicWrite, 65536, 512).payloads, (std::vector<uint32_t>{8}));
}

// FIRST and MIDDLE carry PMTU, LAST 1 to PMTU, ONLY 0 to PMTU.
void check_form(const Cut &got, uint64_t size, uint32_t pmtu) {
  const size_t n = got.opcodes.size();
  EXPECT_EQ(std::accumulate(got.payloads.begin(), got.payloads.end(), uint64_t{0}), size);
  for (size_t i = 0; i < n; i++) {
    const uint32_t info = roce_opcode_info[static_cast<unsigned>(got.opcodes[i])];
    const uint32_t place = n == 1       ? ROCE_OP_ONLY
                           : i == 0     ? ROCE_OP_FIRST
                           : i == n - 1 ? ROCE_OP_LAST
                                        : ROCE_OP_MIDDLE;
    ASSERT_TRUE(info & place) << i << " of " << n;
    if (i + 1 < n) {
      ASSERT_EQ(got.payloads[i], pmtu);
    }
    if (i + 1 == n && n > 1) {
      ASSERT_GT(got.payloads[i], 0u);
    }
    ASSERT_LE(got.payloads[i], pmtu);
  }
}

constexpr uint64_t kSizes[] = {0,    1,    255,  256,  257,  511,  512,  513,   1023,  1024,
                               1025, 4095, 4096, 4097, 8191, 8192, 8193, 65536, 100001};

TEST(PacketMessage, EveryPmtuAndItsEdges) {
  for (uint8_t transport : {ROCE_RC, ROCE_UC, ROCE_XRC})
    for (unsigned i = 0; i < packet::kVerbs; i++)
      for (uint32_t pmtu : kPmtus)
        for (uint64_t size : kSizes) {
          if (!cut_by_pmtu(verb(i)) || !packet::transport_has(transport, verb(i)))
            continue;
          SCOPED_TRACE(testing::Message()
                       << packet::transport_name(transport) << " " << packet::verb_name(verb(i))
                       << " of " << size << " by " << pmtu);
          const Cut got = cut(transport, verb(i), size, pmtu);
          check_form(got, size, pmtu);
          EXPECT_EQ(packet::psns_of(verb(i), size, pmtu), got.opcodes.size());
        }
}

// Accounting's rule holds here, and as many responses.
TEST(PacketMessage, ReadsTakeThePsnsOfTheirResponses) {
  for (uint8_t transport : {ROCE_RC, ROCE_XRC})
    for (uint32_t pmtu : kPmtus)
      for (uint64_t size : kSizes) {
        const uint32_t psns = packet::psns_of(Verb::Read, size, pmtu);
        EXPECT_EQ(psns, roce_read_psns(static_cast<uint32_t>(size), roce_pmtu_code(pmtu)));
        EXPECT_EQ(packet::packets_of(Verb::Read, size, pmtu), 1u);
        Cut got;
        for (uint32_t i = 0; i < psns; i++) {
          const Segment s = packet::read_response(transport, size, pmtu, i);
          EXPECT_TRUE(roce_opcode_info[s.opcode] & ROCE_OP_READ_RESPONSE);
          EXPECT_EQ(s.opcode & ROCE_TRANSPORT_MASK, transport);
          got.opcodes.push_back(s.opcode);
          got.payloads.push_back(s.payload);
        }
        check_form(got, size, pmtu);
      }
}

TEST(PacketMessage, OnePsnForTheRest) {
  for (Verb v : {Verb::CompareSwap, Verb::FetchAdd, Verb::Flush, Verb::AtomicWrite})
    for (uint64_t size : {0, 8, 65536}) {
      EXPECT_EQ(packet::psns_of(v, size, 256), 1u);
      EXPECT_EQ(packet::packets_of(v, size, 256), 1u);
    }
}

TEST(PacketMessage, LongestMessage) {
  const uint64_t size = 1ull << 31;
  EXPECT_EQ(packet::packets_of(Verb::Send, size, 256), 1u << 23);
  EXPECT_EQ(packet::segment(ROCE_RC, Verb::Send, size, 256, (1u << 23) - 1).payload, 256u);
  EXPECT_EQ(packet::segment(ROCE_RC, Verb::Send, size - 1, 256, (1u << 23) - 1).payload, 255u);
}

// build() takes what comes out.
TEST(PacketMessage, SegmentsAreFrames) {
  Random rng(1);
  for (uint8_t transport : kTransports)
    for (unsigned i = 0; i < packet::kVerbs; i++) {
      if (!packet::transport_has(transport, verb(i)))
        continue;
      const uint64_t size = transport == ROCE_UD ? 1000 : 2500;
      const uint32_t packets = transport == ROCE_UD ? 1 : packet::packets_of(verb(i), size, 1024);
      for (uint32_t k = 0; k < packets; k++) {
        const Segment s = packet::segment(transport, verb(i), size, 1024, k);
        const auto built =
            packet::build(random_path(rng, packet::Network::Ipv6, 0), random_headers(rng, s.opcode),
                          packet::counting_payload(s.payload));
        EXPECT_TRUE(built.ok()) << packet::verb_name(verb(i));
      }
    }
}

} // namespace
} // namespace xr::test::packet_message_test
