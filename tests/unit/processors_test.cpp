// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "directory.h"

namespace xr::processors_test {

namespace {

void write(const test::Directory &root, const std::string &name, const std::string &text) {
  const std::filesystem::path path = root.file(name);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

} // namespace

TEST(Processors, SomeAreAllowed) {
  const auto all = allowed_processors();
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  EXPECT_GE(processor_count(), 1U);
  EXPECT_LE(processor_count(), all.size());
}

TEST(Processors, WithoutAQuotaNothingIsGranted) {
  const test::Directory root;
  EXPECT_EQ(std::nullopt, granted_processors("0::/a\n", root.path()));
  write(root, "a/cpu.max", "max 100000\n");
  EXPECT_EQ(std::nullopt, granted_processors("0::/a\n", root.path()));
  EXPECT_EQ(std::nullopt, granted_processors("", root.path()));
}

TEST(Processors, TheLeastQuotaOfAGroupAndThoseAboveItHolds) {
  const test::Directory root;
  write(root, "a/b/cpu.max", "400000 100000\n");
  write(root, "a/cpu.max", "150000 100000\n");
  write(root, "other/cpu.max", "100000 100000\n");
  EXPECT_EQ(1.5, granted_processors("0::/a/b\n", root.path()));
  write(root, "cpu.max", "100000 200000\n"); // of a container: its own group is the root
  EXPECT_EQ(0.5, granted_processors("0::/a/b\n", root.path()));
}

TEST(Processors, TheFirstVersionHasAFileForThePeriod) {
  const test::Directory root;
  write(root, "cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  write(root, "cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  write(root, "cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write(root, "cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(3, granted_processors("5:memory:/x\n4:cpu,cpuacct:/a\n0::/\n", root.path()));
  EXPECT_EQ(std::nullopt, granted_processors("4:cpuset:/a\n", root.path()));
}

TEST(Processors, ListsAreAsTasksetWritesThem) {
  EXPECT_EQ((std::vector<uint32_t>{8, 0, 1, 2}), parse_processors("8,0-2,1").get());
  for (const char *wrong : {"", "a", "1,", "3-1", "1-", "-1", "1 2", "99999", "1,,2"})
    EXPECT_FALSE(parse_processors(wrong)) << wrong;
}

} // namespace xr::processors_test
