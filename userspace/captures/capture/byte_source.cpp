// SPDX-License-Identifier: Apache-2.0
#include "capture/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <zlib.h>

#include <fmt/format.h>

namespace xr {

namespace {

// Interval at which `stop` is checked while no input arrives.
constexpr int kPollMs = 100;

constexpr size_t kPackedChunk = 128 << 10;

// Size of the mapped window: keeps page tables small, and lets a file that grows be read to its new
// end.
constexpr size_t kWindow = 16 << 20;
constexpr size_t kKeptWindow = 64 << 20; // what ahead() returns ends with the window

bool is_gzip(const uint8_t *bytes) { return bytes[0] == 0x1f && bytes[1] == 0x8b; }

} // namespace

Error lost_error(const std::string &name) {
  return {fmt::format("{}: it became shorter while it was read, or its disk failed", name)};
}

Status LeftBytes::check() const {
  return mapping && mapping->lost() ? Status(lost_error(name)) : Status();
}

struct ByteSource::Gzip {
  z_stream stream{};
  std::vector<uint8_t> packed;
  bool between = false; // a member has ended; another may follow
  bool done = false;

  ~Gzip() { inflateEnd(&stream); }
};

ByteSource::ByteSource(std::string name, size_t chunk) : name_(std::move(name)), chunk_(chunk) {}
ByteSource::~ByteSource() = default;

Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::string &path,
                                                     const std::atomic<bool> *stop, bool keep) {
  const bool standard_input = path == "-";
  std::unique_ptr<ByteSource> source(
      new ByteSource(standard_input ? "standard input" : path, kChunk));
  struct stat status {};

  source->stop_ = stop;
  source->keep_ = keep;
  source->fd_ = STDIN_FILENO;
  if (!standard_input) {
    source->owned_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    source->fd_ = source->owned_.get();
  }
  if (source->fd_ < 0 || fstat(source->fd_, &status) < 0)
    return errno_error(errno, source->name_);
  if (S_ISDIR(status.st_mode))
    return errno_error(EISDIR, source->name_);
  source->waits_ = !S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode);
  if (S_ISREG(status.st_mode)) {
    source->total_ = static_cast<uint64_t>(status.st_size);
    posix_fadvise(source->fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  if (!source->detect_gzip() && source->failure_)
    return std::move(source->failure_->error);
  if (S_ISREG(status.st_mode) && source->owned_ && !source->gzip_)
    source->mapping_ = Mapping::make();
  return source;
}

std::unique_ptr<ByteSource> ByteSource::memory(std::vector<uint8_t> bytes, std::string name,
                                               size_t chunk) {
  std::unique_ptr<ByteSource> source(new ByteSource(std::move(name), std::max<size_t>(chunk, 1)));
  source->total_ = bytes.size();
  source->memory_ = std::move(bytes);
  source->detect_gzip();
  return source;
}

void ByteSource::fail(bool truncated, Error error) {
  if (!failure_)
    failure_ = Failure{truncated, std::move(error)};
}

// False if the input has fewer than two bytes or cannot be read.
bool ByteSource::detect_gzip() {
  if (!ensure(2))
    return false;
  return !is_gzip(at_) || start_gzip();
}

// The bytes read so far are compressed data.
bool ByteSource::start_gzip() {
  gzip_ = std::make_unique<Gzip>();
  gzip_->packed.assign(at_, end_);
  gzip_->packed.resize(std::max(gzip_->packed.size(), std::min(chunk_, kPackedChunk)));
  gzip_->stream.next_in = gzip_->packed.data();
  gzip_->stream.avail_in = static_cast<uInt>(available());
  at_ = end_ = buffer_.data();
  constexpr int kGzipOnly = 16;
  if (inflateInit2(&gzip_->stream, MAX_WBITS + kGzipOnly) != Z_OK) {
    fail(false, {fmt::format("{}: no memory to unpack gzip", name_)});
    return false;
  }
  return true;
}

bool ByteSource::skip(uint64_t n) {
  while (n > available()) {
    n -= available();
    at_ = end_;
    if (!ensure(1))
      return false;
  }
  consume(n);
  return true;
}

bool ByteSource::fail_lost() {
  fail(true, lost_error(name_));
  at_ = end_;
  return true;
}

// Moves the window so that it begins at data() and extends to kWindow bytes or the end of the file.
bool ByteSource::move_window(size_t n) {
  const uint64_t offset = read_ - available();
  struct stat status {};

  if (fstat(fd_, &status) < 0 || static_cast<uint64_t>(status.st_size) < offset) {
    fail_lost();
    return false;
  }
  total_ = static_cast<uint64_t>(status.st_size);
  const auto length = static_cast<size_t>(
      std::min<uint64_t>(total_ - offset, std::max(keep_ ? kKeptWindow : kWindow, n)));
  if (length <= available())
    return false;
  if (keep_ && seen_ahead_) {
    left_.push_back({std::move(mapping_), {}, name_});
    mapping_ = Mapping::make();
  }
  at_ = mapping_ ? mapping_->move(fd_, offset, length) : nullptr;
  seen_ahead_ = at_;
  if (!at_) { // some file systems do not support mmap
    mapping_.reset();
    if (keep_)
      left_.push_back({nullptr, std::exchange(buffer_, {})});
    at_ = end_ = buffer_.data();
    read_ = offset;
    return lseek(fd_, static_cast<off_t>(offset), SEEK_SET) >= 0 && fill(n);
  }
  end_ = at_ + length;
  read_ = offset + length;
  return available() >= n;
}

// Makes room for n bytes from data() in the buffer. The bytes at hand move before a page boundary,
// so that the kernel's copy is page aligned.
void ByteSource::make_room(size_t n) {
  constexpr size_t kPage = 4096;
  const size_t left = available();
  const size_t front = (left + kPage - 1) / kPage * kPage;
  const size_t whole = front + std::max(chunk_, n - left) + kPage;
  std::vector<uint8_t> fresh;

  if (keep_ || buffer_.size() < whole)
    fresh.resize(whole);
  std::vector<uint8_t> &to = fresh.empty() ? buffer_ : fresh;
  const auto base = reinterpret_cast<uintptr_t>(to.data());
  uint8_t *into = to.data() + ((base + front + kPage - 1) / kPage * kPage - base);
  if (left)
    std::memmove(into - left, at_, left);
  at_ = into - left;
  end_ = into;
  if (fresh.empty())
    return;
  buffer_.swap(fresh);
  if (keep_)
    left_.push_back({nullptr, std::move(fresh)});
}

bool ByteSource::fill(size_t n) {
  if (is_lost() || failure_ || stopped())
    return false;
  if (mapping_)
    return move_window(n);
  const auto room = [this] { return static_cast<size_t>(buffer_.data() + buffer_.size() - end_); };
  if (!keep_ || available() + room() < n)
    make_room(n);
  while (available() < n) {
    uint8_t *const into = buffer_.data() + (end_ - buffer_.data());
    const size_t got = read_some(into, std::min(room(), std::max(chunk_, n - available())));
    if (!got)
      return false;
    end_ += got;
  }
  return true;
}

std::vector<LeftBytes> ByteSource::leave(bool all) {
  if (all && mapping_)
    left_.push_back({std::move(mapping_), {}, name_});
  if (all) {
    left_.push_back({nullptr, std::move(buffer_)});
    left_.push_back({nullptr, std::move(copy_)});
  }
  return std::exchange(left_, {});
}

const uint8_t *ByteSource::kept(const uint8_t *bytes, size_t n) {
  if (!keep_)
    return bytes;
  left_.push_back({nullptr, std::exchange(copy_, {bytes, bytes + n})});
  return copy_.data();
}

Ahead ByteSource::ahead(size_t distance) {
  if (!mapping_ || !seen_ahead_)
    return {};
  const uint8_t *const from = std::max(seen_ahead_, at_);
  seen_ahead_ = std::max(from, at_ + std::min(distance, available()));
  return {from, seen_ahead_};
}

size_t ByteSource::read_some(uint8_t *into, size_t room) {
  return gzip_ ? decompress(into, room) : read_raw(into, room);
}

// Reads some bytes of the file. 0: end of file, error, or stopped.
size_t ByteSource::read_raw(uint8_t *into, size_t room) {
  if (fd_ < 0) {
    const size_t n = std::min({room, chunk_, memory_.size() - memory_at_});
    std::copy_n(memory_.data() + memory_at_, n, into);
    memory_at_ += n;
    read_ += n;
    return n;
  }
  while (!stopped()) {
    if (waits_ && stop_) {
      pollfd wait{fd_, POLLIN, 0};
      const int ready = poll(&wait, 1, kPollMs);
      if (ready == 0 || (ready < 0 && errno == EINTR))
        continue;
    }
    const ssize_t n = read(fd_, into, room);
    if (n >= 0) {
      read_ += static_cast<uint64_t>(n);
      return static_cast<size_t>(n);
    }
    if (errno != EINTR && errno != EAGAIN) {
      fail(false, errno_error(errno, name_));
      return 0;
    }
    if (errno == EAGAIN) { // the descriptor is non-blocking
      pollfd wait{fd_, POLLIN, 0};
      poll(&wait, 1, kPollMs);
    }
  }
  return 0;
}

size_t ByteSource::decompress(uint8_t *into, size_t room) {
  z_stream &z = gzip_->stream;

  z.next_out = into;
  z.avail_out = static_cast<uInt>(std::min(room, chunk_));
  const uInt asked = z.avail_out;
  while (z.avail_out == asked && !gzip_->done) {
    if (!z.avail_in) {
      z.next_in = gzip_->packed.data();
      z.avail_in = static_cast<uInt>(read_raw(gzip_->packed.data(), gzip_->packed.size()));
      if (!z.avail_in) {
        if (!gzip_->between && !stopped())
          fail(true, {fmt::format("{}: its gzip data ends too early", name_)});
        break;
      }
    }
    if (gzip_->between) { // another member, as in `cat a.gz b.gz`, or padding
      if (*z.next_in != 0x1f) {
        gzip_->done = true;
        break;
      }
      inflateReset(&z);
      gzip_->between = false;
    }
    const int verdict = inflate(&z, Z_NO_FLUSH);
    if (verdict == Z_STREAM_END) {
      gzip_->between = true;
    } else if (verdict != Z_OK && verdict != Z_BUF_ERROR) {
      fail(false, {fmt::format("{}: its gzip data is damaged: {}", name_, z.msg ? z.msg : "?")});
      break;
    }
  }
  return asked - z.avail_out;
}

} // namespace xr
