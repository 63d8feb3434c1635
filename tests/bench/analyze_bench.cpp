// SPDX-License-Identifier: Apache-2.0
// What analyze_bench.sh measures with: makes a pcap of RC SEND MIDDLE frames with 1024 bytes of
// payload, and takes one through the analyser, with and without its iCRCs, with and without
// episodes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "capture/analyzer.h"
#include "packet/icrc.h"

using namespace xr;

namespace {

constexpr uint32_t kPayload = 1024;
constexpr uint32_t kBth = ROCE_ETH_LEN + ROCE_IPV4_LEN + ROCE_UDP_LEN;
constexpr uint32_t kFrame = kBth + ROCE_BTH_LEN + kPayload + ROCE_ICRC_LEN;

void be16(uint8_t *at, uint32_t v) {
  at[0] = static_cast<uint8_t>(v >> 8);
  at[1] = static_cast<uint8_t>(v);
}

void build(uint8_t *frame) {
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
  std::memset(frame, 0x70, kFrame);
  std::memcpy(frame, begin, sizeof(begin));
  be16(frame + 16, kFrame - ROCE_ETH_LEN);
  be16(frame + 38, kFrame - ROCE_ETH_LEN - ROCE_IPV4_LEN);
}

int make(const char *path, uint32_t packets) {
  FILE *file = fopen(path, "w");
  const uint32_t header[] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, 262144, 1};
  uint8_t frame[kFrame];
  roce_packet packet{};
  packet.l3 = ROCE_ETH_LEN;
  packet.bth = kBth;
  packet.end = kFrame;
  if (!file || fwrite(header, sizeof(header), 1, file) != 1)
    return perror(path), 1;
  build(frame);
  for (uint32_t psn = 0; psn < packets; psn++) {
    const uint32_t record[] = {1700000000 + psn / 1000000, psn % 1000000, kFrame, kFrame};
    frame[kBth + 9] = static_cast<uint8_t>(psn >> 16);
    be16(frame + kBth + 10, psn);
    icrc_write(frame, packet);
    if (fwrite(record, sizeof(record), 1, file) != 1 || fwrite(frame, kFrame, 1, file) != 1)
      return perror(path), 1;
  }
  return fclose(file) ? perror(path), 1 : 0;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

int run(const char *path, bool icrc, bool episodes) {
  using Clock = std::chrono::steady_clock;
  AnalyzeRun how;
  double best = 0, best_cpu = 0;

  how.options.check_icrc = icrc;
  how.options.episodes = episodes;
  for (int round = 0; round < 5; round++) {
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    const Result<Analysis> done = analyze(path, how);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!done || !done.get().troubles.empty() || done.get().snapshot.icrc.bad)
      return fprintf(stderr, "analyze_bench: the capture is not as it was made\n"), 1;
    uint64_t packets = 0;
    for (const roce_opcode_count &c : done.get().snapshot.opcodes)
      for (uint64_t n : c.packets)
        packets += n;
    best = std::max(best, static_cast<double>(packets) / seconds);
    best_cpu = std::max(best_cpu, static_cast<double>(packets) / (cpu_seconds() - cpu));
  }
  printf("analyze%s%s: %.2f million packets/s (%.2f by processor time)\n",
         episodes ? " --episodes" : "", icrc ? "" : ", no iCRCs", best / 1e6, best_cpu / 1e6);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb == "make" && argc == 4)
    return make(argv[2], static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 0)));
  if (verb == "run" && argc == 3)
    return run(argv[2], true, false) || run(argv[2], false, false);
  if (verb == "episodes" && argc == 3)
    return run(argv[2], true, true) || run(argv[2], false, true);
  fprintf(stderr, "analyze_bench make FILE PACKETS | run FILE | episodes FILE\n");
  return 2;
}
