// SPDX-License-Identifier: Apache-2.0
// Words one after the other, and what to say of one that is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::parse {

class Words {
public:
  explicit Words(const std::vector<std::string> &words);

  bool done() const { return at_ == words_.size(); }
  // The next word; "" at the end.
  const std::string &peek() const;
  std::string take();
  bool take_if(std::string_view word);

private:
  std::vector<std::string> words_;
  size_t at_ = 0;
};

// The words of a string: what stands between blanks.
std::vector<std::string> split(const std::string &text);

std::string lower(std::string_view text);

// The parts between commas; empty ones too.
std::vector<std::string> parts(const std::string &list);

// What users call things: up to 31 letters, digits, - _ .
Result<std::string> name(const std::string &word);

// "'x' is not WANTED", or that WANTED is missing where the words end.
Error wrong(const std::string &word, std::string_view wanted, std::string hint = {});

// That `keyword` is missing, and what stands there.
Error missing(std::string_view keyword, const std::string &word, std::string hint);

// What `word` was probably meant to be; "" if none is near.
std::string nearest(const std::string &word, const std::vector<std::string_view> &names);

// "did you mean ...?" or all there are.
std::string hint_from(const std::string &word, const std::vector<std::string_view> &names);

// The place of `word` among `names`, in any case.
Result<size_t> choice(const std::string &word, const std::vector<std::string_view> &names,
                      std::string_view wanted);

} // namespace xr::parse
