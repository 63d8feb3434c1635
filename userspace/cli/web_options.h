// SPDX-License-Identifier: Apache-2.0
// What `export`, `serve` and `watch --web` have in common: options of an HTTP server, and its life.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "http/server.h"
#include "parse/listen.h"

namespace xr::cli {

struct WebOptions {
  explicit WebOptions(const char *address) : default_address(address), address(address) {}

  const char *default_address;
  std::string address;
  std::vector<std::string> tls;
  std::string token_file, config_file;
  bool insecure = false;
  parse::Listen listen;              // of `address`, by check_web_options()
  std::optional<parse::Listen> also; // another address with the same access
};

void add_web_options(Command command, WebOptions &options);
Status check_web_options(WebOptions &options);

// Reads the files that the options name.
Result<std::shared_ptr<const http::Access>> read_access(const WebOptions &options);
// Runs until interrupted. `where`: a path for the note that says where it listens. SIGHUP reads the
// files again. `each` is called several times a second.
int run_server(const std::string &context, const WebOptions &options, const Interrupt &interrupt,
               http::Server &server, const std::string &where,
               const std::function<void()> &each = {});

} // namespace xr::cli
