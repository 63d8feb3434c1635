// SPDX-License-Identifier: Apache-2.0
// Names of the machine; SHA-256 by the kernel, against FIPS 180-2's examples.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "directory.h"
#include "host/machine.h"

namespace xr::host::machine_test {
namespace {

TEST(Machine, HasNames) {
  const Machine machine = read_machine();
  EXPECT_FALSE(machine.name.empty());
  EXPECT_FALSE(machine.architecture.empty());
  ASSERT_FALSE(machine.kernel.empty());
  EXPECT_TRUE(isdigit(static_cast<unsigned char>(machine.kernel.front())));
}

TEST(Machine, HashesFiles) {
  const test::Directory directory;
  const std::string path = directory.file("data");
  const auto hash = [&](const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
    return file_sha256(path);
  };
  const auto abc = hash("abc");
  ASSERT_TRUE(abc.ok()) << abc.error().message;
  EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", abc.get());
  EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hash("").get());
  EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            hash(std::string(1'000'000, 'a')).get());
}

TEST(Machine, SaysWhatItCannotHash) {
  const auto hash = file_sha256("/nonexistent/file");
  ASSERT_FALSE(hash);
  EXPECT_NE(std::string::npos, hash.error().message.find("/nonexistent/file"));
}

} // namespace
} // namespace xr::host::machine_test
