// SPDX-License-Identifier: Apache-2.0
// Where ranks are, and who gets how much.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/draw.h"
#include "job/collective.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::job {

namespace {

// 0 to count - 1 in an order by the seed (Fisher and Yates).
std::vector<uint32_t> shuffled(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (uint32_t i = count; i > 1; i--)
    std::swap(order[i - 1], order[draw_below(seed, i, i)]);
  return order;
}

} // namespace

uint64_t part_begin(uint64_t size, uint64_t parts, uint64_t index) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(size) * index / parts);
}

std::vector<std::vector<uint64_t>> zipf_matrix(uint32_t ranks, uint64_t size, double exponent,
                                               uint64_t seed) {
  std::vector<double> upto(size_t{ranks} + 1); // sums of the popularity of the ranks before
  const std::vector<uint32_t> order = shuffled(ranks, seed);
  for (uint32_t i = 0; i < ranks; i++)
    upto[i + 1] = upto[i] + std::pow(order[i] + 1, -exponent);
  const auto begin = [&](uint32_t index) {
    return index == ranks
               ? size
               : static_cast<uint64_t>(static_cast<double>(size) * upto[index] / upto[ranks]);
  };
  std::vector<uint64_t> row(ranks);
  for (uint32_t i = 0; i < ranks; i++)
    row[i] = begin(i + 1) - begin(i);
  return {ranks, row};
}

Result<std::vector<std::string>> place(std::string_view given, uint32_t ranks,
                                       const std::vector<std::string> &hosts, uint64_t seed) {
  parse::WordReader words(parse::split(std::string(given)));
  const bool random = words.take_if("random");
  if (!random && !words.take_if("linear"))
    return parse::wrong(words.peek(), "a placement",
                        "linear, random, random 7, or a list of hosts");
  if (random && !words.done())
    seed = XR_TRY(parse::integer(words.take(), 0, UINT64_MAX));
  if (!words.done())
    return parse::wrong(words.peek(), "a word of a placement", "linear, or random 7");
  if (ranks > hosts.size())
    return Error{
        fmt::format("{} ranks do not have a host each: there are {} hosts", ranks, hosts.size()),
        "fewer ranks, or a larger topology"};
  std::vector<std::string> placed(hosts.begin(), hosts.begin() + ranks);
  if (random) {
    const auto order = shuffled(static_cast<uint32_t>(hosts.size()), seed);
    for (uint32_t i = 0; i < ranks; i++)
      placed[i] = hosts[order[i]];
  }
  return placed;
}

} // namespace xr::job
