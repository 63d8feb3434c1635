// SPDX-License-Identifier: Apache-2.0
#include "endpoint/send.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <sys/random.h>

#include "endpoint/capture.h"
#include "parse/address.h"
#include "requester/open.h"

namespace xr::endpoint {

using flow::Flow;

struct SendRun::State : Session {
  SendRequest request;

  Status prepare_replay();
  Status prepare_flows();
};

namespace {

Error no_speed() {
  return {"the driver does not tell the speed of the line", "rate in gbit or mpps"};
}

constexpr uint64_t kDrainNs =
    10'000'000'000;                       // for messages that have begun when their time is over
constexpr uint64_t kLinger = 100'000'000; // for the answers to what was sent last

Error in_flow(const Flow &flow, size_t number, const Error &error) {
  const std::string which =
      flow.name.empty() ? fmt::format("flow {}", number + 1) : fmt::format("flow {}", flow.name);
  return {fmt::format("{}: {}", which, error.message), error.hint};
}

// Asks for the MAC of each address once, however many flows go there.
class Resolver {
public:
  explicit Resolver(const Port &port) : port_(port) {}

  Status complete(Flow &flow) {
    flow.path.src_mac = flow.src_mac.value_or(port_.mac);
    if (!flow.src_given) {
      const auto source = port_.address(packet::is_mapped(flow.path.dst));
      if (!source)
        return Error{"the port has no address of that family to send from", "src IP"};
      flow.path.src = *source;
      flow.src_given = true;
    }
    if (flow.dst_mac) {
      flow.path.dst_mac = *flow.dst_mac;
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
  const Port &port_;
  std::map<packet::Address, std::optional<packet::Mac>> known_;
};

// Flows that have no seed of their own: two runs are to differ, and can be repeated all the same.
Status draw_seeds(SendRequest &request) {
  while (!request.seed)
    if (getrandom(&request.seed, sizeof(request.seed), 0) < 0)
      return errno_error(errno, "no random number to be had");
  uint64_t next = request.seed;
  for (Flow &flow : request.flows)
    if (!flow.seed)
      flow.seed = next++;
  return {};
}

// Answers tell nothing but the address they come from and the QPN they go to.
Status check_qps(const std::vector<Flow> &flows) {
  std::map<std::pair<packet::Address, uint32_t>, size_t> owners;
  for (size_t i = 0; i < flows.size(); i++)
    for (uint32_t k = 0; k < flows[i].qps; k++) {
      const auto [owner, fresh] = owners.try_emplace({flows[i].path.dst, flows[i].own_qp(k)}, i);
      if (!fresh)
        return in_flow(
            flows[i], i,
            {fmt::format("its QP {:#x} is flow {}'s towards {} already", flows[i].own_qp(k),
                         owner->second + 1, parse::address_text(flows[i].path.dst)),
             "qp N, or src-qp N where the peer's is to be the same"});
    }
  return {};
}

// With its addresses in it.
Status check(Flow &flow, const SendRequest &request, const Port &port) {
  if (auto fits = flow::fit_frame_size(flow); !fits)
    return fits;
  if (auto sound = flow::check_flow(flow, port.mtu); !sound)
    return sound;
  if (request.reliable && flow.transport != ROCE_RC && flow.transport != ROCE_XRC)
    return Error{"only RC and XRC are reliable", "transport rc, or without --reliable"};
  const bool percent = flow.pacing.rate.kind == congestion::Rate::Kind::Percent ||
                       flow.control.rate.kind == congestion::Rate::Kind::Percent ||
                       request.rate.kind == congestion::Rate::Kind::Percent;
  if (percent && !port.line_bits)
    return no_speed();
  return {};
}

Status complete(SendRequest &request, const Port &port) {
  Resolver resolver(port);
  if (auto done = draw_seeds(request); !done)
    return done;
  for (size_t i = 0; i < request.flows.size(); i++) {
    Flow &flow = request.flows[i];
    if (!flow.dst_given)
      return in_flow(flow, i, {"whom to send to is missing", "dst IP"});
    if (auto done = resolver.complete(flow); !done)
      return in_flow(flow, i, done.error());
    flow.path.dst_port = request.attach.udp_port;
    if (auto sound = check(flow, request, port); !sound)
      return in_flow(flow, i, sound.error());
  }
  return request.reliable ? check_qps(request.flows) : Status{};
}

void scale(congestion::Rate &rate, double part) { rate.value *= part; }

// Its packets are numbered, or come in bursts, all of its QPs together.
bool is_one(const Flow &flow) {
  return !flow.faults.empty() || flow.pacing.shape == congestion::Pacing::Shape::Burst;
}

// Each queue has its part of the QPs, and of the rate: a flow of several QPs is divided, one with
// fewer is on one queue.
std::vector<std::vector<Flow>> divide(const std::vector<Flow> &flows, uint32_t queues) {
  std::vector<std::vector<Flow>> lanes(queues);
  uint32_t next = 0;
  for (const Flow &flow : flows) {
    const uint32_t parts = is_one(flow) ? 1 : std::min(queues, flow.qps);
    for (uint32_t part = 0, from = 0; part < parts; part++) {
      const auto to = static_cast<uint32_t>(uint64_t{flow.qps} * (part + 1) / parts);
      Flow one = flow;
      one.qp = flow.dest_qp(from);
      one.src_qp = flow.own_qp(from);
      one.qps = to - from;
      one.first_index = from;
      scale(one.pacing.rate, static_cast<double>(one.qps) / flow.qps);
      lanes[next++ % queues].push_back(std::move(one));
      from = to;
    }
  }
  std::erase_if(lanes, [](const std::vector<Flow> &lane) { return lane.empty(); });
  return lanes;
}

uint64_t qps_of(const std::vector<Flow> &flows) {
  uint64_t sum = 0;
  for (const Flow &flow : flows)
    sum += flow.qps;
  return sum;
}

std::unique_ptr<requester::Requester> make_source(const SendRequest &request, const Port &port,
                                                  std::vector<Flow> flows, double part) {
  congestion::Rate total = request.rate;
  scale(total, part);
  const auto line = static_cast<double>(port.line_bits);
  if (request.reliable)
    return std::make_unique<requester::ReliableSource>(std::move(flows), total, line,
                                                       request.reliability);
  return std::make_unique<requester::OpenSource>(std::move(flows), total, line);
}

std::vector<packet::Address> sources_of(const std::vector<Flow> &flows) {
  std::set<packet::Address> all;
  for (const Flow &flow : flows)
    all.insert(flow.path.src);
  return {all.begin(), all.end()};
}

bool listens(const SendRequest &request) { return request.reliable || request.listen; }

// Answers to them would not come in by themselves.
bool is_stranger(const std::vector<Flow> &flows, const Port &port) {
  return std::any_of(flows.begin(), flows.end(), [&](const Flow &flow) {
    return flow.path.src_mac != port.mac || !packet::is_mapped(flow.path.src);
  });
}

std::string left_out(const Capture &capture) {
  return fmt::format("{} frames are left out: {} not whole, {} too long for the port",
                     capture.cut + capture.too_long, capture.cut, capture.too_long);
}

} // namespace

Status SendRun::State::prepare_replay() {
  auto capture = load_capture(*request.replay, request.attach.udp_port,
                              port.mtu + ROCE_ETH_LEN + ROCE_VLAN_LEN);
  if (!capture)
    return capture.error();
  if (request.replay->rate.kind == congestion::Rate::Kind::Percent && !port.line_bits)
    return no_speed();
  if (capture->cut + capture->too_long)
    notes.push_back(left_out(*capture));
  request.lanes.count = 1;
  auto opened = sockets(request.lanes);
  if (!opened)
    return opened.error();
  crew.add(std::make_unique<Engine>(std::move(opened->front()),
                                    std::make_unique<requester::ReplaySource>(
                                        std::move(capture->bytes), std::move(capture->frames),
                                        *request.replay, static_cast<double>(port.line_bits)),
                                    request.attach.udp_port));
  return {};
}

Status SendRun::State::prepare_flows() {
  std::vector<Flow> &all = request.flows;
  if (all.empty())
    return Error{"there is no flow", "dst IP qp N ..., --preset NAME or --file FLOWS.yaml"};
  if (auto done = complete(request, port); !done)
    return done;
  // A peer that does not answer keeps nobody for ever.
  request.reliability.drain_ns = kDrainNs;
  // Answers come to the addresses that the flows send from.
  const auto sources = sources_of(all);
  const packet::Mac mac = all.front().path.src_mac;
  if (listens(request))
    if (auto done = listen(request.attach, sources, mac, is_stranger(all, port)); !done)
      return done;
  auto parts = divide(all, request.lanes.count);
  request.lanes.count = static_cast<uint32_t>(parts.size());
  auto opened = sockets(request.lanes);
  if (!opened)
    return opened.error();
  for (size_t i = 0; i < parts.size(); i++) {
    const double part = static_cast<double>(qps_of(parts[i])) / static_cast<double>(qps_of(all));
    auto engine = std::make_unique<Engine>(std::move((*opened)[i]),
                                           make_source(request, port, std::move(parts[i]), part),
                                           request.attach.udp_port);
    if (steering)
      engine->answer_for(sources, mac);
    if (request.listen && !request.reliable)
      engine->linger(kLinger);
    crew.add(std::move(engine));
  }
  return {};
}

Result<SendRun> SendRun::prepare(SendRequest request) {
  auto state = std::make_unique<State>();
  if (auto done = state->open(request.ifname, request.netns); !done)
    return done.error();
  state->request = std::move(request);
  auto done = state->request.replay ? state->prepare_replay() : state->prepare_flows();
  if (!done)
    return done.error();
  return SendRun(std::move(state));
}

SendRun::SendRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
SendRun::SendRun(SendRun &&) noexcept = default;
SendRun::~SendRun() = default;

const std::vector<std::string> &SendRun::notes() const { return state_->notes; }

Status SendRun::run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
                    const std::function<bool(const SendReport &)> &tell) {
  return state_->crew.run(stop, interval, [&] { return tell(report()); });
}

namespace {

// One of them without end, or without a limit, is enough for all of them to have none.
void add_source(SendReport &report, const requester::Requester &source, bool first) {
  const uint64_t expected = source.expected();
  const double asked = source.asked_pps();
  requester::add(report.counts, source.counts());
  report.done += source.over();
  report.expected = (first || report.expected) && expected ? report.expected + expected : 0;
  report.asked_pps = (first || report.asked_pps > 0) && asked > 0 ? report.asked_pps + asked : 0;
  report.finished = report.finished && source.done();
}

} // namespace

SendReport SendRun::report() {
  SendReport report;
  const SendRequest &request = state_->request;
  report.kind = request.replay ? "replay" : request.reliable ? "reliable" : "open";
  report.seed = request.seed;
  report.line_bits = state_->port.line_bits;
  report.finished = true;
  bool first = true;
  state_->look(report, [&](packet::Source &source) {
    add_source(report, static_cast<requester::Requester &>(source), std::exchange(first, false));
  });
  return report;
}

Status SendRun::close() { return state_->close(); }

} // namespace xr::endpoint
