// SPDX-License-Identifier: Apache-2.0
#include "endpoint/respond.h"

#include <algorithm>
#include <array>
#include <bit>

#include <sys/random.h>

#include "base/clock.h"
#include "datapath/steering.h"
#include "endpoint/crew.h"
#include "endpoint/port.h"
#include "endpoint/sockets.h"

namespace xr::endpoint {

struct RespondRun::State {
  RespondRequest request;
  Port port;
  uint64_t drops_before = 0;
  std::optional<datapath::Steering> steering;
  Crew crew;
  std::vector<std::string> notes;
};

namespace {

Status choose_addresses(RespondRequest &request, const Port &port) {
  auto &mine = request.responder.addresses;
  if (mine.empty())
    mine = port.addresses;
  if (mine.empty())
    return Error{"it has no address to answer for", "--address IP; the port itself needs none"};
  request.responder.mac = request.mac.value_or(port.mac);
  return {};
}

// IPv6 asks by multicast, to which nobody else here has subscribed.
bool wants_promiscuous(const RespondRequest &request, const Port &port) {
  const auto &mine = request.responder.addresses;
  return request.responder.mac != port.mac ||
         !std::all_of(mine.begin(), mine.end(), packet::is_mapped);
}

} // namespace

Result<RespondRun> RespondRun::prepare(RespondRequest request) {
  auto state = std::make_unique<State>();
  auto port = open_port(request.ifname, request.netns);
  if (!port)
    return port.error();
  if (auto done = choose_addresses(request, *port); !done)
    return done.error();
  if (!request.lanes.count)
    request.lanes.count = port->queues;
  auto steering = datapath::Steering::open(
      request.ifname, request.netns, request.attach,
      endpoints_of(*port, request.responder.addresses, request.responder.mac));
  if (!steering)
    return steering.error();
  state->steering.emplace(std::move(*steering));
  if (wants_promiscuous(request, *port))
    if (auto done = state->steering->go_promiscuous(); !done)
      return done.error();
  state->notes = state->steering->notes();
  if (const auto note = other_queues(*port, request.lanes); !note.empty())
    state->notes.push_back(note);
  if (getrandom(&request.responder.seed, sizeof(request.responder.seed), 0) < 0)
    return errno_error(errno, "no random number to be had");
  auto sockets = open_sockets(*port, request.lanes, &*state->steering);
  if (!sockets)
    return sockets.error();
  for (auto &socket : *sockets) {
    request.responder.seed++; // each draws for itself
    state->crew.add(std::make_unique<Engine>(
        std::move(socket), std::make_unique<traffic::Responder>(request.responder),
        request.attach.udp_port));
  }
  state->request = std::move(request);
  state->port = std::move(*port);
  state->drops_before = port_drops(state->port);
  return RespondRun(std::move(state));
}

RespondRun::RespondRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
RespondRun::RespondRun(RespondRun &&) noexcept = default;
RespondRun::~RespondRun() = default;

const std::vector<std::string> &RespondRun::notes() const { return state_->notes; }

Status RespondRun::run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
                       const std::function<bool(const RespondReport &)> &tell) {
  const uint64_t duration = state_->request.duration_ns;
  const uint64_t end = duration ? monotonic_ns() + duration : UINT64_MAX;
  auto next = std::chrono::steady_clock::now() + interval;
  // Looked at often, so that the end is not late by an interval.
  return state_->crew.run(stop, std::chrono::milliseconds(20), [&] {
    if (interval.count() && std::chrono::steady_clock::now() >= next) {
      next += interval;
      if (!tell(report()))
        return false;
    }
    return monotonic_ns() < end;
  });
}

namespace {

// They are counters and nothing else.
void add(traffic::RespondCounts &all, const traffic::RespondCounts &one) {
  using Words = std::array<uint64_t, sizeof(traffic::RespondCounts) / sizeof(uint64_t)>;
  auto sum = std::bit_cast<Words>(all);
  const auto more = std::bit_cast<Words>(one);
  for (size_t i = 0; i < sum.size(); i++)
    sum[i] += more[i];
  all = std::bit_cast<traffic::RespondCounts>(sum);
}

} // namespace

RespondReport RespondRun::report() {
  RespondReport report;
  report.ifname = state_->request.ifname;
  report.addresses = state_->request.responder.addresses;
  report.xdp_mode = datapath::mode_name(state_->steering->mode());
  report.queues = static_cast<uint32_t>(state_->crew.engines().size());
  report.zero_copy = state_->crew.engines().front()->socket().zero_copy();
  report.engine = state_->crew.look([&](traffic::Source &source) {
    add(report.counts, static_cast<traffic::Responder &>(source).counts());
  });
  const uint64_t drops = port_drops(state_->port);
  report.engine.port_drops = drops > state_->drops_before ? drops - state_->drops_before : 0;
  report.seconds = static_cast<double>(report.engine.now_ns - report.engine.begun_ns) / 1e9;
  return report;
}

Status RespondRun::close() { return state_->steering->close(); }

} // namespace xr::endpoint
