// SPDX-License-Identifier: Apache-2.0
#include "plot/strokes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xr::plot {
namespace {

// Okabe and Ito's colours, which the colour-blind can distinguish.
constexpr std::array<const char *, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b"};
// Lengths of dashes and gaps, up to a 0.
constexpr std::array<std::array<int, 5>, 4> kLengths = {{{}, {7, 4}, {2, 3}, {9, 3, 2, 3}}};
constexpr size_t kFewestHues = 12;

std::vector<int> lengths_of(size_t dash) {
  const auto &all = kLengths[dash];
  return {all.begin(), std::ranges::find(all, 0)};
}

// A colour of a circle with `count` hues. Neighbours on it differ in lightness, too.
std::string hue_colour(size_t number, size_t count) {
  const double hue = 6 * static_cast<double>(number) / static_cast<double>(count);
  const double lightness = number % 2 ? 0.36 : 0.5,
               chroma = 0.8 * 2 * std::min(lightness, 1 - lightness);
  const auto part = [&](double at) {
    const double from_red = std::fabs(std::remainder(hue - at, 6));
    const double share = std::min(1.0, std::max(0.0, 2 - from_red));
    return std::lround(255 * (lightness + chroma * (share - 0.5)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", part(0), part(2), part(4));
}

// A step around the circle that meets all hues, about 0.38 of it: curves that follow one another
// look different.
size_t stride_of(size_t hues) {
  size_t stride = std::max<size_t>(1, hues * 38 / 100);
  const auto common = [&](size_t a, size_t b) {
    while (b)
      a = std::exchange(b, a % b);
    return a;
  };
  while (common(stride, hues) != 1)
    stride++;
  return stride;
}

} // namespace

std::vector<Stroke> strokes(const Figure &figure) {
  std::map<unsigned, size_t> curves; // by run
  for (const Curve &curve : figure.curves)
    curves[curve.run]++;
  size_t most = 0, runs = 1;
  for (const auto &[run, count] : curves) {
    most = std::max(most, count);
    runs = std::max<size_t>(runs, run + 1);
  }
  const size_t dashes = std::max<size_t>(1, kLengths.size() / runs); // of one run
  const bool few = most <= kColours.size();
  const size_t hues = few ? kColours.size() : std::max(kFewestHues, (most + dashes - 1) / dashes);
  const size_t stride = stride_of(hues);
  std::map<unsigned, size_t> next;
  std::vector<Stroke> all;
  for (const Curve &curve : figure.curves) {
    const size_t number = next[curve.run]++, turn = number / hues;
    all.push_back({few ? kColours[number] : hue_colour(number * stride % hues, hues),
                   lengths_of((runs * turn + curve.run) % kLengths.size())});
  }
  return all;
}

std::string dash_text(const Stroke &stroke) {
  return fmt::format("{}", fmt::join(stroke.dash, " "));
}

} // namespace xr::plot
