// SPDX-License-Identifier: Apache-2.0
// Where time goes: for each path of a packet the instructions of its program as the kernel has it,
// the instructions that a packet executes (where the machine has counters), and the time. The first
// two are the same in each run, so a comparison of two outputs names the path that grew; compare.py
// compares the times of two builds.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "congestion/pacer.h"
#include "counted.h"
#include "datapath/live_program.h"
#include "flow/flow.h"
#include "native/native_datapath.h"
#include "packet/icrc.h"
#include "programs.h"
#include "requester/live_flow.h"
#include "requester/open.h"
#include "spread.h"

namespace {

using namespace xr;
using bench::Counting;
using bench::fail;
using bench::Impairing;
using bench::run_program;
using bench::Yard;

constexpr uint32_t kShort = 20'000, kLong = 220'000;
constexpr int kRounds = 15, kRawRounds = 3;

struct Row {
  std::string name;
  std::function<void(uint32_t)> run; // so many packets
  int program = -1;                  // BPF
  std::string without = {};          // the row whose cost is taken off: the feeder's
  std::vector<double> ns = {}, instructions = {};
};

// Translated instructions, and bytes of machine code.
std::pair<uint32_t, uint32_t> lengths(int fd) {
  bpf_prog_info info{};
  __u32 size = sizeof(info);
  if (bpf_obj_get_info_by_fd(fd, &info, &size))
    fail("program");
  return {info.xlated_prog_len / static_cast<uint32_t>(sizeof(bpf_insn)), info.jited_prog_len};
}

void measure(Row &row, const bench::Instructions &counter) {
  const auto piece = [&](uint32_t packets) {
    const uint64_t before = counter.now(), start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    row.run(packets);
    return std::pair(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start, counter.now() - before);
  };
  const auto little = piece(kShort), much = piece(kLong);
  const auto slope = [](uint64_t a, uint64_t b) {
    return (static_cast<double>(b) - static_cast<double>(a)) / (kLong - kShort);
  };
  row.ns.push_back(slope(little.first, much.first));
  row.instructions.push_back(slope(little.second, much.second));
}

flow::Flow flow_of(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"src", "192.0.2.1", "dst", "192.0.2.2", "dst-mac", "02:00:00:00:00:02"});
  auto flow = flow::parse_flow(words);
  if (!flow)
    fail(flow.error().message);
  flow->path.dst_mac = *flow->dst_mac;
  return *flow;
}

std::vector<std::string> words_of(const std::string &text) { return parse::split(text); }

// The program of a port, fed with the next PSN each time.
Row fed(std::string name, Yard &yard, int program, const std::vector<uint8_t> &frame,
        std::string feeder) {
  return {std::move(name),
          [&yard, program, &frame](uint32_t times) {
            run_program(yard.feeding(program), frame, times);
          },
          program, std::move(feeder)};
}

// The program of live frames, not sent: MIDDLE packets without end.
Row live(const std::string &name, const std::string &words) {
  auto flow = std::make_shared<requester::LiveFlow>(flow_of(words_of(words)), 1e10);
  auto loaded = datapath::LiveProgram::load(flow->plan(), flow->qps(), flow->frame(), 1);
  if (!loaded)
    fail(loaded.error().message);
  auto program = std::make_shared<datapath::LiveProgram>(std::move(*loaded));
  program->state().limit = UINT64_MAX;
  return {name,
          [flow, program](uint32_t times) { run_program(program->fd(), flow->frame(), times); },
          program->fd(), "an empty run"};
}

// A requester's packets with their iCRC, as they go into the frames of a socket.
Row sender(const std::string &name, const std::string &words) {
  auto source = std::make_shared<requester::OpenSource>(std::vector{flow_of(words_of(words))},
                                                        congestion::Rate{}, 1e10);
  auto frame = std::make_shared<std::vector<uint8_t>>(4096);
  return {name, [source, frame](uint32_t times) {
            std::array<packet::Outgoing, 32> out;
            for (uint32_t done = 0; done < times;) {
              const size_t count = source->next(1'000'000'000, out);
              for (size_t i = 0; i < count; i++)
                out[i].shape->stamp(frame->data(), out[i].fields);
              done += static_cast<uint32_t>(count);
            }
          }};
}

Row analyzer(const std::string &name, bool track) {
  NativeDatapath::Options options;
  options.track = track;
  auto datapath = std::make_shared<NativeDatapath>(options);
  auto frame = std::make_shared<std::vector<uint8_t>>(bench::send_middle(1024));
  auto psn = std::make_shared<uint32_t>(0);
  return {name, [datapath, frame, psn](uint32_t times) {
            const auto size = static_cast<uint32_t>(frame->size());
            for (uint32_t i = 0; i < times; i++) {
              const uint32_t word = htonl((*psn)++ & 0xffffff);
              memcpy(frame->data() + 50, &word, sizeof(word));
              datapath->frame({frame->data(), size, size});
            }
          }};
}

Row icrc() {
  auto frame = std::make_shared<std::vector<uint8_t>>(bench::send_middle(1024));
  return {"iCRC of 1 KB", [frame](uint32_t times) {
            const auto end = static_cast<uint32_t>(frame->size());
            for (uint32_t i = 0; i < times; i++)
              (*frame)[60] ^= static_cast<uint8_t>(icrc_value(frame->data(), 14, 42, end));
          }};
}

Row pacer() {
  congestion::Pacing pacing;
  pacing.rate = {congestion::Rate::Kind::BitsL2, 1e10, ""};
  auto one = std::make_shared<congestion::Pacer>(pacing, 1e10, 1);
  return {"pacing of a flow", [one](uint32_t times) {
            for (uint32_t i = 0; i < times; i++)
              one->sent(one->due(), 1082);
          }};
}

double median(const std::vector<double> &pieces) { return bench::spread(pieces).median; }

struct Cost {
  double ns, instructions;
};

// A packet's, after the feeder's is taken off.
Cost cost_of(const Row &row, const std::vector<Row> &rows) {
  Cost cost{median(row.ns), median(row.instructions)};
  for (const Row &other : rows)
    if (other.name == row.without) {
      cost.ns -= median(other.ns);
      cost.instructions -= median(other.instructions);
    }
  return cost;
}

// "-" where there is none.
struct Length {
  std::string instructions = "-", bytes = "-";
};

Length length_of(const Row &row) {
  if (row.program < 0)
    return {};
  const auto [instructions, bytes] = lengths(row.program);
  return {std::to_string(instructions), std::to_string(bytes)};
}

std::string executed(const Cost &cost, bool counted) {
  return counted ? fmt::format("{:.1f}", cost.instructions) : "-";
}

void print(const std::vector<Row> &rows, bool counted) {
  std::printf("a packet of 1 KB: length of its program in BPF instructions and in bytes of machine "
              "code,\ninstructions executed%s, and processor time (medians of %d; feeders' taken "
              "off)\n",
              counted ? "" : " (no counters on this machine)", kRounds);
  std::printf("  %-46s %8s %8s %12s %8s\n", "path", "length", "bytes", "instructions", "ns");
  for (const Row &row : rows) {
    const Cost cost = cost_of(row, rows);
    const Length length = length_of(row);
    std::printf("  %-46s %8s %8s %12s %8.1f\n", row.name.c_str(), length.instructions.c_str(),
                length.bytes.c_str(), executed(cost, counted).c_str(), cost.ns);
  }
}

// For programs: a line a row, name, length, bytes, instructions executed, ns.
void print_raw(const std::vector<Row> &rows, bool counted) {
  for (const Row &row : rows) {
    const Cost cost = cost_of(row, rows);
    const Length length = length_of(row);
    std::printf("%s\t%s\t%s\t%s\t%.2f\n", row.name.c_str(), length.instructions.c_str(),
                length.bytes.c_str(), executed(cost, counted).c_str(), cost.ns);
  }
}

} // namespace

// --raw: for compare.py.
int main(int argc, char **argv) {
  const bool raw = argc > 1 && std::string_view(argv[1]) == "--raw";
  libbpf_set_print(nullptr);
  bench::pin_to(1);
  const bench::Instructions counter;
  const auto v4 = bench::send_middle(1024), v6 = bench::send_middle_ipv6(1024);
  const auto only = bench::ipv4_frame(1024 + bench::kAroundPayload, 0x04); // RC SEND ONLY
  const auto mirrored = bench::mirrored_frame(v4);
  Yard one(1, 42), one6(1, 62), ect(1, 42, 2), mirror(1, 92, 0, 38);
  Counting count(false, 1), track(true, 65536), track6(true, 65536);
  Counting outer(true, 65536, ROCE_FEATURE_DECAP), inner(true, 65536, ROCE_FEATURE_DECAP);
  Impairing chance({"opcode data probability 1% drop"}, 0);
  Impairing none(bench::strangers(), ROCE_FEATURE_EDIT);
  const std::vector<std::string> passed(9, "opcode data probability 0.001% drop next");
  Impairing passed1({passed[0]}, ROCE_FEATURE_NEXT);
  Impairing passed9(passed, ROCE_FEATURE_NEXT);
  constexpr uint32_t kFollow = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP;
  constexpr uint32_t kTime = ROCE_FEATURE_TIME | ROCE_FEATURE_SKIP;
  Counting follow(true, 1024, kFollow), time(true, 1024, kTime);
  Impairing red_idle({"red 400k 1600k 20% rate 10tbit force"}, ROCE_FEATURE_EDIT);
  Impairing red_full({"red 100k 400k 20% rate 1gbit force"}, ROCE_FEATURE_EDIT);
  const auto feeder = [](Yard &yard) { return yard.fd(yard.skel->progs.empty); };
  std::vector<Row> rows = {
      fed("feeder of the rows below", one, feeder(one), v4, ""),
      fed("feeder, IPv6", one6, feeder(one6), v6, ""),
      fed("feeder, ECT", ect, feeder(ect), v4, ""),
      fed("feeder, ERSPAN II", mirror, feeder(mirror), mirrored, ""),
      fed("bpf: bare parser with a counter", one, one.fd(one.skel->progs.bare), v4,
          "feeder of the rows below"),
      fed("bpf: count, --no-track", one, count.fd(), v4, "feeder of the rows below"),
      fed("bpf: count and track, IPv4", one, track.fd(), v4, "feeder of the rows below"),
      fed("bpf: count and track, IPv6", one6, track6.fd(), v6, "feeder, IPv6"),
      fed("bpf: ... with --decap, no tunnel", one, outer.fd(), v4, "feeder of the rows below"),
      fed("bpf: ... with --decap, inside ERSPAN II", mirror, inner.fd(), mirrored,
          "feeder, ERSPAN II"),
      fed("bpf: ... and one probabilistic rule", one, chance.fd(), v4, "feeder of the rows below"),
      fed("bpf: ... and 32 rules that do not match", one, none.fd(), v4,
          "feeder of the rows below"),
      fed("bpf: ... and one rule with next", one, passed1.fd(), v4, "feeder of the rows below"),
      fed("bpf: ... and nine of them", one, passed9.fd(), v4, "feeder of the rows below"),
      fed("bpf: ... and RED that does not mark", one, red_idle.fd(), v4,
          "feeder of the rows below"),
      fed("bpf: ... and RED that marks every packet", ect, red_full.fd(), v4, "feeder, ECT"),
      fed("bpf: ... with --follow", one, follow.fd(), v4, "feeder of the rows below"),
      fed("bpf: ... with --latency", one, time.fd(), v4, "feeder of the rows below"),
      fed("bpf: one-packet messages", one, track.fd(), only, "feeder of the rows below"),
      fed("bpf: one-packet messages, --follow", one, follow.fd(), only, "feeder of the rows below"),
      fed("bpf: one-packet messages, --latency", one, time.fd(), only, "feeder of the rows below"),
      {"an empty run", [&](uint32_t times) { run_program(feeder(one), v4, times); }, feeder(one)},
      live("bpf: live frames, one QP", "qp 0x11 send size 2g"),
      live("bpf: live frames, 10,000 QPs", "qp 0x11 qps 10000 send size 2g"),
      live("bpf: live frames, one QP with a VLAN tag", "qp 0x11 send size 2g vlan 7"),
      sender("send: a packet and its iCRC, one QP", "qp 0x11 send size 2g"),
      sender("send: a packet and its iCRC, 10,000 QPs", "qp 0x11 qps 10000 send size 2g"),
      icrc(),
      pacer(),
      analyzer("analyze: parse and count", false),
      analyzer("analyze: parse, count and track", true)};
  for (int round = 0; round < (raw ? kRawRounds : kRounds); round++)
    for (Row &row : rows)
      measure(row, counter);
  if (raw)
    print_raw(rows, counter.there());
  else
    print(rows, counter.there());
  return 0;
}
