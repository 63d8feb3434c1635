// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/channel.h"
#include "http/encoding.h"

namespace xr::http {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

namespace {

constexpr int kBacklog = 256; // connections that the kernel keeps
constexpr auto kHandshakeTime = seconds(10);
constexpr auto kHeaderTime = seconds(10);
constexpr auto kBodyTime = seconds(30);
constexpr auto kAnswerTime = seconds(60); // for the client to read an answer
constexpr auto kChunkTime = seconds(10);  // for the client to read a chunk of a stream
constexpr auto kKeepAlive = seconds(60);  // between two requests of a connection
// For a connection that has sent no whole header, if others wait for a thread.
constexpr auto kShortTime = seconds(2);
constexpr size_t kMostHeader = size_t{64} << 10; // bytes

enum Reason { kLogin, kBusyLogin, kTls, kSlow, kTooMany, kTooLong, kMethod, kReasons };
constexpr std::array<const char *, kReasons> kReasonNames = {
    "login", "busy_login", "tls", "slow", "connections", "body", "method"};

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

// The channel as the library reads it. Its newer versions have more functions than older ones, so
// that `override` would be wrong in some.
// NOLINTBEGIN(modernize-use-override)
class ChannelStream final : public httplib::Stream {
public:
  explicit ChannelStream(Channel &channel) : channel_(channel) {}

  bool is_readable() const { return true; }
  bool wait_readable() const { return true; }
  bool is_writable() const { return true; }
  bool wait_writable() const { return true; }
  bool is_peer_alive() const { return true; }
  time_t duration() const { return 0; }
  ssize_t read(char *to, size_t size) { return channel_.read(to, size); }
  ssize_t write(const char *from, size_t size) { return channel_.write(from, size); }
  void get_remote_ip_and_port(std::string &, int &) const {}
  void get_local_ip_and_port(std::string &, int &) const {}
  socket_t socket() const { return channel_.fd(); }

private:
  Channel &channel_;
};
// NOLINTEND(modernize-use-override)

// One request in progress; the library's handlers run in its thread.
struct Current {
  Channel &channel;
  std::shared_ptr<const Access> access;
  bool body_left = false; // a body was announced and not read
};
thread_local Current *current = nullptr;

// The connection is closed at once.
thread_local bool refusing = false;

} // namespace

struct Server::State {
  ServerOptions options;
  std::function<Answer(const Request &)> answer;
  std::function<Answer(int, const std::string &)> failed;
  class Library;
  std::unique_ptr<Library> library;
  std::thread thread;
  int socket = -1; // the server's, once it is bound
  std::atomic<bool> stopping = false;
  std::atomic<size_t> waiting = 0; // connections without a thread
  std::atomic<size_t> streams = 0; // answers that last
  std::array<std::atomic<uint64_t>, kReasons> refused{};
  mutable std::mutex access_mutex;

  ~State();

  std::shared_ptr<const Access> access() const {
    const std::lock_guard lock(access_mutex);
    return options.access;
  }
  void set_up();
  bool let_in(const httplib::Request &request, httplib::Response &response);
  void serve(const httplib::Request &request, httplib::Response &response,
             const httplib::ContentReader *reader);
  void give_stream(Answer answer, httplib::Response &response);
};

// The library parses requests and writes answers; bytes, TLS and time limits are ours.
class Server::State::Library final : public httplib::Server {
public:
  explicit Library(State &state) : state_(state) {}

private:
  bool process_and_close_socket(socket_t fd) override;
  bool requests(Channel &channel, std::shared_ptr<const Access> access);
  // A template, as the library's versions differ.
  template <typename Stream> bool request(Stream &stream, bool &closed);

  State &state_;
};

namespace {

// Connections wait for a thread here. Connections above the limit are closed at once.
class Queue final : public httplib::ThreadPool {
public:
  using Enqueued = decltype(std::declval<httplib::ThreadPool>().enqueue(nullptr));

  Queue(size_t threads, std::atomic<size_t> &waiting, std::atomic<uint64_t> &refused)
      : ThreadPool(threads), most_(threads), waiting_(waiting), refused_(refused) {}

  Enqueued enqueue(std::function<void()> serve) override {
    if (waiting_ >= most_) {
      refused_++;
      refusing = true;
      serve();
      refusing = false;
      return ThreadPool::enqueue([] {});
    }
    waiting_++;
    return ThreadPool::enqueue([this, serve = std::move(serve)] {
      waiting_--;
      serve();
    });
  }

private:
  size_t most_;
  std::atomic<size_t> &waiting_;
  std::atomic<uint64_t> &refused_;
};

} // namespace

Server::State::~State() {
  stopping = true;
  library->stop();
  if (thread.joinable())
    thread.join();
}

template <typename Stream> bool Server::State::Library::request(Stream &stream, bool &closed) {
  // After the header.
  const auto begin_body = [this](httplib::Request &request) {
    current->body_left =
        request.has_header("Transfer-Encoding") ||
        (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
    current->channel.begin(Channel::Part::Body, kBodyTime,
                           state_.options.most_body * 2 + kMostHeader);
    // gzip or nothing: the library takes any part of the word for it, and brotli first.
    const bool gzip = accepts_gzip(request.get_header_value("Accept-Encoding"));
    request.headers.erase("Accept-Encoding");
    if (gzip)
      request.headers.emplace("Accept-Encoding", "gzip");
  };
  if constexpr (requires { this->process_request(stream, false, closed, begin_body); })
    return this->process_request(stream, false, closed, begin_body);
  else
    return this->process_request(stream, "", 0, "", 0, false, closed, begin_body);
}

bool Server::State::Library::requests(Channel &channel, std::shared_ptr<const Access> access) {
  ChannelStream stream(channel);
  Current mine{channel, access};
  for (bool first = true;; first = false) {
    channel.begin(Channel::Part::Idle, kKeepAlive, kMostHeader);
    if (!channel.wait_for_bytes())
      return true; // not a refusal
    if (const auto newer = state_.access(); newer != access) {
      // A client does not repeat its first request. With TLS the connection has the old
      // certificate.
      if (!first || access->tls() || newer->tls())
        return true;
      mine.access = access = newer;
    }
    channel.begin(Channel::Part::Header, kHeaderTime, kMostHeader);
    bool closed = false;
    current = &mine;
    const bool served = request(stream, closed);
    current = nullptr;
    if (channel.late())
      state_.refused[kSlow]++;
    // What is left of a body would be taken for the next request.
    if (!served || closed || mine.body_left || channel.late() || state_.access() != access)
      return served;
  }
}

bool Server::State::Library::process_and_close_socket(socket_t fd) {
  if (refusing) {
    close(fd);
    return true;
  }
  const auto access = state_.access();
  Channel channel(fd, access->tls(), [this](Channel::Part part, Clock::time_point since) {
    if (part == Channel::Part::Answer)
      return false;
    const bool may_be_short = part != Channel::Part::Body && part != Channel::Part::Stream;
    return state_.stopping ||
           (may_be_short && state_.waiting > 0 && Clock::now() - since > kShortTime);
  });
  channel.begin(Channel::Part::Handshake, kHandshakeTime, 0);
  if (!channel.handshake()) {
    state_.refused[kTls]++;
    return false;
  }
  const bool served = requests(channel, access);
  channel.finish();
  return served;
}

bool Server::State::let_in(const httplib::Request &request, httplib::Response &response) {
  const Access &access = *current->access;
  const auto verdict = access.check(request.get_header_value("Authorization"));
  if (verdict == Access::Verdict::Denied) {
    refused[kLogin]++;
    response.set_header("WWW-Authenticate", access.scheme());
    give(failed(401, access.config().token.empty()
                         ? "the request has no user and password, or wrong ones"
                         : "the request has no token, or another one"),
         response);
    return false;
  }
  if (verdict == Access::Verdict::Busy) {
    refused[kBusyLogin]++;
    response.set_header("Retry-After", "1");
    give(failed(503, "too many passwords are being checked"), response);
    return false;
  }
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  if (std::find(options.methods.begin(), options.methods.end(), method) == options.methods.end()) {
    refused[kMethod]++;
    response.set_header("Allow", fmt::format("{}", fmt::join(options.methods, ", ")));
    give(failed(405, fmt::format("{} {}", request.method, request.path)), response);
    return false;
  }
  return true;
}

void Server::State::serve(const httplib::Request &request, httplib::Response &response,
                          const httplib::ContentReader *reader) {
  Request made{request.method == "HEAD" ? "GET" : request.method, request.path, {}};
  bool long_ = false;
  if (reader && !(*reader)([&](const char *data, size_t length) {
        long_ = made.body.size() + length > options.most_body;
        if (!long_)
          made.body.append(data, length);
        return !long_;
      })) {
    const bool late = current->channel.late();
    const int status = long_ || response.status == 413 ? 413 : late ? 408 : 400;
    if (status == 413)
      refused[kTooLong]++;
    return give(failed(status, status == 408   ? "the body took longer than 30 s"
                               : status == 413 ? fmt::format("the body has more than {} bytes",
                                                             options.most_body)
                                               : "the body ended early"),
                response);
  }
  if (reader)
    current->body_left = false;
  Answer answered = answer(made);
  if (answered.stream)
    give_stream(std::move(answered), response);
  else
    give(answered, response);
}

void Server::State::give_stream(Answer answer, httplib::Response &response) {
  const std::shared_ptr<void> counted(nullptr, [this](void *) { streams--; });
  if (++streams > options.streams) {
    refused[kTooMany]++;
    response.set_header("Retry-After", "5");
    return give(failed(503, fmt::format("there are {} streams already", options.streams)),
                response);
  }
  response.status = answer.status;
  response.set_header("Cache-Control", "no-store");
  const auto next = [this, counted, stream = std::move(answer.stream)](size_t,
                                                                       httplib::DataSink &sink) {
    Channel &channel = current->channel;
    if (stopping || access() != current->access || channel.client_left())
      return false;
    const auto chunk = stream();
    channel.begin(Channel::Part::Stream, kChunkTime, 0);
    if (!chunk)
      sink.done();
    else if (!chunk->empty())
      sink.write(chunk->data(), chunk->size());
    return true;
  };
  response.set_chunked_content_provider(answer.type, next);
}

void Server::State::set_up() {
  library->new_task_queue = [this] {
    return new Queue(options.threads, waiting, refused[kTooMany]);
  };
  library->set_payload_max_length(options.most_body);
  library->set_keep_alive_timeout(kKeepAlive.count());
  library->set_keep_alive_max_count(SIZE_MAX);
  library->set_tcp_nodelay(true);
  // The library's own options let a second server have the same address (SO_REUSEPORT).
  library->set_socket_options([this](int made) {
    const int yes = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    socket = made;
  });
  const auto with_body = [this](const httplib::Request &request, httplib::Response &response,
                                const httplib::ContentReader &reader) {
    serve(request, response, &reader);
  };
  library->Get(".*", [this](const httplib::Request &request, httplib::Response &response) {
    serve(request, response, nullptr);
  });
  library->Post(".*", with_body);
  library->Patch(".*", with_body);
  library->set_pre_routing_handler(
      [this](const httplib::Request &request, httplib::Response &response) {
        return let_in(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                         : httplib::Server::HandlerResponse::Handled;
      });
  library->set_exception_handler([this](const httplib::Request &, httplib::Response &response,
                                        const std::exception_ptr &thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception &error) {
      give(failed(500, error.what()), response);
    } catch (...) {
      give(failed(500, "unknown"), response);
    }
  });
  library->set_error_handler([this](const httplib::Request &request, httplib::Response &response) {
    if (response.body.empty())
      give(failed(response.status, fmt::format("{} {}", request.method, request.path)), response);
  });
  // Before each answer is written, also to what is no request.
  library->set_post_routing_handler([this](const httplib::Request &, httplib::Response &response) {
    for (const auto &[name, value] : current->access->config().headers)
      response.set_header(name, value);
    if (current->body_left || stopping || access() != current->access) {
      response.headers.erase("Connection");
      response.headers.erase("Keep-Alive");
      response.set_header("Connection", "close");
    }
    current->channel.begin(Channel::Part::Answer, kAnswerTime, 0);
  });
}

Result<Server> Server::start(const ServerOptions &options,
                             std::function<Answer(const Request &)> answer,
                             std::function<Answer(int status, const std::string &why)> failed) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->answer = std::move(answer);
  state->failed = std::move(failed);
  state->library = std::make_unique<State::Library>(*state);
  state->set_up();
  parse::Listen &listen = state->options.listen;
  errno = 0;
  constexpr int kNumeric = AI_NUMERICHOST | AI_NUMERICSERV;
  if (listen.port == 0) {
    const int port = state->library->bind_to_any_port(listen.address, kNumeric);
    if (port < 0)
      return cannot_listen(listen, errno);
    listen.port = static_cast<uint16_t>(port);
  } else if (!state->library->bind_to_port(listen.address, listen.port, kNumeric)) {
    return cannot_listen(listen, errno);
  }
  ::listen(state->socket, kBacklog); // the library's own backlog is 5
  state->thread = std::thread([library = state->library.get()] { library->listen_after_bind(); });
  // The library forgets a stop() that comes before its thread runs.
  for (int i = 0; i < 5000 && !state->library->is_running(); i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return Server(std::move(state));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server &&) noexcept = default;
Server &Server::operator=(Server &&) noexcept = default;
Server::~Server() = default;

const parse::Listen &Server::listen() const { return state_->options.listen; }

std::shared_ptr<const Access> Server::access() const { return state_->access(); }

void Server::use(std::shared_ptr<const Access> access) {
  const std::lock_guard lock(state_->access_mutex);
  state_->options.access = std::move(access);
}

std::map<std::string, uint64_t> Server::refused() const {
  std::map<std::string, uint64_t> all;
  for (size_t i = 0; i < kReasons; i++)
    all[kReasonNames[i]] = state_->refused[i];
  return all;
}

} // namespace xr::http
