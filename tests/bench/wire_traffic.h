// SPDX-License-Identifier: Apache-2.0
// Frames for the measurements of `wire`, and what rules and links its ports have.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>

#include "datapath/rules.h"
#include "datapath/wire_ports.h"
#include "endpoint/wire.h"
#include "frames.h"
#include "packet_socket.h"
#include "parse/words.h"
#include "wire/link_words.h"

namespace xr::bench {

// RC SEND ONLY of `bytes`, ECT(0), to QP 0.
inline std::vector<uint8_t> frame_of(uint32_t bytes) {
  std::vector<uint8_t> f = ipv4_frame(bytes, ROCE_RC_SEND_ONLY);
  f[0] = f[6] = 2;
  f[5] = 2;
  f[11] = 1;
  f[15] = 2;
  return f;
}

class Sender {
public:
  Sender(const char *port, uint32_t bytes, uint32_t streams)
      : socket_(port, frame_of(bytes)), streams_(streams), psn_(streams) {}

  void send() {
    for (auto &frame : socket_.frames()) {
      random_ = random_ * 1664525 + 1013904223;
      const auto stream = static_cast<uint32_t>(uint64_t{random_} * streams_ >> 32);
      const uint32_t qp = htonl(stream), psn = htonl(psn_[stream]++ & 0xffffff);
      std::memcpy(&frame[46], &qp, sizeof(qp));
      std::memcpy(&frame[50], &psn, sizeof(psn));
    }
    socket_.send();
  }

private:
  PacketSocket socket_;
  uint32_t streams_, random_ = 1;
  std::vector<uint32_t> psn_;
};

inline void set_link(const char *port, const std::string &text) {
  std::string canonical;
  if (!text.empty()) {
    auto spec = wire::parse_link(parse::split(text));
    if (!spec)
      fail(spec.error().message);
    canonical = wire::link_text(*spec);
  }
  if (auto done = datapath::set_link_words({port, ""}, canonical); !done)
    fail(done.error().message);
}

inline void set_rule(const char *port, const std::string &text) {
  if (auto done = datapath::clear_rules({port, ""}); !done)
    fail(done.error().message);
  if (text.empty())
    return;
  auto rule = impair::parse(parse::split(text));
  if (!rule)
    fail(rule.error().message);
  if (auto done = datapath::add_rule({port, ""}, *rule); !done)
    fail(done.error().message);
}

// A wire between the two ports, in copy mode.
inline endpoint::WireRun open_wire(const char *first, const char *second, uint64_t memory,
                                   bool track = true) {
  endpoint::WireRequest request;
  request.first = first;
  request.second = second;
  request.copy = true;
  request.attach.track = track;
  request.memory = memory;
  auto run = endpoint::WireRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  return std::move(*run);
}

inline void turn(endpoint::WireRun &run) {
  if (auto done = run.turn(); !done.ok())
    fail(done.error().message);
}

} // namespace xr::bench
