// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fmt/ranges.h>

#include "cli/examples.h"
#include "cli/output.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

// The parser's message in the form of our own messages.
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
std::string similar_option(const Command &program, const Command &command,
                           const std::string &word) {
  if (!word.starts_with("--"))
    return "";
  std::vector<std::string> all;
  for (const Command &owner : {command, program})
    for (const Option &option : owner.flags())
      for (const std::string &name : option.long_names())
        all.push_back(name);
  return parse::nearest(word.substr(0, word.find('=')), {all.begin(), all.end()});
}

} // namespace

std::string command_hint(const Command &program, const std::string &word) {
  std::vector<std::string> all;
  for (const Command &command : program.commands())
    all.push_back(command.name());
  const std::string near = word.empty() ? "" : parse::nearest(word, {all.begin(), all.end()});
  return near.empty() ? fmt::format("commands are {}", fmt::join(all, ", "))
                      : fmt::format("did you mean {}?", near);
}

Program::Program()
    : line("xdp-roce", "Counts RoCEv2 traffic (opcodes, PSN gaps, ECN, CNP, PFC) on a port by XDP "
                       "or in a capture file; impairs it; generates it.") {
  Command program = line.root();
  program.add_flag(
      "--json", globals.json,
      "JSON on standard output: one document; with --interval and events one per line");
  program.add_option("--netns", globals.netns, "Look interfaces up in this network namespace")
      .value_name("NAME");
  program.add_flag("-v,--verbose", globals.verbose, "Say more on standard error; -vv: all");
  line.add_version_flag("Versions of the program, libraries and ABI");
  add_attach(program, chosen);
  add_detach(program, chosen);
  add_status(program, chosen);
  add_counters(program, chosen);
  add_streams(program, chosen);
  add_events(program, chosen);
  add_episodes(program, chosen);
  add_latency(program, chosen);
  add_check(program, chosen);
  add_connections(program, chosen);
  add_watch(program, chosen);
  add_bridge(program, chosen);
  add_wire(program, chosen);
  add_link(program, chosen);
  add_impair(program, chosen);
  add_send(program, chosen);
  add_respond(program, chosen);
  add_peer(program, chosen);
  add_serve(program, chosen);
  add_capture(program, chosen);
  add_record(program, chosen);
  add_export(program, chosen);
  add_analyze(program, chosen);
  add_compare(program, chosen);
  add_doctor(program, chosen);
  add_cc(program, chosen);
  add_run(program, chosen);
  add_find(program, chosen);
  add_demo(program, chosen);
  add_help(program, chosen);
  for (Command command : program.commands())
    command.set_examples(examples_of(command.name()));
  program.set_footer(
      "Commands that read a port need CAP_BPF; commands that change one also CAP_NET_ADMIN and "
      "CAP_PERFMON;\nsend and respond also CAP_NET_RAW; --netns CAP_SYS_ADMIN.\n"
      "Exit status: 0 success, 1 a file, a port or the machine is wrong, 2 the command line or a "
      "word of it\nis wrong, 3 an expectation of run, or a check, does not hold.\n"
      "Options of a command: xdp-roce COMMAND --help");
}

int usage_error(const CommandLine &line, const Parsed &parsed) {
  if (parsed.check)
    return refuse(parsed.check->context, parsed.check->error);
  const Command program = line.root();
  const std::string first = parsed.rest.empty() ? "" : parsed.rest.front();
  if (!parsed.command) {
    const std::string what = !parsed.lacks_argument   ? sentence(parsed.fault)
                             : first.empty()          ? "a command is missing"
                             : first.starts_with("-") ? "what is '" + first + "'?"
                                                      : "no such command: " + first;
    return refuse("", {what, command_hint(program, parsed.lacks_argument ? first : "")});
  }
  const std::string name = parsed.command->name();
  const std::string near = similar_option(program, *parsed.command, first);
  return refuse(name,
                {sentence(parsed.fault), near.empty() ? fmt::format("xdp-roce {} --help", name)
                                                      : fmt::format("did you mean {}?", near)});
}

} // namespace xr::cli
