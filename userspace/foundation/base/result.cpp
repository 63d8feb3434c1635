// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cstring>

#include <fmt/format.h>

namespace xr {

Error Error::in(std::string_view where) const {
  if (where == context)
    return *this;
  return {fmt::format("{}: {}", where, message), hint, kind, std::string(where)};
}

Error errno_error(int error, std::string message, std::string hint) {
  const char *name = strerrorname_np(error);
  return {fmt::format("{}: {} ({})", message, strerrordesc_np(error) ? strerrordesc_np(error) : "?",
                      name ? name : std::to_string(error).c_str()),
          std::move(hint)};
}

} // namespace xr
