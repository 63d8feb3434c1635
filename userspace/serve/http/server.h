// SPDX-License-Identifier: Apache-2.0
// An HTTP server: one function answers all requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/access.h"
#include "parse/listen.h"

namespace xr::http {

struct Request {
  std::string method, path, body; // one of ServerOptions::methods; "/config"
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  // Instead of `body`, for an answer that lasts: called again and again for the next chunk, until
  // it returns nothing. "": there is none yet; it must return within a second. The answer also ends
  // when the client left, the server stops or its access changes.
  std::function<std::optional<std::string>()> stream = {};
};

struct ServerOptions {
  parse::Listen listen;
  std::shared_ptr<const Access> access;
  std::vector<std::string> methods = {"GET", "POST", "PATCH"}; // GET: HEAD too
  size_t most_body = size_t{64} << 20;                         // bytes
  size_t threads = 160; // connections at once; as many more wait for a thread
  size_t streams = 16;  // of these, answers that last
};

class Server {
public:
  // `answer` is called by several threads at once. `failed` makes the answers to what is no request
  // for it: wrong method, not let in, a body that is too long or takes too long.
  static Result<Server> start(const ServerOptions &options,
                              std::function<Answer(const Request &)> answer,
                              std::function<Answer(int status, const std::string &why)> failed);
  Server(Server &&) noexcept;
  Server &operator=(Server &&) noexcept;
  ~Server(); // requests that are being answered end first

  const parse::Listen &listen() const; // with the actual port
  std::shared_ptr<const Access> access() const;
  // For new connections. The others end after the request that they are at.
  void use(std::shared_ptr<const Access> access);
  // Thread safe. Reason -> how many connections and requests were refused, by name.
  std::map<std::string, uint64_t> refused() const;

private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::http
