// SPDX-License-Identifier: Apache-2.0
// The bytes of one connection, in clear text or by TLS, with a time limit for each part of a
// request.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include <sys/types.h>

#include "base/fd.h"

struct ssl_st;
struct ssl_ctx_st;

namespace xr::http {

class Channel {
public:
  using Clock = std::chrono::steady_clock;

  enum class Part { Idle, Handshake, Header, Body, Answer, Stream };

  // Asked several times a second while the channel waits for the client: true ends the wait.
  // `since` is when the part began.
  using GiveUp = std::function<bool(Part part, Clock::time_point since)>;

  // tls: null for none.
  Channel(int fd, ssl_ctx_st *tls, GiveUp give_up);
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  // A part begins. It may take that long and read that many bytes.
  void begin(Part part, Clock::duration limit, size_t most_bytes);

  bool handshake();
  // Waits for the first byte of a request. False: none came.
  bool wait_for_bytes();
  // > 0, or -1: the limit, the end, or an error.
  ssize_t read(char *to, size_t size);
  ssize_t write(const char *from, size_t size); // all of it, or -1
  // Without TLS, whether the client has closed the connection. With TLS a write fails.
  bool client_left() const;
  // Ends the connection so that the client gets the answer although it still sends.
  void finish();

  // A part took too long or sent too much. An idle client is not late.
  bool late() const { return late_; }
  int fd() const { return fd_.get(); }

private:
  bool wait(short events);
  bool wait_for_tls(int result);
  bool fill();

  Fd fd_;
  std::unique_ptr<ssl_st, void (*)(ssl_st *)> tls_;
  GiveUp give_up_;
  Clock::time_point since_, until_;
  size_t left_ = 0; // bytes of this part
  Part part_ = Part::Idle;
  bool late_ = false, broken_ = false;
  std::array<char, 8192> buffer_;
  size_t begin_ = 0, end_ = 0; // of the bytes in buffer_
};

} // namespace xr::http
