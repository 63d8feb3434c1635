// SPDX-License-Identifier: Apache-2.0
#include "parse/address.h"

#include <algorithm>
#include <arpa/inet.h>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"
#include "roce/parse.h"

namespace xr::parse {

namespace {

constexpr unsigned kMappedBits = 96;

Address mask(unsigned length) {
  Address result{};
  for (unsigned i = 0; i < 4; i++) {
    const unsigned bits = length > 32 * i ? std::min(length - 32 * i, 32U) : 0;
    result[i] = htonl(static_cast<uint32_t>(0xffffffffULL << (32 - bits)));
  }
  return result;
}

} // namespace

Result<Address> address(const std::string &word) {
  Address result{0, 0, ROCE_MAPPED_PREFIX, 0};
  if (inet_pton(AF_INET, word.c_str(), &result[3]) == 1 ||
      inet_pton(AF_INET6, word.c_str(), result.data()) == 1)
    return result;
  return wrong(word, "an IP address", "like 192.0.2.1 or 2001:db8::1");
}

std::string address_text(const Address &a) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (is_mapped(a))
    inet_ntop(AF_INET, &a[3], text, sizeof(text));
  else
    inet_ntop(AF_INET6, a.data(), text, sizeof(text));
  return text;
}

bool Prefix::whole() const { return length == (ipv4 ? kMappedBits : 0); }

bool Prefix::holds_mapped() const {
  const Address bits = mask(length);
  return !ipv4 && !address[0] && !address[1] && address[2] == (ROCE_MAPPED_PREFIX & bits[2]) &&
         !address[3];
}

std::string Prefix::text() const {
  if (length == 128)
    return address_text(address);
  return fmt::format("{}/{}", address_text(address), length - (ipv4 ? kMappedBits : 0));
}

roce_prefix Prefix::compiled() const {
  const Address bits = mask(length);
  roce_prefix result{};
  for (size_t i = 0; i < 4; i++) {
    result.address[i] = address[i];
    result.mask[i] = bits[i];
  }
  return result;
}

Result<Prefix> prefix(const std::string &word) {
  constexpr std::string_view kExpected = "an IP address or prefix";
  const std::string kHint = "like 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32";
  const size_t slash = word.find('/');
  const std::string front = word.substr(0, slash);
  const auto base = address(front);
  if (!base)
    return wrong(word, kExpected, kHint);
  Prefix result;
  result.address = base.get();
  const bool dotted = front.find(':') == std::string::npos;
  if (slash != std::string::npos) {
    auto length = integer(word.substr(slash + 1), 0, dotted ? 32 : 128);
    if (!length)
      return wrong(word, kExpected,
                   fmt::format("the length after / is 0 to {}", dotted ? 32 : 128));
    result.length = static_cast<unsigned>(*length) + (dotted ? kMappedBits : 0);
  }
  result.ipv4 = is_mapped(result.address) && result.length >= kMappedBits;
  const Address bits = mask(result.length), whole = result.address;
  for (size_t i = 0; i < 4; i++)
    result.address[i] &= bits[i];
  if (result.address != whole)
    return Error{
        fmt::format("'{}' has bits set after its prefix", word),
        fmt::format("{} for the network, {} for the host", result.text(), address_text(whole))};
  return result;
}

} // namespace xr::parse
