// SPDX-License-Identifier: Apache-2.0
#include "metrics/server.h"

#include <exception>
#include <string_view>
#include <vector>

#include <CivetServer.h>
#include <fmt/format.h>
#include <netdb.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace xr::metrics {

namespace {

bool has_ipv6() { return mg_check_feature(MG_FEATURES_IPV6) != 0; } // Debian 12's has no IPv6

std::string form() {
  return std::string("ADDRESS:PORT, like 127.0.0.1:9479") + (has_ipv6() ? " or [::1]:9479" : "");
}

// Tries to listen in order to report the reason of a failure, which civetweb does not.
Status try_to_listen(const parse::Listen &listen) {
  if (listen.ipv6 && !has_ipv6())
    return Error{
        fmt::format("cannot listen on {}: this civetweb library has no IPv6", listen.text()),
        fmt::format("--listen {}:{}", listen.address == "::1" ? "127.0.0.1" : "0.0.0.0",
                    listen.port)};
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  if (int error =
          getaddrinfo(listen.address.c_str(), std::to_string(listen.port).c_str(), &hints, &found))
    return Error{fmt::format("cannot listen on {}: {}", listen.text(), gai_strerror(error))};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  const Fd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (fd && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
      bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd.get(), 1) == 0)
    return {};
  const int error = errno;
  return errno_error(
      error, fmt::format("cannot listen on {}", listen.text()),
      error == EADDRINUSE      ? "`ss -ltnp` shows which process uses it; or --listen ADDRESS:PORT"
      : error == EADDRNOTAVAIL ? "use an address of this host: `ip address` lists them"
      : error == EACCES        ? "ports below 1024 need CAP_NET_BIND_SERVICE"
                               : "");
}

// Handles requests other than GET /metrics. Returns 0 to pass a request on to the exposer.
int begin_request(mg_connection *connection) {
  const mg_request_info *request = mg_get_request_info(connection);
  const std::string_view method = request->request_method,
                         uri = request->local_uri ? request->local_uri : "*";
  if (method != "GET") {
    mg_send_http_error(connection, 405, "%s", "GET /metrics");
    return 405;
  }
  if (uri != "/")
    return 0;
  constexpr std::string_view kPage =
      "<!DOCTYPE html><title>xdp-roce</title><h1>xdp-roce</h1><a href=\"/metrics\">metrics</a>\n";
  mg_send_http_ok(connection, "text/html; charset=utf-8", static_cast<long long>(kPage.size()));
  mg_write(connection, kPage.data(), kPage.size());
  return 200;
}

// Suppresses log messages, for example about a scraper that disconnected early.
int log_message(const mg_connection *, const char *) { return 1; }

} // namespace

Result<parse::Listen> parse_listen(const std::string &word) { return parse::listen(word, form()); }

Result<Server> Server::start(const parse::Listen &listen,
                             std::shared_ptr<prometheus::Collectable> from) {
  XR_TRY(try_to_listen(listen));
  // A client that sends nothing blocks a thread for 2 s; the other threads serve other clients.
  const std::vector<std::string> options = {"listening_ports",    listen.text(), "num_threads", "8",
                                            "request_timeout_ms", "2000"};
  CivetCallbacks callbacks;
  callbacks.begin_request = begin_request;
  callbacks.log_message = log_message;
  Server server;
  server.listen_ = listen;
  server.from_ = std::move(from);
  try {
    server.exposer_ = std::make_unique<prometheus::Exposer>(options, &callbacks);
    server.exposer_->RegisterCollectable(server.from_);
    if (const auto ports = server.exposer_->GetListeningPorts(); !ports.empty())
      server.listen_.port = static_cast<uint16_t>(ports.front());
  } catch (const std::exception &error) {
    return Error{fmt::format("cannot listen on {}: {}", listen.text(), error.what())};
  }
  return server;
}

Server::Server(Server &&) noexcept = default;
Server &Server::operator=(Server &&) noexcept = default;
Server::~Server() = default;

} // namespace xr::metrics
