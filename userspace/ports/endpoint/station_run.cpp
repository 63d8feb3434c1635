// SPDX-License-Identifier: Apache-2.0
#include "endpoint/station_run.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/clock.h"
#include "base/random_seed.h"

namespace xr::endpoint {

using namespace std::chrono_literals;

namespace {

int64_t tai_offset() {
  const uint64_t before = monotonic_ns(), tai = clock_ns(CLOCK_TAI), after = monotonic_ns();
  return static_cast<int64_t>(tai) - static_cast<int64_t>(before + (after - before) / 2);
}

bool has(const std::vector<packet::Address> &all, const packet::Address &one) {
  return std::ranges::find(all, one) != all.end();
}

} // namespace

bool StationRun::is_hosts(const packet::Address &address, const packet::Mac &mac) const {
  return !all_frames_ && has(session_.port.addresses, address) && mac == session_.port.mac;
}

Result<std::unique_ptr<StationPort>> StationRun::open(StationRequest request) {
  std::unique_ptr<StationRun> run(new StationRun());
  Session &session = run->session_;
  XR_TRY(session.open({request.ifname, request.netns}, request.queues.cpus));
  const PortFacts &port = session.port;
  run->line_bits_ = request.line_bits ? request.line_bits : port.line_bits;

  responder::ResponderOptions &responder = request.responder;
  std::vector<datapath::Endpoint> endpoints;
  std::map<packet::Address, packet::Mac> macs;
  bool promiscuous = request.all_frames;
  for (const StationRequest::Address &each : request.addresses) {
    const packet::Mac mac = each.mac.value_or(port.mac);
    macs[each.address] = mac;
    responder.addresses.push_back(each.address);
    endpoints.push_back({each.address, request.all_frames || !run->is_hosts(each.address, mac)});
    promiscuous = promiscuous || mac != port.mac || !packet::is_mapped(each.address);
  }
  if (request.all_frames)
    endpoints.push_back({.address = {}, .neighbours = false, .others = true});
  run->all_frames_ = request.all_frames;
  responder.mac = port.mac;
  responder.mac_of = [macs = std::move(macs), own = port.mac](const packet::Address &address) {
    const auto found = macs.find(address);
    return found == macs.end() ? own : found->second;
  };
  responder.line_bits = static_cast<double>(run->line_bits_);
  responder.seed = static_cast<uint64_t>(XR_TRY(random_seed()));
  responder.tai_offset_ns = tai_offset();

  XR_TRY(session.listen(request.attach, endpoints, promiscuous));
  auto sockets = XR_TRY(session.sockets(request.queues));
  if (request.obey) {
    session.obey_pfc(run->line_bits_, *request.obey);
    responder.pauses = session.pauses.get();
  }
  auto station = std::make_unique<station::Station>(station::StationOptions{
      std::move(responder), static_cast<double>(run->line_bits_), session.pauses.get()});
  run->station_ = station.get();
  auto engine = std::make_unique<Engine>(std::move(sockets.front()), std::move(station),
                                         request.attach.udp_port);
  engine->receive_clock(CLOCK_MONOTONIC); // of latencies
  if (session.pauses)
    engine->obey(*session.pauses);
  session.add_queue(std::move(engine), request.queues, 0);
  run->thread_ = std::thread([&self = *run] {
    self.result_ = self.session_.workers.run(self.stop_, {});
    self.ended_ = true;
  });
  return std::unique_ptr<StationPort>(std::move(run));
}

StationRun::~StationRun() { (void)StationRun::close(); }

void StationRun::call(const std::function<void(station::Station &, const EngineCounts &)> &use) {
  const std::lock_guard guard(calling_);
  session_.workers.read_counts([&](size_t, const EngineCounts &counts) { use(*station_, counts); });
}

std::vector<std::optional<packet::Mac>>
StationRun::resolve(const std::vector<station::NeighbourQuestion> &questions) {
  std::vector<std::optional<packet::Mac>> macs(questions.size());
  std::vector<station::NeighbourQuestion> asked;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < questions.size(); i++) {
    const station::NeighbourQuestion &q = questions[i];
    if (is_hosts(q.source, q.mac)) {
      if (auto mac = endpoint::resolve(session_.port, q.source, q.target, q.tags, q.mac))
        macs[i] = *mac;
      continue;
    }
    asked.push_back(q);
    numbers.push_back(i);
  }
  if (asked.empty())
    return macs;
  call([&](station::Station &station, const EngineCounts &) { station.neighbours().ask(asked); });
  for (bool settled = false; !settled && !ended_;) {
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

std::optional<Error> StationRun::failure() const {
  return ended_ && !result_ ? std::optional(result_.error()) : std::nullopt;
}

Status StationRun::close() {
  stop_ = true;
  if (thread_.joinable())
    thread_.join();
  return session_.close();
}

} // namespace xr::endpoint
