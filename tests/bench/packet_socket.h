// SPDX-License-Identifier: Apache-2.0
// A packet socket that sends batches of frames, without the queueing discipline of its port.
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wires.h"

namespace xr::bench {

class PacketSocket {
public:
  static constexpr size_t kBatch = 64;

  // A batch of copies of `frame`.
  PacketSocket(const char *port, const std::vector<uint8_t> &frame)
      : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)), frames_(kBatch, frame), pieces_(kBatch),
        messages_(kBatch) {
    sockaddr_ll at{};
    const int on = 1;
    at.sll_family = AF_PACKET;
    at.sll_ifindex = static_cast<int>(if_nametoindex(port));
    if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr *>(&at), sizeof(at)) ||
        setsockopt(fd_, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)))
      fail("packet socket");
    for (size_t i = 0; i < kBatch; i++) {
      pieces_[i] = {frames_[i].data(), frames_[i].size()};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  ~PacketSocket() { close(fd_); }
  PacketSocket(const PacketSocket &) = delete;
  PacketSocket &operator=(const PacketSocket &) = delete;

  std::vector<std::vector<uint8_t>> &frames() { return frames_; } // their sizes must stay
  // What the port has no room for is lost.
  void send() {
    if (sendmmsg(fd_, messages_.data(), kBatch, 0) < 0 && errno != ENOBUFS)
      fail("send");
  }

  // The first frame of the batch alone.
  void send_first() {
    if (::send(fd_, frames_[0].data(), frames_[0].size(), 0) < 0 && errno != ENOBUFS)
      fail("send");
  }

private:
  int fd_;
  std::vector<std::vector<uint8_t>> frames_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

} // namespace xr::bench
