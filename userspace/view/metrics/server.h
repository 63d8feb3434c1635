// SPDX-License-Identifier: Apache-2.0
// Serves the metrics over HTTP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "base/result.h"

namespace prometheus {
class Exposer;
}

namespace xr::metrics {

// ADDRESS:PORT, IPv6 in brackets. Port 0: any free port.
struct Listen {
  std::string address;
  bool ipv6 = false;
  uint16_t port = 0; // host order

  std::string text() const;
};
Result<Listen> parse_listen(const std::string &word);

// Serves GET /metrics, and a page with a link to it at /, until it is destroyed.
class Server {
public:
  static Result<Server> start(const Listen &listen, std::shared_ptr<prometheus::Collectable> from);
  Server(Server &&) noexcept;
  Server &operator=(Server &&) noexcept;
  ~Server();

  const Listen &listen() const { return listen_; } // with the actual port

private:
  Server() = default;

  Listen listen_;
  std::shared_ptr<prometheus::Collectable> from_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

} // namespace xr::metrics
