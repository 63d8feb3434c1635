// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace xr::cli {

namespace {

constexpr size_t kExamplesInHelp = 2;

std::vector<Option> shown(CLI::App &app, bool positional) {
  std::vector<Option> options;
  for (CLI::Option *option : app.get_options())
    if (option->nonpositional() != positional && !option->get_group().empty())
      options.emplace_back(option);
  return options;
}

} // namespace

struct Command::Node {
  CLI::App *app;
  std::vector<LineCheck> checks;
  std::vector<Example> examples;
  std::vector<Completion> completions;
  std::vector<std::unique_ptr<Node>> commands;
  std::unique_ptr<CLI::App> owned; // of the program
};

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::value_name(const std::string &name) {
  option_->type_name(name);
  return *this;
}

Option Option::check(const ValueCheck &check) {
  option_->check(CLI::Validator([fault = check.fault](std::string &text) { return fault(text); },
                                check.words));
  return *this;
}

Option Option::needs(const Option &other) {
  option_->needs(other.option_);
  return *this;
}

Option Option::needs(const std::string &other) {
  option_->needs(other);
  return *this;
}

Option Option::excludes(const Option &other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::excludes(const std::string &other) {
  option_->excludes(other);
  return *this;
}

Option Option::at_least(int values) {
  option_->expected(values, -1);
  return *this;
}

Option Option::repeatable() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

Option Option::hidden() {
  option_->group("");
  return *this;
}

std::string Option::name() const { return option_->get_name(); }
std::string Option::names() const { return option_->get_name(false, true); }

std::vector<std::string> Option::long_names() const {
  std::vector<std::string> names;
  for (const std::string &name : option_->get_lnames())
    names.push_back("--" + name);
  return names;
}

std::string Option::value_name() const { return is_flag() ? "" : option_->get_type_name(); }
std::string Option::description() const { return option_->get_description(); }
bool Option::is_required() const { return option_->get_required(); }
bool Option::is_flag() const { return option_->get_items_expected_max() == 0; }
bool Option::takes_many() const { return option_->get_items_expected_max() > 1; }

template <typename T>
Option Command::add_option(const std::string &name, T &value, const std::string &description) {
  return Option(node_->app->add_option(name, value, description));
}

template <typename T>
Option Command::add_option_function(const std::string &name,
                                    const std::function<void(const T &)> &store,
                                    const std::string &description) {
  return Option(node_->app->add_option_function<T>(name, store, description));
}

template <typename T>
Option Command::add_flag(const std::string &name, T &value, const std::string &description) {
  return Option(node_->app->add_flag(name, value, description));
}

Option Command::add_flag_function(const std::string &name, const std::function<void()> &given,
                                  const std::string &description) {
  return Option(node_->app->add_flag_callback(name, given, description));
}

Command Command::add_command(const std::string &name, const std::string &description) {
  auto command = std::make_unique<Node>();
  command->app = node_->app->add_subcommand(name, description)->group("Commands");
  node_->commands.push_back(std::move(command));
  return Command(node_->commands.back().get());
}

void Command::set_footer(const std::string &text) { node_->app->footer(text); }
void Command::set_examples(const std::vector<Example> &examples) { node_->examples = examples; }
void Command::set_completions(const std::vector<Completion> &completions) {
  node_->completions = completions;
}
void Command::hide() { node_->app->group(""); }

void Command::on_parsed(const LineCheck &check) { node_->checks.push_back(check); }

Option Command::option(const std::string &name) const {
  return Option(node_->app->get_option(name));
}
bool Command::is_given(const std::string &option) const { return node_->app->count(option) > 0; }
std::string Command::name() const { return node_->app->get_name(); }
std::string Command::description() const { return node_->app->get_description(); }
std::string Command::footer() const { return node_->app->get_footer(); }
std::vector<Example> Command::examples() const { return node_->examples; }
std::vector<Completion> Command::completions() const { return node_->completions; }

// Not App::help(): once a line is parsed, that is the help of the line's command.
std::string Command::help() const {
  const CLI::App *parent = node_->app->get_parent();
  std::string text = node_->app->get_formatter()->make_help(
      node_->app, parent ? parent->get_name() + " " + name() : name(), CLI::AppFormatMode::Normal);
  const size_t shown = std::min(node_->examples.size(), kExamplesInHelp);
  while (text.ends_with("\n\n"))
    text.pop_back();
  if (shown)
    text += "\nExamples (more: xdp-roce help --man " + name() + "):\n";
  for (size_t i = 0; i < shown; i++)
    text += "  xdp-roce " + node_->examples[i].line + "\n      " + node_->examples[i].what + "\n";
  return text;
}

std::vector<Command> Command::commands() const {
  std::vector<Command> shown;
  for (const auto &command : node_->commands)
    if (!command->app->get_group().empty())
      shown.emplace_back(command.get());
  return shown;
}

std::optional<Command> Command::command(const std::string &name) const {
  for (const Command &command : commands())
    if (command.name() == name)
      return command;
  return {};
}

std::optional<LineFault> Command::fault() const {
  for (const LineCheck &check : node_->checks)
    if (auto fault = check())
      return fault;
  return {};
}

std::vector<Option> Command::flags() const { return shown(*node_->app, false); }
std::vector<Option> Command::positionals() const { return shown(*node_->app, true); }

std::vector<std::string> Command::subjects() const {
  std::vector<std::string> all;
  for (const CLI::Option *option : node_->app->get_options()) {
    const std::string name = option->get_name();
    if (!name.starts_with("IF") && name != "FILE" && name != "PLACES" && name != "--file")
      continue;
    for (const std::string &value : option->results())
      all.push_back(value);
  }
  return all;
}

// The types of values that options have.
using Text = const std::string &;
template Option Command::add_option(Text, std::string &, Text);
template Option Command::add_option(Text, std::vector<std::string> &, Text);
template Option Command::add_option(Text, uint8_t &, Text);
template Option Command::add_option(Text, uint16_t &, Text);
template Option Command::add_option(Text, uint32_t &, Text);
template Option Command::add_option(Text, uint64_t &, Text);
template Option Command::add_option(Text, int &, Text);
template Option Command::add_option(Text, double &, Text);
template Option Command::add_option(Text, std::optional<uint16_t> &, Text);
template Option Command::add_option(Text, std::optional<std::string> &, Text);
template Option Command::add_option_function(Text, const std::function<void(Text)> &, Text);
template Option Command::add_option_function(Text, const std::function<void(const uint16_t &)> &,
                                             Text);
template Option Command::add_option_function(Text, const std::function<void(const uint64_t &)> &,
                                             Text);
template Option Command::add_option_function(Text, const std::function<void(const int64_t &)> &,
                                             Text);
template Option Command::add_flag(Text, bool &, Text);
template Option Command::add_flag(Text, int &, Text);

CommandLine::CommandLine(const std::string &name, const std::string &description)
    : program_(std::make_unique<Command::Node>()) {
  program_->owned = std::make_unique<CLI::App>(description, name);
  CLI::App &app = *program_->owned;
  program_->app = &app;
  app.fallthrough(); // global options may follow the command
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("REQUIRED", "");
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() const { return Command(program_.get()); }

void CommandLine::add_version_flag(const std::string &description) {
  program_->app->set_version_flag("--version", std::string(), description);
}

Parsed CommandLine::parse(std::vector<std::string> arguments) {
  CLI::App &app = *program_->app;
  Parsed parsed;
  std::reverse(arguments.begin(), arguments.end()); // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion &) {
    parsed.kind = Parsed::Kind::Version;
  } catch (const CLI::Success &) {
    parsed.kind = Parsed::Kind::Help;
  } catch (const CLI::ParseError &error) {
    parsed.kind = Parsed::Kind::Fault;
    parsed.fault = error.what();
    parsed.lacks_argument = dynamic_cast<const CLI::RequiredError *>(&error) != nullptr;
    parsed.rest = app.remaining();
  }
  for (const auto &command : program_->commands)
    if (command->app->parsed())
      parsed.command = Command(command.get());
  if (parsed.kind == Parsed::Kind::Help)
    parsed.help = parsed.command.value_or(root()).help();
  if (parsed.kind != Parsed::Kind::Command)
    return parsed;
  parsed.check = parsed.command->fault();
  if (parsed.check)
    parsed.kind = Parsed::Kind::Fault;
  return parsed;
}

} // namespace xr::cli
