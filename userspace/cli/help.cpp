// SPDX-License-Identifier: Apache-2.0
// `help [COMMAND]`; for packages it also writes the manual pages and the completion.
#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/output.h"
#include "cli/table.h"

namespace xr::cli {

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

Status write_all(CLI::App &app, const std::string &directory) {
  const std::string base = directory + "/xdp-roce";
  if (auto done = write_file(base + ".8", man_page(app)); !done)
    return done;
  for (CLI::App *command : visible_commands(app))
    if (auto done =
            write_file(fmt::format("{}-{}.8", base, command->get_name()), man_page(app, *command));
        !done)
      return done;
  return write_file(base + ".bash", bash_completion(app));
}

CLI::App *find_command(CLI::App &app, const std::string &name) {
  const auto all = visible_commands(app);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](CLI::App *one) { return one->get_name() == name; });
  return found == all.end() ? nullptr : *found;
}

// Not app.help(): that prints the help of the parsed command, which is `help`.
std::string everything(const CLI::App &app) {
  return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
}

int help(CLI::App &app, const HelpArgs &args) {
  if (!args.directory.empty()) {
    const auto done = write_all(app, args.directory);
    return done ? 0 : fail("help", done.error());
  }
  CLI::App *command = args.command.empty() ? nullptr : find_command(app, args.command);
  if (!args.command.empty() && !command)
    return refuse("help", {"no such command: " + args.command, command_hint(app, args.command)});
  const std::string text = !args.man ? (command ? command->help(app.get_name()) : everything(app))
                           : command ? man_page(app, *command)
                                     : man_page(app);
  fputs(text.c_str(), stdout);
  return 0;
}

} // namespace

void add_help(CLI::App &app, Run &chosen) {
  CLI::App *command = app.add_subcommand("help", "This help, or that of a command");
  command->group(""); // not listed
  const auto args = std::make_shared<HelpArgs>();
  command->add_option("COMMAND", args->command, "Help of this command")->type_name("");
  command->add_flag("--man", args->man, "Print the manual page, in roff");
  command
      ->add_option("--write", args->directory, "Write all manual pages and the completion to DIR")
      ->type_name("DIR");
  command->callback([args, &app, &chosen] {
    chosen = [args, &app](const Globals &) { return help(app, *args); };
  });
}

} // namespace xr::cli
