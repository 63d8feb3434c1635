// SPDX-License-Identifier: Apache-2.0
#include "base/shell.h"

namespace xr {

std::string shell_word(const std::string &word) {
  constexpr const char *kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "-_./=:,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos)
    return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

} // namespace xr
