// SPDX-License-Identifier: Apache-2.0
#include "http/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

namespace xr::http {

namespace {

constexpr auto kSlice = std::chrono::milliseconds(250);  // between two calls of give_up
constexpr auto kLinger = std::chrono::milliseconds(500); // for what a refused client still sends
constexpr size_t kLingerBytes = size_t{1} << 20;

void free_ssl(SSL *ssl) {
  SSL_free(ssl);
  ERR_clear_error();
}

} // namespace

Channel::Channel(int fd, SSL_CTX *tls, GiveUp give_up)
    : fd_(fd), tls_(tls ? SSL_new(tls) : nullptr, free_ssl), give_up_(std::move(give_up)) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  broken_ = tls && (!tls_ || SSL_set_fd(tls_.get(), fd) != 1);
}

Channel::~Channel() = default;

void Channel::begin(Part part, Clock::duration limit, size_t most_bytes) {
  part_ = part;
  since_ = Clock::now();
  until_ = since_ + limit;
  left_ = most_bytes;
}

// False: the limit, or give_up.
bool Channel::wait(short events) {
  for (;;) {
    const auto now = Clock::now();
    const bool given_up = give_up_(part_, since_);
    late_ = late_ || now >= until_ || (given_up && part_ != Part::Idle);
    if (late_ || given_up)
      return false;
    const auto left = std::min<Clock::duration>(until_ - now, kSlice);
    pollfd one{fd_.get(), events, 0};
    const int ready = poll(
        &one, 1,
        static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()) + 1);
    if (ready > 0)
      return true; // an error too: the next call reports it
    if (ready < 0 && errno != EINTR)
      return false;
  }
}

// After a call of OpenSSL that returned `result`. True: the call can be repeated.
bool Channel::wait_for_tls(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
  case SSL_ERROR_WANT_READ:
    return wait(POLLIN);
  case SSL_ERROR_WANT_WRITE:
    return wait(POLLOUT);
  default: // after these OpenSSL allows no further call, not even that of the shutdown
    broken_ = true;
    return false;
  }
}

bool Channel::handshake() {
  if (!tls_ || broken_)
    return !broken_;
  for (;;) {
    ERR_clear_error();
    const int result = SSL_accept(tls_.get());
    if (result == 1)
      return true;
    if (!wait_for_tls(result))
      return false;
  }
}

bool Channel::fill() {
  begin_ = end_ = 0;
  while (!broken_) {
    if (tls_) {
      ERR_clear_error();
      const int got = SSL_read(tls_.get(), buffer_.data(), static_cast<int>(buffer_.size()));
      if (got > 0) {
        end_ = static_cast<size_t>(got);
        return true;
      }
      if (!wait_for_tls(got))
        return false;
      continue;
    }
    const ssize_t got = recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
    if (got > 0) {
      end_ = static_cast<size_t>(got);
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR) || !wait(POLLIN))
      return false;
  }
  return false;
}

bool Channel::wait_for_bytes() { return begin_ < end_ || fill(); }

ssize_t Channel::read(char *to, size_t size) {
  if (!wait_for_bytes())
    return -1;
  // A client that sends a byte a second has its bytes here each time: the limits hold nevertheless.
  late_ = late_ || Clock::now() >= until_ || left_ == 0;
  if (late_)
    return -1;
  const size_t taken = std::min({size, end_ - begin_, left_});
  std::memcpy(to, buffer_.data() + begin_, taken);
  begin_ += taken;
  left_ -= taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Channel::write(const char *from, size_t size) {
  size_t written = 0;
  while (written < size && !broken_) {
    if (tls_) {
      ERR_clear_error();
      const int most = static_cast<int>(std::min<size_t>(size - written, 1 << 20));
      const int sent = SSL_write(tls_.get(), from + written, most);
      if (sent > 0)
        written += static_cast<size_t>(sent);
      else if (!wait_for_tls(sent))
        return -1;
      continue;
    }
    const ssize_t sent = send(fd_.get(), from + written, size - written, MSG_NOSIGNAL);
    if (sent > 0)
      written += static_cast<size_t>(sent);
    else if ((errno != EAGAIN && errno != EINTR) || !wait(POLLOUT))
      return -1;
  }
  return broken_ ? -1 : static_cast<ssize_t>(size);
}

bool Channel::client_left() const {
  char byte = 0;
  return begin_ == end_ && recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Closing a socket with unread bytes is a reset, by which the client may lose the answer.
void Channel::finish() {
  ERR_clear_error();
  if (tls_ && !broken_ && SSL_is_init_finished(tls_.get()))
    SSL_shutdown(tls_.get());
  shutdown(fd_.get(), SHUT_WR);
  late_ = false;
  begin(Part::Answer, kLinger, 0);
  size_t dropped = 0;
  for (;;) {
    const ssize_t got = recv(fd_.get(), buffer_.data(), buffer_.size(), 0);
    if (got > 0)
      dropped += static_cast<size_t>(got);
    if (got == 0 || dropped > kLingerBytes || Clock::now() >= until_ ||
        (got < 0 && ((errno != EAGAIN && errno != EINTR) || !wait(POLLIN))))
      return;
  }
}

} // namespace xr::http
