// SPDX-License-Identifier: Apache-2.0
#include "endpoint/peer_channel.h"

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "parse/address.h"

namespace xr::endpoint {

using namespace std::chrono_literals;

namespace {

constexpr int kPollMs = 20;
constexpr auto kNoListener = 10s;        // how long a client tries
constexpr int kWriteMs = 5000;           // until a reader that does not read is given up
constexpr size_t kMostUnread = 64 << 10; // bytes: a record has 108

sockaddr_in6 socket_address(const packet::Address *address, uint16_t port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6; // IPv4 is mapped
  to.sin6_port = htons(port);
  to.sin6_addr = in6addr_any;
  if (address)
    memcpy(&to.sin6_addr, address->data(), sizeof(to.sin6_addr));
  return to;
}

Result<Fd> tcp_socket() {
  Fd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd)
    return errno_error(errno, "no TCP socket");
  const int off = 0, on = 1;
  setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return fd;
}

bool ready(int fd, short events, int ms) {
  pollfd one{fd, events, 0};
  return poll(&one, 1, ms) > 0;
}

class TcpChannel : public Channel {
public:
  explicit TcpChannel(Fd fd) : fd_(std::move(fd)) {
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  Status write(const peer::Bytes &bytes) override {
    for (size_t done = 0; done < bytes.size();) {
      const ssize_t sent = send(fd_.get(), &bytes[done], bytes.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN && ready(fd_.get(), POLLOUT, kWriteMs))
        continue;
      if (sent < 0)
        return errno_error(errno, "the other side does not take what is said over TCP");
      done += static_cast<size_t>(sent);
    }
    return {};
  }

  Result<bool> read(peer::Bytes &to) override {
    if (to.size() > kMostUnread || !ready(fd_.get(), POLLIN, kPollMs))
      return true;
    std::array<uint8_t, 4096> bytes{};
    const ssize_t count = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (count == 0 || (count < 0 && errno == ECONNRESET))
      return false;
    if (count < 0)
      return errno == EAGAIN || errno == EINTR
                 ? Result<bool>(true)
                 : errno_error(errno, "reading what the other side says over TCP");
    to.insert(to.end(), bytes.begin(), bytes.begin() + count);
    return true;
  }

private:
  Fd fd_;
};

} // namespace

Result<Fd> listen_tcp(const packet::Address *address, uint16_t port) {
  Fd fd = XR_TRY(tcp_socket());
  const sockaddr_in6 at = socket_address(address, port);
  if (bind(fd.get(), reinterpret_cast<const sockaddr *>(&at), sizeof(at)) || listen(fd.get(), 16))
    return errno_error(errno, fmt::format("cannot listen on TCP port {}", port));
  return fd;
}

Result<Fd> accept_tcp(const Fd &listening, packet::Address &from) {
  if (!ready(listening.get(), POLLIN, kPollMs))
    return Fd();
  sockaddr_in6 peer{};
  socklen_t length = sizeof(peer);
  Fd fd(accept4(listening.get(), reinterpret_cast<sockaddr *>(&peer), &length,
                SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd && errno != EAGAIN && errno != ECONNABORTED)
    return errno_error(errno, "cannot accept a TCP connection");
  memcpy(from.data(), &peer.sin6_addr, sizeof(from));
  return fd;
}

Result<Fd> connect_tcp(const packet::Address &address, uint16_t port,
                       const std::atomic<bool> &stop) {
  const sockaddr_in6 to = socket_address(&address, port);
  const auto until = std::chrono::steady_clock::now() + kNoListener;
  int error = ETIMEDOUT;
  while (!stop && std::chrono::steady_clock::now() < until) {
    Fd fd = XR_TRY(tcp_socket());
    if (!connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)))
      return fd;
    error = errno;
    while (error == EINPROGRESS && !stop && std::chrono::steady_clock::now() < until) {
      if (!ready(fd.get(), POLLOUT, kPollMs))
        continue;
      socklen_t length = sizeof(error);
      getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
      if (!error)
        return fd;
    }
    std::this_thread::sleep_for(100ms);
  }
  return errno_error(
      error, fmt::format("no TCP connection to port {} of {}", port, parse::address_text(address)));
}

std::unique_ptr<Channel> tcp_channel(Fd fd) { return std::make_unique<TcpChannel>(std::move(fd)); }

} // namespace xr::endpoint
