// SPDX-License-Identifier: Apache-2.0
#include "endpoint/port_thread.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/random_seed.h"

namespace xr::endpoint {

namespace {

int64_t tai_offset() {
  const uint64_t before = monotonic_ns(), tai = clock_ns(CLOCK_TAI), after = monotonic_ns();
  return static_cast<int64_t>(tai) - static_cast<int64_t>(before + (after - before) / 2);
}

} // namespace

bool PortThread::is_hosts(const packet::Address &address, const packet::Mac &mac) const {
  const auto &all = session.port.addresses;
  return !all_frames_ && std::ranges::find(all, address) != all.end() && mac == session.port.mac;
}

Status PortThread::open(AnsweringPort request, const Make &make) {
  XR_TRY(session.open({request.ifname, request.netns}, request.queues.cpus));
  const PortFacts &port = session.port;
  line_bits_ = request.line_bits ? request.line_bits : port.line_bits;

  responder::ResponderOptions &responder = request.responder;
  std::vector<datapath::Endpoint> endpoints;
  std::map<packet::Address, packet::Mac> macs;
  bool promiscuous = request.all_frames;
  for (const AnsweringPort::Address &each : request.addresses) {
    const packet::Mac mac = each.mac.value_or(port.mac);
    macs[each.address] = mac;
    responder.addresses.push_back(each.address);
    endpoints.push_back({each.address, request.all_frames || !is_hosts(each.address, mac)});
    promiscuous = promiscuous || mac != port.mac || !packet::is_mapped(each.address);
  }
  if (request.all_frames)
    endpoints.push_back({.address = {}, .neighbours = false, .others = true});
  all_frames_ = request.all_frames;
  responder.mac = port.mac;
  responder.mac_of = [macs = std::move(macs), own = port.mac](const packet::Address &address) {
    const auto found = macs.find(address);
    return found == macs.end() ? own : found->second;
  };
  responder.line_bits = static_cast<double>(line_bits_);
  responder.seed = static_cast<uint64_t>(XR_TRY(random_seed()));
  responder.tai_offset_ns = tai_offset();

  XR_TRY(session.listen(request.attach, endpoints, promiscuous));
  auto sockets = XR_TRY(session.sockets(request.queues));
  if (request.obey) {
    session.obey_pfc(line_bits_, *request.obey);
    responder.pauses = session.pauses.get();
  }
  auto engine = std::make_unique<Engine>(
      std::move(sockets.front()),
      make(responder, static_cast<double>(line_bits_), session.pauses.get()),
      request.attach.udp_port);
  engine->receive_clock(CLOCK_MONOTONIC); // of latencies
  if (session.pauses)
    engine->obey(*session.pauses);
  session.add_queue(std::move(engine), request.queues, 0);
  thread_ = std::thread([this] {
    result_ = session.workers.run(stop_, {});
    ended_ = true;
  });
  return {};
}

void PortThread::call(const std::function<void(const EngineCounts &)> &use) {
  const std::lock_guard guard(calling_);
  session.workers.read_counts([&](size_t, const EngineCounts &counts) { use(counts); });
}

std::optional<Error> PortThread::failure() const {
  return ended_ && !result_ ? std::optional(result_.error()) : std::nullopt;
}

Status PortThread::close() {
  stop_ = true;
  if (thread_.joinable())
    thread_.join();
  return session.close();
}

} // namespace xr::endpoint
