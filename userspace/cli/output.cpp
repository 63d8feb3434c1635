// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "results/provenance.h"

namespace xr::cli {

namespace {

constexpr size_t kBuffer = 1 << 16;

report::TextStyle style_of(int fd) {
  report::TextStyle style;
  if (!isatty(fd))
    return style;
  const char *term = getenv("TERM");
  style.colour = colour_wanted() && term && strcmp(term, "dumb") != 0;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
    style.width = size.ws_col;
  return style;
}

// Messages quote names and contents of files, which must not control the terminal.
void say(std::string line) {
  for (char &c : line)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      c = '?';
  fputs((line + "\n").c_str(), stderr);
}

} // namespace

Output::Output(bool json, int fd) : json_(json), fd_(fd), style_(style_of(fd)) {}

bool Output::print(const report::Document &document, report::JsonStyle style) {
  const report::Sink sink = [this](std::string_view text) { return write(text); };
  printed_ = true;
  if (!json_)
    return report::write_text(document, style_, sink) && flush();
  const auto run = style == report::JsonStyle::Pretty ? record::recorded_section()
                                                      : std::optional<report::Section>();
  return report::write_json(document, style, sink, run ? &*run : nullptr) && flush();
}

bool Output::print_next(const report::Document &document) {
  if (printed_ && !json_ && !write("\n"))
    return false;
  return print(document, report::JsonStyle::Line);
}

bool Output::print_line(const std::string &text) {
  printed_ = true;
  return write(text + "\n") && flush();
}

bool Output::print_text(std::string_view text) {
  printed_ = true;
  return write(text) && flush();
}

bool Output::write(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBuffer || flush();
}

bool Output::flush() {
  size_t done = 0;
  while (!error_ && done < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      error_ = errno;
  }
  buffer_.clear();
  return !error_;
}

bool Output::reader_gone() const {
  pollfd out{fd_, 0, 0};
  return error_ || (poll(&out, 1, 0) == 1 && out.revents & POLLERR);
}

int Output::finish(int status) const {
  if (!error_ || error_ == EPIPE)
    return status;
  return fail("standard output", errno_error(error_, "cannot write"));
}

bool colour_wanted() {
  const char *value = getenv("NO_COLOR");
  return !value || !*value;
}

// Larger values of COLUMNS and LINES are ignored.
constexpr size_t kMostInVariable = 10'000;

size_t number_in(const char *variable, size_t otherwise) {
  const char *value = getenv(variable);
  const std::string_view text = value ? value : "";
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool sound = error == std::errc() && end == text.data() + text.size();
  return sound && number && number <= kMostInVariable ? number : otherwise;
}

int fail(const std::string &context, const Error &error) {
  warn(context, error.message);
  if (!error.hint.empty())
    say(fmt::format("hint: {}", error.hint));
  return error.is_usage() ? 2 : 1;
}

int refuse(const std::string &context, const Error &error) {
  return fail(context, error.as_usage());
}

void warn(const std::string &context, const std::string &message) {
  say(fmt::format("xdp-roce: {}{}{}", context, context.empty() ? "" : ": ", message));
}

void note(const std::string &context, const std::string &message) {
  say(fmt::format("note: {}: {}", context, message));
}

size_t tell_notes(const std::string &context, const std::vector<std::string> &notes, size_t from) {
  for (; from < notes.size(); from++)
    note(context, notes[from]);
  return from;
}

} // namespace xr::cli
