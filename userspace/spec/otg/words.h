// SPDX-License-Identifier: Apache-2.0
// Words of OTG that are read and written.
#pragma once

#include <cstdint>
#include <string_view>

namespace xr::otg {

// A speed of layer1. The list is ascending; the first of two equal ones is full duplex.
struct Speed {
  std::string_view word; // "speed_100_gbps"
  uint64_t mbit;
};

inline constexpr Speed kSpeeds[] = {
    {"speed_10_fd_mbps", 10},    {"speed_10_hd_mbps", 10},    {"speed_100_fd_mbps", 100},
    {"speed_100_hd_mbps", 100},  {"speed_1_gbps", 1'000},     {"speed_10_gbps", 10'000},
    {"speed_25_gbps", 25'000},   {"speed_40_gbps", 40'000},   {"speed_50_gbps", 50'000},
    {"speed_100_gbps", 100'000}, {"speed_200_gbps", 200'000}, {"speed_400_gbps", 400'000},
    {"speed_800_gbps", 800'000}};

// In the order of Verb.
inline constexpr std::string_view kVerbs[] = {"write", "write_with_immediate", "send",
                                              "send_with_immediate", "read"};
// By the two bits.
inline constexpr std::string_view kEcn[] = {"non_ect", "ect_1", "ect_0", "ce"};

// message_size is a number of these, up to kMostUnits.
struct SizeUnit {
  std::string_view word;
  uint64_t bytes;
};
inline constexpr SizeUnit kSizeUnits[] = {
    {"bytes", 1}, {"kb", 1000}, {"mb", 1'000'000}, {"gb", 1'000'000'000}};
inline constexpr uint64_t kMostUnits = 65535;

} // namespace xr::otg
