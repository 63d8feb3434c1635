// SPDX-License-Identifier: Apache-2.0
// A gRPC server: the calls of the Open Traffic Generator's service `otg.Openapi`, each answered as
// the HTTP request that it is. Calls are let in as requests of an HTTP server are.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/access.h"
#include "http/server.h"
#include "parse/listen.h"

namespace xr::otg_grpc {

// Whether this program was built with gRPC: then its module is looked for by start().
bool built();

struct ServerOptions {
  parse::Listen listen;
  // Asked for each call. The certificate is that of the start.
  std::function<std::shared_ptr<const http::Access>()> access;
  size_t most_message = size_t{64} << 20; // bytes
};

class Server {
public:
  // `answer` is called by several threads at once. `failed` makes the answers to what is no call
  // for it.
  static Result<Server>
  start(const ServerOptions &options, std::function<http::Answer(const http::Request &)> answer,
        std::function<http::Answer(int status, const std::vector<std::string> &errors)> failed);
  Server(Server &&) noexcept;
  Server &operator=(Server &&) noexcept;
  ~Server(); // calls that are being answered end first

  const parse::Listen &listen() const; // with the actual port

private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::otg_grpc
