// SPDX-License-Identifier: Apache-2.0
#include "congestion/steady_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "parse/value.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

namespace {

using Kind = Control::Kind;

constexpr uint32_t kMostSteadyFlows = 1'000'000, kMostSwitches = 64;

using SteadyDraft = parse::Draft<SteadyQuestion>;
using parse::WordReader;

constexpr parse::Word<SteadyDraft> kSteadyWords[] = {
    {{"flows", "", "", "N"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.flows = static_cast<uint32_t>(
           XR_TRY(parse::integer(words.take(), 1, kMostSteadyFlows, "a number of flows")));
       return {};
     }},
    {{"rate", "", "", "R"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.line_bits = static_cast<double>(XR_TRY(parse::rate(words.take())));
       return {};
     }},
    {{"rtt", "", "", "D"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.rtt_ns = XR_TRY(parse::duration(words.take()));
       return {};
     }},
    {{"packet", "", "", "B"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.packet_bytes = static_cast<double>(XR_TRY(parse::byte_count(words.take(), 1)));
       return {};
     }},
    {{"switches", "", "", "N"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.switches = static_cast<uint32_t>(
           XR_TRY(parse::integer(words.take(), 0, kMostSwitches, "a number of switches")));
       return {};
     }},
    {{"mark", "", "", "B"},
     [](SteadyDraft &draft, WordReader &words) -> Status {
       draft.spec.threshold_bytes = static_cast<double>(XR_TRY(parse::byte_count(words.take(), 1)));
       return {};
     }},
};

const ControlRow *steady_row(const std::string &word) {
  for (const ControlRow &row : control_rows())
    if (word == row.word && (row.kind == Kind::Dctcp || row.kind == Kind::Hpcc ||
                             row.kind == Kind::Swift || row.kind == Kind::Copa))
      return &row;
  return nullptr;
}

Status check(const SteadyQuestion &q) {
  if (!(q.line_bits > 0))
    return Error{"the line's rate is missing", "rate 100gbit"};
  if (!q.rtt_ns)
    return Error{"rtt is 0", "rtt 4us: that of the path without queues"};
  if (q.control.kind == Kind::Dctcp && !(q.threshold_bytes > 0))
    return Error{"the threshold of the marks is missing", "mark 300k"};
  return {};
}

double bytes_of(double bits, double ns) { return bits / 8 * ns * 1e-9; }

// SIGCOMM'10, section 3.3: windows of N flows in step that mark for one RTT.
QueueCycle windowed_dctcp(const SteadyQuestion &q) {
  const double n = q.flows, k = q.threshold_bytes / q.packet_bytes;
  const double pipe = bytes_of(q.line_bits, static_cast<double>(q.rtt_ns)) / q.packet_bytes;
  const double window = (pipe + k) / n; // at which the queue reaches K
  // alpha^2 (1 - alpha / 4) = (2 window + 1) / (window + 1)^2: the left side grows with alpha.
  const double share = std::min(1.0, (2 * window + 1) / ((window + 1) * (window + 1)));
  double low = 0, high = 1;
  for (int i = 0; i < 100; i++) {
    const double alpha = (low + high) / 2;
    (alpha * alpha * (1 - alpha / 4) < share ? low : high) = alpha;
  }
  const double step = (window + 1) * high / 2; // of each window, packets; one packet an RTT
  const double rtt = static_cast<double>(q.rtt_ns) + q.threshold_bytes * 8e9 / q.line_bits;
  QueueCycle cycle;
  cycle.alpha = high;
  cycle.period_ns = step * rtt;
  cycle.most = (k + n) * q.packet_bytes;
  cycle.least = std::max(0.0, (k + n - n * step) * q.packet_bytes);
  cycle.mean = (cycle.most + cycle.least) / 2;
  return cycle;
}

// Rates have no clock of ACKs: the queue is the integral of their excess, and it goes on growing
// for an RTT after the marks begin. N flows in step, as a fluid, by the rules of dctcp.cpp.
class RatedDctcp {
public:
  RatedDctcp(const SteadyQuestion &q, const DctcpSettings &s)
      : s_(s), n_(q.flows), line_(q.line_bits), threshold_(q.threshold_bytes),
        step_ns_(static_cast<double>(q.rtt_ns) / (2 * kHalf)), rate_(q.line_bits / q.flows),
        alpha_(s.alpha_initial), sent_(kHalf), left_(kHalf), marks_(kHalf) {}

  QueueCycle all() {
    const double rtt = 2 * kHalf * step_ns_ + 2 * threshold_ * 8e9 / line_;
    const auto steps = static_cast<uint64_t>(kRounds * rtt / step_ns_);
    QueueCycle cycle;
    cycle.least = 1e300;
    double sent_before = 0;
    uint64_t cuts = 0;
    for (uint64_t i = 0; i < steps; i++) {
      const bool cut = step(i);
      if (i < steps / 2) {
        sent_before = all_left_;
        continue;
      }
      cuts += cut;
      cycle.least = std::min(cycle.least, queue_);
      cycle.most = std::max(cycle.most, queue_);
      cycle.mean += queue_;
      cycle.alpha += alpha_;
    }
    const uint64_t half = steps / 2;
    const auto judged = static_cast<double>(steps - half);
    cycle.mean /= judged;
    cycle.alpha /= judged;
    cycle.period_ns = cuts ? judged * step_ns_ / static_cast<double>(cuts) : 0;
    cycle.utilisation = (all_left_ - sent_before) / bytes_of(line_, judged * step_ns_);
    return cycle;
  }

private:
  static constexpr size_t kHalf = 32; // steps of half an RTT
  static constexpr double kRounds = 1000;

  // True: the flows cut.
  bool step(uint64_t i) {
    const size_t at = i % kHalf;
    const double arrives = sent_[at] - arrived_; // half an RTT ago
    arrived_ = sent_[at];
    const double acked = left_[at];
    const bool marked = marks_[at] != 0;
    const double backlog = queue_ + arrives, room = bytes_of(line_, step_ns_);
    all_left_ += std::min(backlog, room);
    queue_ = std::max(0.0, backlog - room);
    const bool cut = hear(acked, marked);
    all_sent_ += bytes_of(n_ * rate_, step_ns_);
    sent_[at] = all_sent_;
    left_[at] = all_left_;
    marks_[at] = queue_ > threshold_ ? 1 : 0;
    return cut;
  }

  // ACKs up to `acked`, as Dctcp::acked has them.
  bool hear(double acked, bool marked) {
    const double news = acked - acked_;
    acked_ = acked;
    if (!(news > 0))
      return false;
    of_round_ += news;
    marked_ += marked ? news : 0;
    const bool round = acked > round_end_;
    if (round) {
      alpha_ = (1 - s_.g) * alpha_ + s_.g * marked_ / of_round_;
      round_end_ = all_sent_;
      of_round_ = marked_ = 0;
    }
    if (acked <= recovered_at_)
      return false;
    if (marked) {
      rate_ = std::max(s_.min_rate, rate_ * (1 - alpha_ / 2));
      recovered_at_ = all_sent_;
      return true;
    }
    if (round)
      rate_ = std::min(s_.line, rate_ + s_.ai);
    return false;
  }

  DctcpSettings s_;
  double n_, line_, threshold_, step_ns_, rate_, alpha_;
  std::vector<double> sent_, left_, marks_; // of the last half RTT: totals in bytes
  double all_sent_ = 0, arrived_ = 0, all_left_ = 0, acked_ = 0, queue_ = 0;
  double round_end_ = 0, recovered_at_ = 0, of_round_ = 0, marked_ = 0;
};

// R = R eta / U + AI at R = C U / N; beyond the line R = C / N, and the queue makes up for it.
void hpcc_state(const SteadyQuestion &q, SteadyState &state) {
  const HpccSettings s = hpcc_settings(q.control.table, q.line_bits);
  const double step = q.flows * s.ai / q.line_bits;
  double u = s.eta + step;
  if (u > 1) {
    u = step < 1 ? s.eta / (1 - step) : 1;
    state.queue_bytes = std::max(0.0, u - 1) * bytes_of(q.line_bits, static_cast<double>(q.rtt_ns));
  }
  state.utilisation = std::min(1.0, u);
}

// rate x queueing delay = 1 / delta packets of each flow.
void copa_state(const SteadyQuestion &q, SteadyState &state) {
  const CopaSettings s = copa_settings(q.control.table, q.line_bits);
  state.queue_bytes = q.flows / s.delta * q.packet_bytes;
}

// The window at which the RTT of N such windows is the target, which falls as windows grow.
void swift_state(const SteadyQuestion &q, SteadyState &state) {
  const SwiftSettings s = swift_settings(q.control.table, q.line_bits);
  const double share = q.line_bits / q.flows, base = static_cast<double>(q.rtt_ns);
  const auto target = [&](double window) {
    return s.base_target_ns + s.hop_ns * q.switches +
           std::clamp(s.fs_alpha / std::sqrt(window) + s.fs_beta, 0.0, s.fs_range_ns);
  };
  const auto full = [&](double window) { return window * q.packet_bytes * 8e9 / share; };
  double low = s.min_window, high = s.max_window;
  for (int i = 0; i < 200; i++) {
    const double middle = (low + high) / 2;
    (full(middle) < target(middle) ? low : high) = middle;
  }
  state.target_ns = target(high);
  const double rtt = std::max(base, full(high));
  state.queue_bytes = bytes_of(q.line_bits, rtt - base);
  state.utilisation = std::min(1.0, full(high) / base);
}

void dctcp_state(const SteadyQuestion &q, SteadyState &state) {
  state.windowed = windowed_dctcp(q);
  state.rated = RatedDctcp(q, dctcp_settings(q.control.table, q.line_bits)).all();
  state.queue_bytes = state.rated->mean;
  state.utilisation = state.rated->utilisation;
}

} // namespace

bool asks_for_steady_state(const std::vector<std::string> &words) {
  return !words.empty() && steady_row(words.front());
}

const SteadyLanguage &steady_language() {
  static const SteadyLanguage kLanguage(
      {.thing = "a question", .example = "", .unknown = "what is '{}'?"}, {{"", kSteadyWords}});
  return kLanguage;
}

std::string steady_usage() {
  return "dctcp|hpcc|swift|copa " + steady_language().usage(2) + " [NAME=VALUE ...]";
}

Result<SteadyQuestion> parse_steady_question(const std::vector<std::string> &all) {
  SteadyDraft draft;
  SteadyQuestion &question = draft.spec;
  WordReader words(all);
  const std::string name = words.take();
  const ControlRow *row = steady_row(name);
  if (!row)
    return Error{fmt::format("'{}' has no such theory", name), steady_usage()};
  question.control = Control::of(row->kind);
  while (!words.done())
    if (words.peek().find('=') != std::string::npos)
      XR_TRY(question.control.table.set(words.take()));
    else
      XR_TRY(steady_language().read_word(draft, words));
  XR_TRY(check(question));
  return std::move(question);
}

SteadyState steady_state(const SteadyQuestion &q) {
  SteadyState state;
  switch (q.control.kind) {
  case Kind::Dctcp:
    dctcp_state(q, state);
    break;
  case Kind::Hpcc:
    hpcc_state(q, state);
    break;
  case Kind::Swift:
    swift_state(q, state);
    break;
  default:
    copa_state(q, state);
  }
  state.share_bits = q.line_bits * state.utilisation / q.flows;
  state.rtt_ns = static_cast<double>(q.rtt_ns) + state.queue_bytes * 8e9 / q.line_bits;
  state.window_packets = bytes_of(state.share_bits, state.rtt_ns) / q.packet_bytes;
  state.queue_each = state.queue_bytes / q.packet_bytes / q.flows;
  return state;
}

} // namespace xr::congestion
