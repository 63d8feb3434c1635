// SPDX-License-Identifier: Apache-2.0
// The manual pages, made from the table of commands.
#include <fmt/format.h>

#include "cli/app.h"

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

std::string synopsis(const Command &command) {
  std::string line;
  for (const Option &option : command.positionals()) {
    const std::string name = roff(option.name()) + (option.takes_many() ? "..." : "");
    line += option.is_required() ? fmt::format(" \\fI{}\\fR", name)
                                 : fmt::format(" [\\fI{}\\fR]", name);
  }
  for (const Option &option : command.flags())
    if (option.name() != "--help") {
      const std::string value = roff(option.value_name());
      line += fmt::format(" [\\fB{}\\fR{}]", roff(option.name()),
                          value.empty() ? "" : "\\ \\fI" + value + "\\fR");
    }
  return line;
}

std::string option_list(const std::vector<Option> &options) {
  std::string out;
  for (const Option &option : options) {
    const std::string value = option.value_name();
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(option.names()),
                       value.empty() ? "" : " \\fI" + roff(value) + "\\fR",
                       roff(option.description()));
  }
  return out;
}

// The keys of `watch`; "" for other commands.
std::string keys_of(const Command &command) {
  std::string out;
  if (command.name() == "watch")
    for (const watch::KeyHelp &key_help : watch::key_help())
      out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(key_help.keys), roff(key_help.what));
  return out;
}

std::string example_list(const Command &command) {
  std::string out;
  for (const Example &example : command.examples())
    out += fmt::format(".TP\n\\fBxdp\\-roce {}\\fR\n{}\n", roff(example.line), roff(example.what));
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
    ".TP\n\\fBTERM\\fR\nThe type of the terminal, which \\fBwatch\\fR needs to know; with "
    "\\fBdumb\\fR no colour.\n"
    ".TP\n\\fBCOLUMNS\\fR, \\fBLINES\\fR\nThe size of what \\fBwatch \\-\\-once\\fR prints (80 by "
    "24).\n"
    ".TP\n\\fBLIBXDP_BPFFS\\fR\nAnother bpffs than \\fI/sys/fs/bpf\\fR.\n";

} // namespace

std::string man_page(const Command &program) {
  std::string list;
  for (const Command &command : program.commands())
    list += fmt::format(".TP\n{}\n{}\n", reference(command.name()), roff(command.description()));
  return head("xdp-roce", "a RoCEv2 laboratory and counter") +
         "\\fBxdp\\-roce\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n" +
         section("DESCRIPTION", roff(program.description()) + "\n") + section("COMMANDS", list) +
         section("OPTIONS", option_list(program.flags())) +
         section("NOTES", lines(program.footer())) + section("FILES", kFiles) +
         section("ENVIRONMENT", kEnvironment) +
         section("SEE ALSO", ".BR ip\\-link (8),\n.BR bpftool (8),\n.BR ethtool (8)\n");
}

std::string man_page(const Command &program, const Command &command) {
  const std::string name = "xdp-roce-" + command.name();
  return head(name, command.description()) +
         fmt::format("\\fBxdp\\-roce {}\\fR{}\n", roff(command.name()), synopsis(command)) +
         section("ARGUMENTS", option_list(command.positionals())) +
         section("OPTIONS", option_list(command.flags())) + section("KEYS", keys_of(command)) +
         section("GLOBAL OPTIONS", option_list(program.flags())) +
         section("NOTES", lines(command.footer())) + section("EXAMPLES", example_list(command)) +
         section("ENVIRONMENT", kEnvironment) +
         section(
             "EXIT STATUS",
             fmt::format("0 success, 1 a file, a port or the machine is wrong, 2 the command line "
                         "or a word of it is wrong{}.\n",
                         command.name() == "run" ? ", 3 an expectation does not hold" : "")) +
         section("SEE ALSO", ".BR xdp\\-roce (8)\n");
}

} // namespace xr::cli
