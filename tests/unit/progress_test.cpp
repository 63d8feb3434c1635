// SPDX-License-Identifier: Apache-2.0
// The progress line: what it shows, and that it fits terminals of any width.
#include <gtest/gtest.h>

#include "cli/progress.h"
#include "watch/text_width.h"

namespace progress_test {
namespace {

using xr::cli::bytes_and_rate;
using xr::cli::progress_line;
using xr::cli::time_left;

constexpr const char *kText = "12 s left, 3 of 12 points, 1.5 points/s, 2 running";

TEST(ProgressLine, ShrinksTheBarThenCutsTheText) {
  const auto sweep = [](size_t columns) { return progress_line(columns, "sweep", 3, 12, kText); };
  const std::string rest = std::string(" 25 %  ") + kText;
  EXPECT_EQ(sweep(20), "sweep   25 %  12 s~");
  EXPECT_EQ(sweep(60), "sweep   25 %  12 s left, 3 of 12 points, 1.5 points/s, 2 r~");
  EXPECT_EQ(sweep(80), "sweep  [===         ] " + rest);
  EXPECT_EQ(sweep(100), "sweep  [=======" + std::string(23, ' ') + "] " + rest);
  EXPECT_EQ(sweep(200), sweep(100));
}

TEST(ProgressLine, FitsAnyWidth) {
  for (const char *what : {"sweep", "/a/long/directory/with/captures/of/a/weekend/port.pcapng",
                           "Kabel-\u00e4\u00f6\u00fc-\u7dda\u8def\u306e\u8a18\u9332.pcap"})
    for (const uint64_t total : {0, 7})
      for (size_t columns = 0; columns <= 200; columns++)
        for (uint64_t done = 0; done <= 8; done += 4) {
          const std::string line = progress_line(columns, what, done, total, kText);
          EXPECT_LE(xr::watch::columns_of(line), columns ? columns - 1 : 0) << line;
        }
  // Wide characters take two columns: the bar is two shorter than after "ab".
  const auto after = [](const char *what) { return progress_line(50, what, 1, 2, "1 \u00b5s"); };
  EXPECT_EQ(xr::watch::columns_of(after("\u7dda\u8def")), 49U);
  EXPECT_EQ(xr::watch::columns_of(after("ab")), 48U); // the longest bar
}

TEST(ProgressLine, NamesOfFilesDoNotControlTheTerminal) {
  EXPECT_EQ(progress_line(80, "a\033[2Jb", 0, 0, "1 MB"), "a?[2Jb  1 MB");
}

TEST(TimeLeft, InTheUnitOfItsSize) {
  EXPECT_EQ(time_left(10, 0, 4), ""); // unknown
  EXPECT_EQ(time_left(10, 1, 0), "");
  EXPECT_EQ(time_left(10, 1, 4), "30 s left");
  EXPECT_EQ(time_left(100, 1, 4), "5 min left");
  EXPECT_EQ(time_left(3600, 1, 4), "3.0 h left");
  EXPECT_EQ(time_left(10, 4, 4), "0 s left");
}

TEST(BytesAndRate, InGigabytes) {
  EXPECT_EQ(bytes_and_rate(1'240'000'000, 0.4), "1.24 GB, 3.1 GB/s");
  EXPECT_EQ(bytes_and_rate(420'000'000, 1), "0.420 GB, 0.42 GB/s");
  EXPECT_EQ(bytes_and_rate(8'388'608, 2), "0.008 GB, 0.004 GB/s");
  EXPECT_EQ(bytes_and_rate(123'456'000'000, 10), "123 GB, 12 GB/s");
  EXPECT_EQ(bytes_and_rate(1000, 0), "0.000 GB, 0.0 GB/s");
}

} // namespace
} // namespace progress_test
