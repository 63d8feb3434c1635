// SPDX-License-Identifier: Apache-2.0
#include "watch/text_width.h"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <vector>

#include "report/text.h"

namespace xr::watch {

std::string counted(uint64_t number) { return report::format_value(number, report::Format::Count); }
std::string scaled(double number) { return report::format_value(number, report::Format::Scaled); }

namespace {

// Sets the thread's locale to UTF-8 for wcwidth(3) and mbrtowc(3), whatever locale the user has.
class Utf8 {
public:
  Utf8() : before_(uselocale(locale())) {}
  ~Utf8() { uselocale(before_); }
  Utf8(const Utf8 &) = delete;
  Utf8 &operator=(const Utf8 &) = delete;

private:
  static locale_t locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8 ? utf8 : LC_GLOBAL_LOCALE;
  }
  locale_t before_;
};

struct Character {
  std::string_view bytes;
  int columns; // -1: not printable
};

std::vector<Character> characters(std::string_view text) {
  const Utf8 utf8;
  std::vector<Character> all;
  while (!text.empty()) {
    wchar_t wide = 0;
    mbstate_t state{};
    size_t length = mbrtowc(&wide, text.data(), text.size(), &state);
    const bool broken = length == 0 || length > text.size();
    length = broken ? 1 : length;
    all.push_back({text.substr(0, length), broken ? -1 : wcwidth(wide)});
    text.remove_prefix(length);
  }
  return all;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// The whole characters from the start that fit.
std::string head(const std::vector<Character> &all, size_t columns) {
  std::string out;
  size_t used = 0;
  for (const Character &character : all) {
    used += character.columns > 0 ? static_cast<size_t>(character.columns) : 0;
    if (used > columns)
      break;
    out += character.bytes;
  }
  return out;
}

} // namespace

size_t columns_of(std::string_view text) {
  if (is_ascii(text))
    return text.size();
  size_t columns = 0;
  for (const Character &character : characters(text))
    columns += character.columns > 0 ? static_cast<size_t>(character.columns) : 0;
  return columns;
}

std::string drawable(std::string_view text, bool unicode) {
  if (is_ascii(text))
    return std::string(text);
  std::string out;
  for (const Character &character : characters(text))
    out += character.columns >= 0 && (unicode || is_ascii(character.bytes)) ? character.bytes : "?";
  return out;
}

std::string cut(const std::string &text, size_t columns) {
  if (columns_of(text) <= columns)
    return text;
  if (columns_of(std::string_view(text).substr(0, text.find_last_not_of(' ') + 1)) <= columns)
    return head(characters(text), columns);
  return columns ? head(characters(text), columns - 1) + "~" : "";
}

std::string cut_middle(const std::string &text, size_t columns) {
  if (text.size() <= columns || !is_ascii(text) || columns < 3)
    return cut(text, columns);
  const size_t tail = (columns - 1) / 2;
  return text.substr(0, columns - 1 - tail) + "~" + text.substr(text.size() - tail);
}

std::string from_column(const std::string &text, size_t columns) {
  if (!columns)
    return text;
  const auto all = characters(text);
  size_t used = 0;
  auto it = all.begin();
  for (; it != all.end() && (used < columns || it->columns == 0);
       ++it) // combining characters belong to the one before
    used += it->columns > 0 ? static_cast<size_t>(it->columns) : 0;
  std::string out(used > columns ? used - columns : 0, ' ');
  for (; it != all.end(); ++it)
    out += it->bytes;
  return out;
}

std::string to_left(const std::string &text, size_t columns) {
  std::string out = cut(text, columns);
  out.append(columns - columns_of(out), ' ');
  return out;
}

std::string to_right(const std::string &text, size_t columns) {
  const std::string out = cut(text, columns);
  return std::string(columns - columns_of(out), ' ') + out;
}

} // namespace xr::watch
