// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "congestion/prediction.h"
#include "congestion/steady_state.h"
#include "report/congestion.h"

namespace xr::cli {

namespace cc_command {
namespace {

struct Args {
  std::string what;
  std::vector<std::string> words;
  std::vector<size_t> presets;                      // show: none for all
  std::optional<congestion::Control> other;         // show: a control that has no presets
  congestion::Question question;                    // predict
  std::optional<congestion::SteadyQuestion> steady; // predict: of a control without presets

  std::string context() const { return "cc " + what; }
};

// Every parameter, from its row: name, units, meaning.
std::string parameter_help() {
  std::string text;
  for (const congestion::ParameterRow &row : congestion::dcqcn_rows())
    text += fmt::format("  {:<18}{}; {}\n", row.name, row.meaning, unit_text(row));
  return text;
}

void describe(Command command, Args &args) {
  command.add_option("WHAT", args.what, "list, show or predict")
      .value_name("")
      .required()
      .check(one_of({"list", "show", "predict"}));
  command
      .add_option("WORDS", args.words,
                  "show: presets (default: all), a control of `cc list`, or plugin FILE.so; "
                  "predict: the words "
                  "below")
      .value_name("");
  const auto presets = congestion::dcqcn_presets();
  std::vector<std::string> shown(presets.begin(), presets.end()), asked;
  for (const std::string_view word : congestion::question_words())
    asked.emplace_back(word);
  for (const char *name : {"dctcp", "hpcc", "swift", "copa"})
    asked.emplace_back(name);
  for (const congestion::ParameterRow &row : congestion::dcqcn_rows())
    asked.push_back(std::string(row.name) + "=");
  command.set_completions(
      {{"show", false, shown}, {"predict", false, asked}, {"preset", true, shown}});
  command.set_footer(
      "list     the congestion controls of `send ... cc` and DCQCN's presets\n"
      "show     parameters with unit and source, presets side by side\n"
      "predict  " +
      std::string(congestion::question_usage()) +
      "\n         what DCQCN's model says: fixed point, convergence, stability. D of "
      "delay is the loop's,\n         without queueing (default 4us); start N R: so many "
      "flows start at R, the others at the line's rate;\n         for: time of the fluid "
      "model (default 400ms)\n"
      "predict  " +
      std::string(congestion::steady_usage()) +
      "\n         what the papers of the others say: rates and queue of flows in equilibrium; rtt: "
      "of the path\n         without queues (default 4us); packet: a frame (default 1000 bytes); "
      "mark: where the switch's marks begin\n"
      "An algorithm of one's own is a shared object: `cc plugin FILE.so [NAME=VALUE ...]` in send "
      "and\nexperiments, `cc show plugin FILE.so` for its parameters. It is compiled by\n"
      "  gcc -shared -fPIC -O2 -o my.so my.c\n"
      "with the header xdp-roce/congestion.h; aimd.c and delay.c are examples\n"
      "Parameters of DCQCN, as NAME=VALUE:\n" +
      parameter_help());
}

// Words of `show`: presets of DCQCN, or another control.
Status read_shown(Args &args) {
  for (const congestion::ControlRow &row : congestion::control_rows()) {
    if (row.rows && args.words == std::vector<std::string>{row.word}) {
      args.other = congestion::Control::of(row.kind);
      return {};
    }
  }
  if (args.words.size() == 2 && args.words.front() == "plugin") {
    args.other = congestion::Control::of(XR_TRY(congestion::Plugin::load(args.words.back())));
    return {};
  }
  for (const std::string &word : args.words) {
    const auto preset = XR_TRY(congestion::dcqcn_preset(word));
    args.presets.push_back(preset.preset);
  }
  return {};
}

Status read(Args &args) {
  if (args.what == "show")
    return read_shown(args);
  if (args.what == "list")
    return args.words.empty()
               ? Status()
               : Error{fmt::format("what is '{}'?", args.words.front()), "xdp-roce cc list"};
  if (congestion::asks_for_steady_state(args.words)) {
    args.steady = XR_TRY(congestion::parse_steady_question(args.words));
    return {};
  }
  args.question = XR_TRY(congestion::parse_question(args.words));
  return {};
}

report::Document shown(const Args &args) {
  if (args.other)
    return report::control_report(*args.other);
  std::vector<size_t> presets = args.presets;
  if (presets.empty())
    for (size_t i = 0; i < congestion::dcqcn_presets().size(); i++)
      presets.push_back(i);
  return report::dcqcn_presets_report(presets);
}

int cc(const Args &args, const Globals &globals) {
  Output output(globals.json);
  output.print(args.what == "show" ? shown(args)
               : args.steady       ? report::steady_state_report(*args.steady,
                                                                 congestion::steady_state(*args.steady))
               : args.what == "predict"
                   ? report::prediction_report(args.question, congestion::predict(args.question))
                   : report::congestion_list());
  return output.finish();
}

} // namespace
} // namespace cc_command

void add_cc(Command program, Run &chosen) {
  using namespace cc_command;
  add_command<Args>(program, chosen, "cc", "Congestion control: presets, parameters, theory",
                    describe, read, cc);
}

} // namespace xr::cli
