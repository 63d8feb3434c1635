// SPDX-License-Identifier: Apache-2.0
#include "endpoint/peer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/random_seed.h"
#include "endpoint/peer_channel.h"
#include "host/netns.h"
#include "packet/message.h"
#include "parse/address.h"
#include "peer/hub.h"

namespace xr::endpoint {

using namespace std::chrono_literals;

namespace {

using peer::Bytes;
using peer::PerftestKey;
using peer::PerftestTest;
using Clock = std::chrono::steady_clock;

// Before its traffic a client says something every so often, and each record at once.
constexpr auto kSilence = 30s, kRecord = 10s;
constexpr auto kWait = 20ms;     // between two looks at what goes on
constexpr auto kGoodbye = 200ms; // for what the other side still asks when a test is over
constexpr double kMib = 1 << 20;

PeerBandwidth bandwidth_of(const peer::PerftestReport &report) {
  return {report.size, report.iterations, report.peak, report.average, report.message_rate};
}

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

} // namespace

struct PeerRun::State {
  PeerRequest request;
  std::unique_ptr<responder::Memory> memory;
  station::QueuePairs *qps = nullptr; // of the thread's engine
  std::unique_ptr<peer::Hub> hub;
  PortThread thread; // after what its source uses
  Fd listening;
  const std::atomic<bool> *stop = nullptr;
  RespondCounts before;       // of the test
  std::string gid;            // of the test
  std::vector<uint32_t> used; // QPs of the test

  // `use` gets the time.
  void call(const std::function<void(uint64_t)> &use) {
    thread.call([&](const EngineCounts &counts) { use(counts.now_ns); });
  }

  Result<packet::Address> own_address(const packet::Address &theirs) const;
  Result<packet::Path> path_to(const packet::Address &theirs) const;
  PerftestKey own_key(const packet::Path &path, uint32_t qp);
  void open(const peer::PerftestFacts &facts, const packet::Path &path,
            std::optional<uint8_t> transport);

  void begin_test();
  PeerReport report(PeerTest test);
  void describe(PeerTest &test, const peer::PerftestFacts &facts,
                const peer::PerftestResult &result, bool server);

  Result<Fd> connection(packet::Address &from);
  Result<PeerReport> serve(Channel &channel, const packet::Address &from,
                           std::optional<uint32_t> exchange);
  Result<Bytes> answer(peer::PerftestServer &server, std::span<const uint8_t> record,
                       std::optional<packet::Path> &path);
  Result<PeerReport> ask();
  Result<uint32_t> connect_cm(std::vector<station::QpEnds> all);
  Status converse(peer::PerftestClient &client, Channel &channel);
  std::unique_ptr<Channel> qp_channel(uint32_t qp);
};

namespace {

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

PerftestKey PeerRun::State::own_key(const packet::Path &path, uint32_t qp) {
  used.push_back(qp);
  return {.lid = 0,
          .out_reads = request.spec.plan.client && request.spec.plan.test &&
                               (*request.spec.plan.test == PerftestTest::ReadBw ||
                                *request.spec.plan.test == PerftestTest::ReadLat ||
                                *request.spec.plan.test == PerftestTest::AtomicBw ||
                                *request.spec.plan.test == PerftestTest::AtomicLat)
                           ? 16U
                           : 1U,
          .qp = qp,
          .psn = qps->random_psn(),
          .rkey = memory->spec().rkey,
          .va = memory->spec().va,
          .gid = path.src,
          .srq = 0};
}

void PeerRun::State::open(const peer::PerftestFacts &facts, const packet::Path &path,
                          std::optional<uint8_t> transport) {
  std::vector<station::QpEnds> all;
  for (size_t i = 0; i < facts.own.size(); i++) {
    station::QpEnds ends{.path = path,
                         .transport = transport,
                         .qp = facts.own[i].qp,
                         .peer_qp = facts.theirs[i].qp,
                         .psn = facts.own[i].psn,
                         .peer_psn = facts.theirs[i].psn,
                         .pmtu = facts.pmtu,
                         .rkey = facts.theirs[i].rkey};
    all.push_back(std::move(ends));
  }
  qps->open(all);
}

void PeerRun::State::begin_test() {
  used.clear();
  gid.clear();
  call([&](uint64_t) {
    hub->clear();
    qps->forget_sent();
    before = qps->responded();
  });
}

PeerReport PeerRun::State::report(PeerTest test) {
  PeerReport report;
  thread.session.fill_report(report, [&](size_t, const EngineCounts &) {
    test.sent_counts = qps->sent();
    test.respond_counts = since(qps->responded(), before);
    hub->clear();
  });
  report.gid = gid;
  report.test = std::move(test);
  return report;
}

void PeerRun::State::describe(PeerTest &test, const peer::PerftestFacts &facts,
                              const peer::PerftestResult &result, bool server) {
  test.version = facts.version;
  test.qps = static_cast<uint32_t>(facts.own.size());
  test.pmtu = facts.pmtu;
  test.size = result.size;
  test.sent = result.sent;
  test.arrived = result.arrived;
  if (result.transport)
    test.transport = std::string(packet::transport_name(*result.transport));
  if (facts.their_report)
    test.theirs = bandwidth_of(*facts.their_report);
  if (result.ended_ns > result.begun_ns)
    test.seconds = static_cast<double>(result.ended_ns - result.begun_ns) / 1e9;
  const uint64_t messages = std::max(result.sent, result.arrived);
  test.bandwidth = {result.size, server ? messages : result.sent / std::max(1U, test.qps),
                    result.peak_bytes / kMib, result.bytes_per_second() / kMib,
                    test.seconds > 0 ? static_cast<double>(messages) / test.seconds / 1e6 : 0};
  test.latency = latency_of(result.latencies_us);
  if (result.failed_qps)
    test.failure = nak_text(result.syndrome);
}

// The server.

Result<Fd> PeerRun::State::connection(packet::Address &from) { return accept_tcp(listening, from); }

// One record. The MAC of the other side is looked up before the QPs are opened.
Result<Bytes> PeerRun::State::answer(peer::PerftestServer &server, std::span<const uint8_t> record,
                                     std::optional<packet::Path> &path) {
  if (record.size() == peer::kKeyBytes && !path)
    if (auto key = peer::parse_key(record, false))
      path = XR_TRY(path_to(key->gid));
  Result<Bytes> answer = Bytes{};
  call([&](uint64_t) { answer = server.answer(record); });
  return answer;
}

// `exchange`: the QP of an exchange over RDMA CM; none: it is over TCP.
Result<PeerReport> PeerRun::State::serve(Channel &channel, const packet::Address &from,
                                         std::optional<uint32_t> exchange) {
  const bool cm = exchange.has_value();
  peer::PerftestTraffic traffic(*qps, request.spec.plan);
  std::optional<packet::Path> path;
  std::vector<uint32_t> own; // with RDMA CM
  bool running = false;
  const peer::PerftestFacts *facts = nullptr;
  uint32_t asked = 0;

  peer::PerftestServer::Calls calls;
  calls.make = [&](uint32_t, const PerftestKey &theirs) {
    if (!cm) {
      gid = parse::address_text(path->src);
      return own_key(*path, qps->new_qp());
    }
    for (const uint32_t qp : hub->connected())
      if (qps->has(qp) && qps->ends(qp).peer_qp == theirs.qp) {
        const station::QpEnds &ends = qps->ends(qp);
        gid = parse::address_text(ends.path.src);
        PerftestKey key = own_key(ends.path, qp);
        key.psn = ends.psn;
        return key;
      }
    return PerftestKey{};
  };
  calls.connect = [&](const peer::PerftestFacts &known) {
    facts = &known;
    if (!cm)
      open(known, *path, {});
    traffic.use(used, known.theirs);
    hub->traffic(&traffic);
  };
  calls.run = [&](uint32_t more) {
    running = true;
    asked = more + 1;
  };
  calls.report = [&] {
    const peer::PerftestResult result = traffic.result();
    return peer::PerftestReport{
        .size = result.size,
        .iterations = std::max(result.sent, result.arrived),
        .peak = result.bytes_per_second() / kMib,
        .average = result.bytes_per_second() / kMib,
        .message_rate =
            result.size ? result.bytes_per_second() / static_cast<double>(result.size) / 1e6 : 0};
  };
  peer::PerftestServer server(request.spec.pmtu, cm, std::move(calls));

  PeerTest test;
  test.tool = "perftest";
  test.peer = parse::address_text(from);
  test.cm = cm;
  Bytes have;
  call([&](uint64_t) { hub->attend(true); });
  auto heard = Clock::now();
  while (!*stop && !server.done()) {
    const size_t length = cm ? have.size() : server.record(have);
    if (length && have.size() >= length) {
      const std::span<const uint8_t> record = std::span(have).first(length);
      auto said = answer(server, record, path);
      if (!said) {
        test.failure = said.error().message;
        break;
      }
      have.erase(have.begin(), have.begin() + static_cast<ptrdiff_t>(length));
      XR_TRY(channel.write(*said));
      if (asked) // after the answer: the client may begin
        call([&](uint64_t now) {
          hub->attend(false);
          if (asked > 1 && !traffic.seen())
            traffic.begin(now, true);
          else if (asked == 1)
            traffic.begin(now, false);
        });
      asked = 0;
      continue;
    }
    const size_t had = have.size();
    Result<bool> open = channel.read(have);
    if (!open.ok() || !*open) {
      if (!running || !have.empty())
        test.failure = "the other side has closed its connection in the middle of the exchange";
      break;
    }
    if (have.size() > had)
      heard = Clock::now();
    const auto silent = Clock::now() - heard;
    if (silent > kSilence && !running) {
      test.failure = "the other side said nothing for 30 s";
      break;
    }
    if (silent > kRecord && !have.empty()) {
      test.failure = "the other side said a part of a record, and no more for 10 s";
      break;
    }
  }
  if (cm) // its DREQs are answered
    std::this_thread::sleep_for(kGoodbye);
  peer::PerftestResult result;
  call([&](uint64_t) {
    traffic.end();
    result = traffic.result();
  });
  describe(test, server.facts(), result, true);
  if (const auto verb = traffic.seen_test())
    test.tool = fmt::format("perftest {}", *verb);
  return report(std::move(test));
}

// The client.

// Connects QPs to the host; returns the first one.
Result<uint32_t> PeerRun::State::connect_cm(std::vector<station::QpEnds> all) {
  const uint32_t last = all.back().qp;
  call([&](uint64_t now) { qps->connect(now, all, packet::cm_service(request.spec.port)); });
  while (!*stop) {
    bool opened = false, refused = false;
    call([&](uint64_t) {
      opened = hub->opened(last);
      refused = hub->refused(last);
    });
    if (opened)
      return all.front().qp;
    if (refused)
      return Error{fmt::format("{} refuses the connection of RDMA CM, or does not answer",
                               parse::address_text(*request.spec.host)),
                   fmt::format("the tool's server with -R, on port {}", request.spec.port)};
    std::this_thread::sleep_for(kWait);
  }
  return Error{"interrupted"};
}

Status PeerRun::State::converse(peer::PerftestClient &client, Channel &channel) {
  Bytes have;
  call([&](uint64_t) { hub->attend(true); });
  while (!*stop) {
    const auto step = XR_TRY(client.next());
    if (!step)
      return {};
    XR_TRY(channel.write(step->say));
    const auto until = Clock::now() + kSilence;
    while (have.size() < step->await) {
      if (*stop)
        return Error{"interrupted"};
      if (!XR_TRY(channel.read(have)))
        return Error{"the server has closed its connection in the middle of the exchange",
                     "the same test there: ib_write_bw for write_bw"};
      if (Clock::now() > until)
        return Error{"the server said nothing for 30 s",
                     "the same test and options there: it waits for another step"};
    }
    if (step->await)
      XR_TRY(client.take(std::span(have).first(step->await)));
    have.erase(have.begin(), have.begin() + static_cast<ptrdiff_t>(step->await));
  }
  return Error{"interrupted"};
}

Result<PeerReport> PeerRun::State::ask() {
  const packet::Address &host = *request.spec.host;
  const peer::PerftestPlan &plan = request.spec.plan;
  peer::PerftestTraffic traffic(*qps, plan);
  packet::Path path;
  std::vector<station::QpEnds> connected; // by RDMA CM
  std::unique_ptr<Channel> channel;
  Status failed;

  const auto ends = [&] {
    station::QpEnds made{.path = path, .transport = plan.transport};
    made.pmtu = request.spec.pmtu;
    made.qp = qps->new_qp();
    return made;
  };
  if (request.spec.cm) {
    path = XR_TRY(path_to(host));
    station::QpEnds first;
    call([&](uint64_t) { first = ends(); });
    first.transport = ROCE_RC;
    const uint32_t qp = XR_TRY(connect_cm({first}));
    call([&](uint64_t) { hub->keep(qp, 256); });
    channel = qp_channel(qp);
  } else {
    const auto inside = XR_TRY(host::enter_netns(request.port.netns));
    channel = tcp_channel(XR_TRY(connect_tcp(host, request.spec.port, *stop)));
    path.src = XR_TRY(own_address(host));
  }
  gid = parse::address_text(path.src);

  peer::PerftestClient::Calls calls;
  calls.make = [&](uint32_t number) {
    PerftestKey key;
    call([&](uint64_t) {
      if (request.spec.cm) {
        const station::QpEnds &made = qps->ends(connected[number].qp);
        key = own_key(path, made.qp);
        key.psn = made.psn;
      } else {
        key = own_key(path, qps->new_qp());
      }
    });
    const bool sends = plan.test == PerftestTest::SendBw || plan.test == PerftestTest::SendLat;
    if (sends)
      key.rkey = 0;
    return key;
  };
  calls.connect_cm = [&] {
    call([&](uint64_t) {
      for (uint32_t i = 0; i < request.spec.qps; i++)
        connected.push_back(ends());
    });
    if (auto done = connect_cm(connected); !done)
      failed = done.error();
  };
  calls.connect = [&](const peer::PerftestFacts &facts) {
    if (!request.spec.cm) {
      auto to = path_to(facts.theirs.front().gid);
      if (!to) {
        failed = to.error();
        return;
      }
      path = *to;
    }
    call([&](uint64_t) {
      if (!request.spec.cm)
        open(facts, path, plan.transport);
      traffic.use(used, facts.theirs);
      hub->traffic(&traffic);
    });
  };
  PeerTest test;
  test.tool = fmt::format("perftest {}", peer::kPerftestTests[static_cast<size_t>(*plan.test)]);
  test.client = true;
  test.peer = parse::address_text(host);
  test.cm = request.spec.cm;
  peer::PerftestClient *talk = nullptr;
  peer::PerftestResult result;
  calls.run = [&]() -> Result<peer::PerftestReport> {
    XR_TRY(Status(failed));
    call([&](uint64_t now) {
      traffic.use(used, talk->facts().theirs);
      hub->attend(false);
      traffic.begin(now, plan.both_ways);
    });
    for (bool over = false; !over;) {
      if (*stop)
        return Error{"interrupted"};
      Bytes early;
      const bool open = XR_TRY(channel->read(early));
      call([&](uint64_t) {
        over = traffic.over();
        result = over ? traffic.result() : result;
      });
      if (!over && !open)
        return Error{"the server has closed its connection while messages were outstanding"};
    }
    if (result.failed_qps)
      return Error{nak_text(result.syndrome)};
    return peer::PerftestReport{.size = result.size,
                                .iterations = result.sent / request.spec.qps,
                                .peak = result.peak_bytes / kMib,
                                .average = result.bytes_per_second() / kMib,
                                .message_rate = result.bytes_per_second() /
                                                static_cast<double>(result.size) / 1e6};
  };
  peer::PerftestClient client(*plan.test, request.spec.qps, plan.both_ways, request.spec.pmtu,
                              request.spec.cm, std::move(calls));
  talk = &client;
  if (Status done = converse(client, *channel); !done)
    test.failure = done.error().message;
  else if (!failed)
    test.failure = failed.error().message;
  if (!result.ended_ns)
    call([&](uint64_t) { result = traffic.result(); });
  result.transport = plan.transport;
  describe(test, client.facts(), result, false);
  if (request.spec.cm) {
    call([&](uint64_t now) { qps->disconnect(now); });
    const auto until = Clock::now() + 1s;
    for (bool gone = false; !gone && Clock::now() < until; std::this_thread::sleep_for(kWait))
      call([&](uint64_t) { gone = qps->disconnected(); });
  }
  return report(std::move(test));
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
  request.port.responder.memory = state->memory.get();
  request.port.responder.pmtu = request.spec.pmtu;
  XR_TRY(state->thread.open(request.port, [&](const responder::ResponderOptions &responder,
                                              double line_bits, const packet::Pauses *pauses) {
    auto made = std::make_unique<station::QueuePairs>(
        station::QueuePairOptions{.responder = responder,
                                  .reliability = reliability,
                                  .faults = request.spec.faults,
                                  .line_bits = line_bits,
                                  .pauses = pauses,
                                  .seed = seed});
    state->qps = made.get();
    state->hub = std::make_unique<peer::Hub>(*made);
    return made;
  }));
  if (!request.spec.host) {
    const auto inside = XR_TRY(host::enter_netns(request.port.netns));
    const packet::Address *at = request.spec.listen ? &*request.spec.listen : nullptr;
    state->listening = XR_TRY(listen_tcp(at, request.spec.port));
  }
  state->request = std::move(request);
  state->request.spec.plan.memory = state->memory.get();
  return PeerRun(std::move(state));
}

PeerRun::PeerRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
PeerRun::PeerRun(PeerRun &&) noexcept = default;
PeerRun::~PeerRun() {
  if (state_)
    (void)state_->thread.close();
}

const std::vector<std::string> &PeerRun::notes() const { return state_->thread.session.notes; }

Status PeerRun::run(const std::atomic<bool> &stop,
                    const std::function<bool(const PeerReport &)> &on_test) {
  State &state = *state_;
  state.stop = &stop;
  state.begin_test();
  if (state.request.spec.host) {
    on_test(XR_TRY(state.ask()));
    return {};
  }
  const uint64_t service = packet::cm_service(state.request.spec.port);
  while (!stop) {
    if (const auto failure = state.thread.failure())
      return *failure;
    packet::Address from{};
    Fd fd = XR_TRY(state.connection(from));
    std::optional<uint32_t> exchange;
    std::unique_ptr<Channel> channel;
    if (fd) {
      channel = tcp_channel(std::move(fd));
    } else {
      state.call([&](uint64_t) {
        state.hub->listen(service);
        auto &connected = state.hub->connected();
        if (connected.empty())
          return;
        exchange = connected.front();
        connected.pop_front();
        from = state.qps->ends(*exchange).path.dst;
      });
      if (!exchange)
        continue;
      channel = state.qp_channel(*exchange);
    }
    if (!exchange)
      state.begin_test();
    auto report = state.serve(*channel, from, exchange);
    channel.reset();
    state.begin_test();
    if (!report)
      return report.error();
    if (!on_test(*report) || state.request.spec.once)
      return {};
  }
  return {};
}

Status PeerRun::close() { return state_->thread.close(); }

} // namespace xr::endpoint
