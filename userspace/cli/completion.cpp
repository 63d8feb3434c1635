// SPDX-License-Identifier: Apache-2.0
// The bash completion, made from the table of commands.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "cli/app.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

// The words that complete an option's value: a fixed list, or a shell expression.
// `attached`: its ports are.
std::string values_of(const Option &option, bool attached = false) {
  const std::string type = option.value_name(), name = option.name();
  const std::string help = type + option.description();
  const size_t open = help.find('{'), close = help.find('}');
  if (open != std::string::npos && close != std::string::npos) { // a choice: {a,b}
    std::string words = help.substr(open + 1, close - open - 1);
    std::replace(words.begin(), words.end(), ',', ' ');
    std::erase(words, '\n');
    return words;
  }
  if (name == "--netns")
    return "$(ls /run/netns 2>/dev/null)";
  if (type.starts_with("DEV"))
    return "$(ls /sys/class/infiniband 2>/dev/null)";
  if (name.starts_with("IF"))
    return attached ? "$(_xdp_roce_attached)" : "$(_xdp_roce_interfaces)";
  return "";
}

// Commands whose ports are attached already.
bool needs_attached(const std::string &command) {
  constexpr std::array<std::string_view, 12> kCommands = {
      "detach",  "status", "counters", "streams", "events", "episodes",
      "latency", "check",  "watch",    "link",    "impair", "export"};
  return std::find(kCommands.begin(), kCommands.end(), command) != kCommands.end();
}

bool takes_file(const Option &option) {
  return option.value_name().starts_with("FILE") || option.name() == "FILE";
}

// The first word of each form: "add list del" of "add RULE | list | del ID".
std::string first_words(const std::string &description) {
  std::string words;
  for (size_t at = 0; at != std::string::npos; at = description.find(" | ", at)) {
    at += at ? 3 : 0;
    words += (words.empty() ? "" : " ") + description.substr(at, description.find(' ', at) - at);
  }
  return words;
}

// Arms of the script's case statement over "COMMAND OPTION"; owner "*" matches every command.
std::string option_arms(const Command &command, const std::string &owner) {
  std::string arms;
  for (const Option &option : command.flags()) {
    if (option.is_flag())
      continue;
    std::string names;
    for (const std::string &name : parse::parts(option.names()))
      names += fmt::format("{}{}\\ {}", names.empty() ? "" : " | ", owner, name);
    arms += fmt::format("    {}) words=\"{}\" files='{}' dashes='' ;;\n", names, values_of(option),
                        takes_file(option) ? "1" : "");
  }
  return arms;
}

std::string option_names(const Command &command) {
  std::string names;
  for (const Option &option : command.flags())
    for (const std::string &name : parse::parts(option.names()))
      if (name.starts_with("--") || option.long_names().empty())
        names += " " + name;
  return names;
}

// Case statements over the words before the one that is completed.
std::string further_words(const Command &command) {
  std::string out;
  for (const Completion &completion : command.completions()) {
    const std::string words = fmt::format("{}", fmt::join(completion.words, " "));
    if (completion.after.empty())
      out += fmt::format("      words+=\" {}\"\n", words);
    else
      out += fmt::format("      case \"{}\" in {}) words=\"{}\" files='{}' ;; esac\n",
                         completion.directly ? "$before" : "$line",
                         completion.directly ? completion.after : "*' " + completion.after + " '*",
                         words, completion.files ? "1" : "");
  }
  return out;
}

std::string command_arm(const Command &command) {
  std::set<std::string> words; // a set: both ports of a bridge have the same words
  bool files = false;
  for (const Option &option : command.positionals()) {
    words.insert(values_of(option, needs_attached(command.name())));
    files = files || takes_file(option);
    if (option.description().find(" | ") != std::string::npos)
      words.insert(first_words(option.description()));
  }
  words.erase("");
  return fmt::format("    {}) words=\"{}\" files='{}' dashes+=\"{}\"\n{}    ;;\n", command.name(),
                     fmt::join(words, " "), files ? "1" : "", option_names(command),
                     further_words(command));
}

constexpr const char *kScript = R"bash(# bash completion for xdp-roce
_xdp_roce_interfaces() {{
  ip -o ${{netns:+-n "$netns"}} link show 2>/dev/null | sed -n 's/^[0-9]*: \([^:@]*\).*/\1/p'
}}
# Ports with an XDP program; all, if there are none.
_xdp_roce_attached() {{
  local ports
  ports=$(ip -o ${{netns:+-n "$netns"}} link show 2>/dev/null |
    sed -n 's/^[0-9]*: \([^:@]*\).* xdp\(generic\|multi\|\)[ /].*/\1/p')
  echo "${{ports:-$(_xdp_roce_interfaces)}}"
}}
# Those that `run NAME` finds.
_xdp_roce_experiments() {{
  local program name
  program=$(readlink -f -- "$(type -P -- "${{COMP_WORDS[0]}}")")
  for name in "${{program%/*/*}}"/share/xdp-roce/experiments/*.yaml; do
    name=${{name##*/}}
    [[ $name == '*.yaml' ]] || echo "${{name%.yaml}}"
  done
}}
_xdp_roce() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command='' netns='' words='' files='' i
  local commands="{commands}" dashes="{globals}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " $commands " in *" ${{COMP_WORDS[i]}} "*) command=${{command:-${{COMP_WORDS[i]}}}} ;; esac
    [[ ${{COMP_WORDS[i]}} != --netns ]] || netns=${{COMP_WORDS[i + 1]}}
  done
  local line=" ${{COMP_WORDS[*]:1:COMP_CWORD-1}} "
  case "$command" in
    "") words=$commands ;;
{arms}  esac
  case "$command $before" in
{options}  esac
  [[ $word != -* ]] || words=$dashes
  COMPREPLY=()
  [[ -z $files || $word == -* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
  # not compgen -W: it would expand interface names, which other users may choose
  local all one
  read -rd '' -a all <<<"$words"
  for one in "${{all[@]}}"; do
    [[ $one != "$word"* ]] || COMPREPLY+=("$one")
  done
}}
complete -o filenames -F _xdp_roce xdp-roce
)bash";

} // namespace

std::string bash_completion(const Command &program) {
  std::string commands, arms, options = option_arms(program, "*");
  for (const Command &command : program.commands()) {
    commands += (commands.empty() ? "" : " ") + command.name();
    arms += command_arm(command);
    options += option_arms(command, command.name());
  }
  return fmt::format(kScript, fmt::arg("commands", commands), fmt::arg("arms", arms),
                     fmt::arg("options", options), fmt::arg("globals", option_names(program)));
}

} // namespace xr::cli
