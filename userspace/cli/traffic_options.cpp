// SPDX-License-Identifier: Apache-2.0
#include "cli/traffic_options.h"

#include <map>

#include <fmt/format.h>

#include "base/processors.h"
#include "congestion/notification_point.h"
#include "parse/value.h"

namespace xr::cli {

namespace {

const std::map<std::string, congestion::CnpScope> &scopes() {
  using Scope = congestion::CnpScope;
  static const std::map<std::string, Scope> kScopes = {
      {"stream", Scope::Stream}, {"pair", Scope::Pair}, {"port", Scope::Port}};
  return kScopes;
}

// hold-off, window, grid, echo: the words of DCQCN's parameter np.
const std::map<std::string, congestion::NpMode> &np_modes() {
  static const std::map<std::string, congestion::NpMode> kModes = [] {
    std::map<std::string, congestion::NpMode> modes;
    const auto &row = congestion::dcqcn_rows()[static_cast<size_t>(congestion::DcqcnParameter::Np)];
    for (size_t i = 0; i < row.choices.size(); i++)
      modes[row.choices[i]] = static_cast<congestion::NpMode>(i);
    return modes;
  }();
  return kModes;
}

} // namespace

void add_cnp_options(Command command, bool &no_cnp, congestion::CnpPacing &pacing, uint8_t &dscp,
                     const std::string &what) {
  command.add_flag("--no-cnp", no_cnp, "Do not answer " + what + " with CNPs");
  add_duration(command, "--cnp-interval", pacing.interval_ns,
               "Minimum time between two CNPs (default: 50us)");
  command
      .add_option_function<std::string>(
          "--cnp-scope", [&pacing](const std::string &name) { pacing.scope = scopes().at(name); },
          "Pace CNPs per stream, per pair of addresses or per port (default: stream)")
      .value_name("SCOPE")
      .check(one_of({"stream", "pair", "port"}));
  command
      .add_option_function<std::string>(
          "--cnp-mode", [&pacing](const std::string &name) { pacing.mode = np_modes().at(name); },
          "When CE is answered: hold-off (a CNP at once, if none went within the interval), window "
          "(at once after quiet, then at the end of each interval with CE), grid (at ticks of a "
          "grid), echo (a CNP for each CE) (default: hold-off)")
      .value_name("MODE")
      .check(one_of({"hold-off", "window", "grid", "echo"}));
  command.add_option("--cnp-dscp", dscp, "DSCP of CNPs (default: 48)")
      .value_name("N")
      .check(whole_number(0, 63));
}

void add_cpus(Command command, std::vector<uint32_t> &cpus, const std::string &threads) {
  command
      .add_option_function<std::string>(
          "--cpus",
          [&cpus](const std::string &text) {
            if (auto list = parse_processors(text))
              cpus = std::move(list.get());
          },
          fmt::format("Processors on which {} stay, in turn (default: those that no other xdp-roce "
                      "has)",
                      threads))
      .value_name("LIST")
      .check(ValueCheck{[](const std::string &text) {
        auto list = parse_processors(text);
        return list ? std::string()
                    : fmt::format("{} ({})", list.error().message, list.error().hint);
      }});
}

Option add_steer(Command command, bool &steer) {
  return command.add_flag(
      "--steer", steer,
      "Flow rules of the NIC bring all RoCE to one queue, the first, until the end (default: "
      "where the NIC puts it)");
}

Status check_steer(bool steer, uint32_t queues) {
  if (steer && queues > 1)
    return Error{fmt::format("--steer brings RoCE to one queue, and --queues {} has more", queues),
                 "--steer --queues 1, or without --steer"};
  return {};
}

void add_queue_options(Command command, endpoint::QueueOptions &options, const char *description) {
  command.add_option("--queue", options.first, "The first queue (default: 0)")
      .value_name("N")
      .check(whole_number(0, 63));
  command.add_option("--queues", options.count, description)
      .value_name("N")
      .check(whole_number(1, 64));
  add_steer(command, options.steer);
  add_cpus(command, options.cpus, "its threads");
  const Option copy = command.add_flag("--copy", options.copy,
                                       "Do not use zero-copy, even where the driver has it");
  command.add_flag("--zero-copy", options.zero_copy, "Fail where frames would be copied")
      .excludes(copy);
}

void add_duration(Command command, const std::string &name, uint64_t &ns,
                  const std::string &description) {
  command
      .add_option_function<std::string>(
          name,
          [&ns](const std::string &text) {
            if (auto value = parse::duration(text))
              ns = value.get();
          },
          description)
      .value_name("DURATION")
      .check(ValueCheck{[](const std::string &text) {
        auto value = parse::duration(text);
        if (value && !value.get())
          return fmt::format("'{}' is not a duration above 0", text);
        return value ? std::string()
                     : fmt::format("{} ({})", value.error().message, value.error().hint);
      }});
}

void add_pfc_options(Command command, bool &obey, uint64_t &line_bits) {
  const Option ignore = command.add_flag_function(
      "--ignore-pfc", [&obey] { obey = false; }, "Send on in spite of PFC and PAUSE frames");
  command
      .add_option_function<std::string>(
          "--pfc-line",
          [&line_bits](const std::string &text) {
            if (auto value = parse::rate(text))
              line_bits = value.get();
          },
          "The line's rate, by which the quanta of PFC frames last (default: the port's speed)")
      .value_name("RATE")
      .check(ValueCheck{[](const std::string &text) {
        auto value = parse::rate(text);
        return value ? std::string()
                     : fmt::format("{} ({})", value.error().message, value.error().hint);
      }})
      .excludes(ignore);
}

Option add_retransmit(Command command, bool &selective, const std::string &description) {
  return command
      .add_option_function<std::string>(
          "--retransmit",
          [&selective](const std::string &mode) { selective = mode == "selective"; },
          description + ": go-back-n (all from the missing packet on) or selective (only what is "
                        "missing; meant for both ends) (default: go-back-n)")
      .value_name("MODE")
      .check(one_of({"go-back-n", "selective"}));
}

} // namespace xr::cli
