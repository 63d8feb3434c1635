// SPDX-License-Identifier: Apache-2.0
// An HTTP server for JSON: one function answers all requests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "parse/listen.h"

namespace xr::http {

struct Request {
  std::string method, path, body; // GET, POST or PATCH; "/config"
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
};

struct ServerOptions {
  parse::Listen listen;
  std::string certificate, key; // PEM files; "": no TLS
  std::string token;            // a request needs `Authorization: Bearer TOKEN`; "": it does not
  size_t most_body = size_t{64} << 20; // bytes
};

class Server {
public:
  // `answer` is called by several threads at once. `failed` makes the answers to what is no request
  // for it: wrong method, no token, a body that is too long or takes too long.
  static Result<Server> start(const ServerOptions &options,
                              std::function<Answer(const Request &)> answer,
                              std::function<Answer(int status, const std::string &why)> failed);
  Server(Server &&) noexcept;
  Server &operator=(Server &&) noexcept;
  ~Server(); // requests that are being answered end first

  const parse::Listen &listen() const; // with the actual port

private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::http
