// SPDX-License-Identifier: Apache-2.0
#include "expect/tokens.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace xr::experiment {

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kSymbols[] = {"<=", ">=", "==", "!=", "<", ">", "(", ")",
                                         ",",  ".",  "+",  "-",  "*", "/", "[", "]"};

bool is_in(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

// Digits, an exponent, and a unit: 10gbit, 1e-4, 99.5%.
size_t number_end(const std::string &text, size_t at) {
  at = std::min(text.find_first_not_of("0123456789.", at), text.size());
  if (at < text.size() && text[at] == 'e') {
    const size_t sign = at + 1 < text.size() && is_in("+-", text[at + 1]) ? at + 2 : at + 1;
    if (sign < text.size() && is_in(kDigits, text[sign]))
      at = std::min(text.find_first_not_of(kDigits, sign), text.size());
  }
  at = std::min(text.find_first_not_of(kLetters, at), text.size());
  return at < text.size() && text[at] == '%' ? at + 1 : at;
}

bool starts_number(const std::string &text, size_t at) {
  return is_in(kDigits, text[at]) ||
         (text[at] == '.' && at + 1 < text.size() && is_in(kDigits, text[at + 1]));
}

std::string_view symbol_at(const std::string &text, size_t at) {
  for (const std::string_view symbol : kSymbols)
    if (text.compare(at, symbol.size(), symbol) == 0)
      return symbol;
  return {};
}

} // namespace

Result<std::vector<Token>> tokens_of(const std::string &text) {
  std::vector<Token> tokens;
  const auto push = [&](Token::Kind kind, size_t from, size_t to) {
    tokens.push_back({kind, text.substr(from, to - from), from, to});
  };
  for (size_t at = 0; at < text.size();) {
    if (is_in(" \t\n\r", text[at])) {
      at++;
      continue;
    }
    const size_t from = at;
    if (starts_number(text, at)) {
      at = number_end(text, at);
      push(Token::Kind::Number, from, at);
    } else if (is_in(kLetters, text[at])) {
      while (at < text.size() && (is_in(kLetters, text[at]) || is_in(kDigits, text[at])))
        at++;
      push(Token::Kind::Name, from, at);
    } else if (text[at] == '\'' || text[at] == '"') {
      const size_t end = text.find(text[at], at + 1);
      if (end == std::string::npos)
        return Error{fmt::format("the quote before {} has no end", text.substr(at + 1)),
                     "flow('flow-3')"};
      tokens.push_back({Token::Kind::Quoted, text.substr(at + 1, end - at - 1), from, end + 1});
      at = end + 1;
    } else if (const std::string_view symbol = symbol_at(text, at); !symbol.empty()) {
      at += symbol.size();
      push(Token::Kind::Symbol, from, at);
    } else {
      return Error{fmt::format("'{}' has no meaning here", text[at]),
                   text[at] == '=' ? "== compares" : "< <= > >= == != + - * / ( ) [ ]"};
    }
  }
  tokens.push_back({Token::Kind::End, "", text.size(), text.size()});
  return tokens;
}

} // namespace xr::experiment
