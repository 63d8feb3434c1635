// SPDX-License-Identifier: Apache-2.0
#include "congestion/prediction.h"

#include <algorithm>

#include <fmt/format.h>

#include "congestion/fluid.h"
#include "congestion/theory.h"
#include "parse/value.h"

namespace xr::congestion {

namespace {

constexpr uint32_t kMostFlows = 1'000'000;
constexpr uint64_t kLongestRun = 60'000'000'000;

using QuestionDraft = parse::Draft<Question>;
using parse::WordReader;

// What a switch has are parameters of DCQCN as well.
template <const auto &name> Status parse_parameter(QuestionDraft &draft, WordReader &words) {
  return draft.spec.parameters.set(fmt::format("{}={}", name, words.take()));
}
constexpr char kKmin[] = "kmin", kKmax[] = "kmax", kPmax[] = "pmax";

Status parse_flows(QuestionDraft &draft, WordReader &words) {
  draft.spec.path.flows = static_cast<uint32_t>(
      XR_TRY(parse::integer(words.take(), 1, kMostFlows, "a number of flows")));
  return {};
}

Status parse_rate(QuestionDraft &draft, WordReader &words) {
  draft.spec.path.line_bits = static_cast<double>(XR_TRY(parse::rate(words.take())));
  return {};
}

Status parse_delay(QuestionDraft &draft, WordReader &words) {
  draft.spec.path.delay_ns = XR_TRY(parse::duration(words.take()));
  return {};
}

Status parse_packet(QuestionDraft &draft, WordReader &words) {
  draft.spec.path.packet_bytes = static_cast<double>(XR_TRY(parse::byte_count(words.take(), 1)));
  return {};
}

Status parse_start(QuestionDraft &draft, WordReader &words) {
  const auto flows = XR_TRY(parse::integer(words.take(), 1, kMostFlows, "a number of flows"));
  const auto rate = XR_TRY(parse::rate(words.take()));
  draft.spec.odd_flows = static_cast<uint32_t>(flows);
  draft.spec.odd_rate_bits = static_cast<double>(rate);
  return {};
}

Status parse_for(QuestionDraft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto time = XR_TRY(parse::duration(word));
  if (time < 1'000'000 || time > kLongestRun)
    return Error{fmt::format("'{}' is not from 1ms to 60s", word), "for 400ms"};
  draft.spec.run.duration_ns = time;
  return {};
}

Status parse_preset(QuestionDraft &, WordReader &words) { // choose_preset() has read it
  words.take();
  return {};
}

constexpr parse::Word<QuestionDraft> kWords[] = {
    {{"flows", "", "", "N"}, parse_flows},
    {{"rate", "", "", "R"}, parse_rate},
    {{"kmin", "", "", "B"}, parse_parameter<kKmin>},
    {{"kmax", "", "", "B"}, parse_parameter<kKmax>},
    {{"pmax", "", "", "P"}, parse_parameter<kPmax>},
    {{"delay", "", "", "D"}, parse_delay},
    {{"packet", "", "", "B"}, parse_packet},
    {{"start", "", "", "N R"}, parse_start},
    {{"for", "", "", "D"}, parse_for},
    {{"preset", "", "", "P"}, parse_preset},
};

// The preset comes first, wherever it is written: other words change its values.
Result<DcqcnParameters> choose_preset(const std::vector<std::string> &words) {
  for (size_t i = 0; i + 1 < words.size(); i++)
    if (words[i] == "preset")
      return dcqcn_preset(words[i + 1]);
  return DcqcnParameters();
}

Status check(const Question &question) {
  const DcqcnSettings settings = resolve(question.parameters, question.path.line_bits);
  if (!(question.path.line_bits > 0))
    return Error{"the line's rate is missing", "rate 40gbit"};
  if (!(settings.kmin < settings.kmax))
    return Error{"kmin is not below kmax", "kmin 5k kmax 200k"};
  if (!(settings.pmax > 0))
    return Error{"pmax is 0: nothing is marked", "pmax 1%"};
  if (!(settings.rai > 0))
    return Error{"rai is 0: the model needs additive increase", "rai=40mbit"};
  if (!(settings.g > 0))
    return Error{"g is 0: alpha never changes", "g=1/256"};
  if (question.odd_flows > question.path.flows)
    return Error{fmt::format("start: there are {} flows", question.path.flows), "start 1 5gbit"};
  return {};
}

Bottleneck stated_path(const Question &question, const DcqcnSettings &settings) {
  Bottleneck path = question.path;
  path.kmin = settings.kmin;
  path.kmax = settings.kmax;
  path.pmax = settings.pmax;
  return path;
}

Prediction predict(const Question &question, const DcqcnSettings &settings, const Bottleneck &path,
                   bool fluid) {
  Prediction prediction;
  prediction.path = path;
  prediction.point = fixed_point(settings, path);
  prediction.convergence_s = convergence_bound(settings, path);
  prediction.phase_margin = phase_margin(settings, path);
  if (!fluid)
    return prediction;
  FluidRun run = question.run;
  run.buffer_bytes = std::max(run.buffer_bytes, 2 * path.kmax);
  if (question.odd_flows) {
    run.groups = {{question.odd_flows, std::min(question.odd_rate_bits, path.line_bits)}};
    if (path.flows > question.odd_flows)
      run.groups.push_back({path.flows - question.odd_flows, path.line_bits});
  }
  prediction.fluid = integrate(settings, path, run);
  return prediction;
}

} // namespace

const QuestionLanguage &question_language() {
  static const QuestionLanguage kLanguage(
      {.thing = "a question", .example = "", .unknown = "what is '{}'?"}, {{"", kWords}});
  return kLanguage;
}

std::string question_usage() { return question_language().usage(2) + " [NAME=VALUE ...]"; }

Result<Question> parse_question(const std::vector<std::string> &all) {
  QuestionDraft draft;
  Question &question = draft.spec;
  question.path.flows = 2;
  question.parameters = XR_TRY(choose_preset(all));
  for (WordReader words(all); !words.done();)
    if (words.peek().find('=') != std::string::npos)
      XR_TRY(question.parameters.set(words.take()));
    else
      XR_TRY(question_language().read_word(draft, words));
  XR_TRY(check(question));
  return std::move(question);
}

Prediction predict_stated(const Question &question, bool fluid) {
  const DcqcnSettings settings = resolve(question.parameters, question.path.line_bits);
  return predict(question, settings, stated_path(question, settings), fluid);
}

Answer predict(const Question &question) {
  const DcqcnSettings settings = resolve(question.parameters, question.path.line_bits);
  Bottleneck path = stated_path(question, settings);
  Answer answer{predict(question, settings, path, true), std::nullopt};
  const DcqcnSettings paper = resolve(DcqcnParameters(), question.path.line_bits);
  if (path.kmin == paper.kmin && path.kmax == paper.kmax && path.pmax == paper.pmax) {
    path.kmax *= 10;
    path.pmax *= 10;
    answer.published = predict(question, settings, path, true);
  }
  return answer;
}

} // namespace xr::congestion
