// SPDX-License-Identifier: Apache-2.0
// Questions to the kernel over netlink (netlink(7)), in the namespace that the thread is in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace xr::host {

// A run of attributes as the kernel lays them out.
struct Attribute {
  int type;
  std::string_view data;

  template <typename T> T as() const {
    T value{};
    memcpy(&value, data.data(), std::min(sizeof(value), data.size()));
    return value;
  }
  std::string text() const { return std::string(data.substr(0, data.find('\0'))); }
};

template <typename F> void each_attribute(std::string_view run, F use) {
  rtattr head{};
  while (run.size() >= sizeof(head)) {
    memcpy(&head, run.data(), sizeof(head));
    if (head.rta_len < sizeof(head) || head.rta_len > run.size())
      return;
    use(Attribute{head.rta_type & NLA_TYPE_MASK,
                  run.substr(sizeof(head), head.rta_len - sizeof(head))});
    run.remove_prefix(std::min<size_t>(RTA_ALIGN(head.rta_len), run.size()));
  }
}

// A request: its family's header, then attributes.
class Request {
public:
  template <typename Body> Request(uint16_t type, uint16_t flags, const Body &body) {
    nlmsghdr head{};
    head.nlmsg_type = type;
    head.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    put(&head, sizeof(head));
    put(&body, sizeof(body));
  }

  Request &add(uint16_t type, const void *data, size_t size) {
    rtattr head{static_cast<uint16_t>(sizeof(head) + size), type};
    put(&head, sizeof(head));
    put(data, size);
    return *this;
  }
  Request &add(uint16_t type, uint32_t value) { return add(type, &value, sizeof(value)); }
  Request &add(uint16_t type, const std::string &text) {
    return add(type, text.c_str(), text.size() + 1);
  }

  std::string bytes() const {
    std::string out = bytes_;
    const auto size = static_cast<uint32_t>(out.size());
    memcpy(out.data(), &size, sizeof(size)); // nlmsg_len comes first
    return out;
  }

private:
  void put(const void *data, size_t size) {
    bytes_.append(static_cast<const char *>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::string bytes_;
};

// What became of a request: an errno value, and the kernel's own words if it had some.
struct Answer {
  int error = 0;
  std::string words;
};

// Asks on a socket of its own until the kernel has said all: type and body of each message. The
// protocol is rtnetlink(7)'s, or NETLINK_GENERIC.
Answer ask(const Request &request, const std::function<void(uint16_t, std::string_view)> &use,
           int protocol = NETLINK_ROUTE);

} // namespace xr::host
