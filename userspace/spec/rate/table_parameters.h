// SPDX-License-Identifier: Apache-2.0
// Parameters of the controls that have one preset: a value for each row of a table, and the
// settings that follow from them on a line of some rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rate/parameter.h"

namespace xr::congestion {

class TableParameters final : public ParameterSet {
public:
  TableParameters() = default; // of a control without parameters
  // The defaults. `rows` must outlive it.
  explicit TableParameters(std::span<const ParameterRow> rows);

  // `p`: the place of the row, as an enumeration of its table.
  template <class P> const Quantity &at(P p) const { return values_[static_cast<size_t>(p)]; }
  template <class P> double value(P p) const { return at(p).value; }
  std::span<const ParameterRow> rows() const override { return rows_; }
  std::span<Quantity> quantities() override { return values_; }
  std::string words() const override;

private:
  std::span<const ParameterRow> rows_;
  std::vector<Quantity> values_;
};

// Where defaults come from: files of HPCC's simulator.
inline constexpr const char *kHpccHw = "HPCC rdma-hw.cc", *kHpccRun = "HPCC run.py";

// A row with one default.
struct RowText {
  const char *name, *symbol, *meaning, *source;
};
ParameterRow parameter_row(const RowText &text, std::vector<Unit> units, double least, double most,
                           double value, bool assumed = false);

// bit/s of a quantity in Mbit/s or percent of the line.
double rate_bits(const Quantity &quantity, double line_bits);

// TIMELY's parameters: HPCC's UpdateRateTimely, and the patched form of CoNEXT'16.
// In the order of the rows.
enum class TimelyParameter : uint8_t {
  Alpha,
  Beta,
  TLow,
  THigh,
  MinRtt,
  Delta,
  Hyper,
  After,
  MinRate,
  StartRate,
  TRef, // patched only
};

std::span<const ParameterRow> timely_rows();
// Patched TIMELY (CoNEXT'16, "ECN or Delay"): other values, and T_ref.
std::span<const ParameterRow> patched_timely_rows();

// For a line of that rate; bit/s and nanoseconds.
struct TimelySettings {
  double line = 0, alpha = 0, beta = 0;
  double low_ns = 0, high_ns = 0, min_rtt_ns = 0;
  double delta = 0, hyper = 0, min_rate = 0, start = 0;
  uint32_t after = 5;      // increases until hyper increase
  double reference_ns = 0; // patched: the RTT aimed at; 0: as HPCC has it
};
TimelySettings timely_settings(const TableParameters &parameters, double line_bits); // of either

// DCTCP (SIGCOMM'10) as HPCC's simulator paces it: a rate that the share of marked packets cuts.
// In the order of the rows.
enum class DctcpParameter : uint8_t { G, AlphaInitial, Ai, MinRate, StartRate };

std::span<const ParameterRow> dctcp_rows();

// For a line of that rate; bit/s.
struct DctcpSettings {
  double g = 0, alpha_initial = 1;
  double line = 0, ai = 0, min_rate = 0, start = 0;
};
DctcpSettings dctcp_settings(const TableParameters &parameters, double line_bits);

// HPCC (SIGCOMM'19) as UpdateRateHp of its simulator computes it: switches say how busy each hop
// is.
// In the order of the rows.
enum class HpccParameter : uint8_t {
  Eta,
  MaxStage,
  Ai,
  MinRate,
  BaseRtt,
  FastReact,
  VaryWindow,
  Int,
  IntMulti,
  Flows
};

std::span<const ParameterRow> hpcc_rows();

// For a line of that rate; bit/s and nanoseconds.
struct HpccSettings {
  double line = 0, eta = 0, ai = 0, min_rate = 0;
  uint64_t base_rtt_ns = 0; // 0: the path's
  uint32_t max_stage = 0;
  bool fast_react = true, vary_window = true;
  // The units of INT in bytes, as its header has them; 0: exact numbers.
  uint64_t int_queue_unit = 0, int_bytes_unit = 0;
};
HpccSettings hpcc_settings(const TableParameters &parameters, double line_bits);

// Swift (SIGCOMM'20): a window that keeps the delay at a target. Constants of htsim, whose comments
// call them guesses.
// In the order of the rows.
enum class SwiftParameter : uint8_t {
  Ai,
  Beta,
  MaxMdf,
  BaseTarget,
  HopScale,
  FsRange,
  FsMin,
  FsMax,
  MinWindow,
  MaxWindow,
  StartWindow,
  KillAfter,
  PlbAfter
};

std::span<const ParameterRow> swift_rows();

// For a line of that rate; windows in packets, nanoseconds.
struct SwiftSettings {
  double line = 0, ai = 1, beta = 0, max_mdf = 0;
  double base_target_ns = 0, hop_ns = 0, fs_range_ns = 0, fs_alpha = 0, fs_beta = 0;
  double min_window = 0, max_window = 0, start_window = 0;
  uint32_t kill_after = 0, plb_after = 0;
};
SwiftSettings swift_settings(const TableParameters &parameters, double line_bits);

// Copa (NSDI'18): a window whose rate is 1 / (delta x queueing delay) packets a second. Without its
// competitive mode.
// In the order of the rows.
enum class CopaParameter : uint8_t { Delta, MinWindow, StartWindow, MinRttWindow };

std::span<const ParameterRow> copa_rows();

// For a line of that rate; windows in packets, nanoseconds.
struct CopaSettings {
  double line = 0, delta = 0.5, min_window = 0, start_window = 0;
  uint64_t min_rtt_window_ns = 0;
};
CopaSettings copa_settings(const TableParameters &parameters, double line_bits);

} // namespace xr::congestion
