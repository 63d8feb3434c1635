// SPDX-License-Identifier: Apache-2.0
#include "endpoint/station_run.h"

#include <chrono>
#include <thread>

namespace xr::endpoint {

using namespace std::chrono_literals;

Result<std::unique_ptr<StationPort>> StationRun::open(StationRequest request) {
  std::unique_ptr<StationRun> run(new StationRun());
  XR_TRY(run->thread_.open(std::move(request), [&](const responder::ResponderOptions &responder,
                                                   double line_bits, const packet::Pauses *pauses) {
    auto station =
        std::make_unique<station::Station>(station::StationOptions{responder, line_bits, pauses});
    run->station_ = station.get();
    return station;
  }));
  return std::unique_ptr<StationPort>(std::move(run));
}

void StationRun::call(const std::function<void(station::Station &, const EngineCounts &)> &use) {
  thread_.call([&](const EngineCounts &counts) { use(*station_, counts); });
}

std::vector<std::optional<packet::Mac>>
StationRun::resolve(const std::vector<station::NeighbourQuestion> &questions) {
  std::vector<std::optional<packet::Mac>> macs(questions.size());
  std::vector<station::NeighbourQuestion> asked;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < questions.size(); i++) {
    const station::NeighbourQuestion &q = questions[i];
    if (thread_.is_hosts(q.source, q.mac)) {
      if (auto mac = endpoint::resolve(thread_.session.port, q.source, q.target, q.tags, q.mac))
        macs[i] = *mac;
      continue;
    }
    asked.push_back(q);
    numbers.push_back(i);
  }
  if (asked.empty())
    return macs;
  call([&](station::Station &station, const EngineCounts &) { station.neighbours().ask(asked); });
  for (bool settled = false; !settled && !thread_.ended();) {
    call([&](station::Station &station, const EngineCounts &counts) {
      settled = station.neighbours().settled(counts.now_ns);
      for (size_t i = 0; i < numbers.size(); i++)
        macs[numbers[i]] = station.neighbours().mac(i);
    });
    if (!settled)
      std::this_thread::sleep_for(2ms);
  }
  return macs;
}

} // namespace xr::endpoint
