// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "roce/psn.h"

namespace psn_test {
namespace {

TEST(Psn, AddWraps) {
  EXPECT_EQ(roce_psn_add(0, 1), 1u);
  EXPECT_EQ(roce_psn_add(0xfffffe, 1), 0xffffffu);
  EXPECT_EQ(roce_psn_add(0xffffff, 1), 0u);
  EXPECT_EQ(roce_psn_add(0xffffff, 0x800000), 0x7fffffu);
  EXPECT_EQ(roce_psn_add(5, 0xffffff), 4u);
}

TEST(Psn, DiffIsSignedOverHalfTheSpace) {
  EXPECT_EQ(roce_psn_diff(7, 7), 0);
  EXPECT_EQ(roce_psn_diff(8, 7), 1);
  EXPECT_EQ(roce_psn_diff(6, 7), -1);
  EXPECT_EQ(roce_psn_diff(0, 0xffffff), 1);
  EXPECT_EQ(roce_psn_diff(0xffffff, 0), -1);
  EXPECT_EQ(roce_psn_diff(0x7fffff, 0), 0x7fffff);
  EXPECT_EQ(roce_psn_diff(0x800000, 0), -0x800000);
  EXPECT_EQ(roce_psn_diff(0, 0x800000), -0x800000);
  EXPECT_EQ(roce_psn_diff(1, 0x800000), -0x7fffff);
}

// Every distance of the space, from starts on both sides of the wrap.
TEST(Psn, DiffUndoesAdd) {
  for (uint32_t start : {0u, 1u, 0x7fffffu, 0x800000u, 0xfffff0u, 0xffffffu})
    for (int32_t d = -0x800000; d <= 0x7fffff; d += 127) {
      const uint32_t psn = roce_psn_add(start, static_cast<uint32_t>(d));
      ASSERT_LE(psn, ROCE_PSN_MASK);
      ASSERT_EQ(roce_psn_diff(psn, start), d) << "start " << start;
    }
}

TEST(Psn, PmtuCodes) {
  const uint32_t bytes[] = {256, 512, 1024, 2048, 4096};
  for (uint32_t code = 1; code <= 5; code++) {
    EXPECT_EQ(roce_pmtu_bytes(code), bytes[code - 1]);
    EXPECT_EQ(roce_pmtu_code(bytes[code - 1]), code);
  }
  for (uint32_t odd : {0u, 1u, 128u, 255u, 257u, 1000u, 4095u, 4097u, 8192u})
    EXPECT_EQ(roce_pmtu_code(odd), 0u) << odd;
}

// include/roce/README.md 1.4: max(1, ceil(DMALen / PMTU)).
TEST(Psn, ReadConsumesCeiling) {
  EXPECT_EQ(roce_read_psns(0, 3), 1u);
  EXPECT_EQ(roce_read_psns(1, 3), 1u);
  EXPECT_EQ(roce_read_psns(1024, 3), 1u);
  EXPECT_EQ(roce_read_psns(1025, 3), 2u);
  EXPECT_EQ(roce_read_psns(65536, 3), 64u);
  EXPECT_EQ(roce_read_psns(65536, 5), 16u);
  EXPECT_EQ(roce_read_psns(14336, 1), 56u);
  EXPECT_EQ(roce_read_psns(4000, 3), 4u);
  EXPECT_EQ(roce_read_psns(0x80000000u, 1), 0x800000u); // the longest message, the smallest PMTU
  EXPECT_EQ(roce_read_psns(0x80000000u, 5), 0x80000u);
}

} // namespace
} // namespace psn_test
