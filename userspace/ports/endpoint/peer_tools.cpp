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
using peer::Tool;
using Clock = std::chrono::steady_clock;

constexpr uint8_t kPingpongFill = 0x7b;
constexpr uint64_t kUcmatoseMessages = 10;
constexpr size_t kDoneBytes = 5; // "done" and NUL

std::string tool_name(const peer::PeerSpec &spec) {
  std::string name(peer::kTools[static_cast<size_t>(spec.tool)]);
  if (spec.tool != Tool::Pingpong)
    return name;
  return name + " " + (spec.srq ? "srq" : std::string(packet::transport_name(spec.plan.transport)));
}

// What a side of a pingpong says; of 256 lines the others have no QP.
Bytes lines_of(const std::vector<PerftestKey> &own, size_t lines) {
  Bytes said;
  for (size_t i = 0; i < lines; i++) {
    const Bytes line = peer::pingpong_bytes(i < own.size() ? own[i] : PerftestKey{});
    said.insert(said.end(), line.begin(), line.end());
  }
  return said;
}

} // namespace

std::unique_ptr<peer::ToolTraffic> PeerRun::State::tool_traffic() {
  const peer::PeerSpec &spec = request.spec;
  const peer::PerftestPlan &plan = spec.plan;
  if (spec.tool == Tool::Rping)
    return std::make_unique<peer::RpingTraffic>(*qps,
                                                peer::RpingPlan{.client = plan.client,
                                                                .size = plan.size.value_or(64),
                                                                .rounds = plan.iterations,
                                                                .memory = memory.get()});
  peer::EchoPlan echo{.client = plan.client, .size = plan.size.value_or(16)};
  switch (spec.tool) {
  case Tool::Pingpong:
    echo.fill = kPingpongFill;
    echo.checks = !spec.srq; // it sends and receives in one buffer
    echo.first = plan.client;
    echo.most = echo.awaits = plan.iterations;
    break;
  case Tool::Ucmatose: // the server sends first
    echo.first = plan.client ? 0 : kUcmatoseMessages;
    echo.size = plan.size.value_or(100);
    echo.answers = plan.client;
    echo.leaves = !plan.client;
    echo.most = echo.awaits = plan.client ? plan.iterations * spec.qps : 0;
    break;
  case Tool::Cmtime: // no message
    echo.answers = false;
    break;
  default: // rdma_client, rdma_server: one message each way
    echo.first = plan.client;
    echo.most = echo.awaits = plan.client;
  }
  return std::make_unique<peer::EchoTraffic>(*qps, echo);
}

PeerReport PeerRun::State::tool_report(const peer::ToolTraffic &traffic, const std::string &from,
                                       uint32_t count, std::string failure) {
  PeerTest test;
  peer::ToolResult result;
  call([&](uint64_t) { result = traffic.result(); });
  test.tool = tool_name(request.spec);
  test.client = request.spec.plan.client;
  test.peer = from;
  test.cm = request.spec.tool != Tool::Pingpong;
  test.transport = std::string(packet::transport_name(request.spec.plan.transport));
  test.qps = count;
  test.pmtu = request.spec.pmtu;
  test.size = result.size;
  test.sent = result.sent;
  test.arrived = result.arrived;
  test.bad_data = result.bad_data;
  test.seconds = static_cast<double>(result.ended_ns - result.begun_ns) / 1e9;
  std::ranges::sort(result.turns_us);
  test.latency = latency_of(result.turns_us);
  if (result.failed_qps)
    test.failure = nak_text(result.syndrome);
  else if (!failure.empty())
    test.failure = std::move(failure);
  else if (result.bad_data)
    test.failure = "what arrived is not what the tool sends";
  return report(std::move(test));
}

// Until the traffic is over.
Status PeerRun::State::await(const peer::ToolTraffic &traffic) {
  while (!*stop) {
    bool over = false;
    call([&](uint64_t) { over = traffic.over(); });
    if (over)
      return {};
    if (const auto failure = thread.failure())
      return *failure;
    std::this_thread::sleep_for(kPeerWait);
  }
  return Error{"interrupted"};
}

// Reads until so many bytes are there.
Status PeerRun::State::read_lines(Channel &channel, Bytes &have, size_t bytes) {
  const auto until = Clock::now() + kPeerSilence;
  while (have.size() < bytes) {
    if (*stop)
      return Error{"interrupted"};
    if (!XR_TRY(channel.read(have)))
      return Error{"the other side has closed its connection in the middle of the exchange",
                   "the same pingpong on both sides"};
    if (Clock::now() > until)
      return Error{"the other side did not say its QPs for 30 s", "the same pingpong there"};
  }
  return {};
}

// The client says its QPs, the server answers with as many, and the client says that it has them.
Result<PeerReport> PeerRun::State::serve_pingpong(Channel &channel, const packet::Address &from) {
  const auto traffic = tool_traffic();
  const std::string who = parse::address_text(from);
  const size_t lines = request.spec.srq ? peer::kSrqLines : 1;
  peer::PerftestFacts facts;
  facts.pmtu = request.spec.pmtu;
  Bytes have;
  const auto exchange = [&]() -> Status {
    XR_TRY(read_lines(channel, have, lines * peer::kPingpongBytes));
    for (size_t i = 0; i < lines; i++) {
      const auto line = std::span(have).subspan(i * peer::kPingpongBytes, peer::kPingpongBytes);
      const PerftestKey theirs = XR_TRY(peer::parse_pingpong(line));
      if (theirs.qp) // of 256 lines, those of the QPs that it has
        facts.theirs.push_back(theirs);
    }
    if (facts.theirs.empty())
      return Error{"the other side has no QP", "ibv_rc_pingpong -g 1"};
    const packet::Path path = XR_TRY(path_to(facts.theirs.front().gid));
    gid = parse::address_text(path.src);
    call([&](uint64_t) {
      for (size_t i = 0; i < facts.theirs.size(); i++)
        facts.own.push_back(own_key(path, qps->new_qp()));
      open(facts, path, request.spec.plan.transport);
      hub->traffic(traffic.get());
      traffic->begin(0, used);
    });
    XR_TRY(channel.write(lines_of(facts.own, lines)));
    have.erase(have.begin(), have.begin() + static_cast<ptrdiff_t>(lines * peer::kPingpongBytes));
    return read_lines(channel, have, kDoneBytes);
  };
  Status done = exchange();
  // A pingpong says nothing at its end: it is over when nothing has come for a while.
  uint64_t seen = 0;
  auto changed = Clock::now();
  while (done && !*stop && Clock::now() - changed < (seen ? 1s : 10s)) {
    std::this_thread::sleep_for(kPeerWait);
    call([&](uint64_t) {
      if (traffic->result().arrived != seen)
        changed = Clock::now();
      seen = traffic->result().arrived;
    });
  }
  std::string failure = done ? seen ? "" : "no message came" : done.error().message;
  return tool_report(*traffic, who, static_cast<uint32_t>(facts.own.size()), std::move(failure));
}

// A tool that comes by RDMA CM, and disconnects.
Result<std::optional<PeerReport>> PeerRun::State::serve_cm(peer::ToolTraffic &traffic) {
  std::string from;
  uint32_t count = 0;
  call([&](uint64_t) {
    hub->traffic(&traffic);
    hub->listen(packet::cm_service(request.spec.port));
  });
  Status done;
  bool leaving = false;
  auto left = Clock::now();
  for (bool over = false; !over;) {
    call([&](uint64_t now) {
      over = traffic.over() || (leaving && (qps->disconnected() || Clock::now() - left > 2s));
      if (traffic.leaves() && !leaving) {
        leaving = true;
        left = Clock::now();
        qps->disconnect(now);
      }
      auto &connected = hub->connected();
      for (; !connected.empty(); connected.pop_front(), count++)
        if (qps->has(connected.front()) && from.empty()) {
          const packet::Path &path = qps->ends(connected.front()).path;
          from = parse::address_text(path.dst);
          gid = parse::address_text(path.src);
        }
    });
    if (*stop && !over) {
      done = Error{"interrupted"};
      break;
    }
    if (const auto failure = thread.failure())
      return *failure;
    std::this_thread::sleep_for(kPeerWait);
  }
  if (!done && !count)
    return std::optional<PeerReport>();
  return std::optional(tool_report(traffic, from, count, done ? "" : done.error().message));
}

Result<PeerReport> PeerRun::State::ask_tool() {
  const peer::PeerSpec &spec = request.spec;
  const auto traffic = tool_traffic();
  const auto run = [&]() -> Status {
    if (spec.tool == Tool::Pingpong) {
      const auto channel = XR_TRY(connect_host());
      packet::Path path;
      path.src = XR_TRY(own_address(*spec.host));
      peer::PerftestFacts facts;
      facts.pmtu = spec.pmtu;
      call([&](uint64_t) {
        for (uint32_t i = 0; i < spec.qps; i++)
          facts.own.push_back(own_key(path, qps->new_qp()));
      });
      Bytes have;
      const size_t lines = spec.srq ? peer::kSrqLines : 1;
      XR_TRY(channel->write(lines_of(facts.own, lines)));
      XR_TRY(read_lines(*channel, have, lines * peer::kPingpongBytes));
      for (size_t i = 0; i < facts.own.size(); i++)
        facts.theirs.push_back(XR_TRY(peer::parse_pingpong(
            std::span(have).subspan(i * peer::kPingpongBytes, peer::kPingpongBytes))));
      path = XR_TRY(path_to(facts.theirs.front().gid));
      gid = parse::address_text(path.src);
      XR_TRY(channel->write({'d', 'o', 'n', 'e', 0}));
      call([&](uint64_t now) {
        open(facts, path, spec.plan.transport);
        hub->traffic(traffic.get());
        traffic->begin(now, used);
      });
      return await(*traffic);
    }
    const packet::Path path = XR_TRY(path_to(*spec.host));
    gid = parse::address_text(path.src);
    call([&](uint64_t) { hub->traffic(traffic.get()); });
    used = XR_TRY(connect_cm(path, spec.qps, ROCE_RC));
    call([&](uint64_t now) { traffic->begin(now, used); });
    XR_TRY(await(*traffic));
    leave();
    return {};
  };
  const Status done = run();
  return tool_report(*traffic, parse::address_text(*spec.host), spec.qps,
                     done ? "" : Status(done).error().message);
}

} // namespace xr::endpoint
