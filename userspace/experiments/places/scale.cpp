// SPDX-License-Identifier: Apache-2.0
#include "places/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include <fmt/format.h>

namespace xr::places {

namespace {

using congestion::Unit;

constexpr unsigned kMostTimeout = 31; // of the code
constexpr double kLeastScale = 1e-6;

// Beyond 2^62, about 146 years in ns, values stay there.
uint64_t rounded(double value) {
  constexpr double kMost = 4.6e18;
  return static_cast<uint64_t>(std::llround(std::min(value, kMost)));
}

// 0 is no limit: a rate stays above it.
void rate(uint64_t &bits, double scale) {
  if (bits)
    bits = std::max<uint64_t>(1, rounded(static_cast<double>(bits) * scale));
}

void time(uint64_t &ns, double scale) { ns = rounded(static_cast<double>(ns) / scale); }

// Parts of the line follow it; a time of the line is a number of bytes.
void parameters(std::span<congestion::Quantity> all, double scale) {
  for (congestion::Quantity &quantity : all) {
    if (quantity.unit == Unit::Mbit)
      quantity.value *= scale;
    if (quantity.unit == Unit::Microseconds || quantity.unit == Unit::LineTime)
      quantity.value /= scale;
  }
}

// Percent are of the line.
void asked_rate(congestion::Rate &asked, double scale) {
  if (asked.kind != congestion::Rate::Kind::Percent)
    asked.value *= scale;
}

void link(LinkSpec &spec, double scale) {
  rate(spec.rate, scale);
  time(spec.delay, scale);
  time(spec.flap.down, scale);
  time(spec.flap.period, scale);
  time(spec.aqm.freeze, scale);
  for (LinkClass &link_class : spec.classes)
    time(link_class.aqm.freeze, scale);
}

void flow(simulate::FlowSetup &setup, double scale) {
  time(setup.start_ns, scale);
  if (setup.stop_ns)
    time(*setup.stop_ns, scale);
  flow::Flow &flow = setup.flow;
  time(flow.duration_ns, scale);
  asked_rate(flow.pacing.rate, scale);
  time(flow.pacing.burst_gap_ns, scale);
  time(flow.pacing.start_ns, scale);
  time(flow.pacing.ramp_ns, scale);
  asked_rate(flow.control.rate, scale);
  if (congestion::ParameterSet *set = flow.control.parameters())
    parameters(set->quantities(), scale);
}

double number(const std::string &text) {
  char *end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end || !std::isfinite(value) ? 0 : value;
}

} // namespace

Result<double> parse_scale(const std::string &word) {
  const size_t slash = word.find('/');
  const double top = number(word.substr(0, slash));
  const double bottom = slash == std::string::npos ? 1 : number(word.substr(slash + 1));
  const double scale = bottom > 0 ? top / bottom : 0;
  if (!(scale >= kLeastScale) || scale > 1)
    return Error{fmt::format("'{}' is not a scale", word), "from 1/1000000 to 1, like 1/200"};
  return scale;
}

simulate::Scenario scaled(const simulate::Scenario &scenario, double scale) {
  simulate::Scenario out = scenario;
  if (scale == 1)
    return out;
  time(out.duration_ns, scale);
  time(out.sample_ns, scale);
  time(out.measure_from_ns, scale);
  rate(out.topology.rate, scale);
  time(out.topology.delay, scale);
  rate(out.topology.core_rate, scale);
  time(out.topology.core_delay, scale);
  link(out.queue, scale);
  for (auto &[name, spec] : out.queues)
    link(spec, scale);
  for (simulate::FlowSetup &setup : out.flows)
    flow(setup, scale);
  time(out.cnp.interval_ns, scale);
  if (const unsigned code = out.reliability.timeout_code)
    out.reliability.timeout_code = static_cast<uint8_t>(
        std::min(kMostTimeout, code + static_cast<unsigned>(std::ceil(-std::log2(scale)))));
  for (simulate::Event &event : out.schedule) {
    time(event.at_ns, scale);
    time(event.duration_ns, scale);
    link(event.link, scale);
  }
  return out;
}

} // namespace xr::places
