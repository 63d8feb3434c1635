// SPDX-License-Identifier: Apache-2.0
#include "host/netlink.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sys/socket.h>

#include "base/fd.h"

namespace xr::host {

namespace {

Answer read_answer(const nlmsghdr &head, std::string_view body) {
  Answer answer;
  nlmsgerr code{};
  memcpy(&code, body.data(), std::min(sizeof(code), body.size()));
  answer.error = -code.error;
  if ((head.nlmsg_flags & NLM_F_ACK_TLVS) && body.size() > sizeof(code)) {
    // The request follows, only its header if it was capped, and the words after it.
    size_t skip = sizeof(code);
    if (!(head.nlmsg_flags & NLM_F_CAPPED))
      skip += NLMSG_ALIGN(code.msg.nlmsg_len) - sizeof(nlmsghdr);
    each_attribute(body.substr(std::min(skip, body.size())), [&](const Attribute &a) {
      if (a.type == NLMSGERR_ATTR_MSG)
        answer.words = a.text();
    });
  }
  return answer;
}

// Messages of one datagram; true when the answer is complete.
bool read_messages(std::string_view datagram,
                   const std::function<void(uint16_t, std::string_view)> &use, Answer &answer) {
  nlmsghdr head{};
  while (datagram.size() >= sizeof(head)) {
    memcpy(&head, datagram.data(), sizeof(head));
    if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > datagram.size())
      break;
    std::string_view body = datagram.substr(sizeof(head), head.nlmsg_len - sizeof(head));
    if (head.nlmsg_type == NLMSG_DONE)
      return true;
    if (head.nlmsg_type == NLMSG_ERROR) { // an acknowledgement too, with error 0
      answer = read_answer(head, body);
      return true;
    }
    if (use)
      use(head.nlmsg_type, body);
    datagram.remove_prefix(std::min<size_t>(NLMSG_ALIGN(head.nlmsg_len), datagram.size()));
  }
  return false;
}

} // namespace

Answer ask(const Request &request, const std::function<void(uint16_t, std::string_view)> &use,
           int protocol) {
  Fd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  const int on = 1;
  const std::string bytes = request.bytes();
  if (!fd)
    return {errno, ""};
  setsockopt(fd.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
  if (::send(fd.get(), bytes.data(), bytes.size(), 0) < 0)
    return {errno, ""};
  std::vector<char> room(256 << 10);
  for (;;) {
    ssize_t size = recv(fd.get(), room.data(), room.size(), 0);
    Answer answer;
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0)
      return {size < 0 ? errno : EPROTO, ""};
    if (read_messages({room.data(), static_cast<size_t>(size)}, use, answer))
      return answer;
  }
}

} // namespace xr::host
