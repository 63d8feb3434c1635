// SPDX-License-Identifier: Apache-2.0
// Processor time of a CNP and of a packet under DCQCN, for each preset: QPs in random order, with a
// pacer and a place in the timing wheel each. Processor time, not time: the machine is shared.
#include <cstdio>
#include <ctime>

#include "base/draw.h"
#include "congestion/qp_pacing.h"
#include "spread.h"

namespace {

using namespace xr;
using namespace xr::congestion;

constexpr uint32_t kQps = 10'000, kFrame = 1044;
constexpr int kRounds = 15, kPiece = 200'000;
constexpr double kTargetNs = 200;

double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Control control_of(const char *preset) {
  Control control;
  control.kind = Control::Kind::Dcqcn;
  control.dcqcn = dcqcn_preset(preset).get();
  control.rate = {Rate::Kind::BitsL2, 10e9, "10gbit"};
  return control;
}

// Each QP has a CNP every 100 us.
std::vector<double> cnps(const char *preset) {
  QpPacing pacing(kQps, control_of(preset), 0);
  pacing.start(0, kFrame);
  std::vector<double> pieces;
  uint64_t number = 0, now = 1000;
  for (int round = 0; round < kRounds; round++) {
    const double begin = processor_ns();
    for (int i = 0; i < kPiece; i++) {
      now += 100'000 / kQps;
      pacing.cnp(static_cast<uint32_t>(draw(1, number++) % kQps), now);
    }
    pieces.push_back((processor_ns() - begin) / kPiece);
  }
  return pieces;
}

// The wheel hands out a packet each 250 ns; one in 200 brings a CNP.
std::vector<double> packets(const char *preset) {
  QpPacing pacing(kQps, control_of(preset), 0);
  pacing.start(0, kFrame);
  for (uint32_t qp = 0; qp < kQps; qp++)
    pacing.wait(qp);
  std::vector<double> pieces;
  uint64_t now = 0;
  for (int round = 0; round < kRounds; round++) {
    const double begin = processor_ns();
    for (int sent = 0; sent < kPiece;) {
      now += 250;
      uint32_t qp = 0;
      if (!pacing.take_due(now, qp))
        continue;
      pacing.sent(qp, now, kFrame);
      pacing.wait(qp);
      if (++sent % 200 == 0)
        pacing.cnp(static_cast<uint32_t>(draw(2, now) % kQps), now);
    }
    pieces.push_back((processor_ns() - begin) / kPiece);
  }
  return pieces;
}

} // namespace

int main() {
  std::printf("DCQCN, %u QPs, ns of processor time      median (quartiles)\n", kQps);
  for (const char *preset : dcqcn_presets()) {
    const bench::Spread cnp = bench::spread(cnps(preset)), packet = bench::spread(packets(preset));
    std::printf("  %-9s a CNP     %5.0f (%.0f to %.0f), at most %.0f %s\n", preset, cnp.median,
                cnp.low, cnp.high, kTargetNs, bench::verdict(cnp, bench::at_most(kTargetNs)));
    std::printf("  %-9s a packet  %5.0f (%.0f to %.0f)\n", preset, packet.median, packet.low,
                packet.high);
  }
}
