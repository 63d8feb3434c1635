// SPDX-License-Identifier: Apache-2.0
// The names of RDMA CM messages, and of the reasons for a REJ.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "names/names.h"
#include "roce/cm.h"

namespace xr::names {
namespace {

struct Reason {
  uint16_t code;
  const char *name;
};

#define XR_REASON_(code, name) {code, name},
constexpr Reason kReasons[] = {ROCE_CM_REASONS(XR_REASON_)};
#undef XR_REASON_

char plain(char c) {
  return c == '-' ? ' ' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool same_words(const std::string &a, const std::string &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return plain(x) == plain(y); });
}

} // namespace

std::string cm_message_name(unsigned attribute) {
  switch (attribute) {
#define XR_NAME_(attribute, name)                                                                  \
  case attribute:                                                                                  \
    return #name;
    ROCE_CM_MESSAGES(XR_NAME_)
#undef XR_NAME_
  default:
    return fmt::format("{:#x}", attribute);
  }
}

std::string cm_reason_name(unsigned reason) {
  for (const Reason &item : kReasons)
    if (item.code == reason)
      return item.name;
  return fmt::format("reason {}", reason);
}

std::optional<uint16_t> cm_reason(const std::string &word) {
  for (const Reason &reason : kReasons)
    if (same_words(word, reason.name))
      return reason.code;
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size() && number ? std::optional(number)
                                                                            : std::nullopt;
}

std::vector<std::string> cm_reason_names() {
  std::vector<std::string> names;
  for (const Reason &reason : kReasons) {
    names.emplace_back(reason.name);
    std::replace(names.back().begin(), names.back().end(), ' ', '-');
  }
  return names;
}

} // namespace xr::names
