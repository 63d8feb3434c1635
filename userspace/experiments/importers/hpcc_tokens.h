// SPDX-License-Identifier: Apache-2.0
// For this folder only: a text of HPCC's simulator as words with their lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

class HpccTokens {
public:
  struct Token {
    std::string text;
    unsigned line;
  };

  // `name` names the file in errors.
  HpccTokens(std::string_view text, std::string name);

  bool done() const { return at_ == tokens_.size(); }
  size_t left() const { return tokens_.size() - at_; }
  // The number of words in the line of the next word, from there on.
  size_t words_of_this_line() const;
  // The word so many after the next one; false: there is none.
  bool is_number(size_t after) const;
  // "FILE:LINE: what", at the last word taken.
  Error wrong(const std::string &what, std::string hint = {}) const;

  // The next word. Error: `what` is missing.
  Result<Token> take(std::string_view what);
  Result<uint64_t> whole(std::string_view what, uint64_t from, uint64_t to);
  Result<double> real(std::string_view what, double from, double to);
  Result<uint64_t> rate(std::string_view what);

private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string name_;
};

// Rates and times as ns-3 writes them: 100Gbps, 50Mb/s, 1000ns, 0.001ms; a time without a unit is
// seconds, a rate bit/s. bit/s, ns.
Result<uint64_t> ns3_rate(const std::string &word);
Result<uint64_t> ns3_time(const std::string &word);

} // namespace xr::importers
