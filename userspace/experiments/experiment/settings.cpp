// SPDX-License-Identifier: Apache-2.0
#include "experiment/settings.h"

#include "parse/words.h"

namespace xr::experiment {

Result<std::pair<std::string, std::string>> parse_setting(const std::string &word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0)
    return parse::wrong(word, "KEY=VALUE", "like duration=10ms or topology.star.senders=8");
  return std::pair(word.substr(0, equals), word.substr(equals + 1));
}

} // namespace xr::experiment
