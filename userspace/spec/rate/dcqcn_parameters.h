// SPDX-License-Identifier: Apache-2.0
// DCQCN's parameters and the presets of the systems that implement it: one table, from which words,
// help, YAML and `cc show` are made. Rates in bit/s, times in nanoseconds, sizes in bytes.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "rate/parameter.h"

namespace xr::congestion {

// In the order of the rows.
enum class DcqcnParameter : uint8_t {
  // reaction point: alpha
  AlphaInitial,
  G,
  AlphaArithmetic,
  AlphaUpdate,
  AlphaTimer,
  // reaction point: decrease
  FirstCnp,
  CutAt,
  MonitorPeriod,
  Gd,
  MaxCut,
  MinRate,
  Clamp,
  ClampAfterTime,
  // reaction point: increase
  RateTimer,
  ByteCounter,
  ByteUnit,
  Threshold,
  Stages,
  Rai,
  Rhai,
  Hyper,
  HyperHalves,
  Mss,
  CapTarget,
  TargetEighth,
  RateStep,
  StartRate,
  IdleRestart,
  // notification point
  Np,
  CnpInterval,
  // congestion point
  Marking,
  Kmin,
  Kmax,
  Pmax,
};
inline constexpr size_t kDcqcnParameters = 34;

enum class AlphaUpdate : uint8_t { CutFirst, AlphaFirst, Timer };
enum class CutAt : uint8_t { Cnp, Tick };
enum class Stages : uint8_t { CountFirst, CountAfter, Ns3 };
enum class Hyper : uint8_t { Constant, TimesI };
enum class NpMode : uint8_t { HoldOff, Window, Grid, Echo };
enum class Marking : uint8_t { Dequeue, Enqueue };

std::span<const ParameterRow> dcqcn_rows();
// paper, ns3-rdma, hpcc, nvidia, ionic, irdma, otg: by index of a row's defaults.
std::span<const char *const> dcqcn_presets();
// One line a preset: which system, which version.
const char *dcqcn_preset_about(size_t preset);

struct DcqcnParameters final : ParameterSet {
  DcqcnParameters() : DcqcnParameters(0) {}
  explicit DcqcnParameters(size_t preset);

  Quantity &at(DcqcnParameter p) { return values[static_cast<size_t>(p)]; }
  const Quantity &at(DcqcnParameter p) const { return values[static_cast<size_t>(p)]; }
  std::span<const ParameterRow> rows() const override { return dcqcn_rows(); }
  std::span<Quantity> quantities() override { return values; }
  // "preset P NAME=VALUE ...": what differs from the preset.
  std::string words() const override;

  size_t preset = 0;
  std::array<Quantity, kDcqcnParameters> values;
};

// The preset of that name; the error lists them.
Result<DcqcnParameters> dcqcn_preset(const std::string &name);

// The parameters for a line of that rate, as a reaction point uses them.
struct DcqcnSettings { // NOLINT(clang-analyzer-optin.performance.Padding)
  double line = 0;     // bit/s
  double alpha_initial = 1, g = 0;
  bool alpha_integer = false;                       // alpha in 1/1024
  uint32_t alpha_initial_1024 = 0, weight_1024 = 0; // of the old alpha
  AlphaUpdate alpha_update = AlphaUpdate::CutFirst;
  uint64_t alpha_timer_ns = 0;
  double first_rate = 0; // bit/s at the first CNP; 0: not given
  double first_part = 0; // as a part of the rate; 0: not given
  CutAt cut_at = CutAt::Cnp;
  uint64_t monitor_ns = 0;
  uint32_t gd = 11;
  double keep = 0.5; // at least this part of the rate is left by a cut
  double min_rate = 0;
  bool clamp = true, clamp_after_time = false;
  uint64_t timer_ns = 0;
  int64_t bytes = 0; // 0: no byte counter
  uint32_t threshold = 5;
  Stages stages = Stages::CountFirst;
  double rai = 0, rhai = 0;
  Hyper hyper = Hyper::TimesI;
  bool hyper_halves = false, cap_target = true, target_eighth = false;
  double step = 0;      // rates are whole multiples, rounded down; 0: not rounded
  double start = 0;     // at which a QP starts; 0: the line's
  uint64_t idle_ns = 0; // 0: never
  NpMode np = NpMode::Window;
  uint64_t cnp_interval_ns = 0;
  Marking marking = Marking::Dequeue;
  double kmin = 0, kmax = 0, pmax = 0; // bytes, bytes, probability
};
DcqcnSettings resolve(const DcqcnParameters &parameters, double line_bits);

} // namespace xr::congestion
