// SPDX-License-Identifier: Apache-2.0
#include "otg/read_schedule.h"

#include <cmath>

#include <fmt/format.h>

namespace xr::otg {

using packet::FrameRate;
using packet::FrameSizes;
using packet::FrameSpan;

namespace {

std::vector<packet::WeightedSize> read_pairs(Object &pairs) {
  using Sizes = std::vector<packet::WeightedSize>;
  // In the order of the model.
  static const std::vector<Sizes> kPredefined{
      {{64, 7}, {570, 4}, {1518, 1}},
      {{90, 58.67}, {92, 2}, {594, 23.66}, {1418, 15.67}},
      {{60, 58.67}, {496, 2}, {594, 23.66}, {1518, 15.67}},
      {{58, 58.67}, {62, 2}, {594, 23.66}, {1518, 15.67}},
      {{90, 58.67}, {92, 2}, {594, 23.66}, {1518, 15.67}},
  };
  if (pairs.choice({"predefined", "custom"}, 0) == 0)
    return kPredefined[pairs.word(
        "predefined", {"imix", "ipsec_imix", "ipv6_imix", "standard_imix", "tcp_imix"}, 0)];
  Sizes sizes;
  double all = 0;
  pairs.each("custom", "a pair", [&](Object &pair) {
    packet::WeightedSize one;
    one.size = static_cast<uint32_t>(pair.integer("size", 12, kLargestFrame, 64));
    one.weight = pair.real("weight", 0, 1e9, 1);
    all += one.weight;
    sizes.push_back(one);
  });
  if (all > 0)
    return sizes;
  pairs.error("custom", {"there is no size with a weight", "[{\"size\": 64, \"weight\": 1}]"});
  return {{64, 1}};
}

packet::LineTime read_time(Object &object, const char *key, double bytes) {
  constexpr double kMostNs = 1e18;
  packet::LineTime made;
  object.object(
      key, "a time",
      [&](Object &time) {
        const size_t choice = time.choice({"bytes", "nanoseconds", "microseconds"}, 0);
        made.bytes = choice == 0;
        if (choice == 0)
          made.value = time.real("bytes", 0, 1e12, bytes);
        else if (choice == 1) // defaults: bytes at 1 Gbit/s, as the model has them
          made.value = time.real("nanoseconds", 0, kMostNs, bytes * 8);
        else
          made.value = 1e3 * time.real("microseconds", 0, kMostNs / 1e3, bytes * 8 / 1e3);
      },
      true);
  return made;
}

} // namespace

FrameSizes read_sizes(Object &flow) {
  FrameSizes made;
  const auto size = [](Object &object, const char *key, uint64_t otherwise) {
    return static_cast<uint32_t>(object.integer(key, 1, kLargestFrame, otherwise));
  };
  const auto ordered = [&](Object &object, const char *key) {
    if (made.from > made.to)
      object.error(key,
                   {"it is smaller than the first size", fmt::format("{} or more", made.from)});
  };
  flow.object(
      "size", "a size",
      [&](Object &object) {
        switch (object.choice({"fixed", "increment", "random", "weight_pairs"}, 0)) {
        case 0:
          made.from = made.to = size(object, "fixed", 64);
          break;
        case 1:
          made.kind = FrameSizes::Kind::Increment;
          object.object(
              "increment", "sizes",
              [&](Object &inner) {
                made.from = size(inner, "start", 64);
                made.to = size(inner, "end", 1518);
                made.step = static_cast<uint32_t>(inner.integer("step", 0, kLargestFrame, 1));
                ordered(inner, "end");
              },
              true);
          break;
        case 2:
          made.kind = FrameSizes::Kind::Random;
          object.object(
              "random", "sizes",
              [&](Object &inner) {
                made.from = size(inner, "min", 64);
                made.to = size(inner, "max", 1518);
                ordered(inner, "max");
              },
              true);
          break;
        default:
          made.kind = FrameSizes::Kind::Weighted;
          object.object(
              "weight_pairs", "sizes", [&](Object &inner) { made.weighted = read_pairs(inner); },
              true);
        }
      },
      true);
  return made;
}

FrameRate read_rate(Object &flow) {
  constexpr uint64_t kMost = 100'000'000'000'000; // a second
  FrameRate made{.kind = FrameRate::Kind::Bits};
  flow.object(
      "rate", "a rate",
      [&](Object &rate) {
        switch (rate.choice({"pps", "bps", "kbps", "mbps", "gbps", "percentage"}, 0)) {
        case 0:
          made.kind = FrameRate::Kind::Packets;
          made.value = rate.integer("pps", 1, kMost, 1000);
          break;
        case 1:
          made.value = rate.integer("bps", 672, kMost, 1'000'000'000);
          break;
        case 2:
          made.value = rate.integer("kbps", 1, kMost / 1000, 1'000'000) * 1000;
          break;
        case 3:
          made.value = rate.integer("mbps", 1, kMost / 1'000'000, 1000) * 1'000'000;
          break;
        case 4:
          made.value = rate.integer("gbps", 1, kMost / 1'000'000'000, 1) * 1'000'000'000;
          break;
        default:
          made.kind = FrameRate::Kind::Percent;
          made.percent = rate.real("percentage", 0, 100, 100);
        }
      },
      true);
  return made;
}

FrameSpan read_span(Object &flow) {
  FrameSpan made;
  const auto common = [&](Object &object, bool delay) {
    made.gap = static_cast<uint32_t>(object.integer("gap", 0, UINT32_MAX, packet::kGapBytes));
    if (delay)
      made.delay = read_time(object, "delay", 0);
  };
  flow.object(
      "duration", "a duration",
      [&](Object &duration) {
        switch (duration.choice({"fixed_packets", "fixed_seconds", "burst", "continuous"}, 3)) {
        case 0:
          made.kind = FrameSpan::Kind::Packets;
          duration.object(
              "fixed_packets", "a duration",
              [&](Object &object) {
                made.packets = object.integer("packets", 1, UINT32_MAX, 1);
                common(object, true);
              },
              true);
          break;
        case 1:
          made.kind = FrameSpan::Kind::Time;
          duration.object(
              "fixed_seconds", "a duration",
              [&](Object &object) {
                made.ns =
                    static_cast<uint64_t>(std::llround(1e9 * object.real("seconds", 0, 1e9, 1)));
                common(object, true);
              },
              true);
          break;
        case 2:
          made.kind = FrameSpan::Kind::Bursts;
          duration.object(
              "burst", "bursts",
              [&](Object &object) {
                made.bursts = object.integer("bursts", 0, UINT32_MAX, 0);
                made.packets = object.integer("packets", 1, UINT32_MAX, 1);
                common(object, false);
                made.between = read_time(object, "inter_burst_gap", packet::kGapBytes);
              },
              true);
          break;
        default:
          duration.object(
              "continuous", "a duration", [&](Object &object) { common(object, true); }, true);
        }
      },
      true);
  return made;
}

} // namespace xr::otg
