// SPDX-License-Identifier: Apache-2.0
// Reads a list of words one after the other, and makes the errors about a wrong word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::parse {

class WordReader {
public:
  explicit WordReader(const std::vector<std::string> &words);

  bool done() const { return at_ == words_.size(); }
  size_t left() const { return words_.size() - at_; }
  // "" after the last word.
  const std::string &peek() const;
  std::string take();
  bool take_if(std::string_view word);

private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

// Splits a string at blanks.
std::vector<std::string> split(const std::string &text);

std::string lower(std::string_view text);

// Splits a list at commas. Parts may be empty.
std::vector<std::string> parts(const std::string &list);

// A name that a user gives to something: up to 31 letters, digits, - _ .
Result<std::string> name(const std::string &word);

// "'x' is not EXPECTED"; "EXPECTED is missing" if `word` is empty.
Error wrong(const std::string &word, std::string_view expected, std::string hint = {});

// "KEYWORD is missing before 'x'"; "KEYWORD is missing" if `word` is empty.
Error missing(std::string_view keyword, const std::string &word, std::string hint);

// The name most similar to `word`; "" if none is similar.
std::string nearest(const std::string &word, const std::vector<std::string_view> &names);

// "did you mean NAME?" if a name is similar, otherwise the list of all names; "" if there are none.
std::string hint_from(const std::string &word, const std::vector<std::string_view> &names);

// The index of `word` in `names`, ignoring case.
Result<size_t> choice(const std::string &word, const std::vector<std::string_view> &names,
                      std::string_view expected);

} // namespace xr::parse
