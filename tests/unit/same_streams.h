// SPDX-License-Identifier: Apache-2.0
// What the streams of two ports say is the same.
#pragma once

#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/snapshot.h"
#include "roce/stream.h"

namespace xr::test {

// How the fast path and the slow one left a record differs; what it says does not.
inline void expect_same_streams(const Snapshot &a, const Snapshot &b) {
  ASSERT_EQ(a.streams.size(), b.streams.size());
  for (size_t i = 0; i < a.streams.size(); i++) {
    SCOPED_TRACE(fmt::format("stream {}", i));
    const roce_stream &x = a.streams[i], &y = b.streams[i];
    EXPECT_EQ(0, std::memcmp(&x.key, &y.key, sizeof(x.key)));
    EXPECT_EQ(roce_stream_packets(&x), roce_stream_packets(&y));
    EXPECT_EQ(roce_stream_bytes(&x), roce_stream_bytes(&y));
    EXPECT_EQ(x.word & ROCE_WORD_PSN, y.word & ROCE_WORD_PSN);
    EXPECT_EQ(x.src_qp, y.src_qp);
    EXPECT_EQ(x.messages, y.messages);
    for (int c = 0; c < ROCE_STREAM_COUNTERS; c++)
      EXPECT_EQ(roce_stream_counter(&x, c), roce_stream_counter(&y, c)) << "counter " << c;
  }
}

} // namespace xr::test
