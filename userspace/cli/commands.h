// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each add_NAME() adds a command to the table from which help, manual and
// completion are made. Parsing stores the selected command in `chosen`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command_line.h"

namespace xr::cli {

struct Globals {
  bool json = false;
  std::string netns; // "": the caller's namespace
  int verbose = 0;
  std::vector<std::string> words; // the whole command line
};

using Run = std::function<int(const Globals &)>; // returns the exit status

void add_attach(Command program, Run &chosen);
void add_detach(Command program, Run &chosen);
void add_status(Command program, Run &chosen);
void add_counters(Command program, Run &chosen);
void add_streams(Command program, Run &chosen);
void add_events(Command program, Run &chosen);
void add_episodes(Command program, Run &chosen);
void add_latency(Command program, Run &chosen);
void add_check(Command program, Run &chosen);
void add_connections(Command program, Run &chosen);
void add_watch(Command program, Run &chosen);
void add_bridge(Command program, Run &chosen);
void add_wire(Command program, Run &chosen);
void add_link(Command program, Run &chosen);
void add_impair(Command program, Run &chosen);
void add_send(Command program, Run &chosen);
void add_record(Command program, Run &chosen);
void add_respond(Command program, Run &chosen);
void add_peer(Command program, Run &chosen);
void add_serve(Command program, Run &chosen);
void add_capture(Command program, Run &chosen);
void add_export(Command program, Run &chosen);
void add_analyze(Command program, Run &chosen);
void add_compare(Command program, Run &chosen);
void add_doctor(Command program, Run &chosen);
void add_cc(Command program, Run &chosen);
void add_run(Command program, Run &chosen);
void add_find(Command program, Run &chosen);
void add_demo(Command program, Run &chosen);

// Adds a subcommand. `describe` binds its options to an Args. `read` reads the words of the command
// line and changes the Args; it opens no file and no port, so that its errors are all those of a
// wrong command line (exit status 2). `run` receives the Args with the globals.
template <typename Args, typename Describe, typename Read, typename Function>
void add_command(Command program, Run &chosen, const char *name, const char *description,
                 Describe describe, Read read, Function run) {
  Command command = program.add_command(name, description);
  const auto args = std::make_shared<Args>();
  describe(command, *args);
  command.on_parsed([args, name, read, run, &chosen]() -> std::optional<LineFault> {
    if (const Status sound = read(*args); !sound) {
      std::string context = name;
      if constexpr (requires { args->context(); })
        context = args->context();
      return LineFault{context, sound.error()};
    }
    chosen = [args, run](const Globals &globals) { return run(*args, globals); };
    return {};
  });
}

// A command without words that only `read` could check.
template <typename Args, typename Describe, typename Function>
void add_command(Command program, Run &chosen, const char *name, const char *description,
                 Describe describe, Function run) {
  add_command<Args>(
      program, chosen, name, description, describe, [](const Args &) { return Status(); }, run);
}

} // namespace xr::cli
