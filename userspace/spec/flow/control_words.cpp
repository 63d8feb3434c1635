// SPDX-License-Identifier: Apache-2.0
// The word `cc`: how each QP of a flow is controlled.
#include "flow/words.h"

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr uint64_t kMostPacerBurst = 65536;

// The words after the name of a control with parameters: line R, burst=N, and the parameters.
Status parse_line(congestion::Control &control, WordReader &words) {
  auto rate = take_rate(words);
  if (!rate)
    return rate.error();
  if (rate->kind == congestion::Rate::Kind::Top || rate->kind == congestion::Rate::Kind::Packets)
    return Error{"line: the line's rate is in bit/s", "line 40gbit, or nothing: the port's"};
  control.rate = std::move(rate).get();
  return {};
}

Status parse_parameter(congestion::Control &control, const std::string &word) {
  if (word.starts_with("burst=")) {
    const auto burst = XR_TRY(integer(word.substr(6), 1, kMostPacerBurst, "a number of packets"));
    control.burst = static_cast<uint32_t>(burst);
    return {};
  }
  return control.parameters()->set(word);
}

Status parse_preset_of(congestion::Control &control, WordReader &words) {
  control.dcqcn = XR_TRY(congestion::dcqcn_preset(words.take()));
  return {};
}

// window bdp|BYTES|none [vary]
Status parse_window(congestion::Control &control, WordReader &words) {
  using Kind = congestion::Window::Kind;
  congestion::Window window;
  const std::string word = words.take();
  if (word == "bdp") {
    window.kind = Kind::Bdp;
  } else if (word != "none") {
    const auto bytes = byte_count(word, 1);
    if (!bytes)
      return wrong(word, "a window", "bdp, a number of bytes like 64k, or none");
    window.kind = Kind::Bytes;
    window.bytes = bytes.get();
  }
  window.vary = words.take_if("vary");
  control.window = window;
  return {};
}

// The words after the name of a control: preset P, line R, window W, NAME=VALUE.
Status parse_controlled(congestion::Control &control, WordReader &words) {
  const bool dcqcn = control.kind == congestion::Control::Kind::Dcqcn;
  if (dcqcn && words.take_if("preset"))
    if (Status s = parse_preset_of(control, words); !s)
      return s;
  for (;;) {
    Status done;
    if (words.take_if("line"))
      done = parse_line(control, words);
    else if (words.peek() == "window" && control.is_dynamic() && words.take_if("window"))
      done = parse_window(control, words);
    else if (words.peek().find('=') != std::string::npos)
      done = parse_parameter(control, words.take());
    else
      break;
    if (!done)
      return done;
  }
  if (dcqcn && words.peek() == "preset")
    return Error{"preset comes first: the other words change it",
                 "cc dcqcn preset nvidia rai=10mbit"};
  return {};
}

Status parse_fixed(congestion::Control &control, WordReader &words) {
  auto rate = take_rate(words);
  if (!rate)
    return rate.error();
  if (rate->kind == congestion::Rate::Kind::Top)
    return Error{"cc fixed top: a fixed rate is a number", "cc fixed 100mbit"};
  control.rate = std::move(rate).get();
  if (words.peek().starts_with("burst="))
    return parse_parameter(control, words.take());
  return {};
}

Status parse_cc(FlowDraft &draft, WordReader &words) {
  draft.spec.control = XR_TRY(take_control(words));
  return {};
}

std::string control_text(const congestion::Control &control) {
  using Kind = congestion::Control::Kind;
  using Window = congestion::Window;
  std::string text = control.word();
  if (control.kind == Kind::Fixed)
    text += " " + rate_words(control.rate);
  if (const congestion::ParameterSet *parameters = control.parameters()) {
    if (control.plugin)
      text += " " + control.plugin->path();
    if (const std::string words = parameters->words(); !words.empty())
      text += " " + words;
  }
  if (control.is_dynamic() && control.rate.kind != congestion::Rate::Kind::Top)
    text += " line " + rate_words(control.rate);
  if (control.burst != 1)
    text += fmt::format(" burst={}", control.burst);
  const Window &window = control.window;
  if (window.kind != Window::Kind::None)
    text += fmt::format(" window {}{}",
                        window.kind == Window::Kind::Bdp ? "bdp" : std::to_string(window.bytes),
                        window.vary ? " vary" : "");
  return text;
}

constexpr FlowWord kControlWords[] = {
    {{"cc", "",
      "cc fixed 100mbit [l1|l2] | cc dcqcn [preset P] | cc timely | cc timely-patched | cc dctcp | "
      "cc hpcc | cc swift | cc copa | cc plugin FILE.so; each but fixed with [line R] [window "
      "bdp|BYTES [vary]] [NAME=VALUE ...]; each QP on its own",
      "fixed RATE [l1|l2]|dcqcn [preset P]|timely|timely-patched|dctcp|hpcc|swift|copa|plugin "
      "FILE.so [line R] [window bdp|BYTES [vary]] [NAME=VALUE ...]",
      "each QP with its own pacer: at that rate, or by "
      "[congestion control](congestion.md); `burst=`N with each: N packets at once"},
     parse_cc,
     [](const Flow &flow) {
       return flow.control.kind == congestion::Control::Kind::None
                  ? Said()
                  : Said{control_text(flow.control)};
     },
     [](Flow &flow, const Scale &scale) {
       flow.control.rate.scale(scale.factor);
       if (congestion::ParameterSet *set = flow.control.parameters())
         set->scale(scale.factor);
     }},
};

} // namespace

std::span<const FlowWord> control_words() { return kControlWords; }

Result<congestion::Control> take_control(WordReader &words) {
  using Kind = congestion::Control::Kind;
  congestion::Control control;
  const std::string word = words.peek();
  std::string names;
  const auto rows = congestion::control_rows();
  for (const congestion::ControlRow &row : rows) {
    const bool first = names.empty(), last = &row == &rows.back();
    names += fmt::format("{}{}", first ? "" : last ? " or " : ", ", row.word);
    if (words.take_if(row.word)) {
      control = row.kind == Kind::Plugin
                    ? congestion::Control::of(XR_TRY(congestion::Plugin::load(words.take())))
                    : congestion::Control::of(row.kind);
      break;
    }
  }
  if (control.kind == Kind::None)
    return missing(names, word, "cc fixed 100mbit, or cc dcqcn");
  const Status done =
      control.kind == Kind::Fixed ? parse_fixed(control, words) : parse_controlled(control, words);
  if (!done)
    return done.error();
  return control;
}

} // namespace xr::flow
