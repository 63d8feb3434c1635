// SPDX-License-Identifier: Apache-2.0
// The exporter and its HTTP server, scraped by several threads while ports appear and vanish. Also
// run under ThreadSanitizer (tools/test thread).
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "http_client.h"
#include "metrics/exporter.h"
#include "snapshots.h"

namespace xr::test::exporter_threads_test {
namespace {

using metrics::Exporter;
using metrics::PortReading;

constexpr int kScrapes = 25;
const std::vector<std::string> kPorts = {"eth0", "eth1", "eth2", "eth3"};

// Ports without a kernel. The exporter reads one at a time: what the readers write has no lock.
struct FakePorts {
  std::mutex mutex;
  std::vector<std::string> attached;
  uint64_t reads = 0;
  std::vector<std::string> notified;

  std::vector<std::string> find() {
    const std::lock_guard guard(mutex);
    return attached;
  }
  Result<PortReading> read(const std::string &ifname) {
    reads++;
    const std::vector<std::string> there = find();
    if (std::find(there.begin(), there.end(), ifname) == there.end())
      return Error{"not attached"};
    PortReading reading;
    reading.status.ifname = ifname;
    reading.status.since_ns = kTime;
    reading.status.features = ifname == "eth3" ? ROCE_FEATURE_PASSING : 0;
    reading.snapshot = busy_port();
    return reading;
  }
  void attach(size_t which) {
    const std::lock_guard guard(mutex);
    attached.clear();
    for (size_t i = 0; i < kPorts.size(); i++)
      if (which >> i & 1)
        attached.push_back(kPorts[i]);
  }
};

TEST(ExporterThreads, ScrapesWhilePortsComeAndGo) {
  FakePorts ports;
  std::atomic<const http::Server *> listening = nullptr;
  Exporter::Settings settings{{}, {"gaps", 10}, "1.0", true, {}};
  settings.refused = [&listening] {
    const http::Server *server = listening;
    return server ? server->refused() : std::map<std::string, uint64_t>();
  };
  const Exporter exporter(
      settings, [&](const std::string &ifname) { return ports.read(ifname); },
      [&](const std::string &ifname, const Error *) { ports.notified.push_back(ifname); },
      [&] { return ports.find(); });

  http::ServerOptions options;
  options.listen = parse::listen("127.0.0.1:0", "").get();
  options.access = http::Access::make({}).get();
  options.methods = {"GET"};
  options.threads = 4;
  auto server = http::Server::start(
      options,
      [&](const http::Request &) {
        return http::Answer{200, "text/plain", metrics::exposition(exporter.collect())};
      },
      [](int status, const std::string &why) {
        return http::Answer{status, "text/plain", why};
      });
  ASSERT_TRUE(server.ok());
  listening = &*server;

  std::atomic<bool> scraped = false;
  std::atomic<int> whole = 0;
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 3; i++)
    scrapers.emplace_back([&] {
      for (int n = 0; n < kScrapes; n++) {
        const std::string text = received(
            send_to(server->listen().port, "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n"));
        whole += text.starts_with("HTTP/1.1 200") &&
                 text.find("xdp_roce_exporter_refused_total") != std::string::npos;
      }
    });
  scrapers.emplace_back([&] {
    for (int n = 0; n < kScrapes; n++)
      whole += !exporter.collect().empty();
  });
  scrapers.emplace_back([&] { // what is refused is counted meanwhile
    for (int n = 0; n < kScrapes; n++)
      whole +=
          received(send_to(server->listen().port, "PUT / HTTP/1.1\r\nConnection: close\r\n\r\n"))
              .starts_with("HTTP/1.1 405");
  });
  std::thread changes([&] {
    for (size_t n = 1; !scraped; n = n * 5 + 3) {
      ports.attach(n);
      server->use(http::Access::make({}).get());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread &thread : scrapers)
    thread.join();
  scraped = true;
  changes.join();
  EXPECT_EQ(whole, 5 * kScrapes);
  EXPECT_EQ(server->refused().at("method"), uint64_t{kScrapes});
  EXPECT_GT(ports.reads, 0U);
  EXPECT_FALSE(ports.notified.empty()) << "a port vanished";
}

} // namespace
} // namespace xr::test::exporter_threads_test
