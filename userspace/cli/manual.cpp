// SPDX-License-Identifier: Apache-2.0
// Man page and completion, out of the table that --help is made of.
#include <fmt/format.h>

#include "cli/app.h"

namespace xr::cli {

namespace {

// roff takes lines that start with a dot or a quote, and backslashes and dashes, for its own.
std::string roff(const std::string &text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::vector<CLI::App *> visible_commands(CLI::App &app) {
  return app.get_subcommands([](CLI::App *one) { return !one->get_group().empty(); });
}

std::vector<CLI::Option *> flags_of(CLI::App &app) {
  return app.get_options([](CLI::Option *one) { return one->nonpositional(); });
}

std::vector<CLI::Option *> positionals_of(CLI::App &app) {
  return app.get_options([](CLI::Option *one) { return one->get_positional(); });
}

bool many(const CLI::Option &option) { return option.get_items_expected_max() > 1; }

std::string value_name(const CLI::Option &option) {
  return option.get_type_size_max() ? option.get_type_name() : "";
}

std::string synopsis(CLI::App &command) {
  std::string line;
  for (const CLI::Option *option : positionals_of(command)) {
    const std::string name = option->get_name() + (many(*option) ? "..." : "");
    line += option->get_required() ? " " + name : " [" + name + "]";
  }
  for (const CLI::Option *option : flags_of(command))
    if (option->get_name() != "--help") {
      const std::string value = value_name(*option);
      line += " [" + option->get_name() + (value.empty() ? "" : " " + value) + "]";
    }
  return line;
}

std::string option_list(CLI::App &app) {
  std::string out;
  for (const auto &options : {positionals_of(app), flags_of(app)})
    for (const CLI::Option *option : options) {
      const std::string value = value_name(*option);
      out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option->get_name(false, true)),
                         value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                         roff(option->get_description()));
    }
  return out;
}

} // namespace

std::string man_page(CLI::App &app) {
  std::string out = fmt::format(".TH XDP\\-ROCE 8 \"\" \"xdp\\-roce {}\"\n.SH NAME\n"
                                "xdp\\-roce \\- a RoCEv2 laboratory and counter\n.SH SYNOPSIS\n",
                                XR_VERSION);
  for (CLI::App *command : visible_commands(app))
    out += fmt::format("\\fBxdp\\-roce {}\\fR{}\n.br\n", command->get_name(),
                       roff(synopsis(*command)));
  out += ".SH DESCRIPTION\n" + roff(app.get_description()) + "\n.SH OPTIONS\n" + option_list(app);
  out += ".SH COMMANDS\n";
  for (CLI::App *command : visible_commands(app)) {
    out += fmt::format(".SS {}\n{}\n", command->get_name(), roff(command->get_description()));
    out += option_list(*command);
    if (!command->get_footer().empty())
      out += ".PP\n" + roff(command->get_footer()) + "\n";
  }
  return out + ".SH NOTES\n" + roff(app.get_footer()) + "\n";
}

std::string bash_completion(CLI::App &app) {
  const auto names = [](CLI::App &of) {
    std::string words;
    for (const CLI::Option *option : flags_of(of))
      for (const std::string &name : option->get_lnames())
        words += " --" + name;
    return words;
  };
  std::string commands, cases;
  for (CLI::App *command : visible_commands(app)) {
    commands += " " + command->get_name();
    const bool file = command->get_name() == "analyze";
    cases += fmt::format("    {}) words=\"{}\"; {}=1;;\n", command->get_name(), names(*command),
                         file ? "files" : "interfaces");
  }
  return fmt::format(R"bash(# bash completion for xdp-roce
_xdp_roce() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command= words= files= interfaces= one
  for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case " {} " in *" $one "*) command=$one; break;; esac
  done
  case "$command" in
    "") words+="{}";;
{}  esac
  [[ $command ]] && words+="{}"
  [[ $interfaces ]] && words+=" $(ls /sys/class/net)"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ $files && $word != -* ]] && COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _xdp_roce xdp-roce
)bash",
                     commands, names(app) + commands, cases, names(app));
}

} // namespace xr::cli
