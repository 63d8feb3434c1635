// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "congestion/prediction.h"
#include "congestion/steady_state.h"
#include "parse/words.h"
#include "report/congestion.h"

namespace xr::cli {

namespace cc_command {
namespace {

struct Args {
  std::string what;
  std::vector<std::string> words;
  std::vector<report::ShownControl> shown;                        // show
  std::vector<std::shared_ptr<const congestion::Plugin>> plugins; // that `shown` refers to
  congestion::Question question;                                  // predict
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
                  "show: algorithms and presets of `cc list` (default: the presets), or plugin "
                  "FILE.so; predict: the words below")
      .value_name("");
  const auto presets = congestion::dcqcn_presets();
  const std::vector<std::string> preset_names(presets.begin(), presets.end());
  std::vector<std::string> shown = preset_names, asked;
  for (const congestion::ControlRow &row : congestion::control_rows())
    if (std::ranges::find(shown, row.word) == shown.end())
      shown.emplace_back(row.word);
  for (const parse::LanguageWords *language : std::initializer_list<const parse::LanguageWords *>{
           &congestion::question_language(), &congestion::steady_language()})
    for (const std::string_view word : language->names())
      if (std::ranges::find(asked, word) == asked.end())
        asked.emplace_back(word);
  for (const char *name : {"dctcp", "hpcc", "swift", "copa"})
    asked.emplace_back(name);
  for (const congestion::ParameterRow &row : congestion::dcqcn_rows())
    asked.push_back(std::string(row.name) + "=");
  command.set_completions(
      {{"show", false, shown}, {"predict", false, asked}, {"preset", true, preset_names}});
  command.set_footer(
      "list     the congestion controls of `send ... cc` and DCQCN's presets\n"
      "show     NAME...: parameters with unit and source, of algorithms and presets side by side, "
      "as in\n         `cc show hpcc swift`, `cc show paper nvidia` and `cc show dcqcn`, which has "
      "all "
      "its presets.\n         hpcc is the algorithm; after the word preset, or among presets only, "
      "the preset of DCQCN\n"
      "predict  " +
      congestion::question_usage() +
      "\n         what DCQCN's model says: fixed point, convergence, stability. D of "
      "delay is the loop's,\n         without queueing (default 4us); start N R: so many "
      "flows start at R, the others at the line's rate;\n         for: time of the fluid "
      "model (default 400ms)\n"
      "predict  " +
      congestion::steady_usage() +
      "\n         what the papers of the others say: rates and queue of flows in equilibrium; rtt: "
      "of the path\n         without queues (default 4us); packet: a frame (default 1000 bytes); "
      "mark: where the switch's marks begin\n"
      "An algorithm of one's own is a shared object: `cc plugin FILE.so [NAME=VALUE ...]` in send "
      "and\nexperiments, `cc show plugin FILE.so` for its parameters. It is compiled by\n"
      "  gcc -shared -fPIC -O2 -o my.so my.c\n"
      "with the header xdp-roce/congestion.h (in a clone: -I include); aimd.c and delay.c are "
      "examples.\nA static program, as that of a release, loads no shared objects\n"
      "Parameters of DCQCN, as NAME=VALUE:\n" +
      parameter_help());
}

bool is_preset(const std::string &word) {
  return std::ranges::find(congestion::dcqcn_presets(), word) != congestion::dcqcn_presets().end();
}

// `hpcc` is an algorithm and a preset of DCQCN: the preset after `preset` or among presets only.
class ShownReader {
public:
  explicit ShownReader(Args &args)
      : args_(args),
        only_presets_(args.words.size() > 1 && std::ranges::all_of(args.words, is_preset)) {}

  Status read() {
    for (size_t i = 0; i < args_.words.size(); i++) {
      const std::string &word = args_.words[i];
      const std::string next = i + 1 < args_.words.size() ? args_.words[i + 1] : "";
      if (word == "preset" && next.empty())
        return Error{"a name is missing after preset", "xdp-roce cc list shows the presets"};
      if (word == "plugin") {
        XR_TRY(add_plugin(next));
        i++;
      } else if (word == "preset") {
        add_preset(XR_TRY(congestion::dcqcn_preset(next)).preset);
        i++;
      } else {
        XR_TRY(add(word));
      }
    }
    if (args_.words.empty())
      add_presets();
    return {};
  }

private:
  Status add(const std::string &word) {
    if (only_presets_ || (is_preset(word) && !control(word))) {
      add_preset(XR_TRY(congestion::dcqcn_preset(word)).preset);
      return {};
    }
    const congestion::ControlRow *row = control(word);
    if (!row)
      return Error{fmt::format("'{}' is not an algorithm or a preset", word),
                   parse::hint_from(word, names())};
    if (row->kind == congestion::Control::Kind::Dcqcn)
      add_presets();
    else
      add_shown({row->word, row->rows ? row->rows() : std::span<const congestion::ParameterRow>()});
    return {};
  }

  Status add_plugin(const std::string &file) {
    if (file.empty())
      return Error{"a file is missing after plugin", "name it, like plugin ./my.so"};
    args_.plugins.push_back(XR_TRY(congestion::Plugin::load(file)));
    const bool alone = args_.words.size() == 2;
    add_shown({alone ? "plugin" : file, args_.plugins.back()->rows()});
    return {};
  }

  void add_preset(size_t preset) {
    add_shown({congestion::dcqcn_presets()[preset], congestion::dcqcn_rows(), preset});
  }
  void add_presets() {
    for (size_t i = 0; i < congestion::dcqcn_presets().size(); i++)
      add_preset(i);
  }

  // Each once. A preset that has the name of an algorithm beside it is "preset NAME".
  void add_shown(report::ShownControl shown) {
    for (report::ShownControl &known : args_.shown) {
      if (known.name != shown.name)
        continue;
      if (known.rows.data() == shown.rows.data())
        return;
      const bool known_preset = known.rows.data() == congestion::dcqcn_rows().data();
      std::string &name = known_preset ? known.name : shown.name;
      name.insert(0, "preset ");
      break;
    }
    args_.shown.push_back(std::move(shown));
  }

  static const congestion::ControlRow *control(const std::string &word) {
    for (const congestion::ControlRow &row : congestion::control_rows())
      if (row.word == word)
        return &row;
    return nullptr;
  }

  static std::vector<std::string_view> names() {
    const auto presets = congestion::dcqcn_presets();
    std::vector<std::string_view> names(presets.begin(), presets.end());
    for (const congestion::ControlRow &row : congestion::control_rows())
      if (std::ranges::find(names, row.word) == names.end())
        names.emplace_back(row.word);
    return names;
  }

  Args &args_;
  bool only_presets_ = false;
};

Status read(Args &args) {
  if (args.what == "show")
    return ShownReader(args).read();
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

int cc(const Args &args, const Globals &globals) {
  Output output(globals.json);
  output.print(args.what == "show" ? report::parameters_report(args.shown)
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
