// SPDX-License-Identifier: Apache-2.0
#include "capture/pcapng_writer.h"

#include "capture/left_out.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace xr {

namespace {

constexpr size_t kBuffer = 1 << 18;
// While the reader of a pipe takes nothing: the interval at which `stop` is checked, and the time
// that the reader has after it.
constexpr int kSliceMs = 50, kPatienceMs = 500;
constexpr uint64_t kUnknownLength = ~0ULL;      // of a section
constexpr uint8_t kNanoseconds = 9;             // 10^-9
constexpr uint32_t kInbound = 1, kFcsShift = 5; // of a packet's flags
constexpr size_t kLongestComment = 0xffff;

enum Block : uint32_t {
  kSectionBlock = 0x0a0d0d0a,
  kInterfaceBlock = 1,
  kStatisticsBlock = 5,
  kPacketBlock = 6,
};

enum Option : uint16_t {
  kEndOption = 0,
  kCommentOption = 1,
  // of sections
  kHardwareOption = 2,
  kOsOption = 3,
  kApplicationOption = 4,
  // of interfaces
  kNameOption = 2,
  kResolutionOption = 9,
  kDescriptionOption = 3,
  kFilterOption = 11,
  // of packets
  kFlagsOption = 2,
  // of statistics
  kStartOption = 2,
  kStopOption = 3,
  kReceivedOption = 4,
  kDroppedOption = 5,
  kAcceptedOption = 6,
  kDeliveredOption = 8,
};

constexpr size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }

// A named pipe can be opened only when it has a reader: tries until it can, or until `stop` returns
// true. Other files are opened directly.
Fd open_for_writing(const std::string &path, const PcapngWriter::Stop &stop) {
  struct stat file {};
  const bool pipe = stat(path.c_str(), &file) == 0 && S_ISFIFO(file.st_mode);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (pipe ? O_NONBLOCK : 0);
  for (;;) {
    Fd fd(open(path.c_str(), flags, 0644));
    if (fd || errno != ENXIO || !pipe)
      return fd;
    if (stop && stop()) {
      errno = ECANCELED;
      return fd;
    }
    poll(nullptr, 0, kSliceMs);
  }
}

} // namespace

template <typename T> void PcapngWriter::put(T value) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  buffer_.insert(buffer_.end(), bytes, bytes + sizeof(value));
}

void PcapngWriter::put_bytes(const void *data, size_t size) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  buffer_.insert(buffer_.end(), bytes, bytes + size);
  buffer_.resize(buffer_.size() + padded(size) - size);
}

void PcapngWriter::put_option(uint16_t code, const void *data, size_t size) {
  put(code);
  put(static_cast<uint16_t>(size));
  put_bytes(data, size);
}

void PcapngWriter::put_option(uint16_t code, std::string_view text) {
  if (!text.empty())
    put_option(code, text.data(), std::min(text.size(), kLongestComment));
}

void PcapngWriter::put_count(uint16_t code, uint64_t value) {
  put_option(code, &value, sizeof(value));
}

size_t PcapngWriter::begin(uint32_t type) {
  const size_t block = buffer_.size();
  put(type);
  put(uint32_t{0});
  return block;
}

void PcapngWriter::end(size_t block) {
  const auto length = static_cast<uint32_t>(buffer_.size() - block + sizeof(uint32_t));
  put(length);
  std::memcpy(&buffer_[block + sizeof(uint32_t)], &length, sizeof(length));
}

PcapngWriter::PcapngWriter(Fd fd, std::string path, Stop stop)
    : fd_(std::move(fd)), path_(std::move(path)), stop_(std::move(stop)) {
  struct stat file {};
  if (fstat(fd_.get(), &file) == 0) {
    pipe_ = S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode);
    const bool append = fcntl(fd_.get(), F_GETFL) & O_APPEND;
    const off_t at = append ? file.st_size : lseek(fd_.get(), 0, SEEK_CUR);
    base_ = at > 0 ? static_cast<uint64_t>(at) : 0;
  }
  buffer_.reserve(2 * kBuffer);
}

Result<PcapngWriter> PcapngWriter::create(const std::string &path, const PcapngInterface &interface,
                                          Stop stop) {
  const bool out = path == "-";
  Fd fd(out ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : open_for_writing(path, stop).release());
  if (!fd && errno == ECANCELED)
    return Error{fmt::format("no process has opened {} to read it", path)};
  if (!fd)
    return errno_error(errno, fmt::format("cannot write {}", out ? "standard output" : path));
  PcapngWriter self(std::move(fd), out ? "standard output" : path, std::move(stop));

  size_t block = self.begin(kSectionBlock);
  self.put(uint32_t{0x1a2b3c4d});
  self.put(uint16_t{1});
  self.put(uint16_t{0});
  self.put(kUnknownLength);
  self.put_option(kApplicationOption, "xdp-roce");
  self.put(uint32_t{kEndOption});
  self.end(block);

  block = self.begin(kInterfaceBlock);
  self.put(interface.link);
  self.put(uint16_t{0});
  self.put(interface.snap);
  self.put_option(kNameOption, interface.name);
  self.put_option(kResolutionOption, &kNanoseconds, sizeof(kNanoseconds));
  if (!interface.description.empty())
    self.put_option(kDescriptionOption, interface.description);
  if (!interface.filter.empty()) // the leading 0 byte means that the filter is text
    self.put_option(kFilterOption, std::string(1, '\0') + interface.filter);
  self.put(uint32_t{kEndOption});
  self.end(block);
  if (self.pipe_)
    return self; // the reader of a pipe may not have started, or may have exited
  XR_TRY(self.flush());
  return self;
}

uint64_t PcapngWriter::size_of(const PcapngPacket &packet) {
  const size_t comment = std::min(packet.comment.size(), kLongestComment);
  return 12 + 20 + padded(packet.captured) + (comment ? 4 + padded(comment) : 0) +
         (packet.inbound || packet.fcs ? 8 : 0) +
         (packet.left_out ? 4 + padded(left_out_text(packet.left_out).size()) : 0) + 4;
}

Status PcapngWriter::packet(const PcapngPacket &packet) {
  if (buffer_.size() >= kBuffer)
    if (auto done = flush(); !done)
      return done;
  const size_t block = begin(kPacketBlock);
  put(uint32_t{0});
  put(static_cast<uint32_t>(packet.time_ns >> 32));
  put(static_cast<uint32_t>(packet.time_ns));
  put(packet.captured);
  put(packet.length);
  put_bytes(packet.data, packet.captured);
  put_option(kCommentOption, packet.comment);
  if (const uint32_t flags = (packet.inbound ? kInbound : 0) | packet.fcs << kFcsShift)
    put_option(kFlagsOption, &flags, sizeof(flags));
  if (packet.left_out)
    put_option(kCustomText, left_out_text(packet.left_out));
  put(uint32_t{kEndOption});
  end(block);
  packets_++;
  cut_ += packet.captured < packet.length;
  return {};
}

Status PcapngWriter::finish(const PcapngStatistics &s) {
  const size_t block = begin(kStatisticsBlock);
  const auto put_time = [&](uint64_t ns) {
    put(static_cast<uint32_t>(ns >> 32));
    put(static_cast<uint32_t>(ns));
  };
  put(uint32_t{0});
  put_time(s.end_ns);
  const uint32_t start[] = {static_cast<uint32_t>(s.start_ns >> 32),
                            static_cast<uint32_t>(s.start_ns)},
                 stop[] = {static_cast<uint32_t>(s.end_ns >> 32), static_cast<uint32_t>(s.end_ns)};
  put_option(kStartOption, start, sizeof(start));
  put_option(kStopOption, stop, sizeof(stop));
  put_count(kReceivedOption, s.received);
  put_count(kDroppedOption, s.dropped);
  put_count(kAcceptedOption, s.accepted);
  put_count(kDeliveredOption, s.delivered);
  put(uint32_t{kEndOption});
  end(block);
  return flush();
}

// Returns the size of the whole blocks within `bytes`, and uncounts the packets of the others.
size_t PcapngWriter::keep_whole_blocks(size_t bytes) {
  size_t whole = 0;
  uint32_t block[7] = {}; // a packet block up to and including its two lengths
  for (size_t at = 0; at < buffer_.size(); at += block[1]) {
    std::memcpy(block, &buffer_[at], std::min(sizeof(block), buffer_.size() - at));
    if (at + block[1] <= bytes) {
      whole = at + block[1];
    } else if (block[0] == kPacketBlock) {
      packets_--;
      cut_ -= block[5] < block[6];
    }
  }
  return whole;
}

// False: `stop` returned true, and the reader has taken nothing for kPatienceMs.
bool PcapngWriter::wait_for_room() const {
  for (int waited_ms = 0;; waited_ms += kSliceMs) {
    pollfd out{fd_.get(), POLLOUT, 0};
    const int ready = poll(&out, 1, kSliceMs);
    if (ready > 0 || (ready < 0 && errno != EINTR))
      return true; // write() will report the error
    if (waited_ms >= kPatienceMs && stop_ && stop_())
      return false;
  }
}

Status PcapngWriter::give_up(size_t done, int error) {
  struct stat file {};
  written_ += keep_whole_blocks(done);
  buffer_.clear();
  // If the rest cannot be cut off either, readers report a truncated file; the error is returned in
  // any case.
  if (fstat(fd_.get(), &file) == 0 && S_ISREG(file.st_mode) &&
      ftruncate(fd_.get(), static_cast<off_t>(base_ + written_)) == 0)
    lseek(fd_.get(), static_cast<off_t>(base_ + written_), SEEK_SET);
  stalled_ = error == ECANCELED;
  nobody_reads_ = error == EPIPE || stalled_;
  if (stalled_)
    return Error{fmt::format("the reader of {} does not read any more", path_)};
  return errno_error(error, fmt::format("cannot write {}", path_),
                     error == ENOSPC ? "the packets captured before are in the file and can be read"
                                     : "");
}

Status PcapngWriter::close() {
  auto done = flush();
  keeps_closed_ = true;
  fd_.reset();
  buffer_ = {};
  return done;
}

Status PcapngWriter::flush() {
  if (keeps_closed_) {
    if (buffer_.empty())
      return {};
    fd_ = Fd(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!fd_)
      return give_up(0, errno);
  }
  size_t written = 0;
  while (written < buffer_.size()) {
    if (pipe_ && !wait_for_room())
      return give_up(written, ECANCELED);
    // A pipe that is writable accepts PIPE_BUF bytes without blocking.
    const size_t left = buffer_.size() - written,
                 size = pipe_ ? std::min<size_t>(left, PIPE_BUF) : left;
    const ssize_t n = write(fd_.get(), buffer_.data() + written, size);
    if (n > 0)
      written += static_cast<size_t>(n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
      return give_up(written, n ? errno : ENOSPC);
  }
  written_ += written;
  buffer_.clear();
  if (keeps_closed_)
    fd_.reset();
  return {};
}

bool PcapngWriter::nobody_reads() const {
  pollfd out{fd_.get(), 0, 0};
  return nobody_reads_ || (pipe_ && poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP));
}

} // namespace xr
