// SPDX-License-Identifier: Apache-2.0
// The threads of `serve` and `wire`, with sockets in memory and a clock of each thread's own. Also
// run under ThreadSanitizer (tools/test thread).
#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>

#include "endpoint/engine_loop.h"
#include "endpoint/queue_share.h"
#include "endpoint/wire_direction_loop.h"
#include "endpoint/worker_threads.h"
#include "frames.h"
#include "station/station.h"
#include "unit/fake_forward_socket.h"
#include "unit/fake_socket.h"
#include "unit/outgoing.h"
#include "wire_frames.h"

namespace xr::test::endpoint_threads_test {
namespace {

using Bytes = std::vector<uint8_t>;
using packet::ipv4;
constexpr uint64_t kUs = 1000, kMs = 1'000'000;

// ---- a station, as StationRun has it

station::StationFlow flow_from(unsigned host, uint32_t qp) {
  station::StationFlow made;
  made.flow.path.src = ipv4(host);
  made.flow.path.dst = ipv4(9);
  made.flow.qp = qp;
  made.flow.size.parts = {{.bytes = 4096}};
  made.flow.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 100'000, .text = {}};
  return made;
}

// An engine and its thread's clock. The station and the socket are the engine's.
struct StationPart {
  FakeTime time;
  FakeSocket *socket = nullptr;
  station::Station *station = nullptr;

  std::unique_ptr<endpoint::Worker> make(unsigned host) {
    responder::ResponderOptions answers;
    answers.addresses = {ipv4(host)};
    auto own_socket = std::make_unique<FakeSocket>(time);
    auto own_station = std::make_unique<station::Station>(
        station::StationOptions{.responder = answers, .line_bits = 1e10});
    own_socket->taken = [](const Bytes &) { return Taken::Dropped; }; // nothing is kept
    own_station->set_flows({flow_from(host, 0x11), flow_from(host, 0x12)});
    socket = own_socket.get();
    station = own_station.get();
    return std::make_unique<endpoint::BasicEngine<FakeSocket, FakeClock>>(
        std::move(own_socket), std::move(own_station), ROCE_UDP_PORT, FakeClock(time));
  }
};

// Flows start and stop, and counts are read, by several threads, before, during and after the run.
TEST(EndpointThreads, StationsAreCalledByAnyThread) {
  constexpr size_t kStations = 2;
  std::array<StationPart, kStations> parts;
  endpoint::WorkerThreads workers;
  for (size_t i = 0; i < kStations; i++)
    workers.add(parts[i].make(static_cast<unsigned>(i) + 1));
  std::mutex calling; // as StationRun has
  std::atomic<bool> stop = false, ended = false;
  Status result = Error{"it has not ended"};
  uint64_t calls = 0, most_sent = 0;
  const auto call = [&](int what) {
    const std::lock_guard guard(calling);
    const EngineCounts all = workers.read_counts([&](size_t i, const EngineCounts &counts) {
      station::Station &station = *parts[i].station;
      const std::array<size_t, 2> flows = {0, 1};
      calls++;
      if (what % 3 == 0)
        station.start(flows, counts.now_ns);
      else if (what % 3 == 1)
        station.pause(std::span(flows).first(1));
      else
        station.stop_all();
    });
    EXPECT_GE(all.sent, most_sent);
    most_sent = all.sent;
  };
  call(0);
  std::thread run([&] {
    result = workers.run(stop, {{std::chrono::milliseconds(5), [&] {
                                   call(0);
                                   return true;
                                 }}});
    ended = true;
  });
  std::vector<std::thread> callers;
  for (int thread = 0; thread < 3; thread++)
    callers.emplace_back([&, thread] {
      for (int i = 0; i < 40; i++) {
        call(thread + i);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  stop = true;
  while (!ended)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(result) << result.error().message;
  call(1);
  run.join();
  EXPECT_GE(calls, kStations * 3 * 40);
  EXPECT_GT(most_sent, 0U);
}

// A port that is gone ends its engine, and that one the others.
TEST(EndpointThreads, AFailureEndsAll) {
  std::array<StationPart, 3> parts;
  endpoint::WorkerThreads workers;
  for (size_t i = 0; i < parts.size(); i++)
    workers.add(parts[i].make(static_cast<unsigned>(i) + 1));
  parts[1].socket->gone_at = parts[1].time.now + 2'000 * kMs;
  const std::atomic<bool> stop = false;
  const Status result = workers.run(stop, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the port is gone");
}

// ---- a responder on several queues, as RespondRun has it

Bytes request_to(uint32_t qp, uint32_t psn) {
  return FrameBuilder(ROCE_RC_SEND_ONLY).ecn(2).qp(qp).psn(psn).payload(40).build().bytes;
}

// Requests of each QP come on all queues, whose threads are not in step: all are executed, once.
TEST(EndpointThreads, QueuesShareConnections) {
  constexpr uint32_t kQueues = 4, kQps = 8, kRequests = 400;
  responder::ResponderOptions options;
  options.check_icrc = false;
  options.selective = options.reorder = true; // the order of packets on different queues is open
  options.first_psn = [](uint32_t) { return 0; };
  auto share = endpoint::QueueShare::make(kQueues, options.qps);
  ASSERT_TRUE(share.ok());
  options.siblings = share->get();
  std::array<FakeTime, kQueues> times;
  std::vector<FakeSocket *> sockets;
  std::vector<responder::Responder *> responders;
  endpoint::WorkerThreads workers;
  for (uint32_t i = 0; i < kQueues; i++) {
    options.number = i;
    auto socket = std::make_unique<FakeSocket>(times[i]);
    socket->taken = [](const Bytes &) { return Taken::Dropped; };
    sockets.push_back(socket.get());
    auto own = std::make_unique<responder::Responder>(options);
    responders.push_back(own.get());
    workers.add(std::make_unique<endpoint::BasicEngine<FakeSocket, FakeClock>>(
        std::move(socket),
        std::make_unique<endpoint::SharingSource>(std::move(own), (*share)->passed(i)),
        ROCE_UDP_PORT, FakeClock(times[i])));
  }
  std::mt19937 random(1);
  for (uint32_t n = 0; n < kQps * kRequests; n++) {
    const uint32_t queue = random() % kQueues;
    sockets[queue]->arrive(times[queue].now + kMs + n * kUs, request_to(2 + n % kQps, n / kQps));
  }
  RespondCounts all;
  const auto read = [&] {
    all = {};
    workers.read_counts([&](size_t i, const EngineCounts &) { add(all, responders[i]->counts()); });
    return all.messages;
  };
  int looks = 0;
  const std::atomic<bool> stop = false;
  ASSERT_TRUE(workers.run(stop, {{std::chrono::milliseconds(5),
                                  [&] { return read() < kQps * kRequests && ++looks < 4000; }}}));
  EXPECT_EQ(read(), kQps * kRequests);
  EXPECT_EQ(all.requests, kQps * kRequests);
  EXPECT_EQ(all.qps, kQps);
  EXPECT_EQ(all.duplicates + all.naks + all.qps_full + all.other_queue_full, 0U);
  EXPECT_GT(all.other_queue, kRequests);
}

// ---- a wire, as WireRun::State::run_threads has it

using Direction = endpoint::BasicWireDirection<FakeForwardSocket, FakeClock>;

Bytes roce_frame(uint32_t psn) {
  return FrameBuilder(ROCE_RC_SEND_ONLY).ecn(2).qp(5).psn(psn).payload(934).build().bytes;
}

Bytes pause_all() {
  packet::Pause pause{.enable = 0xff};
  pause.quanta.fill(1000);
  return packet::build_pause(pause);
}

// One direction: the receiving socket of a port and the sending one of the other.
struct Way {
  FakeTime time;
  FakeForwardSocket rx, tx;
  std::unique_ptr<Direction> direction;
  uint64_t turns = 0;

  explicit Way(afxdp::ChunkMemory &memory) : rx(time, memory), tx(time, memory) {
    tx.taken = [](const Bytes &) { return Taken::Dropped; };
    time.next_event = [this] { return rx.next_arrival(); };
  }
};

// PFC frames and mail pass between the two threads, and a third one changes rules and links.
TEST(EndpointThreads, DirectionsOfAWire) {
  constexpr uint32_t kChunks = 4096, kFrames = 2000;
  afxdp::ChunkMemory memory(1514, 2 * kChunks);
  ASSERT_TRUE(memory.map());
  std::array<Way, 2> ways{Way(memory), Way(memory)};
  std::array<std::unique_ptr<WirePortCounts>, 2> counts{std::make_unique<WirePortCounts>(),
                                                        std::make_unique<WirePortCounts>()};
  endpoint::PortCarrier carrier(std::move(host::Netns::open("").get()), {"a", "b"},
                                {counts[0].get(), counts[1].get()});
  for (unsigned i = 0; i < 2; i++) {
    Way &way = ways[i];
    const endpoint::WireDirectionSetup setup{.ingress = i,
                                             .port_be = roce_swap16(ROCE_UDP_PORT),
                                             .line_rate = 10'000'000'000,
                                             .egress_mac = {2, 0, 0, 0, 0, 0xa},
                                             .seed = 1,
                                             .first_chunk = i * kChunks,
                                             .chunks = kChunks,
                                             .carrier = &carrier};
    way.direction =
        std::make_unique<Direction>(setup, memory, std::vector{&way.rx}, std::vector{&way.tx},
                                    *counts[i], *counts[1 - i], FakeClock(way.time));
    const roce_held none{.magic = ROCE_HELD_MAGIC,
                         .generation = 1,
                         .copies = 0,
                         .arrived_ns = 0,
                         .rules = 0,
                         .selected = 0};
    for (uint32_t n = 0; n < kFrames; n++)
      way.rx.arrive(way.time.now + kMs + n * 20 * kUs, n % 100 ? roce_frame(n) : pause_all(), none);
  }
  for (unsigned i = 0; i < 2; i++)
    ways[i].direction->set_opposite(*ways[1 - i].direction);

  std::atomic<bool> end = false;
  std::array<Status, 2> results;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; i++)
    threads.emplace_back([&, i] {
      Way &way = ways[i];
      Direction *const direction = way.direction.get();
      while (results[i] && !end) {
        const uint64_t now = FakeClock(way.time).now();
        auto busy = direction->turn(now);
        if (!busy.ok())
          results[i] = busy.error();
        else if (!*busy)
          Direction::wait({&direction, 1}, now, kMs);
        way.turns++;
      }
    });
  const char *const words[] = {"rate 100mbit buffer 100k pfc xoff 5k xon 2k", "delay 10us",
                               "rate 1gbit flap 1ms every 5ms drop", ""};
  for (uint16_t n = 0; n < 60; n++) {
    for (unsigned i = 0; i < 2; i++) {
      endpoint::WireMail link{.kind = endpoint::WireMail::Kind::Link};
      if (const std::string text = words[(n + i) % 4]; !text.empty())
        link.link = wire::link_spec(text);
      const LinkFlap flap = link.link ? link.link->flap : LinkFlap();
      ways[1 - i].direction->post(std::move(link));
      carrier.configure(i, flap);
      datapath::RulesInForce rules;
      rules.generation = static_cast<uint16_t>(n + 1);
      ways[i].direction->post({.kind = endpoint::WireMail::Kind::Rules, .rules = std::move(rules)});
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  end = true;
  for (std::thread &thread : threads)
    thread.join();
  carrier.stop();
  for (unsigned i = 0; i < 2; i++) {
    EXPECT_TRUE(results[i]) << results[i].error().message;
    ways[i].direction->end();
    const WireIngress &in = counts[i]->in;
    EXPECT_GT(in.taken, 0U);
    EXPECT_EQ(in.taken + in.copies, in.left + in.holding + in.dropped_by_rules +
                                        in.dropped_by_link + in.dropped_at_end + in.tx_dropped +
                                        in.dropped_down);
    EXPECT_EQ(counts[i]->out.flap_by == FlapBy::Carrier, false);
  }
}

} // namespace
} // namespace xr::test::endpoint_threads_test
