// SPDX-License-Identifier: Apache-2.0
#include "places/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "flow/flow.h"
#include "wire/link_words.h"

namespace xr::places {

namespace {

constexpr unsigned kMostTimeout = 31; // of the code
constexpr double kLeastScale = 1e-6;

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

simulate::Scenario scaled(const simulate::Scenario &scenario, double factor) {
  simulate::Scenario out = scenario;
  if (factor == 1)
    return out;
  const parse::Scale scale{factor};
  for (uint64_t *ns : {&out.duration_ns, &out.sample_ns, &out.measure_from_ns, &out.topology.delay,
                       &out.topology.core_delay, &out.cnp.interval_ns})
    scale.time(*ns);
  scale.rate(out.topology.rate);
  scale.rate(out.topology.core_rate);
  wire::link_language().scale(out.queue, factor);
  for (auto &[name, spec] : out.queues)
    wire::link_language().scale(spec, factor);
  for (simulate::FlowSetup &setup : out.flows) {
    scale.time(setup.start_ns);
    if (setup.stop_ns)
      scale.time(*setup.stop_ns);
    flow::flow_language().scale(setup.flow, factor);
  }
  if (const unsigned code = out.reliability.timeout_code)
    out.reliability.timeout_code = static_cast<uint8_t>(
        std::min(kMostTimeout, code + static_cast<unsigned>(std::ceil(-std::log2(factor)))));
  for (simulate::Event &event : out.schedule) {
    scale.time(event.at_ns);
    scale.time(event.duration_ns);
    wire::link_language().scale(event.link, factor);
  }
  return out;
}

} // namespace xr::places
