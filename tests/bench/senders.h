// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of `send` share: a flow from words, its sender over AF_XDP, and how a sender
// is measured.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <linux/if_link.h>
#include <net/if.h>

#include <bpf/libbpf.h>

#include "base/clock.h"
#include "endpoint/engine.h"
#include "flow/flow.h"
#include "requester/open.h"
#include "wires.h"
#include "yards.h"
#include "yardsticks.skel.h"

namespace xr::bench {

constexpr uint64_t kPieceNs = 100'000'000;

// Runs the engine of a sender until that moment.
template <typename Engine> void run_until(Engine &engine, uint64_t until) {
  std::atomic<bool> stop{false};
  std::thread timer([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(until - monotonic_ns()));
    stop = true;
  });
  if (auto done = engine.run(stop); !done)
    fail(done.error().message);
  timer.join();
}

inline flow::Flow flow_of(const std::string &words) {
  std::vector<std::string> all = {"dst-mac", "02:00:00:00:00:02"};
  if (words.find("src ") == std::string::npos)
    all.insert(all.end(), {"src", "192.0.2.1", "dst", "192.0.2.2"});
  std::string word;
  for (const char c : words + " ")
    if (c != ' ')
      word += c;
    else if (!word.empty())
      all.push_back(std::exchange(word, ""));
  auto flow = flow::parse_flow(all);
  if (!flow)
    fail(flow.error().message);
  flow->path.dst_mac = *flow->dst_mac;
  return *flow;
}

class Send {
public:
  explicit Send(const std::string &words) {
    afxdp::SocketOptions options;
    options.ifname = "a0";
    options.receive = 0;
    options.copy = true;
    auto socket = afxdp::Socket::open(options);
    if (!socket)
      fail(socket.error().message);
    auto source = std::make_unique<requester::OpenSource>(std::vector{flow_of(words)},
                                                          congestion::Rate{}, 1e10);
    source_ = source.get();
    engine_ =
        std::make_unique<endpoint::Engine>(std::move(*socket), std::move(source), ROCE_UDP_PORT);
  }
  const SendCounts &counts() const { return source_->counts(); }
  void run(uint64_t until) { run_until(*engine_, until); }

private:
  std::unique_ptr<endpoint::Engine> engine_;
  const requester::OpenSource *source_ = nullptr;
};

// Millions of frames a second, and of processor time of this thread: others use the machine too.
struct Rates {
  std::vector<double> time, processor;
};

inline void measure(const yardsticks *yard, Rates &rates,
                    const std::function<void(uint64_t)> &run) {
  const uint64_t before = arrived(yard), start = monotonic_ns(),
                 worked = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  run(start + kPieceNs);
  const auto time = static_cast<double>(monotonic_ns() - start);
  const auto processor = static_cast<double>(clock_ns(CLOCK_THREAD_CPUTIME_ID) - worked);
  const auto frames = static_cast<double>(arrived(yard) - before);
  rates.time.push_back(frames / time * 1e3);
  rates.processor.push_back(frames / processor * 1e3);
}

} // namespace xr::bench
