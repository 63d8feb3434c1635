// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each add_NAME() adds a command to the table from which help, manual and
// completion are made. Parsing stores the selected command in `chosen`.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace xr::cli {

struct Globals {
  bool json = false;
  std::string netns; // "": the caller's namespace
  int verbose = 0;
};

using Run = std::function<int(const Globals &)>; // returns the exit status

void add_attach(CLI::App &app, Run &chosen);
void add_detach(CLI::App &app, Run &chosen);
void add_status(CLI::App &app, Run &chosen);
void add_counters(CLI::App &app, Run &chosen);
void add_streams(CLI::App &app, Run &chosen);
void add_events(CLI::App &app, Run &chosen);
void add_episodes(CLI::App &app, Run &chosen);
void add_latency(CLI::App &app, Run &chosen);
void add_connections(CLI::App &app, Run &chosen);
void add_watch(CLI::App &app, Run &chosen);
void add_bridge(CLI::App &app, Run &chosen);
void add_wire(CLI::App &app, Run &chosen);
void add_link(CLI::App &app, Run &chosen);
void add_impair(CLI::App &app, Run &chosen);
void add_send(CLI::App &app, Run &chosen);
void add_respond(CLI::App &app, Run &chosen);
void add_capture(CLI::App &app, Run &chosen);
void add_export(CLI::App &app, Run &chosen);
void add_analyze(CLI::App &app, Run &chosen);
void add_compare(CLI::App &app, Run &chosen);
void add_doctor(CLI::App &app, Run &chosen);
void add_cc(CLI::App &app, Run &chosen);
void add_run(CLI::App &app, Run &chosen);

// A command line that CLI11 accepts and that is wrong all the same. usage_error() prints it.
class WrongLine : public CLI::ParseError {
public:
  // `context`: what the error is about, "impair eth0 add".
  WrongLine(std::string context, const xr::Error &error)
      : ParseError("WrongLine", error.message, CLI::ExitCodes::ValidationError),
        context_(std::move(context)), error_(error) {}
  const std::string &context() const { return context_; }
  const xr::Error &error() const { return error_; }

private:
  std::string context_;
  xr::Error error_;
};

// Adds a subcommand. `describe` binds its options to an Args. `read` reads the words of the command
// line and changes the Args; it opens no file and no port, so that its errors are all those of a
// wrong command line (exit status 2). `run` receives the Args with the globals.
template <typename Args, typename Describe, typename Read, typename Function>
void add_command(CLI::App &app, Run &chosen, const char *name, const char *description,
                 Describe describe, Read read, Function run) {
  CLI::App *command = app.add_subcommand(name, description)->group("Commands");
  const auto args = std::make_shared<Args>();
  describe(*command, *args);
  command->callback([args, name, read, run, &chosen] {
    if (const Status sound = read(*args); !sound) {
      if constexpr (requires { args->context(); })
        throw WrongLine(args->context(), sound.error());
      else
        throw WrongLine(name, sound.error());
    }
    chosen = [args, run](const Globals &globals) { return run(*args, globals); };
  });
}

// A command without words that CLI11 does not check.
template <typename Args, typename Describe, typename Function>
void add_command(CLI::App &app, Run &chosen, const char *name, const char *description,
                 Describe describe, Function run) {
  add_command<Args>(
      app, chosen, name, description, describe, [](const Args &) { return Status(); }, run);
}

} // namespace xr::cli
