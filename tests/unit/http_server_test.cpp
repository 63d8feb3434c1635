// SPDX-License-Identifier: Apache-2.0
// The server as sockets meet it: what is served, what is refused, and that a slow client does not
// hold up others.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "http/event_feed.h"
#include "http/server.h"
#include "http_client.h"

namespace xr::http::http_server_test {
namespace {

using namespace std::chrono_literals;
using test::received;

struct Served {
  Server server;

  Fd send(const std::string &text) const { return test::send_to(server.listen().port, text); }
  uint64_t refused(const std::string &reason) const { return server.refused().at(reason); }
};

Served serve(size_t threads, const WebConfig &config = {}, size_t most_body = 1000) {
  ServerOptions options;
  options.listen = parse::listen("127.0.0.1:0", "").get();
  options.access = Access::make(config).get();
  options.methods = {"GET", "POST"};
  options.threads = threads;
  options.most_body = most_body;
  auto server = Server::start(
      options,
      [](const Request &request) {
        return Answer{200, "text/plain", request.method + " " + request.path + " " + request.body};
      },
      [](int status, const std::string &why) {
        return Answer{status, "text/plain", why};
      });
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return {std::move(*server)};
}

TEST(HttpServer, AnswersRequestsOfAConnectionInTurn) {
  const Served at = serve(4);
  const Fd fd = at.send("GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz"
                        "GET /c HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string text = received(fd);
  const size_t a = text.find("GET /a "), b = text.find("POST /b xyz"), c = text.find("GET /c ");
  ASSERT_NE(c, std::string::npos) << text;
  EXPECT_LT(a, b);
  EXPECT_LT(b, c);
  for (const auto &[reason, count] : at.server.refused())
    EXPECT_EQ(count, 0U) << reason;
}

TEST(HttpServer, EndsAConnectionWhoseBodyItDoesNotRead) {
  WebConfig config;
  config.token = "geheim";
  config.headers = {{"X-Frame-Options", "deny"}};
  const Served at = serve(4, config);
  const std::string inner = "GET /inner HTTP/1.1\r\nAuthorization: Bearer geheim\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(inner.size()) + "\r\n\r\n";
  std::string text = received(at.send("POST / HTTP/1.1\r\n" + length + inner));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 401 ")) << text;
  EXPECT_NE(text.find("WWW-Authenticate: Bearer\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("X-Frame-Options: deny\r\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("/inner"), std::string::npos) << text;
  const std::string token = "Authorization: Bearer geheim\r\n";
  text = received(at.send("PUT / HTTP/1.1\r\n" + token + length + inner));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 405 ")) << text;
  EXPECT_NE(text.find("Allow: GET, POST\r\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("/inner"), std::string::npos) << text;
  text = received(at.send("GET /outer HTTP/1.1\r\n" + token + length + inner));
  EXPECT_NE(text.find("GET /outer"), std::string::npos) << text;
  EXPECT_EQ(text.find("/inner"), std::string::npos) << text;
  EXPECT_EQ(at.refused("login"), 1U);
  EXPECT_EQ(at.refused("method"), 1U);
}

TEST(HttpServer, LimitsHeaderAndBody) {
  const Served at = serve(4);
  std::string text =
      received(at.send("POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x')));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 413 ")) << text;
  std::string chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 101; i++)
    chunks += "a\r\n0123456789\r\n";
  text = received(at.send(chunks + "0\r\n\r\n"));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 413 ")) << text;
  text =
      received(at.send("POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x')),
               std::string(1000, 'x'));
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 ")) << text;
  // Lines of a header without an end.
  std::string lines = "GET / HTTP/1.1\r\n";
  while (lines.size() < 66'000)
    lines += "X: y\r\n";
  text = received(at.send(lines));
  EXPECT_EQ(text.find("200 OK"), std::string::npos) << text;
  EXPECT_GE(at.refused("slow"), 1U);
}

TEST(HttpServer, AClientThatDoesNotEndItsHeaderGivesWay) {
  const Served at = serve(1);
  const Fd slow = at.send("GET /slow HTTP/1.1\r\n");
  std::this_thread::sleep_for(100ms);
  const auto start = std::chrono::steady_clock::now();
  const std::string text = received(at.send("GET /fast HTTP/1.1\r\nConnection: close\r\n\r\n"));
  EXPECT_NE(text.find("GET /fast"), std::string::npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - start, 8s); // the header's limit is 10 s
  EXPECT_EQ(received(slow).find("200 OK"), std::string::npos);
  EXPECT_EQ(at.refused("slow"), 1U);
}

TEST(HttpServer, EndsConnectionsThatAreTooMany) {
  const Served at = serve(1);
  const Fd first = at.send("GET /first HTTP/1.1\r\n"); // has the thread
  std::this_thread::sleep_for(100ms);
  const Fd second = at.send("GET /second HTTP/1.1\r\nConnection: close\r\n\r\n"); // waits
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(received(at.send("GET /third HTTP/1.1\r\n\r\n")), "");
  EXPECT_EQ(at.refused("connections"), 1U);
  EXPECT_NE(received(second).find("GET /second"), std::string::npos);
}

TEST(HttpServer, ANewConfigurationHoldsAtOnce) {
  Served at = serve(4);
  const Fd idle = at.send("GET /a HTTP/1.1\r\n\r\n");
  EXPECT_NE(received(idle, "GET /a").find("200 OK"), std::string::npos);
  WebConfig config;
  config.token = "geheim";
  at.server.use(Access::make(config).get());
  const std::string again = "GET /b HTTP/1.1\r\n\r\n";
  ::send(idle.get(), again.data(), again.size(), MSG_NOSIGNAL);
  EXPECT_EQ(received(idle).find("200 OK"), std::string::npos);
  EXPECT_NE(received(at.send("GET /b HTTP/1.1\r\nConnection: close\r\n\r\n")).find(" 401 "),
            std::string::npos);
}

// A client that has connected is answered, by the new configuration.
TEST(HttpServer, ANewConfigurationLosesNoFirstRequest) {
  Served at = serve(4);
  const Fd fd = at.send("");
  std::this_thread::sleep_for(50ms); // a thread has it
  WebConfig config;
  config.token = "geheim";
  at.server.use(Access::make(config).get());
  const std::string request = "GET /a HTTP/1.1\r\n\r\n";
  ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(received(fd).starts_with("HTTP/1.1 401 "));
}

TEST(HttpServer, ReportsAnAddressInUse) {
  const Served at = serve(1);
  EXPECT_NE(at.server.listen().port, 0);
  ServerOptions options;
  options.listen = at.server.listen();
  options.access = at.server.access();
  const auto second = Server::start(
      options, [](const Request &) { return Answer{}; },
      [](int, const std::string &) { return Answer{}; });
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("EADDRINUSE"), std::string::npos);
  EXPECT_FALSE(second.error().hint.empty());
}

TEST(HttpServer, EndsBesideClientsThatWait) {
  const auto start = std::chrono::steady_clock::now();
  {
    const Served at = serve(4);
    const Fd idle = at.send(""), header = at.send("GET /"),
             body = at.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nx");
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

// A server of events with two places.
Server serve_events(EventFeed &feed) {
  ServerOptions options;
  options.listen = parse::listen("127.0.0.1:0", "").get();
  options.access = Access::make({}).get();
  options.streams = 2;
  auto server = Server::start(
      options, [&feed](const Request &) { return feed.listen(); },
      [](int status, const std::string &why) {
        return Answer{status, "text/plain", why};
      });
  EXPECT_TRUE(server.ok()) << (server.ok() ? "" : server.error().message);
  return std::move(*server);
}

void wait_for_listeners(const EventFeed &feed, size_t count) {
  for (int i = 0; i < 500 && feed.listeners() != count; i++)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(feed.listeners(), count);
}

TEST(HttpServer, StreamsEventsToEveryClient) {
  EventFeed feed;
  const Server server = serve_events(feed);
  const std::string request = "GET /events HTTP/1.1\r\n\r\n";
  const Fd one = test::send_to(server.listen().port, request);
  {
    const Fd two = test::send_to(server.listen().port, request);
    wait_for_listeners(feed, 2);
    // A third is refused, with a sentence.
    const Fd three = test::send_to(server.listen().port, request);
    const std::string text = received(three, "already");
    EXPECT_TRUE(text.starts_with("HTTP/1.1 503 ")) << text;
    EXPECT_NE(text.find("there are 2 streams already"), std::string::npos) << text;
    received(one, "retry: 2000");
    received(two, "retry: 2000");
    feed.publish("{}");
    EXPECT_NE(received(one, "data: {}\n\n").find("data: {}\n\n"), std::string::npos);
    EXPECT_NE(received(two, "data: {}\n\n").find("data: {}\n\n"), std::string::npos);
  }
  wait_for_listeners(feed, 1); // a client that left is noticed without an event
}

TEST(HttpServer, EndsBesideStreams) {
  EventFeed feed;
  Fd fd, stuck;
  std::chrono::steady_clock::time_point began;
  {
    const Server server = serve_events(feed);
    const std::string request = "GET /events HTTP/1.1\r\n\r\n";
    fd = test::send_to(server.listen().port, request);
    stuck = test::send_to(server.listen().port, request);
    wait_for_listeners(feed, 2);
    feed.publish(std::string(size_t{16} << 20, 'x')); // more than a socket takes
    std::this_thread::sleep_for(100ms);
    began = std::chrono::steady_clock::now();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 8s); // a client may take 10 s to read
  EXPECT_EQ(feed.listeners(), 0U);
}

} // namespace
} // namespace xr::http::http_server_test
