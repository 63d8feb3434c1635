// SPDX-License-Identifier: Apache-2.0
// The command line: commands, their options, and what a line says. CLI11 parses it; only
// command_line.cpp includes CLI11, which takes longer to compile than a command.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class Option;
} // namespace CLI

namespace xr::cli {

// Checks the text of a value.
struct ValueCheck {
  std::function<std::string(const std::string &)> fault; // "": the value is right
  std::string words = {}; // the accepted words as "{a,b}", which help and completion show
};

// An option or a positional argument of a command. A handle: copies are the same option.
class Option {
public:
  explicit Option(CLI::Option *option) : option_(option) {}

  Option required();
  Option value_name(const std::string &name); // in the help: "N" of "--count N"; "": none
  Option check(const ValueCheck &check);
  Option needs(const Option &other);
  Option needs(const std::string &other);
  Option excludes(const Option &other);
  Option excludes(const std::string &other);
  Option at_least(int values); // of a list
  Option repeatable();         // a list whose values each need the option's name
  Option hidden();             // not in help, manual and completion

  std::string name() const;                    // the longest: "--count"
  std::string names() const;                   // "-c,--count"
  std::vector<std::string> long_names() const; // "--count"
  std::string value_name() const;              // with the words of checks; "" for a flag
  std::string description() const;
  bool is_required() const;
  bool is_flag() const;
  bool takes_many() const;

private:
  CLI::Option *option_;
};

// What a command line lacks or has too much.
struct LineFault {
  std::string context; // what the error is about: "impair eth0 add"
  Error error;
};
using LineCheck = std::function<std::optional<LineFault>()>;

// A command line that shows what a command is for.
struct Example {
  std::string line; // after the program's name
  std::string what; // a sentence
};

// What bash offers for words that are not options: further words of a rule, for example.
struct Completion {
  std::string after;     // offered once this word is on the line; "": always
  bool directly = false; // only as the next word
  std::vector<std::string> words;
  bool files = false; // and names of files
};

// A command, or the program with the global options. A handle, as Option.
class Command {
public:
  struct Node;
  explicit Command(Node *node) : node_(node) {}

  // Stores the value in `value`, which must live until the line is parsed. T: std::string,
  // an integer type, double, or std::optional or std::vector of these; those in use are
  // instantiated in command_line.cpp.
  template <typename T>
  Option add_option(const std::string &name, T &value, const std::string &description);
  // Hands the value on instead.
  template <typename T>
  Option add_option_function(const std::string &name, const std::function<void(const T &)> &store,
                             const std::string &description);
  // T: bool, or int, which counts.
  template <typename T>
  Option add_flag(const std::string &name, T &value, const std::string &description);
  Option add_flag_function(const std::string &name, const std::function<void()> &given,
                           const std::string &description);
  Command add_command(const std::string &name, const std::string &description);
  void set_footer(const std::string &text);
  void set_examples(const std::vector<Example> &examples);          // help shows the first two
  void set_completions(const std::vector<Completion> &completions); // a later one overrules
  void hide(); // not in help, manual and completion
  // Called when a line of this command is parsed, after the checks that were added before.
  void on_parsed(const LineCheck &check);
  std::optional<LineFault> fault() const; // the first that the checks find

  Option option(const std::string &name) const;
  bool is_given(const std::string &option) const;
  std::string name() const;
  std::string description() const;
  std::string footer() const;
  std::vector<Example> examples() const;
  std::vector<Completion> completions() const;
  std::string help() const;

  // Options that help shows, in the order in which they were added.
  std::vector<Command> commands() const;
  std::optional<Command> command(const std::string &name) const;
  std::vector<Option> flags() const; // options whose name begins with a dash
  std::vector<Option> positionals() const;
  // What the parsed line names as interfaces and as files to read.
  std::vector<std::string> subjects() const;

private:
  Node *node_;
};

// What parsing a line gave.
struct Parsed {
  enum class Kind { Command, Help, Version, Fault };
  Kind kind = Kind::Command;
  std::string help;               // Help: the text to print
  std::string fault;              // Fault: CLI11's message, or ""
  bool lacks_argument = false;    // Fault: a command or an argument is missing
  std::optional<LineFault> check; // Fault: that of on_parsed()
  std::optional<Command> command;
  std::vector<std::string> rest; // words that were not understood
};

// The program's line: owns the commands.
class CommandLine {
public:
  CommandLine(const std::string &name, const std::string &description);
  ~CommandLine();
  CommandLine(const CommandLine &) = delete;
  CommandLine &operator=(const CommandLine &) = delete;

  Command root() const;
  void add_version_flag(const std::string &description); // --version
  Parsed parse(std::vector<std::string> arguments);      // without the program's name

private:
  std::unique_ptr<Command::Node> program_;
};

} // namespace xr::cli
