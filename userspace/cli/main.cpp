// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "cli/app.h"
#include "cli/output.h"
#include "datapath/log.h"
#include "results/provenance.h"

namespace xr::cli {

namespace {

// -v: messages of level info; -vv: all messages of libbpf, libxdp and the verifier.
void set_up_log(int verbose) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("xdp-roce"));
  spdlog::set_pattern("%H:%M:%S.%e %l: %v");
  spdlog::set_level(verbose > 1   ? spdlog::level::debug
                    : verbose > 0 ? spdlog::level::info
                                  : spdlog::level::off); // errors quote the relevant part
  datapath::set_log_sink([](datapath::LogLevel level, std::string_view text) {
    while (text.ends_with('\n'))
      text.remove_suffix(1);
    spdlog::log(level == datapath::LogLevel::Warn   ? spdlog::level::warn
                : level == datapath::LogLevel::Info ? spdlog::level::info
                                                    : spdlog::level::debug,
                "{}", text);
  });
}

// Without the arrow of `peer IP QPN -> QPN`, which would be parsed as an option.
std::vector<std::string> arguments(int argc, char **argv) {
  std::vector<std::string> all(argv + 1, argv + argc);
  std::erase(all, "->");
  return all;
}

int run(int argc, char **argv) {
  Program program;
  const Parsed parsed = program.line.parse(arguments(argc, argv));
  switch (parsed.kind) {
  case Parsed::Kind::Version:
    return print_version(program.line.root().is_given("--json"));
  case Parsed::Kind::Help:
    fputs(parsed.help.c_str(), stdout);
    return 0;
  case Parsed::Kind::Fault:
    return usage_error(program.line, parsed);
  case Parsed::Kind::Command:
    break;
  }
  set_up_log(program.globals.verbose);
  program.globals.words = {argv, argv + argc};
  const record::Recording recording({.words = program.globals.words,
                                     .name = parsed.command->name(),
                                     .subjects = parsed.command->subjects(),
                                     .netns = program.globals.netns,
                                     .hash = program.globals.json});
  return program.chosen(program.globals);
}

} // namespace

} // namespace xr::cli

int main(int argc, char **argv) {
  signal(SIGPIPE, SIG_IGN); // a closed pipe gives EPIPE, which Output treats as the end
  try {
    return xr::cli::run(argc, argv);
  } catch (const std::exception &error) {
    return xr::cli::fail("", {error.what(), "this is a bug in xdp-roce"});
  }
}
