// SPDX-License-Identifier: Apache-2.0
// Texts of HTTP headers, and the addresses of servers.
#include <gtest/gtest.h>

#include "http/encoding.h"
#include "parse/listen.h"

namespace xr::http::http_encoding_test {
namespace {

TEST(Encoding, GzipOnlyIfItIsListed) {
  for (const char *yes : {"gzip", "GZIP", "br, gzip", "gzip;q=0.1, br", "deflate;q=0, gzip ; q=1"})
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  for (const char *no : {"", "br", "gzip;q=0", "gzip; q=0.000", "xgzip", "gzips", "x;gzip", ",;,"})
    EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(Encoding, Base64OfTheRfc) { // RFC 4648, 10
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm8="), "fo");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(from_base64("YTo="), "a:");
  for (const char *wrong : {"", "Z", "Zg", "Zg=", "!!!!", "Zm9vYmF"})
    EXPECT_EQ(from_base64(wrong), "") << wrong;
}

TEST(Listen, TakesNumericAddressesOnly) {
  for (const char *word : {"127.0.0.1:9479", "0.0.0.0:0", "[::1]:9479", "[2001:db8::1]:65535"}) {
    const auto listen = parse::listen(word, "form");
    ASSERT_TRUE(listen.ok()) << word;
    EXPECT_EQ(listen.get().text(), word);
  }
  for (const char *word :
       {"", ":", "9479", ":9479", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "::1:9479", "[::1]", "[127.0.0.1]:1", "localhost:9479", "127.0.0.1:9479x", "[::1:9479"}) {
    const auto listen = parse::listen(word, "form");
    ASSERT_FALSE(listen.ok()) << word;
    EXPECT_FALSE(listen.error().message.empty());
    EXPECT_EQ(listen.error().hint, "form");
  }
}

} // namespace
} // namespace xr::http::http_encoding_test
