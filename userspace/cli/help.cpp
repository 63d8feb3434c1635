// SPDX-License-Identifier: Apache-2.0
// `help [COMMAND]`; for packages it also writes the manual pages and the completion.
#include <fstream>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/output.h"

namespace xr::cli {

namespace help_command {
namespace {

struct HelpArgs {
  std::string command;
  std::string directory;
  bool man = false;
};

Status write_file(const std::string &path, const std::string &text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? Status{} : Status{errno_error(errno, fmt::format("cannot write {}", path))};
}

Status write_all(const Command &program, const std::string &directory) {
  const std::string base = directory + "/xdp-roce";
  if (auto done = write_file(base + ".8", man_page(program)); !done)
    return done;
  for (const Command &command : program.commands())
    if (auto done =
            write_file(fmt::format("{}-{}.8", base, command.name()), man_page(program, command));
        !done)
      return done;
  return write_file(base + ".bash", bash_completion(program));
}

int help(const Command &program, const HelpArgs &args) {
  if (!args.directory.empty()) {
    const auto done = write_all(program, args.directory);
    return done ? 0 : fail("help", done.error());
  }
  const auto command = program.command(args.command);
  if (!args.command.empty() && !command)
    return refuse("help",
                  {"no such command: " + args.command, command_hint(program, args.command)});
  const std::string text = !args.man ? (command ? *command : program).help()
                           : command ? man_page(program, *command)
                                     : man_page(program);
  fputs(text.c_str(), stdout);
  return 0;
}

} // namespace
} // namespace help_command

void add_help(Command program, Run &chosen) {
  using namespace help_command;
  Command command = program.add_command("help", "This help, or that of a command");
  command.hide();
  const auto args = std::make_shared<HelpArgs>();
  command.add_option("COMMAND", args->command, "Help of this command").value_name("");
  command.add_flag("--man", args->man, "Print the manual page, in roff");
  command.add_option("--write", args->directory, "Write all manual pages and the completion to DIR")
      .value_name("DIR");
  command.on_parsed([args, program, &chosen]() -> std::optional<LineFault> {
    chosen = [args, program](const Globals &) { return help(program, *args); };
    return {};
  });
}

} // namespace xr::cli
