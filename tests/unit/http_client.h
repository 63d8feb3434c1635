// SPDX-License-Identifier: Apache-2.0
// A client of a server at 127.0.0.1, as bytes.
#pragma once

#include <cstdint>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace xr::test {

// A connection that has sent `text`.
inline Fd send_to(uint16_t port, const std::string &text) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{20, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof(to)), 0);
  EXPECT_EQ(::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
  return fd;
}

// Until the server ends the connection, or has sent `until`.
inline std::string received(const Fd &fd, const std::string &until = "nothing") {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = recv(fd.get(), bytes, sizeof(bytes), 0)) > 0;) {
    text.append(bytes, static_cast<size_t>(got));
    if (text.find(until) != std::string::npos)
      break;
  }
  return text;
}

} // namespace xr::test
