// SPDX-License-Identifier: Apache-2.0
// Words for the timing of packets and for deliberate faults.
#include "flow/words.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr std::string_view kRateHint = "like 10gbit, 100kpps, 50% or top";
constexpr double kSlowest = 0.001, kFastest = 1e9; // packets a second
constexpr uint64_t kMostBurst = 1'000'000'000'000;
constexpr size_t kMostFaults = 64;

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
  draft.spec.pacing.rate = XR_TRY(take_rate(words));
  return {};
}

Status parse_top(FlowDraft &draft, WordReader &) {
  draft.spec.pacing.rate = congestion::Rate();
  return {};
}

Status parse_poisson(FlowDraft &draft, WordReader &) {
  draft.spec.pacing.shape = congestion::Pacing::Shape::Poisson;
  return {};
}

Status parse_burst(FlowDraft &draft, WordReader &words) {
  congestion::Pacing &pacing = draft.spec.pacing;
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

Status parse_start(FlowDraft &draft, WordReader &words) {
  draft.spec.pacing.start_ns = XR_TRY(duration(words.take()));
  return {};
}

Status parse_ramp(FlowDraft &draft, WordReader &words) {
  congestion::Pacing &pacing = draft.spec.pacing;
  pacing.ramp_ns = XR_TRY(duration_above_0(words.take()));
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
  if (draft.spec.faults.size() == kMostFaults)
    return Error{fmt::format("there are {} already", kMostFaults),
                 "another flow can have the rest"};
  Fault fault;
  fault.kind = static_cast<Fault::Kind>(kind);
  XR_TRY(take_when(fault, words));
  draft.spec.faults.push_back(std::move(fault));
  return {};
}

Said say_burst(const Flow &flow) {
  const congestion::Pacing &pacing = flow.pacing;
  if (pacing.shape != congestion::Pacing::Shape::Burst)
    return {};
  const std::string text =
      fmt::format("{} gap {}", pacing.burst_packets, duration_text(pacing.burst_gap_ns));
  return {pacing.bursts ? fmt::format("{} count {}", text, pacing.bursts) : text};
}

Said say_ramp(const Flow &flow) {
  const congestion::Pacing &pacing = flow.pacing;
  if (!pacing.ramp_ns)
    return {};
  const std::string text = duration_text(pacing.ramp_ns);
  return {pacing.ramp_from > 0 ? fmt::format("{} from {}", text, pacing.ramp_from) : text};
}

std::string fault_text(const Fault &fault) {
  return fmt::format("{} {}", fault_names()[static_cast<size_t>(fault.kind)], when_text(fault));
}

constexpr FlowWord kPaceWords[] = {
    {{"rate", "", "rate 10gbit [l1|l2], rate 100kpps, rate 50% or rate top",
      "10gbit [l1|l2]|1mpps|50%|top", "percent are of the line, L1"},
     parse_rate_word,
     [](const Flow &flow) {
       const congestion::Rate &rate = flow.pacing.rate;
       return say_if(rate.kind != congestion::Rate::Kind::Top, "{}", rate_words(rate));
     },
     [](Flow &flow, const Scale &scale) { flow.pacing.rate.scale(scale.factor); }},
    {{"top", "rate", "top, the same as rate top"}, parse_top},
    {{"poisson", "shape", "poisson"},
     parse_poisson,
     [](const Flow &flow) {
       return say_if(flow.pacing.shape == congestion::Pacing::Shape::Poisson, "");
     }},
    {{"burst", "shape", "burst 32 gap 1ms [count 10]", "N gap DURATION [count N]"},
     parse_burst,
     say_burst,
     [](Flow &flow, const Scale &scale) { scale.time(flow.pacing.burst_gap_ns); }},
    {{"start", "", "start 1s", "DURATION"},
     parse_start,
     [](const Flow &flow) {
       return say_if(flow.pacing.start_ns, "{}", duration_text(flow.pacing.start_ns));
     },
     [](Flow &flow, const Scale &scale) { scale.time(flow.pacing.start_ns); }},
    {{"ramp", "", "ramp 10s [from 10%]", "DURATION [from P%]"},
     parse_ramp,
     say_ramp,
     [](Flow &flow, const Scale &scale) { scale.time(flow.pacing.ramp_ns); }},
};

constexpr FlowWord kFaultWords[] = {
    {{"fault", kMany,
      "fault skip|repeat|reorder|icrc|pad|ghost-ack at 5,9 | every 100 | probability 1%",
      "skip|repeat|reorder|icrc|pad|ghost-ack at N,N|every N|probability P"},
     parse_fault,
     [](const Flow &flow) {
       Said all;
       for (const Fault &fault : flow.faults)
         all.push_back(fault_text(fault));
       return all;
     }},
};

} // namespace

Status take_when(Fault &fault, WordReader &words) {
  const auto when = choice(words.take(), {"at", "every", "probability"}, "when it happens");
  if (!when)
    return when.error();
  constexpr Status (*kParse[])(Fault &, WordReader &) = {parse_positions, parse_every,
                                                         parse_probability};
  return kParse[when.get()](fault, words);
}

std::string when_text(const Fault &fault) {
  switch (fault.when) {
  case Fault::When::Positions:
    return fmt::format("at {}", fmt::join(fault.positions, ","));
  case Fault::When::Every:
    return fmt::format("every {}", fault.every);
  case Fault::When::Probability:
    break;
  }
  return fmt::format("probability {}", fault.probability);
}

// To add a fault: Fault::Kind in flow.h, its name here, requester/faults.cpp, open_faults.cpp,
// with_faults in reliable_send.cpp; faults_test, send_faults.sh.
const std::vector<std::string_view> &fault_names() {
  static const std::vector<std::string_view> kNames = {"skip", "repeat", "reorder",
                                                       "icrc", "pad",    "ghost-ack"};
  return kNames;
}

std::span<const FlowWord> pace_words() { return kPaceWords; }
std::span<const FlowWord> fault_words() { return kFaultWords; }

std::string rate_words(const congestion::Rate &rate) {
  return rate.text + (rate.kind == congestion::Rate::Kind::BitsL1 ? " l1" : "");
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
