// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each add_NAME() adds a command to the table from which help, manual and
// completion are made. Parsing stores the selected command in `chosen`.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

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

// Adds a subcommand. `describe` binds its options to an Args; `run` receives it with the globals.
template <typename Args, typename Describe, typename Function>
void add_command(CLI::App &app, Run &chosen, const char *name, const char *description,
                 Describe describe, Function run) {
  CLI::App *command = app.add_subcommand(name, description)->group("Commands");
  const auto args = std::make_shared<Args>();
  describe(*command, *args);
  command->callback([args, run, &chosen] {
    chosen = [args, run](const Globals &globals) { return run(*args, globals); };
  });
}

} // namespace xr::cli
