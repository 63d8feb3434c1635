// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include <fmt/format.h>
#include <httplib.h>

namespace xr::http {

using Clock = std::chrono::steady_clock;

namespace {

// A client that hangs keeps a thread until its time is over; the others serve other clients.
constexpr size_t kThreads = 160;
constexpr int kBacklog = 256;                        // connections that wait for a thread
constexpr time_t kSilence = 10;                      // s without a byte of a request
constexpr auto kBodyTime = std::chrono::seconds(30); // for a whole body
constexpr time_t kKeepAlive = 60;                    // s between two requests of a connection

std::unique_ptr<httplib::Server> make_server(const ServerOptions &options) {
  if (options.certificate.empty())
    return std::make_unique<httplib::Server>();
  return std::make_unique<httplib::SSLServer>(options.certificate.c_str(), options.key.c_str());
}

// Takes equally long for each token, however much of it is right.
bool same(const std::string &a, const std::string &b) {
  size_t change = a.size() ^ b.size();
  for (size_t i = 0; i < a.size(); i++)
    change |= static_cast<unsigned char>(a[i]) ^
              static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  return !change;
}

void give(const Answer &answer, httplib::Response &response) {
  response.status = answer.status;
  response.set_content(answer.body, answer.type);
}

Error cannot_listen(const parse::Listen &listen, int error) {
  return errno_error(
      error, fmt::format("cannot listen on {}", listen.text()),
      error == EADDRINUSE      ? "`ss -ltnp` shows which process uses it; or --listen ADDRESS:PORT"
      : error == EADDRNOTAVAIL ? "use an address of this host: `ip address` lists them"
      : error == EACCES        ? "ports below 1024 need CAP_NET_BIND_SERVICE"
                               : "");
}

} // namespace

struct Server::State {
  ServerOptions options;
  std::function<Answer(const Request &)> answer;
  std::function<Answer(int, const std::string &)> failed;
  std::unique_ptr<httplib::Server> server;
  std::thread thread;
  int socket = -1; // the server's, once it is bound

  ~State() {
    server->stop();
    if (thread.joinable())
      thread.join();
  }

  void set_up();
  bool allowed(const httplib::Request &request) const;
  void serve(const httplib::Request &request, httplib::Response &response,
             const httplib::ContentReader *reader) const;
};

bool Server::State::allowed(const httplib::Request &request) const {
  return options.token.empty() ||
         same(request.get_header_value("Authorization"), "Bearer " + options.token);
}

void Server::State::serve(const httplib::Request &request, httplib::Response &response,
                          const httplib::ContentReader *reader) const {
  Request made{request.method, request.path, {}};
  const auto until = Clock::now() + kBodyTime;
  bool late = false, long_ = false;
  if (reader && !(*reader)([&](const char *data, size_t length) {
        late = Clock::now() > until;
        long_ = made.body.size() + length > options.most_body;
        if (late || long_)
          return false;
        made.body.append(data, length);
        return true;
      })) {
    const int status = late ? 408 : long_ || response.status == 413 ? 413 : 400;
    return give(failed(status, status == 408   ? "the body took longer than 30 s"
                               : status == 413 ? fmt::format("the body has more than {} bytes",
                                                             options.most_body)
                                               : "the body ended early"),
                response);
  }
  give(answer(made), response);
}

void Server::State::set_up() {
  server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server->set_payload_max_length(options.most_body);
  server->set_read_timeout(kSilence);
  server->set_write_timeout(kSilence);
  server->set_keep_alive_timeout(kKeepAlive);
  server->set_keep_alive_max_count(SIZE_MAX);
  server->set_tcp_nodelay(true);
  // The library's own options let a second server have the same address (SO_REUSEPORT).
  server->set_socket_options([this](int made) {
    const int yes = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    socket = made;
  });
  const auto with_body = [this](const httplib::Request &request, httplib::Response &response,
                                const httplib::ContentReader &reader) {
    serve(request, response, &reader);
  };
  server->Get(".*", [this](const httplib::Request &request, httplib::Response &response) {
    serve(request, response, nullptr);
  });
  server->Post(".*", with_body);
  server->Patch(".*", with_body);
  server->set_pre_routing_handler(
      [this](const httplib::Request &request, httplib::Response &response) {
        if (allowed(request))
          return httplib::Server::HandlerResponse::Unhandled;
        response.set_header("WWW-Authenticate", "Bearer");
        give(failed(401, "the request has no token, or another one"), response);
        return httplib::Server::HandlerResponse::Handled;
      });
  server->set_exception_handler([this](const httplib::Request &, httplib::Response &response,
                                       const std::exception_ptr &thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception &error) {
      give(failed(500, error.what()), response);
    } catch (...) {
      give(failed(500, "unknown"), response);
    }
  });
  server->set_error_handler([this](const httplib::Request &request, httplib::Response &response) {
    if (response.body.empty())
      give(failed(response.status, fmt::format("{} {}", request.method, request.path)), response);
  });
}

Result<Server> Server::start(const ServerOptions &options,
                             std::function<Answer(const Request &)> answer,
                             std::function<Answer(int status, const std::string &why)> failed) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->answer = std::move(answer);
  state->failed = std::move(failed);
  state->server = make_server(options);
  if (!state->server->is_valid())
    return Error{fmt::format("{} and {} are not a certificate and its key", options.certificate,
                             options.key),
                 "PEM files; `openssl x509 -in CERT -noout -text` shows a certificate"};
  state->set_up();
  parse::Listen &listen = state->options.listen;
  errno = 0;
  if (listen.port == 0) {
    const int port = state->server->bind_to_any_port(listen.address);
    if (port < 0)
      return cannot_listen(listen, errno);
    listen.port = static_cast<uint16_t>(port);
  } else if (!state->server->bind_to_port(listen.address, listen.port)) {
    return cannot_listen(listen, errno);
  }
  ::listen(state->socket, kBacklog); // the library's own backlog is 5
  state->thread = std::thread([server = state->server.get()] { server->listen_after_bind(); });
  return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server &&) noexcept = default;
Server &Server::operator=(Server &&) noexcept = default;
Server::~Server() = default;

const parse::Listen &Server::listen() const { return state_->options.listen; }

} // namespace xr::http
