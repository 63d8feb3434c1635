// SPDX-License-Identifier: Apache-2.0
// libbpf and libxdp print to stderr unless told otherwise. Here what they say is kept, so that an
// error can quote the kernel's own reason, and goes on to whoever asked for it (-vv).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/privilege.h"

namespace xr::datapath {

enum class LogLevel { Warn, Info, Debug };

// Gets every line of both libraries from now on; none by default. Process-wide.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

// Takes the libraries' output over.
void silence_libraries();

// What every entry point of this folder begins with: the libraries silenced, the privilege checked.
Status begin_call(host::Privilege needed = host::Privilege::Use);

// What the libraries said in this thread since it was made, except to one made later.
class LogCapture {
public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture &) = delete;
  LogCapture &operator=(const LogCapture &) = delete;

  void add(std::string_view text);
  // The reason that netlink gave with its refusal (extended ACK), or nothing.
  std::string kernel_message() const;
  // The rest of the last line with `label` in it, or nothing.
  std::string after(std::string_view label) const;
  // The verifier's last word before its statistics, or nothing.
  std::string verifier_message() const;

private:
  std::string text_;
  LogCapture *outer_;
};

} // namespace xr::datapath
