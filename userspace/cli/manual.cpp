// SPDX-License-Identifier: Apache-2.0
// The manual pages, made from the table of commands.
#include <fmt/format.h>

#include "cli/app.h"

#include "cli/table.h"
#include "watch/pages.h"
#include <algorithm>

namespace xr::cli {

namespace {

// Escapes what roff would interpret: dots and quotes at the start of a line, backslashes, dashes.
// Allows line breaks in long lists after commas.
std::string roff(const std::string &text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    const bool inside = i + 1 < text.size() && text[i + 1] != ' ' && text[i + 1] != '\n';
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    if (inside && (c == ',' || c == '|' || c == '}'))
      out += "\\:";
  }
  return out;
}

// Escapes text and keeps its line breaks.
std::string lines(const std::string &text) {
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += roff(text.substr(from, end - from)) + "\n.br\n";
    from = end + 1;
  }
  return out;
}

bool many(const CLI::Option &option) { return option.get_items_expected_max() > 1; }

std::string value_name(const CLI::Option &option) {
  return takes_value(option) ? option.get_type_name() : "";
}

std::string synopsis(CLI::App &command) {
  std::string line;
  for (const CLI::Option *option : positionals_of(command)) {
    const std::string name = roff(option->get_name()) + (many(*option) ? "..." : "");
    line += option->get_required() ? fmt::format(" \\fI{}\\fR", name)
                                   : fmt::format(" [\\fI{}\\fR]", name);
  }
  for (const CLI::Option *option : flags_of(command))
    if (option->get_name() != "--help") {
      const std::string value = roff(value_name(*option));
      line += fmt::format(" [\\fB{}\\fR{}]", roff(option->get_name()),
                          value.empty() ? "" : "\\ \\fI" + value + "\\fR");
    }
  return line;
}

std::string option_list(const std::vector<CLI::Option *> &options) {
  std::string out;
  for (const CLI::Option *option : options) {
    const std::string value = value_name(*option);
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option->get_name(false, true)),
                       value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                       roff(option->get_description()));
  }
  return out;
}

// The keys of `watch`; "" for other commands.
std::string keys_of(const CLI::App &command) {
  std::string out;
  if (command.get_name() == "watch")
    for (const watch::KeyHelp &one : watch::key_help())
      out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(one.keys), roff(one.what));
  return out;
}

std::string section(const std::string &title, const std::string &text) {
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string head(const std::string &name, const std::string &what) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 8 \"\" \"xdp\\-roce {}\" \"xdp\\-roce manual\"\n"
                     ".ad l\n.nh\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                     roff(upper), XR_VERSION, roff(name), roff(what));
}

std::string reference(const std::string &command) {
  return fmt::format(".BR {} (8)", roff("xdp-roce-" + command));
}

constexpr const char *kFiles =
    ".TP\n\\fI/sys/fs/bpf/xdp\\-roce\\fR\nPins of what is attached: programs and maps, which stay "
    "when a command ends. Where no bpffs is mounted there, \\fI/run/xdp\\-roce/bpf\\fR.\n"
    ".TP\n\\fI/run/xdp\\-roce\\fR\nLocks between commands, and the rates of a \\fBsend\\fR or "
    "\\fBrespond\\fR that runs.\n";
constexpr const char *kEnvironment =
    ".TP\n\\fBNO_COLOR\\fR\nNo colour, if it is not empty.\n"
    ".TP\n\\fBLIBXDP_BPFFS\\fR\nAnother bpffs than \\fI/sys/fs/bpf\\fR.\n";

} // namespace

std::string man_page(CLI::App &app) {
  std::string list;
  for (const CLI::App *command : visible_commands(app))
    list += fmt::format(".TP\n{}\n{}\n", reference(command->get_name()),
                        roff(command->get_description()));
  return head("xdp-roce", "a RoCEv2 laboratory and counter") +
         "\\fBxdp\\-roce\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n" +
         section("DESCRIPTION", roff(app.get_description()) + "\n") + section("COMMANDS", list) +
         section("OPTIONS", option_list(flags_of(app))) +
         section("NOTES", lines(app.get_footer())) + section("FILES", kFiles) +
         section("ENVIRONMENT", kEnvironment) +
         section("SEE ALSO", ".BR ip\\-link (8),\n.BR bpftool (8),\n.BR ethtool (8)\n");
}

std::string man_page(CLI::App &app, CLI::App &command) {
  const std::string name = "xdp-roce-" + command.get_name();
  return head(name, command.get_description()) +
         fmt::format("\\fBxdp\\-roce {}\\fR{}\n", roff(command.get_name()), synopsis(command)) +
         section("ARGUMENTS", option_list(positionals_of(command))) +
         section("OPTIONS", option_list(flags_of(command))) + section("KEYS", keys_of(command)) +
         section("GLOBAL OPTIONS", option_list(flags_of(app))) +
         section("NOTES", lines(command.get_footer())) +
         section(
             "EXIT STATUS",
             fmt::format("0 success, 1 a file, a port or the machine is wrong, 2 the command line "
                         "or a word of it is wrong{}.\n",
                         command.get_name() == "run" ? ", 3 an expectation does not hold" : "")) +
         section("SEE ALSO", ".BR xdp\\-roce (8)\n");
}

} // namespace xr::cli
