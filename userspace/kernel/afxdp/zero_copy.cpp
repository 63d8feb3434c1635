// SPDX-License-Identifier: Apache-2.0
#include "afxdp/zero_copy.h"

#include <fmt/format.h>

#include "afxdp/socket.h"
#include "host/link.h"
#include "host/privilege.h"

namespace xr::afxdp {

namespace {

constexpr uint32_t kUsualRing = 4096; // for drivers with zero-copy that do not report a ring size

std::string name(const ZeroCopyPort &port) {
  return port.driver.empty() ? "the driver" : port.driver;
}

} // namespace

bool takes_kilobytes(const std::string &driver) {
  return driver == "igb" || driver == "igc" || driver == "ixgbe";
}

uint32_t zero_copy_ring(const std::string &ifname, const Result<host::XdpFeatures> &xdp) {
  if (xdp && !xdp.get().zero_copy)
    return 0;
  const uint32_t ring = host::read_rx_ring(ifname);
  return ring || !xdp ? ring : kUsualRing;
}

std::optional<Error> known_to_copy(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp) {
  if (!xdp)
    return {};
  if (!xdp.get().zero_copy)
    return Error{name(port) + " has no zero-copy"};
  const bool kilobytes = takes_kilobytes(port.driver);
  if (xdp.get().zero_copy_frags == 1 && afxdp::ChunkLayout::of(port.longest, kilobytes).several)
    return Error{fmt::format("{} has no zero-copy for frames in several buffers, as MTU {} needs",
                             name(port), port.mtu),
                 fmt::format("ip link set {} mtu {}", port.ifname, kilobytes ? 3000 : 3500)};
  return {};
}

Error why_copied(const ZeroCopyPort &port, const Result<host::XdpFeatures> &xdp, bool cannot_send) {
  if (cannot_send)
    return {name(port) + " sends by zero-copy only while an XDP program is on the port",
            fmt::format("xdp-roce attach {}", port.ifname)};
  if (auto known = known_to_copy(port, xdp))
    return *known;
  if (port.driver == "virtio_net")
    return {"virtio_net refuses zero-copy on this device",
            "it needs one that uses the DMA API (VIRTIO_F_ACCESS_PLATFORM; QEMU: "
            "iommu_platform=on,disable-legacy=on), and kernel 6.14"};
  return {name(port) + (xdp ? " has zero-copy, but refuses it on this queue"
                            : " has no zero-copy, or refuses it")};
}

Result<ZeroCopyTrial> try_zero_copy(const ZeroCopyPort &port,
                                    const Result<host::XdpFeatures> &xdp) {
  XR_TRY(host::check_privilege(host::Privilege::Sockets));
  afxdp::SocketOptions options;
  options.ifname = port.ifname;
  options.longest = port.longest;
  options.kilobytes = takes_kilobytes(port.driver);
  options.slots = options.receive = 64;
  options.rx_ring = zero_copy_ring(port.ifname, xdp);
  auto socket = XR_TRY(afxdp::Socket::open(options));
  ZeroCopyTrial trial;
  trial.zero_copy = (socket)->zero_copy();
  if (!trial.zero_copy)
    trial.why = why_copied(port, xdp, (socket)->zero_copy_cannot_send());
  return trial;
}

} // namespace xr::afxdp
