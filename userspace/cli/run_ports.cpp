// SPDX-License-Identifier: Apache-2.0
#include "cli/run_ports.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/shell.h"
#include "cli/output.h"
#include "cli/start_time.h"
#include "parse/words.h"
#include "places/ports.h"
#include "places/scale.h"

namespace xr::cli {

namespace {

constexpr uint64_t kProposed = 60'000'000'000; // ns until the start that is proposed

Result<places::PortNames> names_of(const RunArgs &args) {
  return places::parse_ports({args.place.begin() + 1, args.place.end()});
}

Status check_role(const RunArgs &args, const std::vector<std::string> &roles) {
  if (args.role.empty())
    return {};
  if (std::ranges::find(roles, args.role) == roles.end())
    return Error{"--role: " + parse::wrong(args.role, "a role with ports").message,
                 parse::hint_from(args.role, {roles.begin(), roles.end()})};
  if (roles.size() > 1 && args.at.empty())
    return Error{"--role: the roles need a start that all agree on",
                 fmt::format("--at {}", start_text(realtime_ns() + kProposed))};
  return {};
}

// The command of each role that is named, for this machine or others, with a start that all agree
// on.
std::vector<std::string> role_commands(const RunArgs &args) {
  const uint64_t at = args.at_ns ? args.at_ns : realtime_ns() + kProposed;
  std::vector<std::string> words = {"xdp-roce"};
  if (!args.netns.empty())
    words.insert(words.end(), {"--netns", args.netns});
  words.emplace_back("run");
  if (!args.import.empty())
    words.insert(words.end(), {"--import", args.import});
  words.insert(words.end(), args.files.begin(), args.files.end());
  words.emplace_back("--on");
  words.insert(words.end(), args.place.begin(), args.place.end());
  for (const std::string &setting : args.settings)
    words.insert(words.end(), {"--set", setting});
  for (const auto &[option, value] :
       {std::pair{"--seed", &args.seed}, {"--scale", &args.scale}, std::pair{"--out", &args.out}})
    if (!value->empty())
      words.insert(words.end(), {option, *value});
  std::string common;
  for (const std::string &word : words)
    common += (common.empty() ? "" : " ") + shell_word(word);
  std::vector<std::string> commands;
  const auto names = names_of(args);
  if (!names)
    return commands;
  for (const std::string &role : names.get().roles())
    commands.push_back(fmt::format("{} --role {} --at {}", common, role, start_text(at)));
  return commands;
}

} // namespace

bool on_ports(const RunArgs &args) { return !args.place.empty() && args.place.front() == "ports"; }

Status read_ports(RunArgs &args) {
  if (!on_ports(args)) {
    if (!args.role.empty() || !args.at.empty())
      return Error{fmt::format("{}: there are no roles", args.role.empty() ? "--at" : "--role"),
                   "--on ports left=IF,right=IF, or send=IF, or respond=IF"};
    return {};
  }
  const auto names = XR_TRY(names_of(args).in("--on ports"));
  if (Status s = check_role(args, names.roles()); !s)
    return s;
  if (args.at.empty())
    return {};
  args.at_ns = XR_TRY(parse_start(args.at, realtime_ns()).in("--at"));
  return {};
}

record::RunPlace ports_place(const RunArgs &args) {
  places::PortsOptions options;
  options.names = names_of(args).get();
  options.role = args.role;
  options.netns = args.netns;
  options.at_ns = args.at_ns;
  if (!args.scale.empty())
    options.scale = places::parse_scale(args.scale).get();
  options.commands = role_commands(args);
  options.note = [](const std::string &text) { note("run", text); };
  return [options](const experiment::Experiment &experiment, const places::RunHooks &hooks,
                   const std::string &out) mutable {
    options.out = out;
    return places::run_on_ports(experiment, options, hooks);
  };
}

} // namespace xr::cli
