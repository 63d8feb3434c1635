// SPDX-License-Identifier: Apache-2.0
#include "plot/sweep_figure.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

namespace xr::plot {

namespace {

constexpr const char *kSeed = "seed";

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const Settings &settings, const std::string &key) {
  for (const auto &[name, value] : settings)
    if (name == key)
      return value;
  return "";
}

// Keys with more than one value, but the seed; in the order of the sweep.
std::vector<std::string> differing(const std::vector<SweepValue> &values) {
  std::vector<std::string> keys;
  for (const SweepValue &sweep_value : values)
    for (const auto &[key, value] : sweep_value.settings)
      if (key != kSeed && std::find(keys.begin(), keys.end(), key) == keys.end() &&
          std::any_of(values.begin(), values.end(),
                      [&key = key, &value = value](const SweepValue &other) {
                        return value_of(other.settings, key) != value;
                      }))
        keys.push_back(key);
  return keys;
}

// The x values, by text.
struct Axis {
  std::map<std::string, float> at;
  std::string unit;
  std::vector<std::string> names; // of 1, 2, 3 ...; empty: the values are numbers
};

Axis axis_of(const std::string &key, const std::vector<std::string> &texts) {
  Axis axis;
  std::set<std::string> units;
  for (const std::string &text : texts) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc())
      break;
    units.insert(std::string(end, text.data() + text.size()));
    axis.at[text] = static_cast<float>(number);
  }
  if (axis.at.size() == texts.size() && units.size() == 1) {
    axis.unit = units.begin()->empty() ? key : fmt::format("{}, {}", key, *units.begin());
    return axis;
  }
  axis.at.clear();
  axis.unit = key;
  axis.names = texts;
  for (const std::string &text : texts)
    axis.at[text] = static_cast<float>(axis.at.size() + 1);
  return axis;
}

struct Spread {
  double sum = 0, low = std::numeric_limits<double>::infinity(), high = -low;
  unsigned count = 0;
  void add(double value) {
    sum += value;
    low = std::min(low, value);
    high = std::max(high, value);
    count++;
  }
};

} // namespace

Figure sweep_figure(const std::string &id, const std::string &title, const std::string &y_unit,
                    const std::vector<SweepValue> &values) {
  Figure figure;
  figure.id = id;
  figure.title = title;
  figure.y_unit = y_unit;
  figure.time = false;
  std::vector<std::string> keys = differing(values);
  const std::string over = keys.empty() ? "" : keys.front();
  if (!keys.empty())
    keys.erase(keys.begin());
  std::vector<std::string> texts;
  for (const SweepValue &sweep_value : values)
    if (const std::string text = value_of(sweep_value.settings, over);
        std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(text);
  const Axis axis = axis_of(over.empty() ? "all points" : over, texts);
  figure.x_unit = axis.unit;
  figure.names = axis.names;
  std::vector<std::string> names; // of curves, in the order of the points
  std::map<std::string, std::map<float, Spread>> curves;
  for (const SweepValue &sweep : values) {
    std::string name;
    for (const std::string &key : keys)
      name += fmt::format("{}{}={}", name.empty() ? "" : ", ", key, value_of(sweep.settings, key));
    if (!curves.contains(name))
      names.push_back(name);
    curves[name][axis.at.at(value_of(sweep.settings, over))].add(sweep.value);
  }
  for (const std::string &name : names) {
    Curve curve;
    curve.name = name.empty() ? title : name;
    for (const auto &[x, spread] : curves[name]) {
      curve.x.push_back(x);
      curve.y.push_back(static_cast<float>(spread.sum / spread.count));
      curve.low.push_back(static_cast<float>(spread.low));
      curve.high.push_back(static_cast<float>(spread.high));
    }
    figure.curves.push_back(std::move(curve));
  }
  return figure;
}

} // namespace xr::plot
