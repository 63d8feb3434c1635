// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstring>

#include <fmt/format.h>

namespace xr {

Error Error::under(std::string_view prefix) const {
  return {fmt::format("{}: {}", prefix, message), hint, usage};
}

Error errno_error(int error, std::string message, std::string hint) {
  const char *name = strerrorname_np(error);
  return {fmt::format("{}: {} ({})", message, strerrordesc_np(error) ? strerrordesc_np(error) : "?",
                      name ? name : std::to_string(error).c_str()),
          std::move(hint)};
}

} // namespace xr
