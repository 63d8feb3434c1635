// SPDX-License-Identifier: Apache-2.0
// What analyze_bench.sh measures with: makes a pcap of RC SEND MIDDLE frames, and takes one through
// the analyser, with and without its iCRCs, with and without episodes or latencies; files by one
// thread and by two; and the floor of both, the reader alone and the file's bytes alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "analysis/analyzer.h"
#include "capture/reader.h"
#include "packet/icrc.h"
#include "spread.h"

using namespace xr;

namespace {

constexpr uint32_t kPayload = 1024;
constexpr uint32_t kBth = ROCE_ETH_LEN + ROCE_IPV4_LEN + ROCE_UDP_LEN;
constexpr uint32_t kMostPayload = 4096;
constexpr uint32_t frame_of(uint32_t payload) {
  return kBth + ROCE_BTH_LEN + payload + ROCE_ICRC_LEN;
}

void be16(uint8_t *at, uint32_t v) {
  at[0] = static_cast<uint8_t>(v >> 8);
  at[1] = static_cast<uint8_t>(v);
}

void build(uint8_t *frame, uint32_t size) {
  const uint8_t begin[] = {0x02,
                           0,
                           0,
                           0,
                           0,
                           2,
                           0x02,
                           0,
                           0,
                           0,
                           0,
                           1,
                           0x08,
                           0, // Ethernet
                           0x45,
                           2,
                           0,
                           0,
                           0,
                           0,
                           0x40,
                           0,
                           64,
                           17,
                           0,
                           0, // IPv4, ECT(0), DF
                           192,
                           0,
                           2,
                           1,
                           192,
                           0,
                           2,
                           2,
                           0xc0,
                           0,
                           0x12,
                           0xb7,
                           0,
                           0,
                           0,
                           0, // UDP to 4791
                           ROCE_RC_SEND_MIDDLE,
                           0,
                           0xff,
                           0xff,
                           0,
                           0,
                           0,
                           0x11,
                           0,
                           0,
                           0,
                           0};
  std::memset(frame, 0x70, size);
  std::memcpy(frame, begin, sizeof(begin));
  be16(frame + 16, size - ROCE_ETH_LEN);
  be16(frame + 38, size - ROCE_ETH_LEN - ROCE_IPV4_LEN);
}

struct Made {
  uint32_t packets, host, payload; // from host 192.0.2.`host` to the next
  uint32_t qps, hot;               // `hot`: percent of packets that are of the first; 0: its share
};

// Gives the packets to the QPs in turn, and numbers them.
class Qps {
public:
  explicit Qps(const Made &made) : hot_(made.qps > 1 ? made.hot : 0), psns_(made.qps) {}

  void next(uint8_t *bth) {
    constexpr uint32_t kFirst = 0x11;
    const uint32_t qp = turn();
    const uint32_t psn = psns_[qp]++;
    bth[5] = static_cast<uint8_t>((kFirst + qp) >> 16);
    be16(bth + 6, kFirst + qp);
    bth[9] = static_cast<uint8_t>(psn >> 16);
    be16(bth + 10, psn);
  }

private:
  uint32_t turn() {
    const auto all = static_cast<uint32_t>(psns_.size());
    if (!hot_)
      return turn_++ % all;
    share_ += hot_;
    if (share_ < 100)
      return 1 + turn_++ % (all - 1);
    share_ -= 100;
    return 0;
  }

  uint32_t hot_, share_ = 0, turn_ = 0;
  std::vector<uint32_t> psns_;
};

int make(const char *path, const Made &made) {
  FILE *file = fopen(path, "w");
  const uint32_t header[] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, 262144, 1};
  const uint32_t size = frame_of(made.payload);
  uint8_t frame[frame_of(kMostPayload)];
  roce_packet packet{};
  packet.l3 = ROCE_ETH_LEN;
  packet.bth = kBth;
  packet.end = size;
  if (!file || fwrite(header, sizeof(header), 1, file) != 1)
    return perror(path), 1;
  build(frame, size);
  frame[29] = static_cast<uint8_t>(made.host);
  frame[33] = static_cast<uint8_t>(made.host + 1);
  Qps qps(made);
  for (uint32_t i = 0; i < made.packets; i++) {
    const uint32_t record[] = {1700000000 + i / 1000000, i % 1000000, size, size};
    qps.next(frame + kBth);
    icrc_write(frame, packet);
    if (fwrite(record, sizeof(record), 1, file) != 1 || fwrite(frame, size, 1, file) != 1)
      return perror(path), 1;
  }
  return fclose(file) ? perror(path), 1 : 0;
}

// Packets and bytes, without a look into the packets.
int read_only(const char *path) {
  auto reader = Reader::open(path);
  if (!reader)
    return fprintf(stderr, "analyze_bench: %s\n", reader.error().message.c_str()), 1;
  CapturedFrame frame;
  uint64_t packets = 0, bytes = 0;
  Next last;
  while ((last = reader->next(frame)) == Next::Frame) {
    packets++;
    bytes += frame.length;
  }
  printf("%llu packets, %llu bytes\n", static_cast<unsigned long long>(packets),
         static_cast<unsigned long long>(bytes));
  return last != Next::End;
}

// A byte of each cache line.
int bytes_only(const char *path) {
  constexpr size_t kLine = 64;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat file {};
  if (fd < 0 || fstat(fd, &file))
    return perror(path), 1;
  const auto size = static_cast<size_t>(file.st_size);
  void *mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (mapped == MAP_FAILED)
    return perror(path), 1;
  const auto *bytes = static_cast<const uint8_t *>(mapped);
  uint64_t sum = 0;
  for (size_t at = 0; at < size; at += kLine)
    sum += bytes[at];
  printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t packets_in(const Analysis &done) {
  uint64_t packets = 0;
  for (const roce_opcode_count &c : done.snapshot.opcodes)
    for (uint64_t n : c.packets)
      packets += n;
  return packets;
}

bool as_made(const Result<Analysis> &done) {
  return done && done.get().troubles.empty() && !done.get().snapshot.icrc.bad;
}

int run(const char *path, bool icrc, bool episodes, bool latency = false) {
  using Clock = std::chrono::steady_clock;
  AnalyzeRun how;
  double best = 0, best_cpu = 0;

  how.options.check_icrc = icrc;
  how.options.episodes = episodes;
  how.options.passive_latency = latency;
  for (int round = 0; round < 5; round++) {
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    const Result<Analysis> done = analyze(path, how);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!as_made(done))
      return fprintf(stderr, "analyze_bench: the capture is not as it was made\n"), 1;
    const uint64_t packets = packets_in(done.get());
    best = std::max(best, static_cast<double>(packets) / seconds);
    best_cpu = std::max(best_cpu, static_cast<double>(packets) / (cpu_seconds() - cpu));
  }
  printf("analyze%s%s: %.2f million packets/s (%.2f by processor time)\n",
         episodes  ? " --episodes"
         : latency ? " --latency"
                   : "",
         icrc ? "" : ", no iCRCs", best / 1e6, best_cpu / 1e6);
  return 0;
}

struct Took {
  double clock, sum, busiest; // seconds; processor time of all threads, and the most of one
};

// For all files with so many threads; 0: the report is not of all packets.
Took seconds(const std::vector<std::string> &paths, AnalyzeRun how, unsigned jobs,
             uint64_t &packets) {
  how.jobs = jobs;
  const auto start = std::chrono::steady_clock::now();
  const Result<Analysis> done = analyze(paths, how);
  const std::chrono::duration<double> clock = std::chrono::steady_clock::now() - start;
  const uint64_t found = as_made(done) ? packets_in(done.get()) : 0;
  if (!found || (packets && packets != found))
    return {};
  packets = found;
  const std::vector<uint64_t> &ns = done.get().processor_ns;
  return {clock.count(),
          static_cast<double>(std::accumulate(ns.begin(), ns.end(), uint64_t{0})) * 1e-9,
          static_cast<double>(std::ranges::max(ns)) * 1e-9};
}

// By the clock, which other work on the machine slows down; and by processor time. Other work also
// gives one of two threads more time than the other, and the blocks with it: so processor time is
// that of half of their sum, which is what a machine of their own makes of it, and of the busiest.
int jobs(const std::vector<std::string> &paths, bool episodes) {
  AnalyzeRun how;
  how.options.episodes = episodes;
  std::vector<double> by_clock, by_half, by_busiest;
  uint64_t packets = 0;
  for (int round = 0; round < 15; round++) {
    Took took[2];
    for (const unsigned turn : {0u, 1u}) {
      const unsigned jobs = 1 + ((turn + static_cast<unsigned>(round)) & 1);
      took[jobs - 1] = seconds(paths, how, jobs, packets);
      if (took[jobs - 1].clock == 0)
        return fprintf(stderr, "analyze_bench: the captures are not as they were made\n"), 1;
    }
    by_clock.push_back(took[0].clock / took[1].clock);
    by_half.push_back(2 * took[0].sum / took[1].sum);
    by_busiest.push_back(took[0].busiest / took[1].busiest);
  }
  printf("analyze%s --jobs 2 on %zu file%s, times as fast as by one thread\n",
         episodes ? " --episodes" : "", paths.size(), paths.size() == 1 ? "" : "s");
  bench::print("by the clock", bench::spread(by_clock), bench::at_least(1.8));
  bench::print("by processor time, half of both threads'", bench::spread(by_half));
  bench::print("by processor time of the busiest thread", bench::spread(by_busiest));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  const auto number = [&](int at, uint32_t otherwise) {
    return argc > at ? static_cast<uint32_t>(std::strtoul(argv[at], nullptr, 0)) : otherwise;
  };
  if (verb == "make" && argc >= 4 && argc <= 8) {
    const Made made{number(3, 0), number(4, 1), number(5, kPayload), number(6, 1), number(7, 0)};
    if (made.payload <= kMostPayload && made.qps && made.hot <= 100)
      return make(argv[2], made);
  }
  if (verb == "read" && argc == 3)
    return read_only(argv[2]);
  if (verb == "bytes" && argc == 3)
    return bytes_only(argv[2]);
  if (verb == "run" && argc == 3)
    return run(argv[2], true, false) || run(argv[2], false, false);
  if (verb == "episodes" && argc == 3)
    return run(argv[2], true, true) || run(argv[2], false, true);
  if (verb == "latency" && argc == 3)
    return run(argv[2], true, false, true) || run(argv[2], false, false, true);
  if (verb == "jobs")
    return jobs({argv + 2, argv + argc}, false) || jobs({argv + 2, argv + argc}, true);
  fprintf(stderr, "analyze_bench make FILE PACKETS [HOST [PAYLOAD [QPS [HOT]]]] | run FILE | "
                  "episodes FILE | latency FILE | read FILE | bytes FILE | jobs FILE...\n");
  return 2;
}
