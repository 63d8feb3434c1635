// SPDX-License-Identifier: Apache-2.0
#include "cli/traffic_options.h"

#include "parse/value.h"

namespace xr::cli {

void add_queue_options(CLI::App &command, endpoint::QueueOptions &options,
                       const char *description) {
  command.add_option("--queue", options.first, "The first queue (default: 0)")
      ->type_name("N")
      ->check(whole_number(0, 63));
  command.add_option("--queues", options.count, description)
      ->type_name("N")
      ->check(whole_number(1, 64));
  auto *copy = command.add_flag("--copy", options.copy,
                                "Do not use zero-copy, even where the driver has it");
  command.add_flag("--zero-copy", options.zero_copy, "Fail where frames would be copied")
      ->excludes(copy);
}

void add_duration(CLI::App &command, const std::string &name, uint64_t &ns,
                  const std::string &description) {
  command
      .add_option_function<std::string>(
          name,
          [&ns](const std::string &text) {
            if (auto value = parse::duration(text))
              ns = value.get();
          },
          description)
      ->type_name("DURATION")
      ->check(CLI::Validator(
          [](std::string &text) {
            auto value = parse::duration(text);
            if (value && !value.get())
              return fmt::format("'{}' is not a duration above 0", text);
            return value ? std::string()
                         : fmt::format("{} ({})", value.error().message, value.error().hint);
          },
          ""));
}

} // namespace xr::cli
