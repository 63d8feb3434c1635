// SPDX-License-Identifier: Apache-2.0
#include "port_capture/several.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace xr::port_capture {

namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

struct One {
  std::string ifname;
  CaptureRun run;
  Status status;
};

Error of_port(const std::string &ifname, const Error &error) {
  return {fmt::format("{}: {}", ifname, error.message), error.hint};
}

} // namespace

Result<SeveralResult> capture_several(std::vector<CaptureRequest> requests,
                                      const std::atomic<bool> &stop,
                                      const std::function<void()> &begun) {
  // One that fails ends the others.
  std::atomic<bool> end = false;
  std::atomic<size_t> started = 0, finished = 0;
  std::vector<One> ones;
  Status status;
  for (CaptureRequest &request : requests) {
    const std::string ifname = request.ifname;
    auto run = CaptureRun::prepare(std::move(request), end);
    if (!run) {
      status = of_port(ifname, run.error());
      break;
    }
    ones.push_back({ifname, std::move(run).get(), {}});
  }
  if (status) {
    std::vector<std::thread> threads;
    threads.reserve(ones.size());
    for (One &item : ones)
      threads.emplace_back([&] {
        item.status = item.run.run([&] { started++; }, [](const CaptureSummary &) {});
        finished++;
        if (!item.status)
          end = true;
      });
    bool told = false;
    while (finished < ones.size()) {
      if (!told && started == ones.size()) {
        begun();
        told = true;
      }
      if (stop)
        end = true;
      std::this_thread::sleep_for(kLook);
    }
    for (std::thread &thread : threads)
      thread.join();
  }
  SeveralResult result;
  for (One &entry : ones) {
    if (status && !entry.status)
      status = of_port(entry.ifname, entry.status.error());
    if (status)
      result.captures.push_back(entry.run.report());
    if (auto closed = entry.run.close(); status && !closed)
      status = of_port(entry.ifname, closed.error());
    const auto notes = entry.run.notes();
    result.notes.insert(result.notes.end(), notes.begin(), notes.end());
  }
  if (!status)
    return status.error();
  return result;
}

} // namespace xr::port_capture
