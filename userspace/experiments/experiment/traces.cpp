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
  const auto text = parse::read_file(absolute ? name : directory + "/" + name);
  if (!text)
    return text.error();
  auto trace = wire::parse_trace(text.get());
  if (!trace)
    return Error{fmt::format("{}: {}", name, trace.error().message), trace.error().hint};
  scenario.traces[name] = std::make_shared<const wire::DeliveryTrace>(std::move(trace).get());
  return {};
}

} // namespace

Status read_traces(const std::string &directory, simulate::Scenario &scenario, std::string &last) {
  for (const auto &[queue, spec] : scenario.queues)
    if (Status s = read_trace(last = spec.trace, directory, scenario); !s)
      return Error{fmt::format("queue {}: {}", queue, s.error().message), s.error().hint};
  for (const simulate::Event &event : scenario.schedule)
    if (Status s = read_trace(last = event.link.trace, directory, scenario); !s)
      return Error{fmt::format("link {}: {}", event.target, s.error().message), s.error().hint};
  return {};
}

} // namespace xr::experiment
