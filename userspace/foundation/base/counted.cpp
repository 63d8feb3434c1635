// SPDX-License-Identifier: Apache-2.0
#include "base/counted.h"

namespace xr {

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string counted(uint64_t number, std::string_view noun, std::string_view plural) {
  std::string text = grouped(number) + " ";
  text += number == 1 || plural.empty() ? noun : plural;
  if (number != 1 && plural.empty())
    text += "s";
  return text;
}

} // namespace xr
