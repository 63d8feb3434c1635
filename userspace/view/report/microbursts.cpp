// SPDX-License-Identifier: Apache-2.0
#include "report/microbursts.h"

#include <algorithm>
#include <cmath>

namespace xr::report {

void add_microbursts(Document &document, const Microbursts &bursts) {
  const auto json = [](const char *key) {
    return Column{key, "", Format::Number, Hide::Never, Tone::Plain, Where::Json};
  };
  std::vector<std::vector<Value>> rows;
  for (const Microburst &most : bursts.windows) {
    if (!most.frames)
      continue;
    const uint64_t since = most.first_ns - std::min(bursts.first_ns, most.first_ns);
    rows.push_back(
        {most.window_ns / 1000, most.bytes, most.frames,
         std::round(static_cast<double>(most.bytes) * 8e9 / static_cast<double>(most.window_ns)),
         since, std::round(static_cast<double>(since) / 1000) / 1000});
  }
  Table table = make_table({{"window_us", "us", Format::Count},
                            {"bytes", "BYTES", Format::Count},
                            {"frames", "FRAMES", Format::Count},
                            {"bits_per_second", "BIT/s", Format::Scaled},
                            json("at_ns"),
                            {"", "AT ms", Format::Number, Hide::Never, Tone::Plain, Where::Text}},
                           std::move(rows));
  Section section{"microbursts", "LARGEST BURST IN ANY", std::move(table)};
  section.hide = Hide::Zero;
  document.sections.push_back(std::move(section));
  Section untimed{
      "microbursts_untimed", "",
      Group{count("untimed", "frames without a time: in no burst", bursts.untimed),
            count("late", "frames before the time of an earlier one: taken as of that time",
                  bursts.late)}};
  untimed.hide = Hide::Zero;
  document.sections.push_back(std::move(untimed));
}

} // namespace xr::report
