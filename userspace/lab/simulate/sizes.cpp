// SPDX-License-Identifier: Apache-2.0
// Distributions of flow sizes, points of which are numbers of HPCC's repository
// (alibaba-edu/High-Precision-Congestion-Control, traffic_gen/): web search (DCTCP, SIGCOMM'10) and
// Facebook's Hadoop cluster (SIGCOMM'15, Roy et al.).
#include <algorithm>

#include <fmt/format.h>

#include "simulate/traffic.h"

namespace xr::simulate {

namespace {

// WebSearch_distribution.txt
constexpr SizePoint kWebSearch[] = {{0, 0},        {10000, 15},   {20000, 20},    {30000, 30},
                                    {50000, 40},   {80000, 53},   {200000, 60},   {1000000, 70},
                                    {2000000, 80}, {5000000, 90}, {10000000, 97}, {30000000, 100}};
// FbHdp_distribution.txt
constexpr SizePoint kHadoop[] = {{0, 0},       {100, 1},        {200, 2},      {300, 5},
                                 {350, 15},    {400, 20},       {500, 30},     {600, 40},
                                 {700, 50},    {1000, 60},      {2000, 67},    {7000, 70},
                                 {30000, 72},  {50000, 82},     {80000, 87},   {120000, 90},
                                 {300000, 95}, {1000000, 97.5}, {2000000, 99}, {10000000, 100}};

} // namespace

Result<std::span<const SizePoint>> size_distribution(std::string_view name) {
  if (name == "websearch")
    return std::span<const SizePoint>(kWebSearch);
  if (name == "hadoop")
    return std::span<const SizePoint>(kHadoop);
  return Error{fmt::format("there is no distribution of sizes called {}", name),
               "websearch or hadoop"};
}

uint64_t size_of(std::span<const SizePoint> distribution, double uniform) {
  const double percent = uniform * 100;
  for (size_t i = 1; i < distribution.size(); i++) {
    const SizePoint &low = distribution[i - 1], &high = distribution[i];
    if (percent >= high.percent && i + 1 < distribution.size())
      continue;
    const double part = (percent - low.percent) / (high.percent - low.percent);
    const double bytes =
        static_cast<double>(low.bytes) + part * static_cast<double>(high.bytes - low.bytes);
    return std::max<uint64_t>(1, static_cast<uint64_t>(bytes));
  }
  return 1;
}

double mean_size(std::span<const SizePoint> distribution) {
  double mean = 0;
  for (size_t i = 1; i < distribution.size(); i++)
    mean += static_cast<double>(distribution[i].bytes + distribution[i - 1].bytes) / 2 *
            (distribution[i].percent - distribution[i - 1].percent) / 100;
  return mean;
}

} // namespace xr::simulate
