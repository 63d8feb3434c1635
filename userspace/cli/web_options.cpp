// SPDX-License-Identifier: Apache-2.0
#include "cli/web_options.h"

#include <chrono>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/output.h"

namespace xr::cli {

namespace {

Result<std::string> read_token(const std::string &path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token) || token.empty())
    return Error{fmt::format("{} has no token in its first line", path),
                 "openssl rand -hex 16 >FILE; chmod 600 FILE"};
  return token;
}

// The address that others can reach; nullptr: none.
const parse::Listen *for_others(const WebOptions &options) {
  return !options.listen.loopback()                  ? &options.listen
         : options.also && !options.also->loopback() ? &*options.also
                                                     : nullptr;
}

Error open_to_others(const WebOptions &options) {
  return {fmt::format("{} is open to others", for_others(options)->text()),
          fmt::format("--web.config.file FILE, --tls CERT KEY or --token FILE; or --insecure, or "
                      "--listen {}",
                      options.default_address)};
}

bool has_files(const WebOptions &options) {
  return !options.config_file.empty() || !options.tls.empty() || !options.token_file.empty();
}

Result<http::WebConfig> read_config(const WebOptions &options) {
  if (!options.config_file.empty())
    return http::read_web_config(options.config_file);
  std::string token;
  if (!options.token_file.empty())
    token = XR_TRY(read_token(options.token_file));
  return http::web_config_of(options.tls.empty() ? "" : options.tls[0],
                             options.tls.empty() ? "" : options.tls[1], token);
}

void print_notes(const std::string &context, const WebOptions &options,
                 const http::Access &access) {
  const http::WebConfig &config = access.config();
  for (const std::string &sentence : config.notes)
    note(context, sentence);
  if ((!config.users.empty() || !config.token.empty()) && !config.tls && for_others(options))
    note(context, "passwords and tokens pass the network in clear text: there is no TLS");
}

void read_again(const std::string &context, const WebOptions &options, http::Server &server) {
  auto access = read_access(options);
  if (!access)
    return warn(context, access.error().message + "; the previous configuration is still in use");
  server.use(*access);
  print_notes(context, options, **access);
  note(context, fmt::format("read the configuration again: {} from now on",
                            (*access)->tls() ? "https" : "http"));
}

} // namespace

void add_web_options(Command command, WebOptions &options) {
  command
      .add_option("--listen", options.address,
                  fmt::format("Address of the server (default: {}); others than loopback need "
                              "--web.config.file, --tls, --token or --insecure",
                              options.default_address))
      .value_name("ADDR:PORT");
  command
      .add_option("--web.config.file", options.config_file,
                  "TLS, users with passwords and HTTP headers, in the form of Prometheus' "
                  "exporters; SIGHUP reads it again")
      .value_name("FILE")
      .excludes(command
                    .add_option("--tls", options.tls,
                                "HTTPS, with this certificate and its key (PEM files)")
                    .value_name("CERT KEY")
                    .at_least(2))
      .excludes(
          command
              .add_option("--token", options.token_file,
                          "Requests need `Authorization: Bearer TOKEN`; the first line of FILE is "
                          "the token")
              .value_name("FILE"));
  command.add_flag("--insecure", options.insecure,
                   "Serve others than loopback without TLS and without a password");
}

Status check_web_options(WebOptions &options) {
  const std::string port = std::string(options.default_address).substr(9); // 127.0.0.1
  options.listen =
      XR_TRY(parse::listen(options.address, fmt::format("ADDRESS:PORT, like {} or [::1]{}",
                                                        options.default_address, port)));
  if (options.tls.size() > 2)
    return Error{"--tls has two files: the certificate and its key", "--tls CERT KEY"};
  if (for_others(options) && !has_files(options) && !options.insecure)
    return open_to_others(options);
  return {};
}

Result<std::shared_ptr<const http::Access>> read_access(const WebOptions &options) {
  const http::WebConfig config = XR_TRY(read_config(options));
  // An empty file is a right one.
  if (config.open() && for_others(options) && !options.insecure)
    return open_to_others(options);
  return http::Access::make(config);
}

int run_server(const std::string &context, const WebOptions &options, const Interrupt &interrupt,
               http::Server &server, const std::string &where, const std::function<void()> &each) {
  // With a terminal, the signal says that it was closed.
  const bool ends_with_terminal = !has_files(options) && isatty(STDERR_FILENO);
  print_notes(context, options, *server.access());
  note(context, fmt::format("{}://{}{}", server.access()->tls() ? "https" : "http",
                            server.listen().text(), where));
  // In short sleeps: a signal may be delivered to a thread of the server.
  while (interrupt.sleep_until(Interrupt::Clock::now() + std::chrono::milliseconds(200))) {
    if (each)
      each();
    if (!interrupt.hung_up())
      continue;
    if (ends_with_terminal)
      break;
    if (has_files(options))
      read_again(context, options, server);
  }
  return 0;
}

} // namespace xr::cli
