// SPDX-License-Identifier: Apache-2.0
#include "endpoint/peer_state.h"

#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "base/random_seed.h"
#include "host/netns.h"
#include "parse/address.h"

namespace xr::endpoint {

using namespace std::chrono_literals;
using peer::Bytes;

std::optional<PeerLatency> latency_of(const std::vector<double> &us) {
  if (us.empty())
    return {};
  PeerLatency latency{.count = us.size(), .min_us = us.front(), .max_us = us.back()};
  double sum = 0, squares = 0;
  for (const double each : us)
    sum += each;
  latency.average_us = sum / static_cast<double>(us.size());
  for (const double each : us)
    squares += (each - latency.average_us) * (each - latency.average_us);
  latency.stdev_us = std::sqrt(squares / static_cast<double>(us.size()));
  latency.typical_us = peer::percentile(us, 0.5);
  latency.p99_us = peer::percentile(us, 0.99);
  latency.p999_us = peer::percentile(us, 0.999);
  return latency;
}

std::string nak_text(uint8_t syndrome) {
  static constexpr std::string_view kCodes[] = {"PSN sequence error", "invalid request",
                                                "remote access error", "remote operational error",
                                                "invalid RD request"};
  if (!syndrome)
    return "no answer came to its requests, and its retries are used up";
  const unsigned code = syndrome & 0x1f;
  return fmt::format("the other side refused a request: {}",
                     code < std::size(kCodes) ? kCodes[code] : "an RNR NAK, too often");
}

namespace {

constexpr auto kNotYet = 5s; // that a server of RDMA CM may refuse

// SENDs over a QP, one for each record.
class QpChannel : public Channel {
public:
  using Call = std::function<void(const std::function<void(uint64_t)> &)>;
  QpChannel(station::QueuePairs &qps, peer::Hub &hub, uint32_t qp, Call call)
      : qps_(qps), hub_(hub), qp_(qp), call_(std::move(call)) {}

  Status write(const Bytes &bytes) override {
    bool left = false;
    call_([&](uint64_t now) {
      left = hub_.left(qp_);
      if (left)
        return;
      said_ = bytes; // one at a time: the other side answers each
      qps_.post(now, qp_,
                {.verb = packet::Verb::Send, .bytes = said_.size(), .data = said_.data()});
    });
    return left ? Status(Error{"the other side has disconnected"}) : Status{};
  }

  Result<bool> read(Bytes &to) override {
    bool left = false, some = false;
    call_([&](uint64_t) {
      left = hub_.left(qp_);
      auto &messages = hub_.messages(qp_);
      if (messages.empty())
        return;
      some = true;
      to.insert(to.end(), messages.front().begin(), messages.front().end());
      messages.pop_front();
    });
    if (!some && !left)
      std::this_thread::sleep_for(1ms);
    return some || !left;
  }

private:
  station::QueuePairs &qps_;
  peer::Hub &hub_;
  uint32_t qp_;
  Call call_;
  Bytes said_;
};

} // namespace

std::unique_ptr<Channel> PeerRun::State::qp_channel(uint32_t qp) {
  return std::make_unique<QpChannel>(*qps, *hub, qp, [this](const auto &use) { call(use); });
}

// The address that answers the other side: of the same family.
Result<packet::Address> PeerRun::State::own_address(const packet::Address &theirs) const {
  for (const AnsweringPort::Address &each : request.port.addresses)
    if (packet::is_mapped(each.address) == packet::is_mapped(theirs))
      return each.address;
  return Error{fmt::format("the other side's QP is at {}, and {} has no {} address",
                           parse::address_text(theirs), request.port.ifname,
                           packet::is_mapped(theirs) ? "IPv4" : "IPv6"),
               "another GID index there (-x), or --address here"};
}

Result<packet::Path> PeerRun::State::path_to(const packet::Address &theirs) const {
  packet::Path path;
  path.src = XR_TRY(own_address(theirs));
  path.dst = theirs;
  path.network = packet::is_mapped(theirs) ? packet::Network::Ipv4 : packet::Network::Ipv6;
  path.src_mac = thread.session.port.mac;
  path.dst_mac = XR_TRY(resolve(thread.session.port, path.src, theirs, {}, path.src_mac));
  return path;
}

Result<std::unique_ptr<Channel>> PeerRun::State::connect_host() const {
  const auto inside = XR_TRY(host::enter_netns(request.port.netns));
  return tcp_channel(XR_TRY(connect_tcp(*request.spec.host, request.spec.port, *stop)));
}

// A server may not listen yet: again for a while.
Result<std::vector<uint32_t>> PeerRun::State::connect_cm(const packet::Path &path, uint32_t count,
                                                         uint8_t transport) {
  std::vector<station::QpEnds> all(
      count, {.path = path, .transport = transport, .pmtu = request.spec.pmtu});
  std::vector<uint32_t> numbers;
  call([&](uint64_t) {
    for (station::QpEnds &ends : all)
      numbers.push_back(ends.qp = qps->new_qp());
  });
  const uint32_t last = numbers.back();
  const auto until = std::chrono::steady_clock::now() + kNotYet;
  bool again = true;
  while (!*stop) {
    bool opened = false, refused = false;
    call([&](uint64_t now) {
      if (again)
        qps->connect(now, all, packet::cm_service(request.spec.port));
      opened = hub->opened(last);
      refused = hub->refused(last);
      if (refused)
        hub->try_again(last);
    });
    if (opened)
      return numbers;
    again = refused;
    if (refused && std::chrono::steady_clock::now() > until)
      return Error{fmt::format("{} refuses the connection of RDMA CM, or does not answer",
                               parse::address_text(*request.spec.host)),
                   fmt::format("the tool's server with -R, on port {}", request.spec.port)};
    std::this_thread::sleep_for(refused ? 5 * kPeerWait : kPeerWait);
  }
  return Error{"interrupted"};
}

void PeerRun::State::leave() {
  call([&](uint64_t now) { qps->disconnect(now); });
  const auto until = std::chrono::steady_clock::now() + 1s;
  for (bool gone = false; !gone && std::chrono::steady_clock::now() < until;
       std::this_thread::sleep_for(kPeerWait))
    call([&](uint64_t) { gone = qps->disconnected(); });
}

void PeerRun::State::begin_test() {
  used.clear();
  gid.clear();
  call([&](uint64_t) {
    hub->clear();
    qps->forget_counts();
  });
}

PeerReport PeerRun::State::report(PeerTest test) {
  PeerReport report;
  thread.session.fill_report(report, [&](size_t, const EngineCounts &) {
    test.sent_counts = qps->sent();
    const station::Reaction reaction = qps->reaction();
    const auto since_fault = [&](uint64_t at) {
      const uint64_t from = reaction.first_fault_ns;
      return from && at > from ? static_cast<double>(at - from) / 1e6 : 0;
    };
    test.reaction = {.faults = reaction.faults,
                     .rounds = reaction.rounds,
                     .first_ms = since_fault(reaction.first_again_ns),
                     .last_ms = since_fault(reaction.last_again_ns)};
    test.respond_counts = since(qps->responded(), before);
    before = qps->responded();
    hub->clear();
  });
  report.gid = gid;
  report.test = std::move(test);
  return report;
}

Result<PeerRun> PeerRun::prepare(PeerRequest request) {
  auto state = std::make_unique<State>();
  const PortFacts facts = XR_TRY(read_port_facts({request.port.ifname, request.port.netns}));
  if (request.port.addresses.empty())
    for (const packet::Address &address : facts.addresses)
      request.port.addresses.push_back({address, {}});
  if (request.port.addresses.empty())
    return Error{"the port has no address, and none is given",
                 "ip address add 192.0.2.2/24 dev " + request.port.ifname + ", or --address IP"};
  const uint64_t seed = static_cast<uint64_t>(XR_TRY(random_seed()));
  state->memory = XR_TRY(responder::Memory::make(
      {.size = request.spec.memory, .va = 0x100000, .rkey = static_cast<uint32_t>(seed) | 1}));
  requester::Reliability reliability;
  reliability.timeout_code = request.spec.timeout_code;
  reliability.retries = request.spec.retries;
  reliability.rnr_retries = request.spec.rnr_retries;
  responder::ResponderOptions &responder = request.port.responder;
  responder.rnr_every = request.spec.rnr_every;
  responder.rnr_timer = request.spec.rnr_timer;
  responder.cnp_every = request.spec.cnp_every;
  responder.cnp = !request.spec.no_cnp;
  responder.cm_reject = request.spec.reject;
  responder.memory = state->memory.get();
  responder.pmtu = request.spec.pmtu;
  XR_TRY(state->thread.open(request.port, [&](const responder::ResponderOptions &responder,
                                              double line_bits, const packet::Pauses *pauses) {
    auto made = std::make_unique<station::QueuePairs>(
        station::QueuePairOptions{.responder = responder,
                                  .reliability = reliability,
                                  .faults = request.spec.faults,
                                  .answer_faults = request.spec.answer_faults,
                                  .receives = request.spec.receives.value_or(UINT64_MAX),
                                  .rkey = request.spec.rkey,
                                  .line_bits = line_bits,
                                  .pauses = pauses,
                                  .seed = seed});
    state->qps = made.get();
    state->hub = std::make_unique<peer::Hub>(*made);
    return made;
  }));
  const bool over_tcp =
      request.spec.tool == peer::Tool::Perftest || request.spec.tool == peer::Tool::Pingpong;
  if (!request.spec.host && over_tcp) {
    const auto inside = XR_TRY(host::enter_netns(request.port.netns));
    const packet::Address *at = request.spec.listen ? &*request.spec.listen : nullptr;
    state->listening = XR_TRY(listen_tcp(at, request.spec.port));
  }
  std::string gids;
  for (const AnsweringPort::Address &each : request.port.addresses)
    gids += (gids.empty() ? "" : ", ") + parse::address_text(each.address);
  state->thread.session.notes.push_back(fmt::format(
      "QPs are at {}: the other side's GID index (-x, -g) is that of its address in the "
      "same network",
      gids));
  state->request = std::move(request);
  state->request.spec.plan.memory = state->memory.get();
  return PeerRun(std::move(state));
}

PeerRun::PeerRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
PeerRun::PeerRun(PeerRun &&) noexcept = default;
PeerRun::~PeerRun() = default;

const std::vector<std::string> &PeerRun::notes() const { return state_->thread.session.notes; }

// A server's next test. nullopt: nobody came yet.
Result<std::optional<PeerReport>> PeerRun::State::next_test() {
  using peer::Tool;
  const Tool tool = request.spec.tool;
  if (tool != Tool::Perftest && tool != Tool::Pingpong) {
    const auto traffic = tool_traffic();
    return serve_cm(*traffic);
  }
  packet::Address from{};
  if (Fd fd = XR_TRY(accept_tcp(listening, from))) {
    const auto channel = tcp_channel(std::move(fd));
    begin_test();
    return std::optional(XR_TRY(tool == Tool::Pingpong ? serve_pingpong(*channel, from)
                                                       : serve(*channel, from, false)));
  }
  std::optional<uint32_t> exchange;
  call([&](uint64_t) {
    if (tool == Tool::Perftest)
      hub->listen(packet::cm_service(request.spec.port), true);
    auto &connected = hub->connected();
    if (connected.empty())
      return;
    exchange = connected.front();
    connected.pop_front();
    from = qps->ends(*exchange).path.dst;
  });
  if (!exchange)
    return std::optional<PeerReport>();
  return std::optional(XR_TRY(serve(*qp_channel(*exchange), from, true)));
}

Status PeerRun::run(const std::atomic<bool> &stop,
                    const std::function<bool(const PeerReport &)> &on_test) {
  State &state = *state_;
  const peer::PeerSpec &spec = state.request.spec;
  state.stop = &stop;
  state.begin_test();
  if (spec.host) {
    on_test(XR_TRY(spec.tool == peer::Tool::Perftest ? state.ask() : state.ask_tool()));
    return {};
  }
  while (!stop) {
    if (const auto failure = state.thread.failure())
      return *failure;
    const auto report = XR_TRY(state.next_test());
    if (!report)
      continue;
    state.begin_test();
    if (!on_test(*report) || spec.once)
      return {};
  }
  return {};
}

Status PeerRun::close() { return state_->thread.close(); }

} // namespace xr::endpoint
