// SPDX-License-Identifier: Apache-2.0
// Captures of ports: POST /control/state of port.capture, and POST /monitor/capture.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "generator/generator.h"
#include "generator/record_file.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

const otg::Capture *Generator::capture_of(size_t port) const {
  for (const otg::Capture &capture : setup_->config.captures)
    if (std::ranges::find(capture.ports, port) != capture.ports.end())
      return &capture;
  return nullptr;
}

station::RecordOptions Generator::record_options(size_t port) const {
  station::RecordOptions options;
  const otg::Capture &first = *capture_of(port);
  options.snaplen = first.snaplen;
  options.overwrite = first.overwrite;
  for (const otg::Capture &capture : setup_->config.captures)
    if (std::ranges::find(capture.ports, port) != capture.ports.end())
      options.filters.push_back(capture.filter);
  return options;
}

void Generator::set_capture(Object &object) {
  const auto names = object.texts("port_names");
  auto ports = choose_ports(names, object);
  const bool stop = object.word("state", {"start", "stop"}, 0) == 1;
  std::erase_if(ports, [&](size_t port) { return names.empty() && !capture_of(port); });
  for (const size_t port : ports)
    if (!capture_of(port))
      object.error("port_names",
                   {fmt::format("port '{}' has no capture", setup_->config.ports[port].name),
                    "captures[].port_names of the configuration"});
  if (!object.findings().ok())
    return;
  for (const size_t port : ports) {
    auto &record = records_[port];
    setup_->units[port]->run().call([&](station::Station &station, const EngineCounts &) {
      if (stop && station.records())
        record = station.take_record();
      if (stop)
        return;
      record.reset();
      station.record(record_options(port));
    });
  }
}

// Stops the capture.
http::Answer Generator::capture(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"port_name\": \"...\"}");
  Object object(json, findings, "a request for a capture");
  const std::string name = object.needed_text("port_name");
  uint64_t start = 1, count = UINT64_MAX;
  object.object("packets", "packets", [&](Object &packets) {
    (void)packets.choice({"all", "slice"}, 0);
    packets.object("slice", "slice", [&](Object &slice) {
      (void)slice.choice({"initial"}, 0);
      slice.object("initial", "initial", [&](Object &initial) {
        start = initial.integer("start", 1, UINT64_MAX, 1);
        count = initial.integer("count", 1, UINT64_MAX, 100);
      });
    });
  });
  object.done();
  if (!findings.ok())
    return failures(400, findings.all_errors());
  const auto ports = choose_ports({name}, object);
  if (!findings.ok())
    return failures(400, findings.all_errors());
  const size_t port = ports.front();
  const otg::Capture *capture = capture_of(port);
  auto &record = records_[port];
  setup_->units[port]->run().call([&](station::Station &station, const EngineCounts &) {
    if (station.records())
      record = station.take_record();
  });
  if (!capture || !record)
    return failure(400, {fmt::format("port_name: port '{}' has no capture", name),
                         capture ? "POST /control/state port.capture start"
                                 : "captures[].port_names of the configuration"});
  if (record->lost())
    options_.note(
        fmt::format("capture of {}: {} found no room", name, counted(record->lost(), "frame")));
  const size_t all = record->frames().size(), first = std::min<uint64_t>(start - 1, all);
  const size_t some = std::min<uint64_t>(count, all - first);
  auto bytes = record_file(*record, {.first = first,
                                     .count = some,
                                     .pcapng = capture->pcapng,
                                     .snaplen = capture->snaplen,
                                     .name = setup_->config.ports[port].location});
  if (!bytes)
    return failure(500, bytes.error());
  return {200, "application/octet-stream", std::move(*bytes)};
}

} // namespace xr::generator
