// SPDX-License-Identifier: Apache-2.0
#include "plot/network_layout.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/counted.h"

namespace xr::plot {
namespace {

constexpr double kNodeHeight = 46, kRowGap = 100, kLeast = 760, kMargin = 8;
constexpr double kLetterWidth = 7.2, kLine = 16; // of 13 px, about
constexpr size_t kRulesNamed = 2, kFewLinks = 3;
// Places of a label along its link, the best one first.
constexpr double kShares[] = {0.5, 0.38, 0.62, 0.26, 0.74, 0.16, 0.84};

double text_width(const std::string &text) {
  return kLetterWidth * static_cast<double>(text.size());
}

// Switches in the middle, senders or spines above, the other hosts below.
void place_nodes(const PageNetwork &network, NetworkLayout &out) {
  std::array<std::vector<size_t>, 3> rows;
  double widest = 0;
  for (size_t i = 0; i < network.nodes.size(); i++) {
    rows[static_cast<size_t>(network.nodes[i].tier)].push_back(i);
    widest = std::max(widest, text_width(network.nodes[i].name) + 24);
  }
  size_t most = 0, used = 0;
  for (const auto &row : rows) {
    most = std::max(most, row.size());
    used += !row.empty();
  }
  out.width = std::max(kLeast, static_cast<double>(most) * std::max(150.0, widest + 16));
  out.height = static_cast<double>(used) * (kNodeHeight + kRowGap) - kRowGap + 2 * kMargin;
  out.nodes.resize(network.nodes.size());
  double top = kMargin;
  for (const auto &row : rows) {
    if (row.empty())
      continue;
    const double room = out.width / static_cast<double>(row.size());
    for (size_t i = 0; i < row.size(); i++) {
      const double middle = room * (static_cast<double>(i) + 0.5);
      const double half = (text_width(network.nodes[row[i]].name) + 24) / 2;
      out.nodes[row[i]] = {middle - half, top, middle + half, top + kNodeHeight};
    }
    top += kNodeHeight + kRowGap;
  }
}

std::vector<std::string> words_of(const PageNetwork::Link &link, bool with_about,
                                  const std::string &about) {
  std::vector<std::string> words;
  if (with_about)
    words.push_back(about);
  for (size_t i = 0; i < std::min(link.rules.size(), kRulesNamed); i++)
    words.push_back("rule " + link.rules[i]);
  if (link.rules.size() > kRulesNamed)
    words.push_back("and " + counted(link.rules.size() - kRulesNamed, "more rule"));
  return words;
}

// Beside the link, on the side where it leaves room first.
std::vector<Box> places_of(const NetworkLayout::Link &link) {
  double width = 0;
  for (const std::string &line : link.words)
    width = std::max(width, text_width(line));
  const double height = kLine * static_cast<double>(link.words.size());
  const bool left = (link.x2 - link.x1) * (link.y2 - link.y1) > 0;
  std::vector<Box> all;
  for (const bool on_left : {left, !left})
    for (const double share : kShares) {
      const double x = link.x1 + (link.x2 - link.x1) * share;
      const double y = link.y1 + (link.y2 - link.y1) * share - height / 2;
      const double from = on_left ? x - 14 - width : x + 14;
      all.push_back({from, y, from + width, y + height});
    }
  return all;
}

} // namespace

NetworkLayout lay_out(const PageNetwork &network, const std::vector<std::string> &about) {
  NetworkLayout out;
  place_nodes(network, out);
  std::vector<Box> taken = out.nodes;
  std::set<std::tuple<std::string, PageNetwork::Node::Tier, PageNetwork::Node::Tier>> said;
  for (size_t i = 0; i < network.links.size(); i++) {
    const PageNetwork::Link &link = network.links[i];
    const Box &from = out.nodes[link.from], &to = out.nodes[link.to];
    const bool down = from.y0 < to.y0, same_row = from.y0 == to.y0;
    NetworkLayout::Link &line = out.links.emplace_back();
    line.x1 = (from.x0 + from.x1) / 2;
    line.x2 = (to.x0 + to.x1) / 2;
    line.y1 = same_row ? (from.y0 + from.y1) / 2 : down ? from.y1 : from.y0;
    line.y2 = same_row ? line.y1 : down ? to.y0 : to.y1;
    // Words that many links have are beside the first one only: they would hide the links.
    const bool first =
        said.emplace(about[i], network.nodes[link.from].tier, network.nodes[link.to].tier).second;
    line.words = words_of(link, first || network.links.size() <= kFewLinks, about[i]);
    if (line.words.empty())
      continue;
    const std::vector<Box> places = places_of(line);
    const auto free = std::ranges::find_if(places, [&](const Box &place) {
      return place.x0 >= 0 && place.x1 <= out.width &&
             std::ranges::none_of(taken, [&](const Box &other) { return place.overlaps(other); });
    });
    if (free == places.end()) {
      line.words.clear();
      continue;
    }
    line.label = *free;
    taken.push_back(*free);
  }
  return out;
}

} // namespace xr::plot
