// SPDX-License-Identifier: Apache-2.0
#include "places/endpoints.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/lock.h"
#include "datapath/wire_ports.h"
#include "endpoint/respond.h"
#include "endpoint/send.h"
#include "endpoint/wire.h"
#include "host/link.h"
#include "host/netns.h"
#include "places/part.h"
#include "wire/link_words.h"
#include "xdp-roce/congestion.h"

namespace xr::places {

namespace {

using namespace std::chrono_literals;
using Point = experiment::CaptureSetup::Point;

constexpr auto kEndpointPatience = 5s;
constexpr auto kWireReports = 10ms;
constexpr uint32_t kStreams = 8192;     // of each port; requests, answers and CNPs of all QPs
constexpr uint64_t kChunk = 4096;       // bytes of memory for a frame
constexpr uint64_t kOtherFrames = 8192; // besides those of the queue and on the way
constexpr uint64_t kRing = 4096;        // frames of a receive queue that are not held

// With all that the program will need, as each exchange of a program takes as long as its load.
// `ours`: no other program comes to the port, so there is no dispatcher.
datapath::AttachOptions attach_options(const Plan &plan, bool ours,
                                       std::initializer_list<Point> ports) {
  datapath::AttachOptions options;
  options.streams = kStreams;
  options.alone = ours;
  for (const experiment::CaptureSetup &capture : plan.captures)
    if (std::ranges::find(ports, capture.port) != ports.end())
      options.features |= ROCE_FEATURE_CAPTURE;
  return options;
}

uint64_t wire_memory(const Plan &plan) {
  const double smallest = std::max(plan.frame_bytes, 64.0);
  const double way =
      static_cast<double>(plan.forward.rate) / 8e9 * static_cast<double>(plan.forward.delay);
  const uint64_t headroom = plan.forward.pfc.headroom * std::popcount(plan.forward.pfc.priorities);
  const double frames =
      (static_cast<double>(plan.forward.buffer) + static_cast<double>(headroom) + way) / smallest;
  return 2 * kChunk * (static_cast<uint64_t>(frames * 1.25) + plan.held_frames + kOtherFrames);
}

// A port of hardware has many queues, and its frames may be longer than a chunk.
uint64_t ring_memory(const RunPort &port) {
  const auto inside = host::enter_netns(port.netns);
  const auto facts = host::read_link({port.ifname, port.netns});
  if (!inside || !facts)
    return 0; // the wire has the error
  const uint64_t chunks = 2 * uint64_t{facts.get().mtu} / kChunk + 1;
  return kRing * (host::read_queues(port.ifname).count + 1) * chunks * kChunk;
}

Result<packet::Mac> mac_of(const PortName &port) {
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  const auto facts = XR_TRY(host::read_link(port));
  return facts.mac;
}

} // namespace

struct Endpoints::State {
  Part<endpoint::WireRun> wire;
  Part<endpoint::RespondRun> respond;
  Part<endpoint::SendRun> send;
  RunPort right;
  std::vector<std::string> notes;
  uint64_t begun_ns = 0;

  // Its thread writes the report, as the wire's links are that thread's.
  std::mutex mutex;
  WireReport wire_report;

  ~State() {
    if (const Status s = close(); !s)
      (void)s.error(); // what failed before matters more
  }

  // The senders first: the wire then has what is to be delivered or lost.
  Status close() {
    Status first;
    for (Status item : {send.close(), respond.close(), wire.close()})
      if (!item && first)
        first = std::move(item);
    return first;
  }

  Status prepare_wire(const Plan &plan, const EndpointSetup &setup) {
    const RunPort &left = setup.ports.left;
    right = setup.ports.right;
    datapath::AttachOptions attach = attach_options(plan, setup.ours, {Point::Left, Point::Right});
    attach.features |= plan.features;
    attach.uses = plan.uses;
    const bool small = setup.ours && plan.mtu <= kChunk; // a frame is a chunk of kOtherFrames
    const uint64_t rings = small ? 0 : ring_memory(left) + ring_memory(right);
    wire.run.emplace(XR_TRY(endpoint::WireRun::prepare({.first = left.ifname,
                                                        .second = right.ifname,
                                                        .netns = left.netns,
                                                        .attach = attach,
                                                        .fix = setup.ours,
                                                        .memory = wire_memory(plan) + rings})));
    for (const datapath::Trouble &trouble : wire.run->troubles())
      if (!trouble.fixed)
        notes.push_back(fmt::format("{}: {}; {}", trouble.ifname, trouble.text, trouble.hint));
    for (const auto &[port, spec] : {std::pair{&left, &plan.back}, {&right, &plan.forward}})
      if (Status s = datapath::set_link_words({port->ifname, port->netns}, wire::link_text(*spec));
          !s)
        return s;
    return {};
  }

  Status prepare_respond(const Plan &plan, const simulate::Scenario &scenario,
                         const EndpointSetup &setup) {
    endpoint::RespondRequest request;
    request.ifname = setup.ports.receiver.ifname;
    request.netns = setup.ports.receiver.netns;
    request.responder.addresses = plan.receivers;
    request.responder.cnp_pacing = scenario.cnp;
    request.responder.qps = plan.qps;
    request.responder.seed = scenario.seed;
    request.responder.selective = scenario.reliability.selective;
    request.responder.most_kept = scenario.reliability.window;
    for (const PlannedFlow &planned : plan.flows)
      if (planned.flow.control.needs() & XDP_ROCE_NEEDS_ECHO)
        request.responder.echo_ce = true;
    request.attach = attach_options(plan, setup.ours, {Point::Receivers});
    respond.run.emplace(XR_TRY(endpoint::RespondRun::prepare(std::move(request))));
    return {};
  }

  Status prepare_send(const Plan &plan, const simulate::Scenario &scenario,
                      const EndpointSetup &setup) {
    packet::Mac peer = setup.peer_mac.value_or(packet::Mac{});
    if (!setup.peer_mac) {
      peer = XR_TRY(mac_of({setup.ports.receiver.ifname, setup.ports.receiver.netns}));
    }
    endpoint::SendRequest request;
    request.ifname = setup.ports.sender.ifname;
    request.netns = setup.ports.sender.netns;
    request.seed = std::max<uint64_t>(scenario.seed, 1);
    request.reliable = plan.reliable;
    request.listen = !plan.reliable;
    request.reliability = scenario.reliability;
    request.top = plan.qps;
    request.attach = attach_options(plan, setup.ours, {Point::Senders});
    request.attach.track = counts_cnps_at_senders(plan);
    for (const PlannedFlow &planned : plan.flows) {
      if (planned.start_ns == UINT64_MAX)
        continue;
      request.flows.push_back(planned.flow);
      request.flows.back().dst_mac = peer;
    }
    if (request.flows.empty())
      return Error{"no flow ever starts", R"({at: 20ms, do: "start flow-1"})"};
    send.run.emplace(XR_TRY(endpoint::SendRun::prepare(std::move(request))));
    return {};
  }
};

Result<Endpoints> Endpoints::prepare(const Plan &plan, const simulate::Scenario &scenario,
                                     const EndpointSetup &setup) {
  auto state = std::make_unique<State>();
  // Each of the four programs takes long to load.
  const auto lock = XR_TRY(datapath::Lock::ForThreads::take());
  Status wire, respond, send;
  std::thread receivers([&] {
    if (setup.ports.receiver.here())
      respond = state->prepare_respond(plan, scenario, setup);
  });
  std::thread senders([&] {
    if (setup.ports.sender.here())
      send = state->prepare_send(plan, scenario, setup);
  });
  if (setup.ports.wire())
    wire = state->prepare_wire(plan, setup);
  receivers.join();
  senders.join();
  for (const auto &[what, status] :
       {std::pair("wire", &wire), {"respond", &respond}, {"send", &send}})
    if (!*status)
      return Error{fmt::format("{}: {}", what, status->error().message), status->error().hint};
  return Endpoints(std::move(state));
}

Endpoints::Endpoints(std::unique_ptr<State> state) : state_(std::move(state)) {}
Endpoints::Endpoints(Endpoints &&) noexcept = default;
Endpoints::~Endpoints() = default;

Status Endpoints::start() {
  if (state_->respond.run)
    state_->respond.start();
  if (!state_->wire.run)
    return {};
  state_->wire.start(kWireReports, [state = state_.get()](const WireReport &report) {
    const std::lock_guard lock(state->mutex);
    state->wire_report = report;
  });
  const auto until = std::chrono::steady_clock::now() + kEndpointPatience;
  while (wire().ports[0].link.empty() || wire().ports[1].link.empty()) {
    if (Status s = check(); !s)
      return s;
    if (std::chrono::steady_clock::now() > until)
      return Error{"the wire does not begin"};
    std::this_thread::sleep_for(1ms);
  }
  return {};
}

Status Endpoints::start_senders() {
  const auto until = std::chrono::steady_clock::now() + kEndpointPatience;
  if (!state_->send.run) {
    state_->begun_ns = monotonic_ns();
    return {};
  }
  state_->send.start();
  while (!(state_->begun_ns = sender().engine.begun_ns)) {
    if (Status s = check(); !s)
      return s;
    if (state_->send.ended || std::chrono::steady_clock::now() > until)
      return Error{"the senders do not begin"};
    std::this_thread::sleep_for(1ms);
  }
  return {};
}

const std::vector<std::string> &Endpoints::notes() const { return state_->notes; }
uint64_t Endpoints::begun_ns() const { return state_->begun_ns; }
bool Endpoints::sending() const { return !state_->send.ended; }

Status Endpoints::check() const {
  const auto of = [](const char *what, const auto &part, bool goes_on) -> Status {
    if (!part.ended)
      return {};
    if (!part.status)
      return Error{fmt::format("{}: {}", what, part.status.error().message),
                   part.status.error().hint};
    return goes_on ? Status(Error{fmt::format("{} has ended", what)}) : Status();
  };
  if (Status s = of("wire", state_->wire, true); !s)
    return s;
  if (Status s = of("respond", state_->respond, true); !s)
    return s;
  return of("send", state_->send, false);
}

Status Endpoints::set_link(const std::string &words) {
  return datapath::set_link_words({state_->right.ifname, state_->right.netns}, words);
}

SendReport Endpoints::sender() const {
  return state_->send.run ? state_->send.run->report(true) : SendReport{};
}
RespondReport Endpoints::responder() const {
  return state_->respond.run ? state_->respond.run->report() : RespondReport{};
}
WireReport Endpoints::wire() const {
  const std::lock_guard lock(state_->mutex);
  return state_->wire_report;
}

void Endpoints::stop_senders() { state_->send.end(); }
Status Endpoints::close() { return state_->close(); }

} // namespace xr::places
