// SPDX-License-Identifier: Apache-2.0
// Netlink(7) requests with libmnl, in the network namespace of the thread.
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

  // libmnl's getters do not check the length. Structs of older kernels may be shorter: the missing
  // part is 0.
  template <typename T> T as() const {
    T value{};
    memcpy(&value, data.data(), std::min(sizeof(value), data.size()));
    return value;
  }
  std::string text() const { return std::string(data.substr(0, data.find('\0'))); }
};

// `run`: the attributes after a family header, or in a nested attribute.
template <typename F> void each_attribute(std::string_view run, F use) {
  const auto hand_on = [](const nlattr *attr, void *data) {
    const auto *text = static_cast<const char *>(mnl_attr_get_payload(attr));
    (*static_cast<F *>(data))(
        Attribute{mnl_attr_get_type(attr), {text, mnl_attr_get_payload_len(attr)}});
    return MNL_CB_OK;
  };
  mnl_attr_parse_payload(run.data(), run.size(), hand_on, &use);
}

// A request: a family header, then attributes.
class Request {
public:
  template <typename Body> Request(uint16_t type, uint16_t flags, const Body &body) {
    nlmsghdr *head = mnl_nlmsg_put_header(room_.data());
    head->nlmsg_type = type;
    head->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    header(body);
  }

  // A family header; also at the start of an attribute such as VETH_INFO_PEER.
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
  // A nested attribute; `fill` adds its contents.
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
  // False: an attribute did not fit.
  bool fits() const { return fits_; }

private:
  alignas(nlmsghdr) std::array<char, 1024> room_{};
  bool fits_ = true;
};

// Result of a request: an errno value (0: success) and the message of the extended acknowledgement.
struct Answer {
  int error = 0;
  std::string words;
};

// Sends a request on a new socket and reads the complete reply; calls `use` with type and body of
// each message. `protocol`: NETLINK_ROUTE or NETLINK_GENERIC.
Answer ask(Request request, const std::function<void(uint16_t, std::string_view)> &use,
           int protocol = NETLINK_ROUTE);

} // namespace xr::host
