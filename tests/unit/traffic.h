// SPDX-License-Identifier: Apache-2.0
// Random traffic of one connection over a bad network: losses, duplicates, late packets, go-back-N
// rounds, READs repeated from the middle, reused QPNs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "steps.h"

namespace xr::test {

struct Profile {
  uint8_t transport = ROCE_RC;
  bool responses = false; // the answers to the requests, not the requests
  uint32_t pmtu = 1024;
  uint32_t first_psn = 0;
  int packets = 1500;
  double loss = 0, duplicate = 0, reorder = 0, go_back = 0, new_life = 0, marked = 0;
  int reorder_by = 8; // packets, at most
  int go_back_by = 64;
};

struct Sent {
  Step step;
  uint8_t ecn = 2;
};

Profile random_profile(std::mt19937_64 &rng);
std::vector<Sent> random_traffic(std::mt19937_64 &rng, const Profile &profile);

} // namespace xr::test
