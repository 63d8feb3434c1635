// SPDX-License-Identifier: Apache-2.0
// Words for the timing of packets and for deliberate faults.
#include "flow/words.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr std::string_view kRateHint = "like 10gbit, 100kpps, 50% or top";
constexpr double kSlowest = 0.001, kFastest = 1e9; // packets a second
constexpr uint64_t kMostBurst = 1'000'000'000'000;
constexpr size_t kMostFaults = 64;
constexpr uint64_t kMostPacerBurst = 65536;

// A number and its unit in lower case.
std::optional<Number> with_unit(const std::string &word) {
  Number number;
  if (!looks_like_number(word))
    return std::nullopt;
  const char *all = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), all, number.value);
  if (error != std::errc() || !std::isfinite(number.value))
    return std::nullopt;
  number.unit = lower(std::string_view(end, all));
  return number;
}

Result<congestion::Rate> packet_rate(const std::string &word, const Number &number) {
  const double scale = number.unit == "mpps" ? 1e6 : number.unit == "kpps" ? 1e3 : 1;
  const double value = number.value * scale;
  if (!(value >= kSlowest && value <= kFastest))
    return wrong(word, "a rate from 0.001pps to 1000mpps", std::string(kRateHint));
  return congestion::Rate{congestion::Rate::Kind::Packets, value, word};
}

Result<congestion::Rate> percentage(const std::string &word, const Number &number) {
  if (!(number.value > 0 && number.value <= 100))
    return wrong(word, "a part of the line's rate", "above 0%, up to 100%");
  return congestion::Rate{congestion::Rate::Kind::Percent, number.value, word};
}

Result<congestion::Rate> rate_of(const std::string &word, bool l1) {
  if (lower(word) == "top")
    return congestion::Rate();
  const auto number = with_unit(word);
  if (number && (number->unit == "pps" || number->unit == "kpps" || number->unit == "mpps"))
    return packet_rate(word, *number);
  if (number && number->unit == "%")
    return percentage(word, *number);
  const auto bits = parse::rate(word);
  if (!bits)
    return number ? bits.error() : wrong(word, "a rate", std::string(kRateHint));
  return congestion::Rate{l1 ? congestion::Rate::Kind::BitsL1 : congestion::Rate::Kind::BitsL2,
                          static_cast<double>(bits.get()), word};
}

Status parse_rate_word(FlowDraft &draft, WordReader &words) {
  draft.flow.pacing.rate = XR_TRY(take_rate(words));
  return {};
}

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
  draft.flow.control = XR_TRY(take_control(words));
  return {};
}

Status parse_top(FlowDraft &draft, WordReader &) {
  draft.flow.pacing.rate = congestion::Rate();
  return {};
}

Status parse_poisson(FlowDraft &draft, WordReader &) {
  draft.flow.pacing.shape = congestion::Pacing::Shape::Poisson;
  return {};
}

Status parse_burst(FlowDraft &draft, WordReader &words) {
  congestion::Pacing &pacing = draft.flow.pacing;
  const auto packets = XR_TRY(integer(words.take(), 1, kMostBurst, "a number of packets"));
  if (!words.take_if("gap"))
    return missing("gap", words.peek(), "burst 32 gap 1ms");
  const auto gap = XR_TRY(duration(words.take()));
  pacing.bursts = 0;
  if (words.take_if("count")) {
    pacing.bursts = XR_TRY(integer(words.take(), 1, kMostBurst, "a number of bursts"));
  }
  pacing.shape = congestion::Pacing::Shape::Burst;
  pacing.burst_packets = packets;
  pacing.burst_gap_ns = gap;
  return {};
}

Result<uint64_t> some_time(const std::string &word) {
  auto ns = duration(word);
  if (ns && !ns.get())
    return wrong(word, "a duration above 0", "like 10s");
  return ns;
}

Status parse_for(FlowDraft &draft, WordReader &words) {
  draft.flow.duration_ns = XR_TRY(some_time(words.take()));
  return {};
}

Status parse_start(FlowDraft &draft, WordReader &words) {
  draft.flow.pacing.start_ns = XR_TRY(duration(words.take()));
  return {};
}

Status parse_ramp(FlowDraft &draft, WordReader &words) {
  congestion::Pacing &pacing = draft.flow.pacing;
  pacing.ramp_ns = XR_TRY(some_time(words.take()));
  pacing.ramp_from = 0;
  if (!words.take_if("from"))
    return {};
  auto from = probability(words.peek());
  if (!from)
    return wrong(words.take(), "a part of the rate", "like 10%");
  words.take();
  pacing.ramp_from = static_cast<double>(from->p());
  return {};
}

Status parse_positions(Fault &fault, WordReader &words) {
  fault.when = Fault::When::Positions;
  for (const std::string &part : parts(words.take())) {
    const auto position = XR_TRY(integer(part, 1, UINT64_MAX, "a packet's place"));
    if (!fault.positions.empty() && position <= fault.positions.back())
      return Error{fmt::format("'{}' is not after {}", part, fault.positions.back()),
                   "places ascend, like 1,5,9"};
    fault.positions.push_back(position);
  }
  return {};
}

Status parse_every(Fault &fault, WordReader &words) {
  const auto every = XR_TRY(integer(words.take(), 1, UINT64_MAX));
  fault.when = Fault::When::Every;
  fault.every = every;
  return {};
}

Status parse_probability(Fault &fault, WordReader &words) {
  auto p = XR_TRY(probability(words.take()));
  fault.when = Fault::When::Probability;
  fault.probability = static_cast<double>(p.p());
  return {};
}

Status parse_fault(FlowDraft &draft, WordReader &words) {
  const auto kind = XR_TRY(choice(words.take(), fault_names(), "a kind of fault"));
  if (draft.flow.faults.size() == kMostFaults)
    return Error{fmt::format("there are {} already", kMostFaults),
                 "another flow can have the rest"};
  Fault fault;
  fault.kind = static_cast<Fault::Kind>(kind);
  const auto when = choice(words.take(), {"at", "every", "probability"}, "when it happens");
  if (!when)
    return when.error();
  constexpr Status (*kParse[])(Fault &, WordReader &) = {parse_positions, parse_every,
                                                         parse_probability};
  if (Status s = kParse[when.get()](fault, words); !s)
    return s;
  draft.flow.faults.push_back(std::move(fault));
  return {};
}

constexpr FlowKeyword kPaceWords[] = {
    {"rate", Slot::Rate, parse_rate_word,
     "rate 10gbit [l1|l2], rate 100kpps, rate 50% or rate top"},
    {"cc", Slot::Cc, parse_cc,
     "cc fixed 100mbit [l1|l2] | cc dcqcn [preset P] | cc timely | cc timely-patched | cc dctcp | "
     "cc hpcc | cc swift | cc copa | cc plugin FILE.so; each but fixed with [line R] [window "
     "bdp|BYTES [vary]] [NAME=VALUE ...]; each QP on its own"},
    {"top", Slot::Rate, parse_top, "top, the same as rate top"},
    {"poisson", Slot::Shape, parse_poisson, "poisson"},
    {"burst", Slot::Shape, parse_burst, "burst 32 gap 1ms [count 10]"},
    {"for", Slot::For, parse_for, "for 10s"},
    {"start", Slot::Start, parse_start, "start 1s"},
    {"ramp", Slot::Ramp, parse_ramp, "ramp 10s [from 10%]"},
    {"fault", Slot::Many, parse_fault,
     "fault skip|repeat|reorder|icrc|pad|ghost-ack at 5,9 | every 100 | probability 1%"},
};

} // namespace

// To add a fault: Fault::Kind in flow.h, its name here, requester/faults.cpp, open_faults.cpp,
// with_faults in reliable_send.cpp; faults_test, send_faults.sh.
const std::vector<std::string_view> &fault_names() {
  static const std::vector<std::string_view> kNames = {"skip", "repeat", "reorder",
                                                       "icrc", "pad",    "ghost-ack"};
  return kNames;
}

std::span<const FlowKeyword> pace_words() { return kPaceWords; }

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

Result<congestion::Rate> take_rate(WordReader &words) {
  const std::string word = words.take();
  const bool l1 = words.take_if("l1"), l2 = !l1 && words.take_if("l2");
  auto rate = rate_of(word, l1);
  if (!rate)
    return rate;
  const bool bits =
      rate->kind == congestion::Rate::Kind::BitsL1 || rate->kind == congestion::Rate::Kind::BitsL2;
  if ((l1 || l2) && !bits)
    return Error{fmt::format("{} does not go with '{}'", l1 ? "l1" : "l2", word),
                 "only bits are counted in two ways; percent are of L1"};
  return rate;
}

} // namespace xr::flow
