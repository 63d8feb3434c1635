// SPDX-License-Identifier: Apache-2.0
// Where the defaults were read: SIGCOMM'15 (Zhu et al., Congestion Control for Large-Scale RDMA
// Deployments) and its model (CoNEXT'16); ns3-rdma's mix/config.txt and qbb-net-device.cc; HPCC's
// simulation/run.py and rdma-hw.cc; NVIDIA "DCQCN Parameters" DOC-2790; ionic_dcqcn.c and irdma in
// Linux; OTG's port/rocev2.yaml.
#include "rate/dcqcn_parameters.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "parse/words.h"
#include "rate/table_parameters.h"

namespace xr::congestion {

namespace {

// A parameter is a row, at its place in DcqcnParameter, and a field of DcqcnSettings; a preset is a
// column. dcqcn_presets_test, dcqcn_test, theory_test.
constexpr size_t kPresets = 7;
constexpr const char *kNames[kPresets] = {"paper", "ns3-rdma", "hpcc", "nvidia",
                                          "ionic", "irdma",    "otg"};
constexpr const char *kAbout[kPresets] = {
    "the paper (SIGCOMM'15) and its model (CoNEXT'16)",
    "bobzhuyb/ns3-rdma with mix/config.txt: alpha first, NP on a grid",
    "alibaba-edu/HPCC, CC_MODE 1 with run.py's `dcqcn`: two timers, no byte counter, CNP in ACKs",
    "NVIDIA ConnectX, firmware defaults (DOC-2790)",
    "AMD Pensando ionic, ionic_dcqcn.c",
    "Intel irdma, driver defaults",
    "Open Traffic Generator, port/rocev2.yaml: rates in % of the line"};

constexpr const char *kDcqcnPaper = "SIGCOMM'15";
constexpr const char *kModel = "CoNEXT'16";
constexpr const char *kConfig = "ns3-rdma config.txt";
constexpr const char *kQbb = "ns3-rdma qbb-net-device.cc";
constexpr const char *kNvidia = "NVIDIA DOC-2790";
constexpr const char *kIsekai = "isekai's rules of NVIDIA";
constexpr const char *kIonic = "ionic_dcqcn.c";
constexpr const char *kIrdma = "irdma";
constexpr const char *kOtg = "OTG rocev2.yaml";

Default given(double value, Unit unit, const char *source) {
  return {{value, unit}, source, false};
}
Default guess(double value, Unit unit, const char *source) { return {{value, unit}, source, true}; }

// A cell that the system leaves open: the paper's value, with a remark or without.
struct Open {
  const char *remark = "";
};

using Cell = std::variant<Open, Default>;

ParameterRow row(const char *name, const char *symbol, std::vector<Unit> units, double least,
                 double most, const char *meaning, std::vector<const char *> choices,
                 const std::array<Cell, kPresets> &cells) {
  ParameterRow row{name, symbol, std::move(units), least, most, meaning, std::move(choices), {}};
  const Default &paper = std::get<Default>(cells[0]);
  for (const Cell &cell : cells)
    if (const Default *value = std::get_if<Default>(&cell))
      row.defaults.push_back(*value);
    else
      row.defaults.push_back({paper.quantity, std::get<Open>(cell).remark, true});
  return row;
}

std::vector<ParameterRow> alpha_rows() {
  using enum Unit;
  const Cell cell = given(1, Ratio, kDcqcnPaper), g = given(1.0 / 256, Ratio, kDcqcnPaper);
  return {
      row("alpha-initial", "alpha", {Ratio}, 0, 1, "alpha at the first CNP", {},
          {cell, given(0.5, Ratio, kQbb), given(1, Ratio, kHpccHw),
           given(1023.0 / 1024, Ratio, kNvidia), given(1023.0 / 1024, Ratio, kIonic), Open{},
           given(1023.0 / 1024, Ratio, kOtg)}),
      row("g", "g", {Ratio}, 0, 1, "weight of a new sample in alpha", {},
          {g, given(1.0 / 256, Ratio, kConfig), given(1.0 / 256, Ratio, kHpccRun),
           given(5.0 / 1024, Ratio, "NVIDIA DOC-2790: DCE_TCP_G 1019"),
           given(5.0 / 1024, Ratio, kIonic), Open{},
           given(5.0 / 1024, Ratio, "OTG rocev2.yaml: alpha_g 1019")}),
      row("alpha-arithmetic", "", {Choice}, 0, 1,
          "alpha as a real number, or in whole 1/1024, rounded down", {"real", "1024"},
          {given(0, Choice, kDcqcnPaper), given(0, Choice, kQbb), given(0, Choice, kHpccHw),
           given(1, Choice, kNvidia), given(1, Choice, kIonic), Open{}, given(1, Choice, kOtg)}),
      row("alpha-update", "", {Choice}, 0, 2,
          "alpha rises after the cut, before it, or by its own timer",
          {"cut-first", "alpha-first", "timer"},
          {given(0, Choice, kModel), given(1, Choice, kQbb), given(2, Choice, kHpccHw),
           given(2, Choice, kNvidia), given(2, Choice, kIonic), Open{}, Open{}}),
      row("alpha-timer", "K, tau'", {Microseconds}, 0.1, 1e6, "alpha falls once in this time", {},
          {given(55, Microseconds, kDcqcnPaper), given(55, Microseconds, kConfig),
           given(1, Microseconds, kHpccRun), given(1, Microseconds, "NVIDIA DOC-2790: DCE_TCP_RTT"),
           given(55, Microseconds, kIonic), Open{},
           Open{"OTG's model now has alpha_update_period 21 us"}}),
  };
}

std::vector<ParameterRow> decrease_rows() {
  using enum Unit;
  return {
      row("first-cnp", "", {Mbit, Percent}, 0, 1e7,
          "rate at the first CNP, in Mbit/s or in % of the rate before; 0: an ordinary cut", {},
          {given(0, Mbit, kDcqcnPaper), given(0, Mbit, kQbb), given(100, Percent, kHpccRun),
           given(0, Mbit, "NVIDIA DOC-2790: RATE_TO_SET 0 (its text: 85 %)"), Open{}, Open{},
           Open{"OTG's model now has initial_rate_after_first_cnp 0.002 %"}}),
      row("cut-at", "", {Choice}, 0, 1,
          "a cut at the CNP, or at the next tick of the monitor period", {"cnp", "tick"},
          {given(0, Choice, kDcqcnPaper), given(0, Choice, kQbb), given(1, Choice, kHpccHw),
           given(1, Choice, kNvidia), given(1, Choice, kIonic), Open{}, Open{}}),
      row("monitor-period", "", {Microseconds}, 0, 1e6, "at most one cut in this time; 0: no limit",
          {},
          {given(0, Microseconds, "SIGCOMM'15: the NP's 50 us limit it"),
           given(0, Microseconds, kQbb), given(4, Microseconds, kHpccRun),
           given(4, Microseconds, kNvidia), given(4, Microseconds, kIonic),
           given(50, Microseconds, "irdma (newer: 0)"),
           Open{"OTG's model now has rate_reduction_time_period 21 us"}}),
      row("gd", "GD", {Number}, 0, 20,
          "a cut takes alpha in 1/1024, divided by 2^gd: 11 is alpha/2", {},
          {given(11, Number, kDcqcnPaper), given(11, Number, kQbb), given(11, Number, kHpccHw),
           given(11, Number, kNvidia), Open{}, Open{},
           given(11, Number, "OTG rocev2.yaml: rate_decrement_coefficient")}),
      row("max-cut", "", {Percent}, 0, 100, "largest cut, of the rate before", {},
          {given(50, Percent, kDcqcnPaper), given(50, Percent, kQbb), given(50, Percent, kHpccHw),
           given(50, Percent, "NVIDIA DOC-2790: MIN_DEC_FAC"), given(50, Percent, kIonic),
           Open{"irdma has min_dec_factor, without a default"},
           given(10, Percent, "OTG rocev2.yaml: maximum_rate_decrement_at_time")}),
      row("min-rate", "", {Mbit, LinePercent}, 0, 1e7, "least rate", {},
          {guess(1, Mbit, "the paper has none; a pacer needs one: NVIDIA's"),
           given(100, Mbit, kConfig), given(1000, Mbit, "HPCC run.py (config.txt: 100)"),
           given(1, Mbit, kNvidia), Open{}, Open{"irdma has min_rate, without a default"},
           given(0.002, LinePercent, "OTG rocev2.yaml: minimum_rate_limmit")}),
      row("clamp", "", {Switch}, 0, 1, "a cut sets the target to the rate before it", {},
          {given(1, Switch, kDcqcnPaper), given(1, Switch, kConfig), given(0, Switch, kHpccRun),
           given(0, Switch, "NVIDIA DOC-2790: CLAMP_TGT_RATE"), given(0, Switch, kIonic), Open{},
           Open{"OTG's model now has clamp_target_rate false"}}),
      row("clamp-after-time", "", {Switch}, 0, 1,
          "without clamp: the target is set too if the rate timer has fired since the last cut "
          "(the byte counter: always)",
          {},
          {given(0, Switch, kDcqcnPaper), given(0, Switch, kConfig), given(1, Switch, kHpccHw),
           given(1, Switch, "NVIDIA DOC-2790: CLAMP_TGT_RATE_AFTER_TIME_INC"),
           given(1, Switch, kIonic), Open{}, Open{}}),
  };
}

std::vector<ParameterRow> increase_rows() {
  using enum Unit;
  return {
      row("rate-timer", "T", {Microseconds}, 0.1, 1e7, "an increase in each", {},
          {given(55, Microseconds, kDcqcnPaper), given(60, Microseconds, kConfig),
           given(300, Microseconds, "HPCC run.py (config.txt: 900)"),
           given(300, Microseconds, "NVIDIA DOC-2790: TIME_RESET"),
           given(275, Microseconds, "ionic_dcqcn.c: 5 x 55"), given(55, Microseconds, kIrdma),
           given(250, Microseconds, kOtg)}),
      row("byte-counter", "B", {Bytes}, 0, 1e12,
          "an increase each time so many units were sent; 0: there is none", {},
          {given(10e6, Bytes, kDcqcnPaper),
           given(300e6, Bytes, "ns3-rdma config.txt: in effect off"), given(0, Bytes, kHpccHw),
           given(32767, Bytes, "NVIDIA DOC-2790: BYTE_RESET"), given(131068, Bytes, kIonic),
           given(150000, Bytes, kIrdma), given(32767, Bytes, kOtg)}),
      row("byte-unit", "", {Bytes}, 1, 4096, "unit of byte-counter", {},
          {given(1, Bytes, kDcqcnPaper), given(1, Bytes, kConfig), given(1, Bytes, kHpccHw),
           given(64, Bytes, kIsekai), given(1, Bytes, kIonic), given(1, Bytes, kIrdma),
           guess(64, Bytes, "OTG: 64-byte units or bytes, unclear; NVIDIA's")}),
      row("threshold", "F", {Number}, 1, 1e6, "increases until additive increase begins", {},
          {given(5, Number, kDcqcnPaper), given(5, Number, kConfig), given(1, Number, kHpccRun),
           given(1, Number, kNvidia), given(5, Number, kIonic), given(5, Number, kIrdma),
           given(25, Number, kOtg)}),
      row("stages", "", {Choice}, 0, 2,
          "which stage an increase is in: both counters, counted first; the timer's alone, counted "
          "after; ns-3's three states",
          {"count-first", "count-after", "ns3"},
          {given(0, Choice, kModel), given(2, Choice, kQbb), given(1, Choice, kHpccHw),
           given(0, Choice, kIsekai), Open{}, Open{}, Open{}}),
      row("rai", "Rai", {Mbit, LinePercent, Mss}, 0, 1e7, "step of additive increase", {},
          {given(40, Mbit, kDcqcnPaper), given(40, Mbit, kConfig),
           given(0.02, LinePercent, "HPCC run.py: 5 Mbit/s x bw/25G"), given(5, Mbit, kNvidia),
           given(5, Mbit, kIonic), given(1, Mss, kIrdma),
           Open{"OTG's model now has additive_increment_rate 0.001 %"}}),
      row("rhai", "Rhai", {Mbit, LinePercent, Mss}, 0, 1e7, "step of hyper increase", {},
          {guess(200, Mbit, "the paper has none: ns3-rdma's"), given(200, Mbit, kConfig),
           given(0.2, LinePercent, "HPCC run.py: 50 Mbit/s x bw/25G"), given(50, Mbit, kNvidia),
           given(50, Mbit, kIonic), given(5, Mss, kIrdma),
           Open{"OTG's model now has hyper_increment_rate 0.001 %"}}),
      row("hyper", "", {Choice}, 0, 1,
          "rhai as it is, or times the number of increases in this stage", {"constant", "times-i"},
          {given(1, Choice, "SIGCOMM'15, as in QCN"), given(1, Choice, kQbb),
           given(0, Choice, kHpccHw), guess(0, Choice, "as in HPCC's model of these NICs"), Open{},
           Open{}, Open{}}),
      row("hyper-halves", "", {Switch}, 0, 1, "timer and byte counter halve in hyper increase", {},
          {given(0, Switch, kDcqcnPaper), given(1, Switch, kQbb), given(0, Switch, kHpccHw), Open{},
           Open{}, Open{}, Open{}}),
      row("mss", "MSS", {Bytes}, 64, 65536,
          "of a value in MSS: it is value x MSS x 8 / rate-timer bit/s", {},
          {guess(1024, Bytes, "payload of a packet"), Open{}, Open{}, Open{}, Open{},
           guess(1024, Bytes, "irdma counts in MSS; PMTU 1024"), Open{}}),
      row("cap-target", "", {Switch}, 0, 1, "the target is at most the line's rate", {},
          {given(1, Switch, kDcqcnPaper), given(0, Switch, kQbb), given(1, Switch, kHpccHw), Open{},
           Open{}, Open{}, Open{}}),
      row("target-eighth", "", {Switch}, 0, 1,
          "the first increase divides a target above 10 x rate by 8 (a remainder of QCN)", {},
          {given(0, Switch, kDcqcnPaper), given(1, Switch, kQbb), given(0, Switch, kHpccHw), Open{},
           Open{}, Open{}, Open{}}),
      row("rate-step", "", {Mbit}, 0, 1000,
          "rates are whole multiples, rounded down; 0: real numbers", {},
          {given(0, Mbit, kDcqcnPaper), given(1e-6, Mbit, "ns-3 counts bit/s"),
           given(1e-6, Mbit, "ns-3 counts bit/s"), given(1, Mbit, "NVIDIA DOC-2790: in Mbit/s"),
           guess(1, Mbit, "fields in Mbit/s"), Open{}, Open{}}),
      row("start-rate", "", {LinePercent, Mbit}, 0, 1e7,
          "rate at which a QP starts; below the line's it increases from there on, as after a cut",
          {},
          {given(100, LinePercent, kDcqcnPaper), given(100, LinePercent, kQbb),
           given(100, LinePercent, kHpccHw), Open{}, Open{}, Open{}, Open{}}),
      row("idle-restart", "", {Microseconds}, 0, 1e9,
          "a QP that sent nothing for so long starts again at start-rate; 0: never", {},
          {guess(0, Microseconds, ""), Open{}, Open{}, Open{}, Open{}, Open{}, Open{}}),
  };
}

std::vector<ParameterRow> network_rows() {
  using enum Unit;
  return {
      row("np", "", {Choice}, 0, 3,
          "when the receiver answers CE: none within cnp-interval; at once and then at the end of "
          "each window with CE; at ticks of a grid; a mark in each ACK",
          {"hold-off", "window", "grid", "echo"},
          {given(1, Choice, kDcqcnPaper), given(2, Choice, kQbb), given(3, Choice, kHpccHw),
           given(0, Choice, "NVIDIA: min_time_between_cnps"), Open{}, Open{},
           given(0, Choice, "OTG rocev2.yaml: cnp_delay_timer")}),
      row("cnp-interval", "N, tau", {Microseconds}, 0, 1e6, "CNPs at least so far apart", {},
          {given(50, Microseconds, kDcqcnPaper), given(50, Microseconds, kQbb),
           given(0, Microseconds, "HPCC: each ACK of a marked packet"),
           given(4, Microseconds, "NVIDIA: min_time_between_cnps 4 (older: 2)"), Open{}, Open{},
           given(55, Microseconds, "OTG rocev2.yaml: cnp_delay_timer")}),
      row("marking", "", {Choice}, 0, 1, "the queue marks a packet as it leaves or as it arrives",
          {"dequeue", "enqueue"},
          {given(0, Choice, kDcqcnPaper), given(0, Choice, kQbb),
           given(0, Choice, "HPCC switch-node.cc"), Open{}, Open{}, Open{}, Open{}}),
      row("kmin", "Kmin", {Bytes, LineTime}, 0, 1e12, "queue from which marking begins", {},
          {given(5e3, Bytes, kDcqcnPaper), given(41200, Bytes, "ns3-rdma config.txt: 40 x 1030 B"),
           given(32, LineTime, "HPCC run.py: 100 KB x bw/25G"), Open{}, Open{}, Open{}, Open{}}),
      row("kmax", "Kmax", {Bytes, LineTime}, 0, 1e12, "queue above which every packet is marked",
          {},
          {given(200e3, Bytes, kDcqcnPaper),
           given(1030e3, Bytes, "ns3-rdma config.txt: 1000 x 1030 B"),
           given(128, LineTime, "HPCC run.py: 400 KB x bw/25G"), Open{}, Open{}, Open{}, Open{}}),
      row("pmax", "Pmax", {Ratio}, 0, 1, "probability of a mark at kmax", {},
          {given(0.01, Ratio, kDcqcnPaper), given(1, Ratio, kConfig), given(0.2, Ratio, kHpccRun),
           Open{}, Open{}, Open{}, Open{}}),
  };
}

std::vector<ParameterRow> make_dcqcn_rows() {
  std::vector<ParameterRow> rows = alpha_rows();
  for (auto more : {decrease_rows(), increase_rows(), network_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

double bits_of(const Quantity &q, double line, double timer_us, double mss) {
  switch (q.unit) {
  case Unit::LinePercent:
    return line * q.value / 100;
  case Unit::Mss:
    return q.value * mss * 8 / (timer_us * 1e-6);
  default:
    return q.value * 1e6;
  }
}

double bytes_of(const Quantity &q, double line) {
  return q.unit == Unit::LineTime ? line / 8 * q.value * 1e-6 : q.value;
}

uint64_t ns_of(const Quantity &q) { return static_cast<uint64_t>(std::llround(q.value * 1000)); }

} // namespace

std::span<const ParameterRow> dcqcn_rows() {
  static const std::vector<ParameterRow> kRows = make_dcqcn_rows();
  return kRows;
}

std::span<const char *const> dcqcn_presets() { return kNames; }
const char *dcqcn_preset_about(size_t preset) { return kAbout[preset]; }

DcqcnParameters::DcqcnParameters(size_t which) : preset(which) {
  const auto rows = dcqcn_rows();
  for (size_t i = 0; i < values.size(); i++)
    values[i] = rows[i].defaults[which].quantity;
}

Result<DcqcnParameters> dcqcn_preset(const std::string &name) {
  const std::vector<std::string_view> names(kNames, kNames + kPresets);
  const auto at = parse::choice(name, names, "a preset");
  if (!at)
    return Error{fmt::format("'{}' is not a preset", name), parse::hint_from(name, names)};
  return DcqcnParameters(at.get());
}

std::string DcqcnParameters::words() const {
  const std::string changed = assignments(rows(), values, DcqcnParameters(preset).values);
  return fmt::format("preset {}{}{}", kNames[preset], changed.empty() ? "" : " ", changed);
}

DcqcnSettings resolve(const DcqcnParameters &parameters, double line) {
  using enum DcqcnParameter;
  const auto value = [&](DcqcnParameter p) { return parameters.at(p).value; };
  const auto bits = [&](DcqcnParameter p) {
    return bits_of(parameters.at(p), line, value(RateTimer), value(Mss));
  };
  DcqcnSettings s;
  s.line = line;
  s.alpha_initial = value(AlphaInitial);
  s.g = value(G);
  s.alpha_integer = value(AlphaArithmetic) != 0;
  s.alpha_initial_1024 = static_cast<uint32_t>(std::floor(s.alpha_initial * 1024));
  s.weight_1024 = 1024 - static_cast<uint32_t>(std::lround(s.g * 1024));
  s.alpha_update = static_cast<congestion::AlphaUpdate>(value(AlphaUpdate));
  s.alpha_timer_ns = ns_of(parameters.at(AlphaTimer));
  if (parameters.at(FirstCnp).unit == Unit::Percent)
    s.first_part = value(FirstCnp) / 100;
  else
    s.first_rate = bits(FirstCnp);
  s.cut_at = static_cast<congestion::CutAt>(value(CutAt));
  s.monitor_ns = ns_of(parameters.at(MonitorPeriod));
  s.gd = static_cast<uint32_t>(value(Gd));
  s.keep = 1 - value(MaxCut) / 100;
  s.min_rate = std::min(line, bits(MinRate));
  s.clamp = value(Clamp) != 0;
  s.clamp_after_time = value(ClampAfterTime) != 0;
  s.timer_ns = ns_of(parameters.at(RateTimer));
  s.bytes = static_cast<int64_t>(value(ByteCounter) * value(ByteUnit));
  s.threshold = static_cast<uint32_t>(value(Threshold));
  s.stages = static_cast<congestion::Stages>(value(Stages));
  s.rai = bits(Rai);
  s.rhai = bits(Rhai);
  s.hyper = static_cast<congestion::Hyper>(value(Hyper));
  s.hyper_halves = value(HyperHalves) != 0;
  s.cap_target = value(CapTarget) != 0;
  s.target_eighth = value(TargetEighth) != 0;
  s.step = std::round(value(RateStep) * 1e6);
  s.start = std::clamp(bits(StartRate), s.min_rate, line);
  s.idle_ns = ns_of(parameters.at(IdleRestart));
  s.np = static_cast<NpMode>(value(Np));
  s.cnp_interval_ns = ns_of(parameters.at(CnpInterval));
  s.marking = static_cast<congestion::Marking>(value(Marking));
  s.kmin = bytes_of(parameters.at(Kmin), line);
  s.kmax = bytes_of(parameters.at(Kmax), line);
  s.pmax = value(Pmax);
  return s;
}

} // namespace xr::congestion
