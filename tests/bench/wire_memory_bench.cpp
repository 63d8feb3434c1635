// SPDX-License-Identifier: Apache-2.0
// A rule that holds every frame for 1 s meets as many of the shortest frames as the machine can
// send: they must fit into the memory that `wire` chose by itself for that rule. What the process
// is too slow to take (ring full) is another matter, and is printed.
#include <cstdio>

#include "base/clock.h"
#include "datapath/bridge.h"
#include "endpoint/wire.h"
#include "turning.h"
#include "wire_traffic.h"
#include "yards.h"
#include "yardsticks.skel.h"

namespace {

using namespace xr;
using bench::fail;

constexpr uint64_t kSeconds = 4, kSecond = 1'000'000'000;

} // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  libbpf_set_print(nullptr);
  bench::pin_to(0);
  bench::Wires wires({"c", "d"});
  yardsticks *yard = bench::open_yard();
  bench::put_on("d1", yard->progs.arrive);
  bench::put_on("c0", yard->progs.arrive);
  if (auto made = datapath::bridge("c1", "d0", "", {}, false); !made)
    fail(made.error().message);
  bench::set_rule("c1", "delay 1s");
  endpoint::WireRequest request;
  request.first = "c1";
  request.second = "d0";
  auto run = endpoint::WireRun::prepare(std::move(request));
  if (!run)
    fail(run.error().message);
  for (const std::string &note : run->notes())
    std::printf("  %s\n", note.c_str());
  bench::Sender sender("c0", 64, 1);
  {
    const bench::Turning turning([&] { bench::turn(*run); });
    const uint64_t begin = monotonic_ns();
    while (monotonic_ns() - begin < kSeconds * kSecond)
      sender.send();
    usleep(1'300'000);
  }
  const WireReport report = run->report();
  const WirePortCounts &c = *report.ports[0].counts;
  const double most = static_cast<double>(c.memory_frames - c.memory_free_least);
  const bool fits = c.memory_free_least && !c.in.no_memory;
  std::printf(
      "delay 1s, %lu s of frames of 64 bytes: memory %.0f MB, %lu buffers; %lu frames, %.0f a "
      "second\n",
      kSeconds, static_cast<double>(report.memory_bytes) / 1e6, c.memory_frames, c.in.taken,
      static_cast<double>(c.in.taken) / kSeconds);
  std::printf("  most buffers in use %.0f, fewest free %lu (must be > 0)%s\n", most,
              c.memory_free_least, fits ? "" : "  MISSED");
  std::printf("  sent %lu; lost: no memory %lu, fill ring empty %lu, RX ring full %lu\n", c.in.left,
              c.in.no_memory, c.in.no_buffer, c.in.ring_full);
  if (auto done = run->close(); !done)
    fail(done.error().message);
  if (auto done = datapath::detach({"c1", ""}); !done)
    fail(done.error().message);
  yardsticks__destroy(yard);
  return 0;
}
