// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "names/names.h"
#include "parse/words.h"

namespace xr::cli {

namespace {

constexpr double kShortest = 0.01, kLongest = 86400;

constexpr size_t kLine = 80;

// A long list, with line breaks after commas.
std::string wrapped_list(const std::string &list) {
  std::string out;
  size_t column = 0;
  for (const char c : list) {
    out += c;
    column++;
    if (c == ',' && column >= kLine) {
      out += '\n';
      column = 0;
    }
  }
  return out;
}

ValueCheck seconds() {
  return ValueCheck{[](const std::string &text) -> std::string {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= kShortest &&
        value <= kLongest)
      return "";
    return fmt::format("'{}' is not a number of seconds from {} to {}", text, kShortest, kLongest);
  }};
}

} // namespace

std::string choices(const std::vector<std::string> &words) {
  return fmt::format("{{{}}}", fmt::join(words, ","));
}

ValueCheck one_of(const std::vector<std::string> &words) {
  return ValueCheck{[words](const std::string &text) -> std::string {
                      if (std::find(words.begin(), words.end(), text) != words.end())
                        return "";
                      return fmt::format("'{}' is none of {}", text, fmt::join(words, ", "));
                    },
                    choices(words)};
}

ValueCheck whole_number(uint64_t from, uint64_t to) {
  return ValueCheck{[from, to](const std::string &text) -> std::string {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= from && value <= to)
      return "";
    if (to == std::numeric_limits<uint64_t>::max())
      return fmt::format("'{}' is not a whole number from {} on", text, from);
    return fmt::format("'{}' is not a whole number from {} to {}", text, from, to);
  }};
}

void add_interface(Command command, std::string &ifname, const std::string &description) {
  command.add_option("IF", ifname, description).required().value_name("");
}

void add_dscp_map(Command command, std::string &map) {
  command
      .add_option("--dscp-map", map,
                  "To which priority the switches map the data's DSCP: pairs as 3:3,4:4, div8 for "
                  "DSCP / 8, or a file of such pairs or with SONiC's DSCP_TO_TC_MAP (default: what "
                  "the data's own PCP shows)")
      .value_name("MAP");
}

void add_count(Command command, uint64_t &count, const std::string &description) {
  command.add_option("--count", count, description)
      .value_name("N")
      .check(whole_number(1, std::numeric_limits<uint64_t>::max()));
}

void add_interval(Command command, double &interval, const std::string &description) {
  command.add_option("--interval", interval, description).value_name("S").check(seconds());
}

void add_repeat(Command command, Repeat &repeat) {
  add_interval(command, repeat.interval,
               "A report every S seconds, with the rates since the one before");
  add_count(command, repeat.count, "With --interval: end after N reports");
  command.option("--count").needs("--interval");
}

void add_sort(Command command, std::string &sort, const std::string &description,
              const std::vector<std::string> &keys) {
  command.add_option("--sort", sort, description + ":\n" + wrapped_list(choices(keys)))
      .value_name("KEY")
      .check({one_of(keys).fault});
}

void add_stream_options(Command command, report::StreamOptions &options) {
  add_sort(
      command, options.sort,
      "Streams by this column's JSON key, largest first, or by trouble (default): losses, then "
      "rewinds, then CE");
  command.add_option("--top", options.top, "The first N rows of each list only (default: all)")
      .value_name("N")
      .check(whole_number(1, std::numeric_limits<uint32_t>::max()));
}

void add_udp_port(Command command, uint16_t &port) {
  command.add_option("--udp-port", port, "UDP port that is RoCEv2 (default: 4791)")
      .value_name("P")
      .check(whole_number(1, std::numeric_limits<uint16_t>::max()));
}

void add_decap(Command command, uint32_t &tunnels) {
  command
      .add_option_function<std::string>(
          "--decap",
          [&tunnels](const std::string &list) { tunnels = names::tunnels_of(list).value_or(0); },
          "Take tunnels off and count the frames inside, as mirrors send them: auto (all), or some "
          "of\n" +
              choices(names::tunnel_names()))
      .value_name("LIST")
      .check(ValueCheck{[](const std::string &list) -> std::string {
        if (names::tunnels_of(list))
          return "";
        return fmt::format("'{}' is not auto or a list, with commas, of {}", list,
                           fmt::join(names::tunnel_names(), ", "));
      }});
}

std::string wrapped(const std::string &text) {
  constexpr size_t kWidth = 100;
  std::string out;
  size_t used = 0;
  for (const std::string &word : parse::split(text)) {
    const bool fits = used + 1 + word.size() <= kWidth;
    out += out.empty() ? "" : fits ? " " : "\n";
    used = fits && !out.empty() ? used + 1 + word.size() : word.size();
    out += word;
  }
  return out;
}

} // namespace xr::cli
