// SPDX-License-Identifier: Apache-2.0
#include "base/xml.h"

#include <cstddef>

namespace xr {

namespace {

// The length of the character at the beginning of `text`, 0 if XML cannot have it: it is not UTF-8
// (RFC 3629), a surrogate, U+FFFE or U+FFFF.
size_t character_length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80)
    return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length)
    return 0;
  unsigned code = first & (0x7fU >> length);
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  const bool too_long = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool allowed =
      code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff;
  return allowed && !too_long ? length : 0;
}

} // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0, length = 1; i < text.size(); i += length ? length : 1) {
    length = character_length(text.substr(i));
    const char c = length ? text[i] : '\0';
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      if (length > 1)
        out += text.substr(i, length);
      else
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

} // namespace xr
