// SPDX-License-Identifier: Apache-2.0
// The files of locks of ports: those of namespaces that are gone are removed.
#include "datapath/lock.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>

#include <gtest/gtest.h>

#include "directory.h"

namespace xr::datapath::lock_test {
namespace {

TEST(Lock, FilesOfNamespacesThatAreGoneAreRemoved) {
  const test::Directory directory;
  const auto path = [&directory](const std::string &name) { return directory.file(name); };
  const std::string gone[] = {"endpoint-77-2", "capture-77-2", "wire-77-31", "wire-4026532177-1"};
  const std::string stay[] = {"lock",        "endpoint-78-2", "capture-78-2", "wire-78-2",
                              "rates-77-2",  "wire-77",       "wire-77-2x",   "wire-x-2",
                              "wire-77-2-3", "other-77-2",    "endpoint-77-9"};
  for (const std::string &name : gone)
    std::ofstream(path(name)).put('x');
  for (const std::string &name : stay)
    std::ofstream(path(name)).put('x');
  const Fd held(open(path("endpoint-77-9").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX | LOCK_NB), 0); // by a process without a port
  Lock::remove_files_of_gone(directory.path(), {78});
  for (const std::string &name : gone)
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  for (const std::string &name : stay)
    EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
  flock(held.get(), LOCK_UN);
  Lock::remove_files_of_gone(directory.path(), {78});
  EXPECT_FALSE(std::filesystem::exists(path("endpoint-77-9")));
}

} // namespace
} // namespace xr::datapath::lock_test
