// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include <malloc.h>
#include <optional>

#include <fmt/format.h>

#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "generator/generator.h"
#include "host/privilege.h"
#include "http/server.h"
#include "parse/listen.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

constexpr const char *kForm = "ADDRESS:PORT, like 127.0.0.1:8443 or [::1]:8443";

struct Args {
  std::string listen = "127.0.0.1:8443", token_file;
  std::optional<std::string> ports;
  std::vector<std::string> tls;
  datapath::AttachOptions attach;
  http::ServerOptions server;
};

void describe(Command command, Args &args) {
  command
      .add_option("--listen", args.listen,
                  "Address of the server (default: 127.0.0.1:8443); others than loopback need "
                  "--tls or --token")
      .value_name("ADDR:PORT");
  command.add_option("--tls", args.tls, "HTTPS, with this certificate and its key (PEM files)")
      .value_name("CERT KEY")
      .at_least(2);
  command
      .add_option(
          "--token", args.token_file,
          "Requests need `Authorization: Bearer TOKEN`; the first line of FILE is the token")
      .value_name("FILE");
  command
      .add_option("--ports", args.ports,
                  "Locations that a configuration may use (default: any interface)")
      .value_name("IF,NETNS/IF,...");
  add_attach_options(command, args.attach);
  command.set_footer(
      "An Open Traffic Generator server (https://otg.dev) for RoCEv2: snappi, gosnappi and otgen "
      "drive it like\nany other. A port's location is IF or NETNS/IF. docs/otg.md: what is "
      "supported, and from nothing to SONiC's\nchecks. It runs until it is interrupted, and then "
      "restores the ports.");
}

Result<std::string> read_token(const std::string &path) {
  std::ifstream file(path);
  std::string token;
  if (!std::getline(file, token) || token.empty())
    return Error{fmt::format("{} has no token in its first line", path),
                 "openssl rand -hex 16 >FILE; chmod 600 FILE"};
  return token;
}

Status collect(Args &args) {
  if (args.ports)
    for (const std::string &location : parse::parts(*args.ports))
      if (location.empty())
        return Error{"--ports has an empty location", "--ports IF,NETNS/IF"};
  args.server.listen = XR_TRY(parse::listen(args.listen, kForm));
  if (args.tls.size() > 2)
    return Error{"--tls has two files: the certificate and its key", "--tls CERT KEY"};
  if (!args.tls.empty()) {
    args.server.certificate = args.tls[0];
    args.server.key = args.tls[1];
  }
  if (!args.server.listen.loopback() && args.tls.empty() && args.token_file.empty())
    return Error{fmt::format("{} is open to others", args.server.listen.text()),
                 "--tls CERT KEY or --token FILE; or --listen 127.0.0.1:8443"};
  return {};
}

int serve(Args args, const Globals &globals) {
  if (globals.json)
    return refuse("serve", {"clients of serve get JSON by HTTP; its own output is messages",
                            "serve without --json"});
  if (!args.token_file.empty()) {
    auto token = read_token(args.token_file);
    if (!token)
      return fail("serve", token.error());
    args.server.token = *token;
  }
  if (auto allowed = host::check_privilege(host::Privilege::Sockets); !allowed)
    return fail("serve", allowed.error());
  mallopt(M_ARENA_MAX, 2); // else the threads of the server keep memory of their own
  const Interrupt interrupt;
  generator::GeneratorOptions options;
  if (args.ports)
    options.ports = parse::parts(*args.ports);
  options.netns = globals.netns;
  options.attach = args.attach;
  options.version = XR_VERSION;
  options.tell = [](const std::string &sentence) { note("serve", sentence); };
  generator::Generator generator(std::move(options));
  auto server = http::Server::start(
      args.server, [&](const http::Request &request) { return generator.answer(request); },
      [](int status, const std::string &why) {
        return generator::failure(status, Error{why, {}});
      });
  if (!server)
    return fail("serve", server.error());
  note("serve",
       fmt::format("{}://{}", args.tls.empty() ? "http" : "https", server->listen().text()));
  // In short sleeps: a signal may be delivered to a thread of the server.
  while (interrupt.sleep_until(Interrupt::Clock::now() + std::chrono::milliseconds(200)))
    ;
  return 0;
}

} // namespace

void add_serve(Command program, Run &chosen) {
  add_command<Args>(program, chosen, "serve", "Open Traffic Generator server (OTG) for RoCEv2",
                    describe, collect, serve);
}

} // namespace xr::cli
