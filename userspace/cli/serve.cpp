// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <fmt/format.h>
#include <malloc.h>

#include "cli/attach_options.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/traffic_options.h"
#include "cli/web_options.h"
#include "generator/generator.h"
#include "host/placement.h"
#include "host/privilege.h"
#include "http/server.h"
#include "otg_grpc/server.h"
#include "parse/words.h"

namespace xr::cli {

namespace serve_command {
namespace {

constexpr const char *kGrpcAddress = "127.0.0.1:40051";

struct Args {
  WebOptions web{"127.0.0.1:8443"};
  std::optional<std::string> grpc;
  std::optional<std::string> ports;
  std::vector<uint32_t> cpus;
  datapath::AttachOptions attach;
};

void describe(Command command, Args &args) {
  add_web_options(command, args.web);
  command
      .add_option("--grpc", args.grpc,
                  "Serve gRPC at this address, too, with the same --tls, --token and --insecure")
      .value_name("ADDR:PORT");
  command
      .add_option("--ports", args.ports,
                  "Locations that a configuration may use (default: any interface)")
      .value_name("IF,NETNS/IF,...");
  add_cpus(command, args.cpus, "the threads of ports");
  add_attach_options(command, args.attach);
  command.set_footer(
      "An Open Traffic Generator server (https://otg.dev) for RoCEv2: snappi, gosnappi and otgen "
      "drive it like\nany other. A port's location is IF or NETNS/IF. docs/otg.md: what is "
      "supported, and from nothing to SONiC's\nchecks. It runs until it is interrupted, and then "
      "restores the ports.");
}

Status collect(Args &args) {
  if (args.ports)
    for (const std::string &location : parse::parts(*args.ports))
      if (location.empty())
        return Error{"--ports has an empty location", "--ports IF,NETNS/IF"};
  if (args.grpc) {
    if (!otg_grpc::built())
      return Error{"this program is without gRPC: it has no xdp-roce-grpc.so",
                   "serve without --grpc; or a build with libgrpc++-dev and -DXDP_ROCE_GRPC=ON"};
    if (!args.web.config_file.empty())
      return Error{"--grpc does not take --web.config.file", "--tls CERT KEY, --token FILE"};
    args.web.also = XR_TRY(
        parse::listen(*args.grpc, fmt::format("ADDRESS:PORT, like --grpc {}", kGrpcAddress)));
  }
  return check_web_options(args.web);
}

Result<otg_grpc::Server> start_grpc(const parse::Listen &listen, const http::Server &server,
                                    generator::Generator &generator) {
  otg_grpc::ServerOptions options;
  options.listen = listen;
  options.access = [&server] { return server.access(); };
  auto started = otg_grpc::Server::start(
      options, [&generator](const http::Request &request) { return generator.answer(request); },
      generator::failures);
  if (started)
    note("serve", fmt::format("gRPC on {}{}", started->listen().text(),
                              server.access()->tls() ? " with TLS" : ""));
  return started;
}

int serve(Args args, const Globals &globals) {
  if (globals.json)
    return refuse("serve", {"clients of serve get JSON by HTTP; its own output is messages",
                            "serve without --json"});
  auto access = read_access(args.web);
  if (!access)
    return fail("serve", access.error());
  if (auto sound = host::check_processors(args.cpus); !sound)
    return fail("serve", sound.error());
  if (auto allowed = host::check_privilege(host::Privilege::Sockets); !allowed)
    return fail("serve", allowed.error());
  mallopt(M_ARENA_MAX, 2); // else the threads of the server keep memory of their own
  const Interrupt interrupt(Interrupt::For::Server);
  generator::GeneratorOptions options;
  if (args.ports)
    options.ports = parse::parts(*args.ports);
  options.netns = globals.netns;
  options.attach = args.attach;
  options.cpus = args.cpus;
  options.version = XR_VERSION;
  options.note = [](const std::string &sentence) { note("serve", sentence); };
  generator::Generator generator(std::move(options));
  http::ServerOptions http;
  http.listen = args.web.listen;
  http.access = *access;
  auto server = http::Server::start(
      http, [&](const http::Request &request) { return generator.answer(request); },
      [](int status, const std::string &why) {
        return generator::failure(status, Error{why, {}});
      });
  if (!server)
    return fail("serve", server.error());
  std::optional<otg_grpc::Server> grpc; // ends before what it uses
  if (args.web.also) {
    auto started = start_grpc(*args.web.also, *server, generator);
    if (!started)
      return fail("serve", started.error());
    grpc = std::move(*started);
  }
  return run_server("serve", args.web, interrupt, *server, "");
}

} // namespace
} // namespace serve_command

void add_serve(Command program, Run &chosen) {
  using namespace serve_command;
  add_command<Args>(program, chosen, "serve", "Open Traffic Generator server (OTG) for RoCEv2",
                    describe, collect, serve);
}

} // namespace xr::cli
