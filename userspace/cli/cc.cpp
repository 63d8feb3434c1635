// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "congestion/prediction.h"
#include "report/congestion.h"

namespace xr::cli {

namespace {

struct Args {
  std::string what;
  std::vector<std::string> words;
};

// Every parameter, from its row: name, units, meaning.
std::string parameter_help() {
  std::string text;
  for (const congestion::ParameterRow &row : congestion::dcqcn_rows())
    text += fmt::format("  {:<18}{}; {}\n", row.name, row.meaning, unit_text(row));
  return text;
}

void describe(CLI::App &command, Args &args) {
  command.add_option("WHAT", args.what, "list, show or predict")
      ->type_name("")
      ->required()
      ->check(one_of({"list", "show", "predict"}));
  command
      .add_option("WORDS", args.words,
                  "show: presets (default: all), or timely; predict: the words below")
      ->type_name("");
  command.footer(
      "list     the congestion controls of `send ... cc` and DCQCN's presets\n"
      "show     parameters with unit and source, presets side by side\n"
      "predict  " +
      std::string(congestion::question_usage()) +
      "\n         what DCQCN's model says: fixed point, convergence, stability. D of "
      "delay is the loop's,\n         without queueing (default 4us); start N R: so many "
      "flows start at R, the others at the line's rate;\n         for: time of the fluid "
      "model (default 400ms)\nParameters of DCQCN, as NAME=VALUE:\n" +
      parameter_help() +
      "Examples:\n"
      "  xdp-roce cc show paper nvidia\n"
      "  xdp-roce cc predict flows 10 rate 40gbit kmin 5k kmax 200k pmax 1% delay 4us\n"
      "  xdp-roce cc predict flows 8 rate 100gbit preset hpcc alpha-timer=55us");
}

int show(const Args &args, Output &output) {
  for (const congestion::ControlRow &row : congestion::control_rows()) {
    const congestion::Control control{.kind = row.kind};
    if (row.kind == congestion::Control::Kind::Dcqcn || !control.is_dynamic() ||
        args.words != std::vector<std::string>{row.word})
      continue;
    output.print(report::control_report(control));
    return output.finish();
  }
  std::vector<size_t> presets;
  for (const std::string &word : args.words) {
    const auto preset = congestion::dcqcn_preset(word);
    if (!preset)
      return refuse("cc show", preset.error());
    presets.push_back(preset.get().preset);
  }
  if (presets.empty())
    for (size_t i = 0; i < congestion::dcqcn_presets().size(); i++)
      presets.push_back(i);
  output.print(report::dcqcn_presets_report(presets));
  return output.finish();
}

int predict(const Args &args, Output &output) {
  const auto question = congestion::parse_question(args.words);
  if (!question)
    return refuse("cc predict", question.error());
  output.print(report::prediction_report(question.get(), congestion::predict(question.get())));
  return output.finish();
}

int cc(const Args &args, const Globals &globals) {
  Output output(globals.json);
  if (args.what == "show")
    return show(args, output);
  if (args.what == "predict")
    return predict(args, output);
  if (!args.words.empty())
    return refuse("cc list",
                  {fmt::format("what is '{}'?", args.words.front()), "xdp-roce cc list"});
  output.print(report::congestion_list());
  return output.finish();
}

} // namespace

void add_cc(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "cc", "Congestion control: presets, parameters, theory", describe,
                    cc);
}

} // namespace xr::cli
