// SPDX-License-Identifier: Apache-2.0
// The tokens of an expectation, read from left to right.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "expect/expression.h"
#include "expect/tokens.h"

namespace xr::experiment {

class TokenCursor {
public:
  TokenCursor(std::string text, std::vector<Token> tokens)
      : text_(std::move(text)), tokens_(std::move(tokens)) {}

  const Token &peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool is(const char *text, size_t ahead = 0) const {
    const Token &token = peek(ahead);
    return token.text == text &&
           (token.kind == Token::Kind::Name || token.kind == Token::Kind::Symbol);
  }
  bool take_if(const char *text) {
    if (!is(text))
      return false;
    at_++;
    return true;
  }
  Error unexpected(const std::string &wanted) const {
    const Token &token = peek();
    const std::string found =
        token.kind == Token::Kind::End ? "it ends" : fmt::format("there is '{}'", token.text);
    return {fmt::format("{} where {} is needed", found, wanted),
            "like jain(flows.goodput_bps) >= 0.99"};
  }
  Status expect(const char *text) {
    return take_if(text) ? Status() : Status(unexpected(fmt::format("'{}'", text)));
  }

  const Token &take() { return tokens_[at_++]; }
  // The text from there to the last token that was taken.
  std::string since(size_t from) const { return text_.substr(from, tokens_[at_ - 1].to - from); }

private:
  std::string text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

// Parts without an expression inside (expression_operand.cpp).
//
// 10gbit, 5ms, 200KB, 10%, 0.99.
Result<std::unique_ptr<Node>> parse_number(TokenCursor &cursor);
// [ROWS "."] NAME ["." STAT] ["after" TIME] ["before" TIME]; `inside`: the rows of the enclosing
// all(), any() or none().
Result<std::unique_ptr<Node>> parse_column(TokenCursor &cursor, std::optional<RowKind> inside);
// ('NAME'), if it is there.
Status parse_rows_pattern(TokenCursor &cursor, Node &made);

} // namespace xr::experiment
