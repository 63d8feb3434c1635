// SPDX-License-Identifier: Apache-2.0
// Captures the log of libbpf and libxdp, which print to stderr by default: errors quote the
// kernel's reason from it, and -vv prints all of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/privilege.h"

namespace xr::datapath {

enum class LogLevel { Warn, Info, Debug };

// `sink` receives every line of both libraries from now on. Default: none. Process-wide.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

// Redirects the libraries' output from stderr to LogCapture and the sink.
void silence_libraries();

// Every public function of this folder calls this first: silences the libraries and checks the
// privilege.
Status begin_call(host::Privilege needed = host::Privilege::Use);

// What the libraries logged in this thread during the lifetime of this object. Captures nest: the
// innermost one receives the text.
class LogCapture {
public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture &) = delete;
  LogCapture &operator=(const LogCapture &) = delete;

  void add(std::string_view text);
  // The reason from netlink's extended ACK, or "".
  std::string kernel_message() const;
  // The text after `label` in the last line that contains it, or "".
  std::string after(std::string_view label) const;
  // The verifier's last line before its statistics, or "".
  std::string verifier_message() const;

private:
  std::string text_;
  LogCapture *outer_;
};

} // namespace xr::datapath
