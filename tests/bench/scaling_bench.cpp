// SPDX-License-Identifier: Apache-2.0
// How the program grows with processors: the throughput of N at once, N = 1, 2, 4 ... to all, and
// its ratio to that of one, each round by itself, by the clock. `scaling_bench [PROGRAM]`; the
// program is the one beside the benchmarks, or of their build. As root: ports are veth in
// namespaces, made by netlink.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/processors.h"
#include "programs.h"
#include "spread.h"

namespace {

using xr::bench::fail;

constexpr int kRounds = 5;
constexpr double kSeconds = 1; // of a run

std::string program, scratch;

void check(const xr::Status &status) {
  if (!status)
    fail(status.error().message);
}

// The outputs of these commands of a shell, which run at the same time.
std::vector<std::string> outputs(const std::vector<std::string> &commands) {
  std::vector<FILE *> pipes;
  pipes.reserve(commands.size());
  for (const std::string &command : commands)
    pipes.push_back(popen((command + " 2>" + scratch + "/errors").c_str(), "r")); // NOLINT
  std::vector<std::string> all;
  for (size_t i = 0; i < pipes.size(); i++) {
    std::string text;
    std::array<char, 1 << 14> room{};
    for (size_t n = 0; pipes[i] && (n = fread(room.data(), 1, room.size(), pipes[i])) > 0;)
      text.append(room.data(), n);
    if (!pipes[i] || pclose(pipes[i])) {
      std::ifstream errors(scratch + "/errors");
      std::string line;
      std::getline(errors, line);
      fail(commands[i] + ": " + line);
    }
    all.push_back(std::move(text));
  }
  return all;
}

double sum_of(const std::vector<std::string> &reports, const std::string &pointer) {
  double sum = 0;
  for (const std::string &report : reports)
    sum += nlohmann::json::parse(report).at(nlohmann::json::json_pointer(pointer)).get<double>();
  return sum;
}

// Pairs of namespaces with a veth between them, of `queues` each; the far end counts.
class Lanes {
public:
  explicit Lanes(uint32_t count, uint32_t queues = 1) : count_(count) {
    for (uint32_t i = 0; i < count; i++) {
      check(xr::host::make_netns(near(i)));
      check(xr::host::make_netns(far(i)));
      check(xr::host::make_veth({"near", near(i)}, {"far", far(i)}, 1500, queues));
      outputs({at(far(i), "attach far")});
    }
  }
  ~Lanes() {
    for (uint32_t i = 0; i < count_; i++) {
      outputs({at(far(i), "detach far")});
      (void)xr::host::remove_netns(near(i));
      (void)xr::host::remove_netns(far(i));
    }
  }
  Lanes(const Lanes &) = delete;
  Lanes &operator=(const Lanes &) = delete;

  static std::string at(const std::string &netns, const std::string &words) {
    return program + " --json --netns " + netns + " " + words;
  }
  static std::string near(uint32_t i) { return name("near", i); }
  static std::string far(uint32_t i) { return name("far", i); }
  static std::string send(uint32_t i, const std::string &words) {
    return at(near(i), "send near src 192.0.2.1 dst 192.0.2.2 dst-mac 02:00:00:00:00:02 qp 0x11 " +
                           words + fmt::format(" --for {:.0f}s", kSeconds));
  }

private:
  static std::string name(const char *end, uint32_t i) {
    return fmt::format("xr-bench-{}-{}{}", getpid(), end, i);
  }
  uint32_t count_;
};

// N senders, each to a port of its own.
double senders(uint32_t n, const std::string &words) {
  const Lanes lanes(n);
  std::vector<std::string> commands;
  for (uint32_t i = 0; i < n; i++)
    commands.push_back(Lanes::send(i, words));
  return sum_of(outputs(commands), "/achieved/packets_per_second");
}

// One sender, with N threads, to a port with N queues. What the port took.
double threads(uint32_t n, const std::string &words, const std::string &rate) {
  const Lanes lanes(1, n);
  return sum_of(outputs({Lanes::send(0, words)}), rate);
}

// N queues on both sides, each with a thread.
double answered(uint32_t n) {
  const Lanes lanes(1, n);
  const std::string respond = Lanes::at(
      Lanes::far(0),
      fmt::format("respond far --address 192.0.2.2 --queues {} --for {:.0f}s", n, kSeconds + 2));
  const std::string send =
      "sleep 1; " +
      Lanes::send(0, fmt::format("qps {} write size 64k --reliable --queues {}", 16 * n, n));
  return sum_of({outputs({respond, send})[1]}, "/achieved/packets_per_second");
}

// A wire between ports with N queues each, which live frames of N threads enter: what left it.
double wired(uint32_t n) {
  const std::string box = fmt::format("xr-bench-{}-box", getpid());
  const Lanes sender(1, n);
  check(xr::host::make_netns(box));
  check(xr::host::make_veth({"wire", Lanes::near(0)}, {"in", box}, 1500, n));
  check(xr::host::make_veth({"out", box}, {"wire", Lanes::far(0)}, 1500, n));
  const std::string send =
      program + " --json --netns " + Lanes::near(0) +
      fmt::format(" send wire src 192.0.2.1 dst 192.0.2.2 dst-mac 02:00:00:00:00:02 qp 0x11 qps {} "
                  "write size 64k --engine live --threads {} --for {:.0f}s",
                  16 * n, n, kSeconds);
  const auto reports = outputs(
      {Lanes::at(box, fmt::format("wire in out --for {:.0f}s", kSeconds + 3)),
       "sleep 1; " + Lanes::at(box, "impair in add delay 50us") + " >/dev/null && " + send});
  check(xr::host::remove_netns(box));
  return sum_of({reports[0]}, "/ports/0/in/left") / kSeconds;
}

// What feeds a program, an item a processor.
struct Feeders {
  std::vector<std::unique_ptr<xr::bench::Yard>> yards;
  std::vector<std::vector<uint8_t>> frames;
};

// N processors run the attached program at once, each for QPs of its own: what they share.
double counted(uint32_t n, const xr::bench::Counting &counting, Feeders &feeders) {
  auto &[yards, frames] = feeders;
  constexpr uint32_t kRuns = 500'000;
  for (auto i = static_cast<uint32_t>(yards.size()); i < n; i++) {
    yards.push_back(std::make_unique<xr::bench::Yard>(1, 42));
    frames.push_back(xr::bench::send_middle(1024));
    frames.back()[29] = static_cast<uint8_t>(i + 1); // the source address
    xr::bench::run_program(yards.back()->feeding(counting.fd()), frames.back(), 1);
  }
  const auto processors = xr::allowed_processors();
  std::vector<std::thread> all;
  const uint64_t start = xr::monotonic_ns();
  for (uint32_t i = 0; i < n; i++)
    all.emplace_back([&, i] {
      check(xr::stay_on(processors[i % processors.size()]));
      for (int k = 0; k < 10; k++)
        xr::bench::run_program(yards[i]->feeding(counting.fd()), frames[i], kRuns);
    });
  for (std::thread &thread : all)
    thread.join();
  return 10.0 * kRuns * n / static_cast<double>(xr::monotonic_ns() - start) * 1e9;
}

double sweep(uint32_t n) {
  const std::string path = scratch + "/sweep.yaml";
  std::ofstream(path) << "experiment: scaling\nseed: 1\nduration: 20ms\n"
                         "topology: {star: {senders: 8, rate: 100gbit, delay: 1us}}\n"
                         "queue: {words: \"buffer 16MB red 400k 1600k 20%\"}\n"
                         "congestion: \"dcqcn preset paper\"\n"
                         "flows: [{from: all, to: receiver, words: \"write size 64k\"}]\n"
                         "sweep: {seed: 1..32}\n";
  const uint64_t start = xr::monotonic_ns();
  outputs({fmt::format("{} run {} --jobs {}", program, path, n)});
  return 32 / static_cast<double>(xr::monotonic_ns() - start) * 1e9;
}

struct Row {
  const char *name, *unit;
  double scale; // of the unit
  std::function<double(uint32_t)> run;
  double target = 0;              // ratio to one, of N; 0: none
  uint32_t each = 1, besides = 0; // processors that one of N takes, and all of them
  uint32_t needs(uint32_t n) const { return each * n + besides; }
};

} // namespace

int main(int count, char **words) {
  libbpf_set_print(nullptr);
  const auto here = std::filesystem::canonical("/proc/self/exe").parent_path();
  const auto beside = here / "xdp-roce";
  program = count > 1                         ? words[1]
            : std::filesystem::exists(beside) ? beside
                                              : here / "../../userspace/cli/xdp-roce";
  std::string path = std::filesystem::temp_directory_path() / "xr-bench-XXXXXX";
  if (!mkdtemp(path.data()))
    fail("a directory");
  scratch = path;
  const auto processors = xr::processor_count();
  // A sender does its receiver's work, too. Of many processors half are left to the machine.
  const uint32_t both = processors > 2 ? 2 : 1;
  const xr::bench::Counting counting(true, 65536);
  const xr::bench::Impairing chance({"opcode data probability 1% drop"}, 0);
  const xr::bench::Impairing every({"opcode data every 100 drop"}, 0);
  std::array<Feeders, 3> feeders;
  const std::vector<Row> rows = {
      {"the attached program, run on N processors at once", "Mpps", 1e6,
       [&](uint32_t n) { return counted(n, counting, feeders[0]); }},
      {"... with a rule `probability 1% drop`", "Mpps", 1e6,
       [&](uint32_t n) { return counted(n, chance, feeders[1]); }},
      {"... with a rule `every 100 drop`", "Mpps", 1e6,
       [&](uint32_t n) { return counted(n, every, feeders[2]); }},
      {"send --engine live, N at once", "Mpps", 1e6,
       [](uint32_t n) { return senders(n, "qps 16 write size 64k --engine live"); }, 0.85, both},
      {"send --engine live --threads N, to a port with N queues", "Mpps", 1e6,
       [](uint32_t n) {
         return threads(n,
                        fmt::format("qps {} write size 64k --engine live --threads {}", 16 * n, n),
                        "/achieved/packets_per_second");
       },
       0.85, both},
      {"send over AF_XDP, N at once", "Mpps", 1e6,
       [](uint32_t n) { return senders(n, "qps 16 write size 64k"); }, processors > 2 ? 0.9 : 0.85,
       both},
      {"send --queues N", "Mpps", 1e6,
       [](uint32_t n) {
         return threads(n, fmt::format("qps {} write size 64k --queues {}", 16 * n, n),
                        "/achieved/packets_per_second");
       },
       0, both},
      {"send --reliable --queues N to respond --queues N", "Mpps", 1e6, answered, 0, 2},
      {"wire, ports with N queues", "Mpps", 1e6, wired, 0, 1, 2},
      {"run of a sweep of 32 points, --jobs N", "points/s", 1, sweep, 0.85},
  };
  std::vector<uint32_t> numbers;
  for (uint32_t n = 1; n < processors; n *= 2)
    numbers.push_back(n);
  numbers.push_back(processors);
  for (const Row &row : rows) {
    std::map<uint32_t, std::vector<double>> rates;
    for (int round = 0; round < kRounds; round++)
      for (const uint32_t n : numbers)
        if (n == 1 || row.needs(n) <= processors)
          rates[n].push_back(row.run(n));
    std::printf("%s (median of %d, and quartiles)\n", row.name, kRounds);
    for (const auto &[n, got] : rates) {
      if (n == 1)
        xr::bench::print(fmt::format("one, {}", row.unit).c_str(),
                         xr::bench::spread(xr::bench::each(
                             got, got, [&](double rate, double) { return rate / row.scale; })));
      else
        xr::bench::print(fmt::format("{} to one", n).c_str(),
                         xr::bench::spread(xr::bench::ratios(got, rates[1])),
                         row.target > 0 ? xr::bench::at_least(row.target * n)
                                        : xr::bench::Target());
    }
    std::fflush(stdout);
  }
  std::filesystem::remove_all(scratch);
  return 0;
}
