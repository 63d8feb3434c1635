// SPDX-License-Identifier: Apache-2.0
// The files of delivery opportunities that links of an experiment follow.
#include <fmt/format.h>

#include "experiment/read.h"
#include "parse/yaml.h"
#include "wire/delivery_trace.h"

namespace xr::experiment {

namespace {

Status read_trace(const std::string &name, const std::string &directory,
                  simulate::Scenario &scenario) {
  if (name.empty() || scenario.traces.contains(name))
    return {};
  const bool absolute = name.starts_with('/') || directory.empty();
  const auto text = XR_TRY(parse::read_file(absolute ? name : directory + "/" + name));
  auto trace = XR_TRY(wire::parse_trace(text).in(name));
  scenario.traces[name] = std::make_shared<const wire::DeliveryTrace>(std::move(trace));
  return {};
}

} // namespace

Status read_traces(const std::string &directory, simulate::Scenario &scenario, std::string &last) {
  for (const auto &[queue, spec] : scenario.queues)
    XR_TRY(read_trace(last = spec.trace, directory, scenario).in(fmt::format("queue {}", queue)));
  for (const simulate::Event &event : scenario.schedule)
    XR_TRY(read_trace(last = event.link.trace, directory, scenario)
               .in(fmt::format("link {}", event.target)));
  return {};
}

} // namespace xr::experiment
