// SPDX-License-Identifier: Apache-2.0
#include "datapath/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

namespace xr::datapath {

namespace {

// Bytes kept. A verifier log may have 16 MB; the reason is at its end.
constexpr size_t kKept = 16384;

std::mutex sink_mutex;
std::function<void(LogLevel, std::string_view)> sink;
thread_local LogCapture *capture = nullptr;

void take_line(LogLevel level, const char *format, va_list arguments) {
  char *whole = nullptr;
  int length = vasprintf(&whole, format, arguments);
  if (length < 0)
    return;
  std::unique_ptr<char, decltype(&free)> owner(whole, free);
  std::string_view text(whole, static_cast<size_t>(length));
  if (capture)
    capture->add(text);
  std::lock_guard lock(sink_mutex);
  while (sink && !text.empty()) {
    size_t end = text.find('\n');
    sink(level, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments) {
  take_line(static_cast<LogLevel>(level), format, arguments);
  return 0;
}

int print_libxdp(enum libxdp_print_level level, const char *format, va_list arguments) {
  take_line(static_cast<LogLevel>(level), format, arguments);
  return 0;
}

// The text after the last `label`, up to the end of the line.
std::string after_last(std::string_view text, std::string_view label) {
  size_t at = text.rfind(label);
  if (at == std::string_view::npos)
    return {};
  text.remove_prefix(at + label.size());
  return std::string(text.substr(0, text.find('\n')));
}

} // namespace

void set_log_sink(std::function<void(LogLevel, std::string_view)> to) {
  silence_libraries();
  std::lock_guard lock(sink_mutex);
  sink = std::move(to);
}

void silence_libraries() {
  static std::once_flag once;
  std::call_once(once, [] {
    libbpf_set_print(print_libbpf);
    libxdp_set_print(print_libxdp);
  });
}

LogCapture::LogCapture() : outer_(capture) {
  silence_libraries();
  capture = this;
}

LogCapture::~LogCapture() { capture = outer_; }

void LogCapture::add(std::string_view text) {
  text_ += text;
  if (text_.size() > kKept)
    text_.erase(0, text_.size() - kKept);
}

std::string LogCapture::after(std::string_view label) const { return after_last(text_, label); }

std::string LogCapture::kernel_message() const { return after("Kernel error message: "); }

std::string LogCapture::verifier_message() const {
  std::string_view text(text_);
  text = text.substr(0, text.rfind("-- END PROG LOAD LOG --"));
  size_t statistics = text.rfind("\nprocessed ");
  if (statistics == std::string_view::npos)
    return {};
  text = text.substr(0, statistics);
  size_t begin = text.rfind('\n');
  text.remove_prefix(begin == std::string_view::npos ? 0 : begin + 1);
  // Each global function is verified separately. If the last one passed, the load failed for
  // another reason.
  return text.find("is safe for any args") == std::string_view::npos ? std::string(text) : "";
}

Status begin_call(host::Privilege needed) {
  silence_libraries();
  return host::check_privilege(needed);
}

} // namespace xr::datapath
