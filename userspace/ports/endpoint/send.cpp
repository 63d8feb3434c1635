// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/random_seed.h"
#include "endpoint/engine.h"
#include "endpoint/flow_parts.h"
#include "endpoint/rates.h"
#include "endpoint/send_live.h"
#include "endpoint/send_source.h"
#include "parse/address.h"
#include "requester/cm_source.h"
#include "requester/rate_sampler.h"
#include "requester/verify.h"
#include "xdp-roce/congestion.h"

namespace xr::endpoint {

using flow::Flow;

struct SendRun::State : Session {
  SendRequest request;

  std::vector<requester::Requester *> requesters; // of the workers' engines, in their order
  std::vector<requester::RateSampler *> samplers; // in that order; with request.series
  std::vector<LiveEngine *> live; // the workers, where they send live frames; then no requesters
  bool ended = false;
  std::string engine_why; // why live frames, or why not; "": not asked

  std::unique_ptr<Engine> make_engine(std::unique_ptr<afxdp::Socket> socket,
                                      std::unique_ptr<requester::Requester> source);
  Status open_series();
  Status write_series();
  const requester::PfcSource *pfc = nullptr;

  Status prepare_replay();
  Status prepare_pfc();
  Status prepare_flows();
  Status try_live();
};

namespace {

Error no_speed() {
  return {"the driver does not report the line rate", "give a rate in gbit or mpps"};
}

constexpr uint64_t kDrainNs = 10'000'000'000; // to complete messages that began before the end
constexpr size_t kMostSamples = 10'000'000;   // of a queue: 320 MB
constexpr uint64_t kLinger = 100'000'000;     // ns: to receive the answers to the last packets

Error in_flow(const Flow &flow, size_t number, const Error &error) {
  const std::string which =
      flow.name.empty() ? fmt::format("flow {}", number + 1) : fmt::format("flow {}", flow.name);
  return {fmt::format("{}: {}", which, error.message), error.hint};
}

// Fills in the addresses of flows. Resolves the MAC of each destination once.
class Resolver {
public:
  explicit Resolver(const PortFacts &port) : port_(port) {}

  Status complete(Flow &flow) {
    flow.path.src_mac = flow.src_mac.value_or(port_.mac);
    if (!flow.src_given) {
      const auto source = port_.address(packet::is_mapped(flow.path.dst));
      if (!source)
        return Error{"the port has no source address of that family", "src IP"};
      flow.path.src = *source;
      flow.src_given = true;
    }
    if (flow.dst_mac) {
      flow.path.dst_mac = *flow.dst_mac;
      return {};
    }
    if (packet::is_multicast(flow.path.dst)) {
      flow.path.dst_mac = packet::multicast_mac(flow.path.network, flow.path.dst);
      return {};
    }
    auto &known = known_[flow.path.dst];
    if (!known) {
      const auto mac =
          resolve(port_, flow.path.src, flow.path.dst, flow.path.tags, flow.path.src_mac);
      if (!mac)
        return mac.error();
      known = mac.get();
    }
    flow.path.dst_mac = *known;
    return {};
  }

private:
  const PortFacts &port_;
  std::map<packet::Address, std::optional<packet::Mac>> known_;
};

// Seeds of flows without one: random, so that runs differ, but derived from the seed of the report,
// so that a run can be repeated.
Status draw_seeds(SendRequest &request) {
  while (!request.seed)
    request.seed = static_cast<decltype(request.seed)>(XR_TRY(random_seed()));
  uint64_t next = request.seed;
  for (Flow &flow : request.flows)
    if (!flow.seed)
      flow.seed = next++;
  return {};
}

// An answer is identified only by its source address and destination QPN, so two flows must not
// have both in common.
Status check_qps(const std::vector<Flow> &flows) {
  std::map<std::pair<packet::Address, uint32_t>, size_t> owners;
  for (size_t i = 0; i < flows.size(); i++)
    for (uint32_t k = 0; k < flows[i].qps; k++) {
      const auto [owner, fresh] = owners.try_emplace({flows[i].path.dst, flows[i].own_qp(k)}, i);
      if (!fresh)
        return in_flow(flows[i], i,
                       {fmt::format("flow {} already uses QP {:#x} towards {}", owner->second + 1,
                                    flows[i].own_qp(k), parse::address_text(flows[i].path.dst)),
                        "another qp N, or another src-qp N for the same qp N"});
    }
  return {};
}

Error no_destination() { return {"the destination is missing", "dst IP"}; }

// Checks a flow whose addresses are filled in.
Status check(Flow &flow, const SendRequest &request, const PortFacts &port) {
  if (auto fits = flow::fit_frame_size(flow); !fits)
    return fits;
  if (auto sound = flow::check_flow(flow, port.mtu); !sound)
    return sound;
  if (request.reliable)
    if (auto sound = flow::check_reliable(flow); !sound)
      return sound;
  if (request.cm)
    if (auto sound = requester::check_cm(flow); !sound)
      return sound;
  const bool percent = flow.pacing.rate.kind == congestion::Rate::Kind::Percent ||
                       flow.control.rate.kind == congestion::Rate::Kind::Percent ||
                       request.rate.kind == congestion::Rate::Kind::Percent;
  if (percent && !port.line_bits)
    return no_speed();
  if (auto sound = check_line(flow.control, port.line_bits); !sound)
    return sound;
  if (flow.control.needs() && !request.reliable)
    return Error{fmt::format("cc {} needs the RTTs of ACKs", flow.control.word()),
                 "--reliable, or cc dcqcn"};
  if (flow.control.needs() & XDP_ROCE_NEEDS_HOPS)
    return Error{fmt::format("cc {} needs what each hop says of itself (INT), which RoCEv2 frames "
                             "do not carry",
                             flow.control.word()),
                 "xdp-roce run simulates it; on a wire: cc dcqcn, timely or swift"};
  if (flow.control.window.kind == congestion::Window::Kind::Bdp && !flow.control.path.base_rtt_ns)
    return Error{"window bdp: the RTT without queues is not known on a wire",
                 "window 64k: rate x RTT in bytes"};
  return {};
}

Status complete(SendRequest &request, const PortFacts &port) {
  Resolver resolver(port);
  if (auto done = draw_seeds(request); !done)
    return done;
  for (size_t i = 0; i < request.flows.size(); i++) {
    Flow &flow = request.flows[i];
    if (!flow.dst_given)
      return in_flow(flow, i, no_destination());
    if (auto done = resolver.complete(flow); !done)
      return in_flow(flow, i, done.error());
    flow.path.dst_port = request.attach.udp_port;
    if (flow.control.needs() & XDP_ROCE_NEEDS_EVERY_ACK && !flow.ack_every)
      flow.ack_every = 1;
    if (auto sound = check(flow, request, port); !sound)
      return in_flow(flow, i, sound.error());
  }
  if (request.verify)
    if (auto prepared = requester::prepare_verify(request.flows, request.verify_memory); !prepared)
      return prepared;
  return request.reliable || request.cm ? check_qps(request.flows) : Status{};
}

// A port that no flow is too large or too fast for.
PortFacts any_port() {
  PortFacts port;
  port.mtu = UINT16_MAX;
  port.line_bits = UINT64_MAX;
  return port;
}

// Takes an address of the destination's family as the source, where none is given.
Status check_on_any_port(Flow flow, size_t number, const SendRequest &request) {
  if (!flow.dst_given)
    return in_flow(flow, number, no_destination());
  if (!flow.src_given)
    flow.path.src =
        parse::address(packet::is_mapped(flow.path.dst) ? "192.0.2.1" : "2001:db8::1").get();
  const Status sound = check(flow, request, any_port());
  return sound ? sound : in_flow(flow, number, sound.error());
}

Status check_cm_queues(const SendRequest &request) {
  if (request.cm && request.queues.count != 1)
    return Error{"RDMA CM's answers may come to any queue", "--cm with --queues 1"};
  return {};
}

uint64_t qps_of(const std::vector<Flow> &flows) {
  uint64_t sum = 0;
  for (const Flow &flow : flows)
    sum += flow.qps;
  return sum;
}

std::vector<packet::Address> sources_of(const std::vector<Flow> &flows) {
  std::set<packet::Address> all;
  for (const Flow &flow : flows)
    all.insert(flow.path.src);
  return {all.begin(), all.end()};
}

bool has_rates(const SendRequest &request) {
  return std::any_of(request.flows.begin(), request.flows.end(),
                     [](const Flow &flow) { return flow.control.is_dynamic(); });
}

// Congestion control needs the CNPs.
bool listens(const SendRequest &request) {
  return request.reliable || request.listen || request.cm || has_rates(request);
}

// Answers to another MAC, or neighbour solicitations for an IPv6 source address, do not reach the
// port by themselves.
bool sends_as_another(const std::vector<Flow> &flows, const PortFacts &port) {
  return std::any_of(flows.begin(), flows.end(), [&](const Flow &flow) {
    return flow.path.src_mac != port.mac || !packet::is_mapped(flow.path.src);
  });
}

std::string left_out(const ReplayFile &capture) {
  return fmt::format("{} {} left out: {} truncated, {} too long for the port",
                     counted(capture.cut + capture.too_long, "frame"),
                     verb(capture.cut + capture.too_long, "is", "are"), capture.cut,
                     capture.too_long);
}

} // namespace

std::unique_ptr<Engine> SendRun::State::make_engine(std::unique_ptr<afxdp::Socket> socket,
                                                    std::unique_ptr<requester::Requester> source) {
  if (!request.series.empty()) {
    auto sampler = std::make_unique<requester::RateSampler>(std::move(source), request.sample_ns,
                                                            request.top, kMostSamples);
    samplers.push_back(sampler.get());
    source = std::move(sampler);
  }
  requesters.push_back(source.get());
  return std::make_unique<Engine>(std::move(socket), std::move(source), request.attach.udp_port);
}

// Tried before anything is sent.
Status SendRun::State::open_series() {
  if (request.series.empty())
    return {};
  std::ofstream file(request.series);
  if (!file)
    return errno_error(errno, fmt::format("cannot write {}", request.series));
  return {};
}

// t_ns,kind,name,column,value: the form of an experiment's series.csv.
Status SendRun::State::write_series() {
  if (request.series.empty())
    return {};
  std::ofstream file(request.series);
  file << "t_ns,kind,name,column,value\n";
  uint64_t begin = UINT64_MAX;
  for (const requester::RateSampler *sampler : samplers)
    if (!sampler->samples().empty())
      begin = std::min(begin, sampler->samples().front().time);
  for (const requester::RateSampler *sampler : samplers)
    for (const requester::RateSample &sample : sampler->samples()) {
      const std::string start = fmt::format("{},qp,{:#x},", sample.time - begin, sample.qp);
      file << start << fmt::format("rate_bps,{:.0f}\n", sample.rate) << start
           << fmt::format("target_bps,{:.0f}\n", sample.target) << start
           << fmt::format("alpha,{:.6f}\n", sample.alpha);
    }
  file.flush();
  return file ? Status{} : errno_error(errno, fmt::format("cannot write {}", request.series));
}

Status SendRun::State::prepare_replay() {
  auto capture = load_replay_file(*request.replay, request.attach.udp_port,
                                  port.mtu + ROCE_ETH_LEN + ROCE_VLAN_LEN);
  if (!capture)
    return capture.error();
  if (request.replay->rate.kind == congestion::Rate::Kind::Percent && !port.line_bits)
    return no_speed();
  if (capture->cut + capture->too_long)
    notes.push_back(left_out(*capture));
  request.queues.count = 1;
  auto opened = sockets(request.queues);
  if (!opened)
    return opened.error();
  add_queue(make_engine(std::move(opened->front()),
                        std::make_unique<requester::ReplaySource>(
                            std::move(capture->bytes), std::move(capture->frames), *request.replay,
                            static_cast<double>(port.line_bits))),
            request.queues, 0);
  return {};
}

Status SendRun::State::prepare_pfc() {
  requester::Pfc &how = *request.pfc;
  how.src_mac = how.src_mac.value_or(port.mac);
  how.line_bits = how.line_bits ? how.line_bits : port.line_bits;
  if (auto done = requester::check_pfc(how); !done)
    return done;
  request.queues.count = 1;
  auto opened = sockets(request.queues);
  if (!opened)
    return opened.error();
  auto source = std::make_unique<requester::PfcSource>(how);
  pfc = source.get();
  auto engine = make_engine(std::move(opened->front()), std::move(source));
  engine->report_flushes();
  add_queue(std::move(engine), request.queues, 0);
  return {};
}

// Makes the workers, if live frames can do it. Error: they cannot, and nothing else was asked for.
Status SendRun::State::try_live() {
  if (request.engine == SendEngine::AfXdp)
    return {};
  auto engines = open_live(request, port);
  if (!engines && request.engine == SendEngine::Live)
    return engines.error();
  if (!engines) {
    engine_why = engines.error().message;
    return {};
  }
  engine_why = request.engine == SendEngine::Live
                   ? "asked for"
                   : "the flows need no answers and no frame differs in "
                     "more than QP, PSN and opcode";
  for (std::unique_ptr<LiveEngine> &engine : *engines) {
    if (live.empty() && !engine->why_slow().empty())
      engine_why +=
          fmt::format("; each call of the kernel takes some 25 ms: {}", engine->why_slow());
    live.push_back(engine.get());
    add(std::move(engine), true, {.queues = port.queues});
  }
  return {};
}

Status SendRun::State::prepare_flows() {
  std::vector<Flow> &flows = request.flows;
  if (flows.empty())
    return Error{"there is no flow", "dst IP qp N ..., --preset NAME or --file FLOWS.yaml"};
  if (auto done = complete(request, port); !done)
    return done;
  if (auto sound = check_cm_queues(request); !sound)
    return sound;
  for (const uint64_t run = clock_ns(CLOCK_TAI); Flow & flow : flows)
    flow.stamp_run = run;
  if (auto done = try_live(); !done || !live.empty())
    return done;
  // Limits the wait for a peer that does not answer.
  request.reliability.drain_ns = kDrainNs;
  // Answers are sent to the source addresses of the flows.
  const auto sources = sources_of(flows);
  const packet::Mac mac = flows.front().path.src_mac;
  if (listens(request))
    if (auto done = listen(request.attach, sources, mac, sends_as_another(flows, port)); !done)
      return done;
  if (listens(request) && request.obey_pfc)
    obey_pfc(request.pfc_line_bits);
  auto parts = divide(flows, request.queues.count);
  request.queues.count = static_cast<uint32_t>(parts.size());
  auto opened = XR_TRY(sockets(request.queues));
  for (size_t i = 0; i < parts.size(); i++) {
    const double part = static_cast<double>(qps_of(parts[i])) / static_cast<double>(qps_of(flows));
    auto engine =
        make_engine(std::move(opened[i]), make_source(request, port, std::move(parts[i]), part));
    if (steering)
      engine->answer_for(sources, mac);
    if (pauses) {
      engine->obey(*pauses);
      requesters.back()->obey(*pauses);
    }
    if (listens(request) && !request.reliable)
      engine->linger(kLinger);
    add_queue(std::move(engine), request.queues, i);
  }
  return {};
}

Status check_options(SendRequest request) {
  for (size_t i = 0; i < request.flows.size(); i++)
    if (auto sound = check_on_any_port(request.flows[i], i, request); !sound)
      return sound;
  if (request.verify)
    if (auto sound = requester::prepare_verify(request.flows, request.verify_memory); !sound)
      return sound;
  if (request.reliable || request.cm)
    if (auto sound = check_qps(request.flows); !sound)
      return sound;
  if (request.engine == SendEngine::Live)
    if (auto sound = check_live(request); !sound)
      return sound;
  if (request.engine == SendEngine::AfXdp && request.threads)
    return Error{"--threads: AF_XDP has a thread for each queue", "--queues N, or --engine live"};
  return check_cm_queues(request);
}

Result<SendRun> SendRun::prepare(SendRequest request) {
  auto state = std::make_unique<State>();
  XR_TRY(state->open({request.ifname, request.netns}, request.queues.cpus));
  state->request = std::move(request);
  XR_TRY(state->open_series());
  XR_TRY(state->request.replay ? state->prepare_replay()
         : state->request.pfc  ? state->prepare_pfc()
                               : state->prepare_flows());
  return SendRun(std::move(state));
}

SendRun::SendRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
SendRun::SendRun(SendRun &&) noexcept = default;
SendRun::~SendRun() = default;

const std::vector<std::string> &SendRun::notes() const { return state_->notes; }

Status SendRun::run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
                    const std::function<bool(const SendReport &)> &on_report) {
  const auto rates = [this](size_t i, const EngineCounts &engine, std::vector<QpRate> &qps) {
    if (state_->live.empty())
      state_->requesters[i]->qp_rates(engine.now_ns, qps);
  };
  Status done = state_->workers.run(
      stop, {{interval, [&] { return on_report(report(state_->request.interim_rates)); }},
             state_->publish_rates(has_rates(state_->request), false, state_->request.top, rates)});
  if (!state_->live.empty())
    state_->settle();
  state_->ended = true;
  return done;
}

namespace {

// If one source is endless or unlimited (0), so is the sum.
void add_amounts(SendReport &report, uint64_t expected, double asked, bool first) {
  report.expected = (first || report.expected) && expected ? report.expected + expected : 0;
  report.asked_pps = (first || report.asked_pps > 0) && asked > 0 ? report.asked_pps + asked : 0;
}

void add_source(SendReport &report, const requester::Requester &source, bool first) {
  requester::add(report.counts, source.counts());
  source.flow_losses(report.losses);
  if (const CmCounts *cm = source.cm())
    report.cm = *cm;
  if (const VerifyCounts *verified = source.verified()) {
    report.verified = report.verified.value_or(VerifyCounts{});
    report.verified->add(*verified);
  }
  report.done += source.over();
  report.finished = report.finished && source.done();
  add_amounts(report, source.expected(), source.asked_pps(), first);
}

// Only drivers that count redirected frames show what they did not take; frames of others may hide
// some.
uint64_t not_taken(const EngineCounts &engine) {
  const uint64_t counted = engine.port_sent;
  return counted && counted < engine.sent ? engine.sent - counted : 0;
}

void add_live(SendReport &report, const LiveEngine &engine, bool first) {
  const SendCounts counts = engine.counts();
  requester::add(report.counts, counts);
  report.done += counts.packets;
  report.finished = report.finished && engine.done();
  report.live_batch = engine.batch();
  add_amounts(report, engine.flow().packets_to_come(), engine.flow().asked_pps(), first);
}

} // namespace

SendReport SendRun::report(bool rates) {
  SendReport report;
  const SendRequest &request = state_->request;
  using enum SendReport::Kind;
  report.kind = request.replay ? Replay : request.pfc ? Pfc : request.reliable ? Reliable : Open;
  report.seed = request.seed;
  report.line_bits = state_->port.line_bits;
  report.finished = true;
  bool first = true;
  std::vector<QpRate> qps;
  report.live = !state_->live.empty();
  report.engine_why = state_->engine_why;
  state_->fill_report(report, [&](size_t i, const EngineCounts &engine) {
    if (report.live)
      return add_live(report, *state_->live[i], std::exchange(first, false));
    add_source(report, *state_->requesters[i], std::exchange(first, false));
    if (state_->pfc)
      report.pfc = state_->pfc->report();
    if (rates)
      state_->requesters[i]->qp_rates(engine.now_ns, qps);
  });
  if (report.live && state_->ended)
    report.not_taken = not_taken(report.engine);
  fill_rates(report, std::move(qps), request.top);
  for (const requester::RateSampler *sampler : state_->samplers)
    report.series_rows_dropped += sampler->dropped();
  return report;
}

Status SendRun::close() {
  const Status written = state_->write_series();
  const Status closed = state_->close();
  return written ? closed : written;
}

} // namespace xr::endpoint
