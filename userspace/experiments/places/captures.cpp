// SPDX-License-Identifier: Apache-2.0
#include "places/captures.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/counted.h"
#include "port_capture/port_capture.h"

namespace xr::places {

namespace {

using namespace std::chrono_literals;
using experiment::CaptureSetup;

constexpr auto kCapturePatience = 5s;

const RunPort &port_of(CaptureSetup::Point port, const RunPorts &ports) {
  switch (port) {
  case CaptureSetup::Point::Senders:
    return ports.sender;
  case CaptureSetup::Point::Left:
    return ports.left;
  case CaptureSetup::Point::Right:
    return ports.right;
  default:
    return ports.receiver;
  }
}

struct One {
  std::string name;
  std::optional<port_capture::CaptureRun> run;
  std::thread thread;
  std::atomic<bool> begun = false, ended = false;
  Status status; // valid when it has ended
  CaptureSummary summary = {};

  Error wrong(const Error &error) const {
    return {fmt::format("capture {}: {}", name, error.message), error.hint};
  }
};

} // namespace

struct Captures::State {
  std::atomic<bool> stop = false;
  std::deque<One> all;

  ~State() {
    if (const Status s = end(); !s)
      (void)s.error(); // what failed before matters more
  }

  Status add(const CaptureSetup &setup, const RunPort &port, const std::string &directory) {
    One &item = all.emplace_back();
    item.name = experiment::capture_port_name(setup.port);
    port_capture::CaptureRequest request;
    request.ifname = port.ifname;
    request.netns = port.netns;
    request.filter.kinds = ROCE_CAPTURE_ALL;
    request.filter.snap = setup.snap ? setup.snap : ROCE_CAPTURE_SNAP;
    request.filter.dest_qp = {0, 0xffffff};
    request.files.path = fmt::format("{}/{}.pcapng", directory, item.name);
    auto run = port_capture::CaptureRun::prepare(std::move(request), stop);
    if (!run)
      return item.wrong(run.error());
    item.run.emplace(std::move(run).get());
    item.thread = std::thread([&item] {
      item.status = item.run->run([&item] { item.begun = true; }, [](const CaptureSummary &) {});
      item.ended = true;
    });
    const auto until = std::chrono::steady_clock::now() + kCapturePatience;
    while (!item.begun && !item.ended && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    if (item.ended && !item.status)
      return item.wrong(item.status.error());
    return item.begun ? Status()
                      : Status(Error{fmt::format("capture {} does not begin", item.name)});
  }

  Status end() {
    stop = true;
    Status first;
    for (One &entry : all) {
      if (!entry.thread.joinable())
        continue;
      entry.thread.join();
      entry.summary = entry.run->report();
      if (first && !entry.status)
        first = entry.wrong(entry.status.error());
    }
    return first;
  }
};

Result<Captures> Captures::start(const Plan &plan, const RunPorts &ports,
                                 const std::string &directory) {
  auto state = std::make_unique<State>();
  for (const CaptureSetup &setup : plan.captures)
    if (const RunPort &port = port_of(setup.port, ports); port.here())
      XR_TRY(state->add(setup, port, directory));
  return Captures(std::move(state));
}

Captures::Captures(std::unique_ptr<State> state) : state_(std::move(state)) {}
Captures::Captures(Captures &&) noexcept = default;
Captures::~Captures() = default;

Status Captures::stop() { return state_->end(); }

std::vector<std::string> Captures::why_void() const {
  std::vector<std::string> reasons;
  for (const One &item : state_->all)
    if (const uint64_t lost = item.summary.lost + item.summary.unread)
      reasons.push_back(fmt::format("capture {}: {} {} not in the file", item.name,
                                    counted(lost, "frame"), verb(lost, "is", "are")));
  return reasons;
}

Status Captures::close() {
  Status first;
  for (One &item : state_->all)
    if (item.run)
      if (Status s = item.run->close(); first && !s)
        first = item.wrong(s.error());
  return first;
}

} // namespace xr::places
