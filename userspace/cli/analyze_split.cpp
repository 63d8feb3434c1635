// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze_split.h"

#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"
#include "parse/value.h"

namespace xr::cli {

namespace {

// "192.0.2.1_192.0.2.2_0x000011_request"; RoCEv1 with "_v1" at the end.
std::string stream_name(const roce_key &key) {
  std::string name =
      fmt::format("{}_{}_0x{:06x}_{}{}", names::address(key.src), names::address(key.dst),
                  roce_key_qp(&key), names::kind_name(key), key.qp_kind & ROCE_KEY_V1 ? "_v1" : "");
  std::ranges::replace(name, ':', '-'); // IPv6, as other systems' file names
  return name;
}

} // namespace

void add_split_options(Command command, SplitArgs &args) {
  command
      .add_option("--split-by", args.by,
                  "Also write the frames into pcapng files: stream (one a row of the report's "
                  "streams, and other.pcapng) or time (one an interval)")
      .value_name("stream|time")
      .check(one_of({"stream", "time"}));
  command
      .add_option("--split-to", args.to, "With --split-by: a directory without captures; is made")
      .value_name("DIR");
  command.add_option("--every", args.every, "With --split-by time: length of the intervals, as 10s")
      .value_name("TIME");
}

Status check_split(SplitArgs &args) {
  if (args.by.empty()) {
    if (args.to.empty() && args.every.empty())
      return {};
    return Error{"--split-to and --every are for --split-by", "add --split-by stream or time"};
  }
  if (args.to.empty())
    return Error{"--split-by needs a directory", "add --split-to DIR"};
  if (args.every.empty() == (args.by == "time"))
    return Error{"--split-by time has intervals, --split-by stream has not",
                 "name their length with --every, as --split-by time --every 10s"};
  if (args.every.empty())
    return {};
  const auto every = parse::duration(args.every).in("--every");
  if (!every)
    return every.error();
  if (!every.get())
    return Error{"--every 0: an interval takes time", "as --every 10s"};
  args.every_ns = every.get();
  return {};
}

Result<std::optional<Splitter>> open_splitter(const SplitArgs &args) {
  if (args.by.empty())
    return std::optional<Splitter>();
  SplitOptions options{.directory = args.to, .every_ns = args.every_ns, .name = stream_name};
  auto splitter = XR_TRY(Splitter::create(std::move(options)));
  return std::optional<Splitter>(std::move(splitter));
}

} // namespace xr::cli
