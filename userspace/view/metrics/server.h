// SPDX-License-Identifier: Apache-2.0
// Serves the metrics over HTTP.
#pragma once

#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "base/result.h"
#include "parse/listen.h"

namespace prometheus {
class Exposer;
}

namespace xr::metrics {

// What `--listen` of metrics may be.
Result<parse::Listen> parse_listen(const std::string &word);

// Serves GET /metrics, and a page with a link to it at /, until it is destroyed.
class Server {
public:
  static Result<Server> start(const parse::Listen &listen,
                              std::shared_ptr<prometheus::Collectable> from);
  Server(Server &&) noexcept;
  Server &operator=(Server &&) noexcept;
  ~Server();

  const parse::Listen &listen() const { return listen_; } // with the actual port

private:
  Server() = default;

  parse::Listen listen_;
  std::shared_ptr<prometheus::Collectable> from_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

} // namespace xr::metrics
