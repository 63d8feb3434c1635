// SPDX-License-Identifier: Apache-2.0
#include "parse/words.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xr::parse {

std::vector<std::string> split(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

WordReader::WordReader(const std::vector<std::string> &words) {
  for (const std::string &word : words)
    for (std::string &part : split(word))
      words_.push_back(std::move(part));
}

const std::string &WordReader::peek() const {
  static const std::string kNone;
  return done() ? kNone : words_[at_];
}

std::string WordReader::take() { return done() ? "" : words_[at_++]; }

bool WordReader::take_if(std::string_view word) {
  if (peek() != word)
    return false;
  at_++;
  return true;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<std::string> parts(const std::string &list) {
  std::vector<std::string> result(1);
  for (const char c : list)
    if (c == ',')
      result.emplace_back();
    else
      result.back() += c;
  return result;
}

Error wrong(const std::string &word, std::string_view expected, std::string hint) {
  if (word.empty())
    return {fmt::format("{} is missing", expected), std::move(hint)};
  return {fmt::format("'{}' is not {}", word, expected), std::move(hint)};
}

Error missing(std::string_view keyword, const std::string &word, std::string hint) {
  if (word.empty())
    return {fmt::format("{} is missing", keyword), std::move(hint)};
  return {fmt::format("{} is missing before '{}'", keyword, word), std::move(hint)};
}

namespace {

// The number of letters to insert, delete or replace, or of neighbours to swap (optimal string
// alignment).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); i++) {
    before = above;
    above = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

} // namespace

Result<std::string> name(const std::string &word) {
  constexpr size_t kLongest = 31;
  const auto allowed = [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
  };
  if (word.empty() || word.size() > kLongest || !std::all_of(word.begin(), word.end(), allowed))
    return wrong(word, "a name", "up to 31 letters, digits, - _ .");
  return word;
}

std::string nearest(const std::string &word, const std::vector<std::string_view> &names) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest)
    return "";
  const std::string lowered = lower(word);
  std::string_view best;
  size_t least = 1 + std::max<size_t>(1, word.size() / 3);
  for (const std::string_view name : names)
    if (const size_t d = distance(lowered, lower(name)); d < least) {
      least = d;
      best = name;
    }
  return std::string(best);
}

std::string hint_from(const std::string &word, const std::vector<std::string_view> &names) {
  if (const std::string name = word.empty() ? "" : nearest(word, names); !name.empty())
    return fmt::format("did you mean {}?", name);
  if (names.empty())
    return "";
  return fmt::format("{} {}", names.size() > 1 ? "one of" : "it is", fmt::join(names, ", "));
}

Result<size_t> choice(const std::string &word, const std::vector<std::string_view> &names,
                      std::string_view expected) {
  const std::string name = lower(word);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return wrong(word, expected, hint_from(word, names));
  return static_cast<size_t>(found - names.begin());
}

} // namespace xr::parse
