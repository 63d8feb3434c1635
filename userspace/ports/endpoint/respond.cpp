// SPDX-License-Identifier: Apache-2.0
#include "endpoint/respond.h"

#include <algorithm>

#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/random_seed.h"
#include "endpoint/engine.h"
#include "endpoint/queue_share.h"
#include "endpoint/rates.h"
#include "parse/address.h"
#include "parse/value.h"
#include "stamps/one_way.h"

namespace xr::endpoint {

struct RespondRun::State : Session {
  RespondRequest request;
  std::unique_ptr<responder::Memory> memory;
  std::unique_ptr<QueueShare> share;              // of several queues
  std::vector<responder::Responder *> responders; // of the workers' engines, in their order
};

namespace {

Status choose_addresses(RespondRequest &request, const PortFacts &port) {
  auto &mine = request.responder.addresses;
  if (mine.empty())
    mine = port.addresses;
  if (mine.empty())
    return Error{"the port has no address, and none is given", "--address IP; the port needs none"};
  request.responder.mac = request.mac.value_or(port.mac);
  return {};
}

// Frames for another MAC, and neighbour solicitations for IPv6 addresses that the host does not
// have: the port has not joined their multicast groups.
bool answers_for_others(const RespondRequest &request, const PortFacts &port) {
  const auto &mine = request.responder.addresses;
  return request.responder.mac != port.mac ||
         !std::all_of(mine.begin(), mine.end(), packet::is_mapped);
}

// Memory is taken when it is written: what does not fit is refused before.
Result<std::unique_ptr<responder::Memory>> make_memory(const responder::MemorySpec &spec) {
  const uint64_t free = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
                        static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (spec.size > free / 2)
    return Error{fmt::format("--memory {} does not fit: {} are free", parse::byte_text(spec.size),
                             parse::byte_text(free)),
                 "at most half of that"};
  return responder::Memory::make(spec);
}

std::string access_text(uint8_t access) {
  std::string text;
  for (size_t i = 0; i < std::size(responder::kAccessNames); i++)
    if (access >> i & 1)
      text += (text.empty() ? "" : ",") + std::string(responder::kAccessNames[i]);
  return text;
}

std::string says_for(const responder::ResponderOptions &responder) {
  const auto &addresses = responder.addresses;
  std::string text = responder.sink ? "receives for" : "answers for";
  for (size_t i = 0; i < addresses.size(); i++)
    text += (i ? ", " : " ") + parse::address_text(addresses[i]);
  return text;
}

} // namespace

Result<RespondRun> RespondRun::prepare(RespondRequest request) {
  auto state = std::make_unique<State>();
  const PortFacts &port = state->port;
  XR_TRY(state->open({request.ifname, request.netns}, request.queues.cpus));
  responder::ResponderOptions &responder = request.responder;
  XR_TRY(choose_addresses(request, port));
  responder.line_bits = static_cast<double>(port.line_bits);
  XR_TRY(check_line(responder.control, port.line_bits));
  if (!port.line_bits && responder.control.rate.kind == congestion::Rate::Kind::Percent)
    return Error{"the driver does not report the line rate", "give a rate in gbit"};
  if (request.memory) {
    state->memory = XR_TRY(make_memory(*request.memory));
    responder.memory = state->memory.get();
  }
  if (!request.queues.count)
    request.queues.count = request.queues.steer ? 1 : port.queues;
  responder.seed = static_cast<decltype(responder.seed)>(XR_TRY(random_seed()));
  if (auto done = state->listen(request.attach, responder.addresses, responder.mac,
                                answers_for_others(request, port));
      !done)
    return done.error();
  auto sockets = XR_TRY(state->sockets(request.queues));
  if (request.obey_pfc && !responder.sink) {
    state->obey_pfc(request.pfc_line_bits);
    responder.pauses = state->pauses.get();
  }
  if (sockets.size() > 1 && !responder.sink)
    state->share = XR_TRY(QueueShare::make(static_cast<uint32_t>(sockets.size()), responder.qps));
  responder.siblings = state->share.get();
  for (auto &socket : sockets) {
    responder.seed++; // independent random numbers per queue
    responder.number = static_cast<uint32_t>(state->responders.size());
    auto own = std::make_unique<responder::Responder>(responder);
    state->responders.push_back(own.get());
    std::unique_ptr<packet::Source> source = std::move(own);
    if (state->share) {
      PassedFrames &passed = state->share->passed(responder.number);
      socket->also_wait_for(passed.wake_fd());
      source = std::make_unique<SharingSource>(std::move(source), passed);
    }
    auto engine =
        std::make_unique<Engine>(std::move(socket), std::move(source), request.attach.udp_port);
    if (responder.sink)
      engine->receive_clock(CLOCK_TAI);
    if (state->pauses)
      engine->obey(*state->pauses);
    state->add_queue(std::move(engine), request.queues, state->responders.size() - 1);
  }
  state->notes.push_back(says_for(responder));
  state->request = std::move(request);
  return RespondRun(std::move(state));
}

RespondRun::RespondRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
RespondRun::RespondRun(RespondRun &&) noexcept = default;
RespondRun::~RespondRun() = default;

const std::vector<std::string> &RespondRun::notes() const { return state_->notes; }

Status RespondRun::run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
                       const std::function<bool(const RespondReport &)> &on_report) {
  const uint64_t duration = state_->request.duration_ns;
  const uint64_t end = duration ? monotonic_ns() + duration : UINT64_MAX;
  const auto rates = [this](size_t i, const EngineCounts &engine, std::vector<QpRate> &qps) {
    state_->responders[i]->qp_rates(engine.now_ns, qps);
  };
  const bool dynamic = state_->request.responder.control.is_dynamic();
  return state_->workers.run(stop,
                             {{std::chrono::milliseconds(20), [&] { return monotonic_ns() < end; }},
                              {interval, [&] { return on_report(report()); }},
                              state_->publish_rates(dynamic, true, state_->request.top, rates)});
}

RespondReport RespondRun::report() {
  RespondReport report;
  for (const packet::Address &address : state_->request.responder.addresses)
    report.addresses.push_back(parse::address_text(address));
  const responder::ResponderOptions &responder = state_->request.responder;
  if (const auto &memory = state_->memory)
    report.memory = MemoryReport{memory->spec().size, memory->spec().va, memory->spec().rkey,
                                 access_text(memory->spec().access)};
  stamps::OneWay latency(responder.latency);
  std::vector<QpRate> qps;
  state_->fill_report(report, [&](size_t i, const EngineCounts &engine) {
    add(report.counts, state_->responders[i]->counts());
    state_->responders[i]->qp_rates(engine.now_ns, qps);
    if (responder.sink)
      latency.merge(state_->responders[i]->latency());
  });
  fill_rates(report, std::move(qps), state_->request.top);
  if (responder.sink)
    report.latency = latency.report();
  return report;
}

Status RespondRun::close() { return state_->close(); }

} // namespace xr::endpoint
