// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fmt/ranges.h>

#include "cli/output.h"
#include "cli/table.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

// CLI11's message in the form of our own messages.
std::string sentence(const std::string &text) {
  const auto around = [&text](const std::string &middle) -> std::pair<std::string, std::string> {
    const size_t at = text.find(middle);
    if (at == std::string::npos)
      return {};
    return {text.substr(0, at), text.substr(at + middle.size())};
  };
  if (text.starts_with("The following argument"))
    return "what is '" + around(": ").second + "'?";
  if (const auto [a, b] = around(" excludes "); !a.empty())
    return a + " and " + b + " exclude each other";
  if (const auto [a, b] = around(" requires "); !a.empty())
    return a + " needs " + b;
  if (const auto [a, b] = around(": 1 required "); !a.empty()) // "--netns: 1 required NAME missing"
    return a + " needs " + b.substr(0, b.rfind(" missing"));
  return text;
}

// "" if `word` resembles no option of the command and no global one.
std::string similar_option(CLI::App &app, CLI::App &command, const std::string &word) {
  if (!word.starts_with("--"))
    return "";
  std::vector<std::string> all;
  for (CLI::App *one : {&command, &app})
    for (const CLI::Option *option : flags_of(*one))
      for (const std::string &name : option->get_lnames())
        all.push_back("--" + name);
  return parse::nearest(word.substr(0, word.find('=')), {all.begin(), all.end()});
}

} // namespace

std::string command_hint(CLI::App &app, const std::string &word) {
  std::vector<std::string> all;
  for (const CLI::App *command : visible_commands(app))
    all.push_back(command->get_name());
  const std::string near = word.empty() ? "" : parse::nearest(word, {all.begin(), all.end()});
  return near.empty() ? fmt::format("commands are {}", fmt::join(all, ", "))
                      : fmt::format("did you mean {}?", near);
}

void describe_app(CLI::App &app, Globals &globals, Run &chosen) {
  app.name("xdp-roce");
  app.description("Counts RoCEv2 traffic (opcodes, PSN gaps, ECN, CNP, PFC) on a port by XDP or in "
                  "a capture file; impairs it; generates it.");
  app.fallthrough(); // global options may follow the subcommand
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("REQUIRED", "");
  app.add_flag("--json", globals.json,
               "JSON on standard output: one document; with --interval and events one per line");
  app.add_option("--netns", globals.netns, "Look interfaces up in this network namespace")
      ->type_name("NAME");
  app.add_flag("-v,--verbose", globals.verbose, "Say more on standard error; -vv: all");
  app.set_version_flag("--version", std::string(), "Versions of the program, libraries and ABI");
  add_attach(app, chosen);
  add_detach(app, chosen);
  add_status(app, chosen);
  add_counters(app, chosen);
  add_streams(app, chosen);
  add_events(app, chosen);
  add_episodes(app, chosen);
  add_latency(app, chosen);
  add_connections(app, chosen);
  add_watch(app, chosen);
  add_bridge(app, chosen);
  add_wire(app, chosen);
  add_link(app, chosen);
  add_impair(app, chosen);
  add_send(app, chosen);
  add_respond(app, chosen);
  add_capture(app, chosen);
  add_export(app, chosen);
  add_analyze(app, chosen);
  add_compare(app, chosen);
  add_doctor(app, chosen);
  add_cc(app, chosen);
  add_run(app, chosen);
  add_help(app, chosen);
  app.footer(
      "Commands that read a port need CAP_BPF; commands that change one also CAP_NET_ADMIN and "
      "CAP_PERFMON;\nsend and respond also CAP_NET_RAW; --netns CAP_SYS_ADMIN.\n"
      "Exit status: 0 success, 1 a file, a port or the machine is wrong, 2 the command line or a "
      "word of it\nis wrong, 3 an expectation of run does not hold.\n"
      "Options of a command: xdp-roce COMMAND --help");
}

int usage_error(CLI::App &app, const CLI::ParseError &error) {
  if (const auto *wrong = dynamic_cast<const WrongLine *>(&error))
    return refuse(wrong->context(), wrong->error());
  const auto parsed = app.get_subcommands();
  const auto rest = app.remaining();
  if (parsed.empty()) {
    const bool missing = dynamic_cast<const CLI::RequiredError *>(&error) != nullptr;
    const std::string what = !missing                        ? sentence(error.what())
                             : rest.empty()                  ? "a command is missing"
                             : rest.front().starts_with("-") ? "what is '" + rest.front() + "'?"
                                                             : "no such command: " + rest.front();
    return refuse("", {what, command_hint(app, missing && !rest.empty() ? rest.front() : "")});
  }
  CLI::App &command = *parsed.front();
  const std::string near = rest.empty() ? "" : similar_option(app, command, rest.front());
  return refuse(command.get_name(),
                {sentence(error.what()), near.empty()
                                             ? fmt::format("xdp-roce {} --help", command.get_name())
                                             : fmt::format("did you mean {}?", near)});
}

} // namespace xr::cli
