// SPDX-License-Identifier: Apache-2.0
#include "host/netlink.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include <sys/socket.h>

namespace xr::host {

namespace {

constexpr uint32_t kSequence = 1; // one request per socket
constexpr size_t kRoom = 256 << 10;
constexpr int kTries = 5;

struct Close {
  void operator()(mnl_socket *socket) const { mnl_socket_close(socket); }
};
using Socket = std::unique_ptr<mnl_socket, Close>;

struct Reading {
  std::vector<std::pair<uint16_t, std::string>> messages;
  Answer answer;
};

int keep_message(const nlmsghdr *head, void *data) {
  static_cast<Reading *>(data)->messages.emplace_back(
      head->nlmsg_type, std::string(static_cast<const char *>(mnl_nlmsg_get_payload(head)),
                                    mnl_nlmsg_get_payload_len(head)));
  return MNL_CB_OK;
}

// NLMSG_ERROR; with error 0 it is the acknowledgement. libmnl's own handler reads only the number.
int read_acknowledgement(const nlmsghdr *head, void *data) {
  Answer &answer = static_cast<Reading *>(data)->answer;
  const std::string_view body(static_cast<const char *>(mnl_nlmsg_get_payload(head)),
                              mnl_nlmsg_get_payload_len(head));
  nlmsgerr code{};
  if (body.size() < sizeof(code)) {
    answer.error = EBADMSG;
    return MNL_CB_STOP;
  }
  memcpy(&code, body.data(), sizeof(code));
  answer.error = -code.error;
  if (head->nlmsg_flags & NLM_F_ACK_TLVS) {
    // The request follows, only its header if NLM_F_CAPPED is set; then the message text.
    size_t skip = sizeof(code);
    if (!(head->nlmsg_flags & NLM_F_CAPPED))
      skip += MNL_ALIGN(code.msg.nlmsg_len) - sizeof(nlmsghdr);
    each_attribute(body.substr(std::min(skip, body.size())), [&](const Attribute &a) {
      if (a.type == NLMSGERR_ATTR_MSG)
        answer.words = a.text();
    });
  }
  return MNL_CB_STOP;
}

// Returns a libmnl status; MNL_CB_OK: more datagrams follow.
int read_datagram(const Socket &socket, std::vector<char> &room, Reading &reading) {
  // Indexed by message type. libmnl itself handles NLMSG_DONE.
  std::array<mnl_cb_t, NLMSG_ERROR + 1> control{};
  control[NLMSG_ERROR] = read_acknowledgement;
  ssize_t size = -1;
  do
    size = mnl_socket_recvfrom(socket.get(), room.data(), room.size());
  while (size < 0 && errno == EINTR);
  if (size <= 0) {
    reading.answer.error = size < 0 ? errno : EPROTO;
    return MNL_CB_STOP;
  }
  const int status = mnl_cb_run2(room.data(), static_cast<size_t>(size), kSequence,
                                 mnl_socket_get_portid(socket.get()), keep_message, &reading,
                                 control.data(), static_cast<unsigned>(control.size()));
  if (status < 0)
    reading.answer.error = errno; // EINTR: a table changed while the kernel dumped it
  return status;
}

Reading ask_once(Request &request, int protocol) {
  Reading reading;
  int on = 1;
  const Socket socket(mnl_socket_open2(protocol, SOCK_CLOEXEC));
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    reading.answer.error = errno;
    return reading;
  }
  mnl_socket_setsockopt(socket.get(), NETLINK_EXT_ACK, &on, sizeof(on));
  nlmsghdr *message = request.message();
  message->nlmsg_seq = kSequence;
  if (mnl_socket_sendto(socket.get(), message, message->nlmsg_len) < 0) {
    reading.answer.error = errno;
    return reading;
  }
  std::vector<char> room(kRoom);
  while (read_datagram(socket, room, reading) > MNL_CB_STOP)
    ;
  return reading;
}

} // namespace

Answer ask(Request request, const std::function<void(uint16_t, std::string_view)> &use,
           int protocol) {
  if (!request.fits())
    return {EMSGSIZE, ""};
  Reading reading;
  for (int i = 0; i < kTries; i++) {
    reading = ask_once(request, protocol);
    if (reading.answer.error != EINTR)
      break;
  }
  if (use && !reading.answer.error)
    for (const auto &[type, body] : reading.messages)
      use(type, body);
  return std::move(reading.answer);
}

} // namespace xr::host
