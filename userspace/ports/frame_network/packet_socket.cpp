// SPDX-License-Identifier: Apache-2.0
#include "frame_network/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "host/netns.h"

namespace xr::frame_network {

namespace {

constexpr int kBuffer = 64 << 20; // bytes of received frames

Status set_option(const Fd &fd, int level, int option, int value, const char *what) {
  if (setsockopt(fd.get(), level, option, &value, sizeof(value)) == 0)
    return {};
  return errno_error(errno, what);
}

} // namespace

PacketSocket::PacketSocket(Fd fd) : fd_(std::move(fd)), in_(kBatch * kMostFrame) {
  frames_.reserve(kBatch);
}

Result<PacketSocket> PacketSocket::open(const std::string &netns) {
  const auto inside = XR_TRY(host::enter_netns(netns));
  Fd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    return errno_error(errno, "cannot open a packet socket");
  XR_TRY(set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1, "PACKET_IGNORE_OUTGOING"));
  XR_TRY(set_option(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS"));
  XR_TRY(set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, kBuffer, "SO_RCVBUFFORCE"));
  sockaddr_ll all{};
  all.sll_family = AF_PACKET;
  all.sll_protocol = htons(ETH_P_ALL);
  if (bind(fd.get(), reinterpret_cast<const sockaddr *>(&all), sizeof(all)) != 0)
    return errno_error(errno, "cannot bind a packet socket");
  return PacketSocket(std::move(fd));
}

void PacketSocket::send(unsigned ifindex, std::span<const uint8_t> frame) {
  out_[waiting_].ifindex = ifindex;
  out_[waiting_].bytes.assign(frame.begin(), frame.end());
  if (++waiting_ == kBatch)
    flush();
}

void PacketSocket::flush() {
  if (!waiting_)
    return;
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  std::array<sockaddr_ll, kBatch> where{};
  for (size_t i = 0; i < waiting_; i++) {
    where[i].sll_family = AF_PACKET;
    where[i].sll_ifindex = static_cast<int>(out_[i].ifindex);
    parts[i] = {out_[i].bytes.data(), out_[i].bytes.size()};
    messages[i].msg_hdr.msg_name = &where[i];
    messages[i].msg_hdr.msg_namelen = sizeof(where[i]);
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  for (size_t sent = 0; sent < waiting_;) {
    const int taken =
        sendmmsg(fd_.get(), messages.data() + sent, static_cast<unsigned>(waiting_ - sent), 0);
    refused_ += taken <= 0;
    sent += taken > 0 ? static_cast<size_t>(taken) : 1;
  }
  waiting_ = 0;
}

std::span<const PacketSocket::Frame> PacketSocket::receive() {
  std::array<mmsghdr, kBatch> messages{};
  std::array<iovec, kBatch> parts{};
  std::array<sockaddr_ll, kBatch> where{};
  for (size_t i = 0; i < kBatch; i++) {
    parts[i] = {in_.data() + i * kMostFrame, kMostFrame};
    messages[i].msg_hdr.msg_name = &where[i];
    messages[i].msg_hdr.msg_namelen = sizeof(where[i]);
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  frames_.clear();
  const int count = recvmmsg(fd_.get(), messages.data(), kBatch, MSG_DONTWAIT, nullptr);
  for (int i = 0; i < count; i++)
    frames_.push_back({static_cast<unsigned>(where[static_cast<size_t>(i)].sll_ifindex),
                       {in_.data() + static_cast<size_t>(i) * kMostFrame,
                        messages[static_cast<size_t>(i)].msg_len}});
  return frames_;
}

uint64_t PacketSocket::dropped() const {
  tpacket_stats counts{};
  socklen_t size = sizeof(counts);
  return getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &counts, &size) == 0 ? counts.tp_drops
                                                                                   : 0;
}

} // namespace xr::frame_network
