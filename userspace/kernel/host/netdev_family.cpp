// SPDX-License-Identifier: Apache-2.0
#include "host/netdev_family.h"

#include <cerrno>
#include <optional>

#include <linux/genetlink.h>

#include "host/netlink.h"

namespace xr::host {

namespace {

// Values of <linux/netdev.h>, which older distributions lack.
enum : uint8_t { kDevGet = 1 };
enum : uint16_t {
  kIfindex = 1,
  kXdpFeatures = 3,
  kZeroCopyMaxSegments = 4,
  kRxMetadata = 5,
  kSocketFeatures = 6
};
enum : uint64_t { kRxTimestamp = 1, kRxHash = 2 };
enum : uint64_t { kTxTimestamp = 1, kTxLaunchTime = 4 };
enum : uint64_t {
  kBasic = 1,
  kRedirect = 2,
  kNdoXmit = 4,
  kZeroCopy = 8,
  kRxSg = 32,
  kNdoXmitSg = 64,
};

// The number of the family, assigned by the kernel at registration.
std::optional<uint16_t> family_number() {
  std::optional<uint16_t> number;
  Request request(GENL_ID_CTRL, NLM_F_ACK, genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  request.add(CTRL_ATTR_FAMILY_NAME, std::string("netdev"));
  const auto use = [&](uint16_t, std::string_view body) {
    if (body.size() >= GENL_HDRLEN)
      each_attribute(body.substr(GENL_HDRLEN), [&](const Attribute &a) {
        if (a.type == CTRL_ATTR_FAMILY_ID)
          number = a.as<uint16_t>();
      });
  };
  if (ask(request, use, NETLINK_GENERIC).error)
    return {};
  return number;
}

} // namespace

Result<XdpFeatures> parse_xdp_features(std::string_view body, unsigned ifindex) {
  std::optional<uint64_t> bits;
  uint32_t of = 0;
  XdpFeatures features;
  if (body.size() >= GENL_HDRLEN)
    each_attribute(body.substr(GENL_HDRLEN), [&](const Attribute &a) {
      if (a.type == kIfindex)
        of = a.as<uint32_t>();
      else if (a.type == kXdpFeatures)
        bits = a.as<uint64_t>();
      else if (a.type == kZeroCopyMaxSegments)
        features.zero_copy_frags = a.as<uint32_t>();
      else if (a.type == kRxMetadata) {
        features.rx_time = a.as<uint64_t>() & kRxTimestamp;
        features.rx_hash = a.as<uint64_t>() & kRxHash;
      } else if (a.type == kSocketFeatures) {
        features.tx_time = a.as<uint64_t>() & kTxTimestamp;
        features.launch_time = a.as<uint64_t>() & kTxLaunchTime;
      }
    });
  if (!bits || of != ifindex)
    return Error{"the kernel does not report the driver's XDP features"};
  features.native = *bits & kBasic;
  features.redirect = *bits & kRedirect;
  features.transmits = *bits & kNdoXmit;
  features.zero_copy = *bits & kZeroCopy;
  features.frags = *bits & kRxSg;
  features.transmits_frags = *bits & kNdoXmitSg;
  return features;
}

Result<XdpFeatures> read_xdp_features(unsigned ifindex) {
  const auto family = family_number();
  if (!family)
    return Error{"the kernel does not report the driver's XDP features", "6.3 and later do"};
  Result<XdpFeatures> features = Error{"the kernel did not answer"};
  Request request(*family, NLM_F_ACK, genlmsghdr{kDevGet, 1, 0});
  request.add(kIfindex, ifindex);
  const Answer answer = ask(
      request,
      [&](uint16_t, std::string_view body) { features = parse_xdp_features(body, ifindex); },
      NETLINK_GENERIC);
  if (answer.error)
    return errno_error(answer.error, "cannot ask the kernel what the driver's XDP can do",
                       answer.words);
  return features;
}

} // namespace xr::host
