// SPDX-License-Identifier: Apache-2.0
// Echo messages of ICMPv6 whose addresses are of IPv4.
#include <gtest/gtest.h>

#include <algorithm>

#include "packet/bytes.h"
#include "packet/echo.h"
#include "parse/address.h"

namespace xr::test::packet_echo_test {
namespace {

using packet::EchoMessage;

Address address_of(const char *text) {
  const auto address = parse::address(text);
  EXPECT_TRUE(address.ok()) << text;
  return address.get();
}

TEST(PacketEcho, Ipv6HasNoAddressesOfIpv4) {
  constexpr size_t kSource = 22, kDestination = 38, kIcmp = 54;
  const EchoMessage sent{.request = true,
                         .src = address_of("2001:db8::1"),
                         .dst = address_of("2001:db8::2"),
                         .identifier = 7};
  const auto with = [&](size_t at, const char *text) {
    std::vector<uint8_t> frame = packet::echo_frame(sent);
    const Address address = address_of(text);
    std::memcpy(&frame[at], address.data(), sizeof(address));
    packet::store16(&frame[kIcmp + 2], 0);
    const std::span<const uint8_t> all = frame;
    packet::store16(&frame[kIcmp + 2],
                    packet::transport_checksum(all.subspan(kSource, 32), 58, all.subspan(kIcmp)));
    return packet::parse_echo(frame).has_value();
  };
  for (const size_t at : {kSource, kDestination}) {
    EXPECT_TRUE(with(at, "2001:db8::3"));
    EXPECT_FALSE(with(at, "192.0.2.1"));
  }
}

} // namespace
} // namespace xr::test::packet_echo_test
