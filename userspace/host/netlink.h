// SPDX-License-Identifier: Apache-2.0
// Requests to the kernel over netlink(7), by libmnl, in the network namespace of the thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

namespace xr::host {

struct Attribute {
  int type;
  std::string_view data;

  // libmnl's getters do not look at the length, and an older kernel's struct may be shorter: what
  // it lacks is 0.
  template <typename T> T as() const {
    T value{};
    memcpy(&value, data.data(), std::min(sizeof(value), data.size()));
    return value;
  }
  std::string text() const { return std::string(data.substr(0, data.find('\0'))); }
};

// `run`: what follows a family's header, or the data of a nested attribute.
template <typename F> void each_attribute(std::string_view run, F use) {
  const auto hand_on = [](const nlattr *attr, void *data) {
    const auto *text = static_cast<const char *>(mnl_attr_get_payload(attr));
    (*static_cast<F *>(data))(
        Attribute{mnl_attr_get_type(attr), {text, mnl_attr_get_payload_len(attr)}});
    return MNL_CB_OK;
  };
  mnl_attr_parse_payload(run.data(), run.size(), hand_on, &use);
}

// A request: its family's header, then attributes.
class Request {
public:
  template <typename Body> Request(uint16_t type, uint16_t flags, const Body &body) {
    nlmsghdr *head = mnl_nlmsg_put_header(room_.data());
    head->nlmsg_type = type;
    head->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    header(body);
  }

  // A family's header; inside an attribute too, where one begins with it (VETH_INFO_PEER).
  template <typename Body> Request &header(const Body &body) {
    if (message()->nlmsg_len + MNL_ALIGN(sizeof(body)) > room_.size())
      fits_ = false;
    else
      memcpy(mnl_nlmsg_put_extra_header(message(), sizeof(body)), &body, sizeof(body));
    return *this;
  }
  Request &add(uint16_t type, uint32_t value) {
    fits_ = mnl_attr_put_u32_check(message(), room_.size(), type, value) && fits_;
    return *this;
  }
  Request &add(uint16_t type, const std::string &text) {
    fits_ = mnl_attr_put_strz_check(message(), room_.size(), type, text.c_str()) && fits_;
    return *this;
  }
  // An attribute of attributes, which `fill` adds.
  template <typename F> Request &nest(uint16_t type, F fill) {
    nlattr *start = mnl_attr_nest_start_check(message(), room_.size(), type);
    if (!start) {
      fits_ = false;
      return *this;
    }
    fill(*this);
    mnl_attr_nest_end(message(), start);
    return *this;
  }

  nlmsghdr *message() { return reinterpret_cast<nlmsghdr *>(room_.data()); }
  // False when a text was too long for the room.
  bool fits() const { return fits_; }

private:
  alignas(nlmsghdr) std::array<char, 1024> room_{};
  bool fits_ = true;
};

// The kernel's answer to a request: an errno value, and its extended acknowledgement's message.
struct Answer {
  int error = 0;
  std::string words;
};

// Asks on a socket of its own until the answer is complete, then hands on type and body of each
// message. The protocol is rtnetlink(7)'s, or NETLINK_GENERIC.
Answer ask(Request request, const std::function<void(uint16_t, std::string_view)> &use,
           int protocol = NETLINK_ROUTE);

} // namespace xr::host
