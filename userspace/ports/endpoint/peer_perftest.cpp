// SPDX-License-Identifier: Apache-2.0
#include "endpoint/peer_state.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "packet/message.h"
#include "parse/address.h"

namespace xr::endpoint {

using namespace std::chrono_literals;

namespace {

using peer::Bytes;
using peer::PerftestKey;
using peer::PerftestTest;
using Clock = std::chrono::steady_clock;

constexpr auto kRecord = 10s;    // a record that began is whole by then
constexpr auto kGoodbye = 200ms; // for what the other side still asks when a test is over
constexpr double kMib = 1 << 20;

PeerBandwidth bandwidth_of(const peer::PerftestReport &report) {
  return {report.size, report.iterations, report.peak, report.average, report.message_rate};
}

// `peak`: bytes a second.
peer::PerftestReport report_of(const peer::PerftestResult &result, uint64_t iterations,
                               double peak) {
  const double average = result.bytes_per_second();
  return {result.size, iterations, peak / kMib, average / kMib,
          result.size ? average / static_cast<double>(result.size) / 1e6 : 0};
}

} // namespace

PerftestKey PeerRun::State::own_key(const packet::Path &path, uint32_t qp) {
  const peer::PerftestPlan &plan = request.spec.plan;
  used.push_back(qp);
  return {.lid = 0,
          .out_reads = plan.client && plan.test && peer::is_answered(*plan.test) ? 16U : 1U,
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
  // The server of a test one way has nothing to report, and says what is in its memory.
  if (facts.their_report && (server || request.spec.plan.both_ways))
    test.theirs = bandwidth_of(*facts.their_report);
  if (result.ended_ns > result.begun_ns)
    test.seconds = static_cast<double>(result.ended_ns - result.begun_ns) / 1e9;
  const uint64_t messages = std::max(result.sent, result.arrived);
  test.bandwidth = {result.size, server ? messages : result.sent / std::max(1U, test.qps),
                    result.peak_bytes / kMib, result.bytes_per_second() / kMib,
                    test.seconds > 0 ? static_cast<double>(messages) / test.seconds / 1e6 : 0};
  test.latency = latency_of(result.latencies_us);
  // The other side of a server is gone when it has what it wanted.
  if (result.failed_qps && (!server || result.syndrome || !result.arrived))
    test.failure = nak_text(result.syndrome);
}

// The server.

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

Result<PeerReport> PeerRun::State::serve(Channel &channel, const packet::Address &from, bool cm) {
  peer::PerftestTraffic traffic(*qps, request.spec.plan);
  std::optional<packet::Path> path;
  bool running = false;
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
    return report_of(result, std::max(result.sent, result.arrived), result.bytes_per_second());
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
    if (silent > kPeerSilence && !running) {
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
  const auto seen = traffic.seen_test();
  if (seen)
    test.tool = fmt::format("perftest {}", *seen);
  // A latency of WRITEs has no exchange at its end.
  const bool latency_of_writes =
      seen == peer::kPerftestTests[static_cast<size_t>(PerftestTest::WriteLat)];
  if (test.failure.empty() && !cm && running && !server.done() && !latency_of_writes && !*stop)
    test.failure = "the client gave up before its end";
  return report(std::move(test));
}

// The client.

Status PeerRun::State::converse(peer::PerftestClient &client, Channel &channel) {
  Bytes have;
  call([&](uint64_t) { hub->attend(true); });
  while (!*stop) {
    const auto step = XR_TRY(client.next());
    if (!step)
      return {};
    XR_TRY(channel.write(step->say));
    const auto until = Clock::now() + kPeerSilence;
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
  std::vector<uint32_t> connected; // by RDMA CM
  std::unique_ptr<Channel> channel;
  Status failed;

  if (request.spec.cm) {
    path = XR_TRY(path_to(host));
    const uint32_t qp = XR_TRY(connect_cm(path, 1, ROCE_RC)).front();
    call([&](uint64_t) { hub->keep(qp, 256); });
    channel = qp_channel(qp);
  } else {
    channel = XR_TRY(connect_host());
    // The QPs may have another family than the host's TCP.
    path.src = request.port.addresses.front().address;
    if (auto own = own_address(host))
      path.src = *own;
  }
  gid = parse::address_text(path.src);

  peer::PerftestClient::Calls calls;
  calls.make = [&](uint32_t number) {
    PerftestKey key;
    call([&](uint64_t) {
      if (request.spec.cm) {
        const station::QpEnds &made = qps->ends(connected[number]);
        key = own_key(path, made.qp);
        key.psn = made.psn;
      } else {
        key = own_key(path, qps->new_qp());
      }
    });
    if (peer::is_send(*plan.test))
      key.rkey = 0;
    return key;
  };
  calls.connect_cm = [&]() -> Status {
    connected = XR_TRY(connect_cm(path, request.spec.qps, plan.transport));
    return {};
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
  // -a: 2, 4, ... bytes; of UD up to the PMTU.
  constexpr uint32_t kSizes = 23;
  uint32_t sizes = 1;
  for (uint32_t i = 2; plan.all_sizes && i <= kSizes; i++)
    sizes += plan.transport != ROCE_UD || (uint64_t{1} << i) <= request.spec.pmtu;
  calls.run = [&](uint32_t size) -> Result<peer::PerftestReport> {
    XR_TRY(Status(failed));
    call([&](uint64_t now) {
      if (!size)
        traffic.use(used, talk->facts().theirs);
      if (plan.all_sizes)
        traffic.resize(uint64_t{2} << size);
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
    if (plan.all_sizes) {
      PeerTest row;
      describe(row, talk->facts(), result, false);
      test.sizes.push_back(row.bandwidth);
      if (row.latency)
        test.size_latencies.push_back(*row.latency);
    }
    return report_of(result, result.sent, result.peak_bytes);
  };
  peer::PerftestClient client(*plan.test, request.spec.qps, plan.both_ways, sizes,
                              request.spec.pmtu, request.spec.cm, std::move(calls));
  talk = &client;
  if (Status done = converse(client, *channel); !done)
    test.failure = done.error().message;
  else if (!failed)
    test.failure = failed.error().message;
  // Their messages may have come after our last one was over.
  call([&](uint64_t) {
    if (result.ended_ns)
      result.arrived = traffic.result().arrived;
    else
      result = traffic.result();
  });
  result.transport = plan.transport;
  describe(test, client.facts(), result, false);
  if (request.spec.cm)
    leave();
  return report(std::move(test));
}

} // namespace xr::endpoint
