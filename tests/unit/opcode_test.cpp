// SPDX-License-Identifier: Apache-2.0
// The opcode table compared with a second, hand-written copy of include/roce/README.md 1.4 and 1.3.
#include <map>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "roce/counters.h"
#include "roce/opcode.h"
#include "roce/rnr.h"

namespace opcode_test {
namespace {

struct Header {
  const char *name;
  uint32_t bit;
  uint32_t length;
};
constexpr Header kHeaders[] = {
    {"RDETH", ROCE_HAS_RDETH, 4},   {"DETH", ROCE_HAS_DETH, 8},
    {"XRCETH", ROCE_HAS_XRCETH, 4}, {"FETH", ROCE_HAS_FETH, 4},
    {"RETH", ROCE_HAS_RETH, 16},    {"AtomicETH", ROCE_HAS_ATOMICETH, 28},
    {"AETH", ROCE_HAS_AETH, 4},     {"AtomicAckETH", ROCE_HAS_ATOMICACKETH, 8},
    {"ImmDt", ROCE_HAS_IMMDT, 4},   {"IETH", ROCE_HAS_IETH, 4},
};

// q request, r response, d datagram; then place in a message (f m l o, or s: single, - neither).
struct Row {
  uint8_t opcode;
  char kind;
  char place;
  const char *headers; // with a space after each, in wire order
};
void PrintTo(const Row &row, std::ostream *os) {
  *os << "opcode " << int(row.opcode) << ", " << row.kind << row.place << " " << row.headers;
}
constexpr Row kRows[] = {
    // RC opcodes
    {0x00, 'q', 'f', ""},
    {0x01, 'q', 'm', ""},
    {0x02, 'q', 'l', ""},
    {0x03, 'q', 'l', "ImmDt "},
    {0x04, 'q', 'o', ""},
    {0x05, 'q', 'o', "ImmDt "},
    {0x06, 'q', 'f', "RETH "},
    {0x07, 'q', 'm', ""},
    {0x08, 'q', 'l', ""},
    {0x09, 'q', 'l', "ImmDt "},
    {0x0a, 'q', 'o', "RETH "},
    {0x0b, 'q', 'o', "RETH ImmDt "},
    {0x0c, 'q', 's', "RETH "},
    {0x0d, 'r', 'f', "AETH "},
    {0x0e, 'r', 'm', ""},
    {0x0f, 'r', 'l', "AETH "},
    {0x10, 'r', 'o', "AETH "},
    {0x11, 'r', '-', "AETH "},
    {0x12, 'r', 's', "AETH AtomicAckETH "},
    {0x13, 'q', 's', "AtomicETH "},
    {0x14, 'q', 's', "AtomicETH "},
    {0x16, 'q', 'l', "IETH "},
    {0x17, 'q', 'o', "IETH "},
    {0x1c, 'q', 's', "FETH RETH "},
    {0x1d, 'q', 's', "RETH "},
    // UC opcodes
    {0x20, 'q', 'f', ""},
    {0x21, 'q', 'm', ""},
    {0x22, 'q', 'l', ""},
    {0x23, 'q', 'l', "ImmDt "},
    {0x24, 'q', 'o', ""},
    {0x25, 'q', 'o', "ImmDt "},
    {0x26, 'q', 'f', "RETH "},
    {0x27, 'q', 'm', ""},
    {0x28, 'q', 'l', ""},
    {0x29, 'q', 'l', "ImmDt "},
    {0x2a, 'q', 'o', "RETH "},
    {0x2b, 'q', 'o', "RETH ImmDt "},
    // RD: RDETH on all, DETH on requests
    {0x40, 'd', 'f', "RDETH DETH "},
    {0x41, 'd', 'm', "RDETH DETH "},
    {0x42, 'd', 'l', "RDETH DETH "},
    {0x43, 'd', 'l', "RDETH DETH ImmDt "},
    {0x44, 'd', 'o', "RDETH DETH "},
    {0x45, 'd', 'o', "RDETH DETH ImmDt "},
    {0x46, 'd', 'f', "RDETH DETH RETH "},
    {0x47, 'd', 'm', "RDETH DETH "},
    {0x48, 'd', 'l', "RDETH DETH "},
    {0x49, 'd', 'l', "RDETH DETH ImmDt "},
    {0x4a, 'd', 'o', "RDETH DETH RETH "},
    {0x4b, 'd', 'o', "RDETH DETH RETH ImmDt "},
    {0x4c, 'd', 's', "RDETH DETH RETH "},
    {0x4d, 'd', 'f', "RDETH AETH "},
    {0x4e, 'd', 'm', "RDETH "},
    {0x4f, 'd', 'l', "RDETH AETH "},
    {0x50, 'd', 'o', "RDETH AETH "},
    {0x51, 'd', '-', "RDETH AETH "},
    {0x52, 'd', 's', "RDETH AETH AtomicAckETH "},
    {0x53, 'd', 's', "RDETH DETH AtomicETH "},
    {0x54, 'd', 's', "RDETH DETH AtomicETH "},
    {0x55, 'd', 's', "RDETH DETH "},
    {0x5c, 'd', 's', "RDETH DETH FETH RETH "},
    // UD opcodes
    {0x64, 'd', 'o', "DETH "},
    {0x65, 'd', 'o', "DETH ImmDt "},
    // CNP; its 16 reserved bytes count as payload
    {0x81, 'r', '-', ""},
    // XRC: XRCETH on requests
    {0xa0, 'q', 'f', "XRCETH "},
    {0xa1, 'q', 'm', "XRCETH "},
    {0xa2, 'q', 'l', "XRCETH "},
    {0xa3, 'q', 'l', "XRCETH ImmDt "},
    {0xa4, 'q', 'o', "XRCETH "},
    {0xa5, 'q', 'o', "XRCETH ImmDt "},
    {0xa6, 'q', 'f', "XRCETH RETH "},
    {0xa7, 'q', 'm', "XRCETH "},
    {0xa8, 'q', 'l', "XRCETH "},
    {0xa9, 'q', 'l', "XRCETH ImmDt "},
    {0xaa, 'q', 'o', "XRCETH RETH "},
    {0xab, 'q', 'o', "XRCETH RETH ImmDt "},
    {0xac, 'q', 's', "XRCETH RETH "},
    {0xad, 'r', 'f', "AETH "},
    {0xae, 'r', 'm', ""},
    {0xaf, 'r', 'l', "AETH "},
    {0xb0, 'r', 'o', "AETH "},
    {0xb1, 'r', '-', "AETH "},
    {0xb2, 'r', 's', "AETH AtomicAckETH "},
    {0xb3, 'q', 's', "XRCETH AtomicETH "},
    {0xb4, 'q', 's', "XRCETH AtomicETH "},
    {0xb6, 'q', 'l', "XRCETH IETH "},
    {0xb7, 'q', 'o', "XRCETH IETH "},
};

class OpcodeTable : public testing::TestWithParam<Row> {};

TEST_P(OpcodeTable, HeadersAndTheirLength) {
  const uint32_t info = roce_opcode_info[GetParam().opcode];
  std::string names;
  uint32_t length = 0;
  for (const Header &h : kHeaders)
    if (info & h.bit) {
      names += std::string(h.name) + " ";
      length += h.length;
    }
  EXPECT_EQ(names, GetParam().headers);
  EXPECT_EQ(ROCE_EXT_LEN(info), length);
}

TEST_P(OpcodeTable, KindAndPlaceInAMessage) {
  const Row &row = GetParam();
  const uint32_t info = roce_opcode_info[row.opcode];
  EXPECT_TRUE(info & ROCE_OP_KNOWN);
  const uint32_t kinds = ROCE_OP_REQUEST | ROCE_OP_RESPONSE | ROCE_OP_DATAGRAM;
  EXPECT_EQ(info & kinds, row.kind == 'q'   ? ROCE_OP_REQUEST
                          : row.kind == 'r' ? ROCE_OP_RESPONSE
                                            : ROCE_OP_DATAGRAM);
  const std::map<char, uint32_t> places = {{'f', ROCE_OP_FIRST},
                                           {'m', ROCE_OP_MIDDLE},
                                           {'l', ROCE_OP_LAST},
                                           {'o', ROCE_OP_ONLY},
                                           {'s', 0},
                                           {'-', 0}};
  const uint32_t any = ROCE_OP_FIRST | ROCE_OP_MIDDLE | ROCE_OP_LAST | ROCE_OP_ONLY;
  EXPECT_EQ(info & any, places.at(row.place));
  const bool ends = row.place == 'l' || row.place == 'o' || row.place == 's';
  EXPECT_EQ((info & ROCE_OP_ENDS_MESSAGE) != 0, ends);
}

INSTANTIATE_TEST_SUITE_P(Spec14, OpcodeTable, testing::ValuesIn(kRows), [](const auto &info) {
  char name[8];
  snprintf(name, sizeof(name), "op%02x", info.param.opcode);
  return std::string(name);
});

TEST(Opcode, UnassignedAreZero) {
  std::map<int, bool> assigned;
  for (const Row &row : kRows)
    EXPECT_TRUE(assigned.emplace(row.opcode, true).second) << "twice in this test's table";
  for (int opcode = 0; opcode < 256; opcode++)
    if (!assigned.count(opcode)) {
      EXPECT_EQ(roce_opcode_info[opcode], 0u) << opcode;
    }
  EXPECT_EQ(roce_opcode_info[0x80], 0u) << "the CNP is 0x81; 0x80 is only its prefix";
}

TEST(Opcode, OnlyTheseAreReadsAtomicsAcksAndCnps) {
  for (int opcode = 0; opcode < 256; opcode++) {
    const uint32_t info = roce_opcode_info[opcode];
    if (!info)
      continue;
    const int op = opcode & 31;
    const bool cnp = opcode == 0x81;
    SCOPED_TRACE(opcode);
    EXPECT_EQ((info & ROCE_OP_CNP) != 0, cnp);
    EXPECT_EQ((info & ROCE_OP_READ_REQUEST) != 0, !cnp && op == 0x0c);
    EXPECT_EQ((info & ROCE_OP_READ_RESPONSE) != 0, !cnp && op >= 0x0d && op <= 0x10);
    EXPECT_EQ((info & ROCE_OP_ACK) != 0, op == 0x11);
    EXPECT_EQ((info & ROCE_OP_ATOMIC) != 0, op == 0x12 || op == 0x13 || op == 0x14);
  }
}

// The class of each of 32 operations; a transport has some of them.
TEST(Opcode, ClassesByOperation) {
  const auto is_data = [](int op) {
    return op <= 0x0b || (op >= 0x0d && op <= 0x10) || op == 0x16 || op == 0x17 || op == 0x1d;
  };
  for (int opcode = 0; opcode < 256; opcode++) {
    const uint64_t properties = roce_opcode_properties[opcode];
    SCOPED_TRACE(opcode);
    EXPECT_EQ(static_cast<uint32_t>(properties), roce_opcode_info[opcode]);
    if (!properties || opcode == ROCE_OPCODE_CNP) {
      EXPECT_EQ(properties >> 32, 0u);
      continue;
    }
    const int op = opcode & 31;
    const auto has = [&](uint64_t bits) { return (properties & bits) != 0; };
    EXPECT_EQ(has(ROCE_DATA_OPS), is_data(op));
    EXPECT_EQ(has(ROCE_READ_OPS), op >= 0x0c && op <= 0x10);
    EXPECT_EQ(has(ROCE_ACK_OPS), op == 0x11 || op == 0x12);
    EXPECT_EQ(has(ROCE_ATOMIC_OPS), (op >= 0x12 && op <= 0x14) || op == 0x1d);
    EXPECT_EQ(has(ROCE_READ_ANSWERED_OPS), op == 0x1c || op == 0x1d);
    EXPECT_EQ(has(ROCE_OP_SEND), op <= 0x05 || op == 0x16 || op == 0x17);
    EXPECT_EQ(has(ROCE_OP_WRITE), op >= 0x06 && op <= 0x0b);
  }
}

TEST(Opcode, NamesAreTheirNumbers) {
  EXPECT_EQ(ROCE_RC_RDMA_READ_REQUEST, 0x0c);
  EXPECT_EQ(ROCE_RC_ATOMIC_WRITE, 0x1d);
  EXPECT_EQ(ROCE_UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0x2b);
  EXPECT_EQ(ROCE_RD_RESYNC, 0x55);
  EXPECT_EQ(ROCE_UD_SEND_ONLY, ROCE_OPCODE_UD_SEND_ONLY);
  EXPECT_EQ(ROCE_XRC_SEND_ONLY_WITH_INVALIDATE, 0xb7);
}

// include/roce/README.md 1.3: bit 7 reserved, bits 6:5 the type, bits 4:0 a value.
TEST(Opcode, SyndromesByType) {
  for (int syndrome = 0; syndrome < 256; syndrome++) {
    const __u32 want = syndrome < 0x20                       ? ROCE_AETH_ACK
                       : syndrome < 0x40                     ? ROCE_AETH_RNR_NAK
                       : syndrome >= 0x60 && syndrome < 0x65 ? syndrome - 0x60 + 2
                                                             : ROCE_AETH_RESERVED;
    EXPECT_EQ(roce_aeth_index(static_cast<__u8>(syndrome)), want) << syndrome;
  }
  EXPECT_EQ(ROCE_AETH_NAK_PSN_SEQUENCE_ERROR, 2);
  EXPECT_EQ(ROCE_AETH_NAK_INVALID_RD_REQUEST, 6);
}

// IBA vol. 1, table 46: from 10 us by about a half more each, and 655.36 ms for 0.
TEST(Opcode, RnrTimers) {
  EXPECT_EQ(roce_rnr_us(0x20), 655360u);
  EXPECT_EQ(roce_rnr_us(0x21), 10u);
  EXPECT_EQ(roce_rnr_us(0x2c), 640u);
  EXPECT_EQ(roce_rnr_us(0x3f), 491520u);
  for (unsigned code = 2; code < 32; code++) {
    EXPECT_GT(roce_rnr_timers[code], roce_rnr_timers[code - 1]) << code;
    EXPECT_LE(roce_rnr_timers[code], 2 * roce_rnr_timers[code - 1]) << code;
  }
}

} // namespace
} // namespace opcode_test
