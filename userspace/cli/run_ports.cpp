// SPDX-License-Identifier: Apache-2.0
#include "cli/run_ports.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>

#include "base/clock.h"
#include "base/shell.h"
#include "cli/output.h"
#include "parse/value.h"
#include "parse/words.h"
#include "places/ports.h"
#include "places/scale.h"

namespace xr::cli {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kDigits = 9;

Error not_a_time(const std::string &text) {
  return {fmt::format("'{}' is not a time", text), "like 2026-11-23T12:00:30Z, UTC, or +20s"};
}

// ".25" -> ns; "" -> 0.
Result<uint64_t> fraction(const std::string &text, const std::string &whole) {
  if (text.empty())
    return uint64_t{0};
  std::string digits = text.substr(1);
  if (text[0] != '.' || digits.empty() || digits.size() > kDigits ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return not_a_time(whole);
  digits.resize(kDigits, '0');
  return std::stoull(digits);
}

// In whole seconds.
std::string start_text(uint64_t realtime_ns) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(static_cast<time_t>(realtime_ns / kSecond)));
}

// "2026-11-23T12:00:30Z", with a fraction of a second or without, or "+20s" from now:
// CLOCK_REALTIME in ns. Error: it has passed.
Result<uint64_t> parse_start(const std::string &text, uint64_t now_ns) {
  if (text.starts_with('+')) {
    const auto ns = XR_TRY(parse::duration(text.substr(1)));
    return now_ns + ns;
  }
  std::tm parts{};
  const char *rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest || !text.ends_with('Z'))
    return not_a_time(text);
  const std::string more = rest;
  auto part = fraction(more.substr(0, more.size() - 1), text);
  if (!part)
    return part;
  const uint64_t at = static_cast<uint64_t>(timegm(&parts)) * kSecond + part.get();
  if (at <= now_ns)
    return Error{fmt::format("{} has passed: it is {}", text, start_text(now_ns)),
                 "a later time; the clocks of all machines agree by NTP or PTP"};
  return at;
}

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
  if (!args.quiet) {
    options.commands = role_commands(args);
    options.note = [](const std::string &text) { note("run", text); };
  }
  return [options](const experiment::Experiment &experiment, const places::RunHooks &hooks,
                   const std::string &out) mutable {
    options.out = out;
    return places::run_on_ports(experiment, options, hooks);
  };
}

} // namespace xr::cli
