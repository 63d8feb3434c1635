// SPDX-License-Identifier: Apache-2.0
#include "http/encoding.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include <openssl/evp.h>

namespace xr::http {

bool accepts_gzip(std::string_view value) {
  std::string text(value);
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t semicolon = std::min(item.find(';'), item.size());
    if (item.substr(0, semicolon) == "gzip") {
      const size_t weight = item.find(";q=", semicolon);
      return weight == std::string::npos || std::strtod(item.c_str() + weight + 3, nullptr) > 0;
    }
    begin = end + 1;
  }
  return false;
}

std::string from_base64(std::string_view text) {
  std::vector<unsigned char> bytes(text.size() / 4 * 3 + 1);
  const int length =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char *>(text.data()),
                      static_cast<int>(text.size()));
  if (length <= 0 || text.size() % 4 != 0)
    return "";
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return {bytes.begin(), bytes.begin() + length - static_cast<std::ptrdiff_t>(padding)};
}

} // namespace xr::http
