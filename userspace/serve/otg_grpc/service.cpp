// SPDX-License-Identifier: Apache-2.0
// The gRPC server, in the module.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "otg_grpc/converter.h"
#include "otg_grpc/module.h"

namespace xr::otg_grpc {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

namespace {

constexpr size_t kThreads = 4;
constexpr size_t kMostCalls = 32;        // at once; others wait
constexpr auto kReadTime = seconds(30);  // for a client to send a request
constexpr auto kWriteTime = seconds(60); // and to read one
constexpr auto kEndTime = seconds(10);   // for calls that are answered when the server ends
constexpr size_t kPiece = size_t{1} << 20;

// The code of a status of HTTP.
::grpc::StatusCode code_of(int status) {
  switch (status) {
  case 401:
    return ::grpc::UNAUTHENTICATED;
  case 404:
  case 405:
  case 501:
    return ::grpc::UNIMPLEMENTED;
  case 413:
    return ::grpc::RESOURCE_EXHAUSTED;
  case 503:
    return ::grpc::UNAVAILABLE;
  default:
    return status < 500 ? ::grpc::INVALID_ARGUMENT : ::grpc::INTERNAL;
  }
}

std::string bytes_of(const ::grpc::ByteBuffer &buffer) {
  std::vector<::grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok())
    return bytes;
  bytes.reserve(buffer.Length());
  for (const ::grpc::Slice &slice : slices)
    bytes.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
  return bytes;
}

::grpc::ByteBuffer buffer_of(const std::string &bytes) {
  const ::grpc::Slice slice(bytes);
  return {&slice, 1};
}

class State : public Service {
public:
  // One call, from its arrival to its end. One operation of it is under way at a time.
  class Exchange;

  ServiceOptions options;
  uint16_t actual_port = 0;
  std::unique_ptr<Converter> converter;
  ::grpc::AsyncGenericService service;
  std::unique_ptr<::grpc::ServerCompletionQueue> queue;
  std::unique_ptr<::grpc::Server> server;
  std::vector<std::thread> threads;

  std::mutex mutex; // of what follows
  std::condition_variable none_left;
  std::set<Exchange *> exchanges; // that have arrived, and the one that is expected
  bool expects = false;
  std::atomic<bool> stopping = false;

  ~State() override;
  uint16_t port() const override { return actual_port; }
  void work();
  void expect_call();
  void end(Exchange *exchange);
  void cancel_late(Clock::time_point now);
};

class State::Exchange {
public:
  explicit Exchange(State &state) : state_(state) {}

  void expect() {
    state_.service.RequestCall(&context_, &stream_, state_.queue.get(), state_.queue.get(), this);
  }
  // The operation has ended.
  void proceed(bool ok) {
    switch (step_) {
    case Step::Arrive:
      if (ok)
        return arrived();
      state_.end(this); // the server ends
      delete this;
      return;
    case Step::Read:
      deadline_ = Clock::time_point::max();
      read(ok);
      return;
    case Step::Write:
      deadline_ = Clock::time_point::max();
      if (ok)
        write_piece();
      else
        finish(::grpc::Status(::grpc::CANCELLED, ""));
      return;
    case Step::Finish:
      state_.end(this);
      delete this;
      return;
    }
  }
  // Thread safe.
  void cancel_if_late(Clock::time_point now) {
    if (now > deadline_.load())
      context_.TryCancel();
  }
  void cancel_reading() {
    if (reading_)
      context_.TryCancel();
  }

private:
  enum class Step { Arrive, Read, Write, Finish };

  void arrived() {
    {
      const std::lock_guard guard(state_.mutex);
      state_.expects = false;
    }
    state_.expect_call();
    read_until_ = Clock::now() + kReadTime;
    std::string authorization;
    if (const auto found = context_.client_metadata().find("authorization");
        found != context_.client_metadata().end())
      authorization.assign(found->second.data(), found->second.size());
    switch (state_.options.check(authorization)) {
    case http::Access::Verdict::Denied:
      return fail(401, {"a token is needed: metadata `authorization: Bearer TOKEN`"});
    case http::Access::Verdict::Busy:
      return fail(503, {"too many clients log in"});
    case http::Access::Verdict::Allowed:
      break;
    }
    called_ = state_.converter->find(context_.method());
    if (!called_.call)
      return fail(404, {fmt::format("there is no call {}", context_.method().substr(0, 100))});
    start_reading();
  }
  void start_reading() {
    step_ = Step::Read;
    reading_ = true;
    deadline_ = read_until_;
    if (state_.stopping)
      context_.TryCancel();
    stream_.Read(&buffer_, this);
  }
  void read(bool ok) {
    reading_ = false;
    if (!ok && !called_.pieces_in)
      return finish(::grpc::Status(::grpc::CANCELLED, "the call has no message"));
    if (!ok)
      return answer_guarded();
    if (!called_.pieces_in) {
      bytes_ = bytes_of(buffer_);
      buffer_.Clear();
      return answer_guarded();
    }
    auto more = state_.converter->joined(bytes_of(buffer_));
    if (!more)
      return fail(400, {more.error().message});
    if (bytes_.size() + more->size() > state_.options.most_message)
      return fail(413, {fmt::format("at most {} MiB", state_.options.most_message >> 20)});
    bytes_ += *more;
    start_reading();
  }
  void answer_guarded() {
    try {
      answer();
    } catch (const std::exception &error) { // no memory, for one
      fail(500, {error.what()});
    }
  }
  void answer() {
    std::vector<std::string> errors;
    const http::Request request = state_.converter->request(called_, bytes_, errors);
    bytes_.clear();
    bytes_.shrink_to_fit();
    if (!errors.empty())
      return fail(400, errors);
    const http::Answer answer = state_.options.answer(request);
    if (answer.status >= 400)
      return finish(status_of(answer));
    auto message = state_.converter->message(called_, answer);
    if (!message)
      return fail(500, {message.error().message});
    bytes_ = std::move(*message);
    if (called_.pieces_out)
      return write_piece();
    step_ = Step::Finish;
    deadline_ = Clock::now() + kWriteTime;
    stream_.WriteAndFinish(buffer_of(bytes_), {}, ::grpc::Status::OK, this);
  }
  void write_piece() {
    if (written_ == bytes_.size())
      return finish(::grpc::Status::OK);
    const std::string_view next = std::string_view(bytes_).substr(written_, kPiece);
    written_ += next.size();
    step_ = Step::Write;
    deadline_ = Clock::now() + kWriteTime;
    stream_.Write(buffer_of(state_.converter->piece(next)), this);
  }
  static ::grpc::Status status_of(const http::Answer &answer) {
    return {code_of(answer.status), short_error(answer.body)};
  }
  void fail(int status, const std::vector<std::string> &errors) {
    finish(status_of(state_.options.failed(status, errors)));
  }
  void finish(const ::grpc::Status &status) {
    step_ = Step::Finish;
    deadline_ = Clock::now() + kWriteTime;
    stream_.Finish(status, this);
  }

  State &state_;
  ::grpc::GenericServerContext context_;
  ::grpc::GenericServerAsyncReaderWriter stream_{&context_};
  ::grpc::ByteBuffer buffer_;
  Step step_ = Step::Arrive;
  Called called_;
  std::string bytes_; // of the request, then of the answer
  size_t written_ = 0;
  Clock::time_point read_until_; // for all of the request
  std::atomic<bool> reading_ = false;
  std::atomic<Clock::time_point> deadline_ = Clock::time_point::max();
};

// One more call can come, unless there are enough.
void State::expect_call() {
  const std::lock_guard guard(mutex);
  if (stopping || expects || exchanges.size() >= kMostCalls)
    return;
  auto *next = new Exchange(*this);
  expects = true;
  exchanges.insert(next);
  next->expect();
}

void State::end(Exchange *exchange) {
  {
    const std::lock_guard guard(mutex);
    exchanges.erase(exchange);
    if (exchanges.empty())
      none_left.notify_all();
  }
  expect_call();
}

void State::cancel_late(Clock::time_point now) {
  const std::lock_guard guard(mutex);
  for (Exchange *exchange : exchanges)
    exchange->cancel_if_late(now);
}

void State::work() {
  Clock::time_point looked = Clock::now();
  for (;;) {
    void *tag = nullptr;
    bool ok = false;
    const auto next =
        queue->AsyncNext(&tag, &ok, std::chrono::system_clock::now() + std::chrono::seconds(1));
    if (next == ::grpc::CompletionQueue::SHUTDOWN)
      return;
    if (next == ::grpc::CompletionQueue::GOT_EVENT)
      static_cast<Exchange *>(tag)->proceed(ok);
    if (const auto now = Clock::now(); now - looked > seconds(1)) {
      looked = now;
      cancel_late(now);
    }
  }
}

State::~State() {
  if (!server)
    return;
  {
    const std::lock_guard guard(mutex);
    stopping = true;
    for (Exchange *exchange : exchanges)
      exchange->cancel_reading();
  }
  server->Shutdown(std::chrono::system_clock::now() + kEndTime);
  {
    std::unique_lock lock(mutex);
    none_left.wait(lock, [this] { return exchanges.empty(); });
  }
  queue->Shutdown();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

Result<std::unique_ptr<Service>> start_service(ServiceOptions options) {
  gpr_set_log_function([](gpr_log_func_args *) {}); // its messages are for developers
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->converter = XR_TRY(Converter::make());
  std::shared_ptr<::grpc::ServerCredentials> credentials = ::grpc::InsecureServerCredentials();
  if (!state->options.certificate.empty()) {
    ::grpc::SslServerCredentialsOptions pair;
    pair.pem_key_cert_pairs.push_back({state->options.key, state->options.certificate});
    credentials = ::grpc::SslServerCredentials(pair);
  }
  ::grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(state->options.address, credentials, &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(kMostCalls));
  builder.SetMaxReceiveMessageSize(static_cast<int>(state->options.most_message));
  builder.SetMaxSendMessageSize(-1);
  // A small message could be a large one.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.RegisterAsyncGenericService(&state->service);
  state->queue = builder.AddCompletionQueue();
  state->server = builder.BuildAndStart();
  if (!state->server || port == 0) {
    state->server.reset();
    state->queue->Shutdown();
    void *tag = nullptr;
    for (bool ok = false; state->queue->Next(&tag, &ok);) {
    }
    return Error{fmt::format("cannot listen on {} for gRPC", state->options.address),
                 "`ss -ltnp` shows which process uses it, and `ip address` this host's addresses"};
  }
  state->actual_port = static_cast<uint16_t>(port);
  state->expect_call();
  for (size_t i = 0; i < kThreads; i++)
    state->threads.emplace_back([&state = *state] { state.work(); });
  return std::unique_ptr<Service>(std::move(state));
}

} // namespace xr::otg_grpc
