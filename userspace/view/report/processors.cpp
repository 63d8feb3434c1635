// SPDX-License-Identifier: Apache-2.0
#include "report/processors.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace xr::report {

namespace {

// "0, 2: no other xdp-roce has it; any: all are taken"
std::string processors_text(const std::vector<PlacedThread> &threads) {
  std::vector<std::pair<std::string, std::string>> groups; // why, processors
  for (const PlacedThread &thread : threads) {
    const std::string name = thread.processor ? fmt::format("{}", *thread.processor) : "any";
    auto group =
        std::ranges::find_if(groups, [&](const auto &each) { return each.first == thread.why; });
    if (group == groups.end())
      groups.emplace_back(thread.why, name);
    else if (thread.processor)
      group->second += ", " + name;
  }
  std::string text;
  for (const auto &[why, names] : groups)
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", names, why);
  return text;
}

} // namespace

void add_processors(std::vector<Section> &sections, const std::vector<PlacedThread> &threads) {
  Rows rows;
  for (size_t i = 0; i < threads.size(); i++)
    rows.push_back({uint64_t{i},
                    threads[i].processor ? Value{uint64_t{*threads[i].processor}} : Value{},
                    threads[i].why});
  sections.push_back(
      {"processors", "",
       make_table({{"thread", "", Format::Count}, {"processor", "", Format::Count}, {"why", ""}},
                  std::move(rows)),
       Where::Json});
  if (std::ranges::any_of(threads,
                          [](const auto &thread) { return thread.processor.has_value(); }) ||
      threads.size() > 1)
    sections.push_back(
        {"processors_text", "processors", Value{processors_text(threads)}, Where::Text});
}

} // namespace xr::report
