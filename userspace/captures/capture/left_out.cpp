// SPDX-License-Identifier: Apache-2.0
#include "capture/left_out.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace xr {

namespace {

constexpr uint32_t kEnterprise = 32473;
constexpr std::string_view kWords = "xdp-roce frames left out: ";

} // namespace

std::string left_out_text(uint64_t frames) {
  std::string value(sizeof(kEnterprise), 0);
  std::memcpy(value.data(), &kEnterprise, sizeof(kEnterprise));
  return value + fmt::format("{}{}", kWords, frames);
}

std::optional<uint64_t> left_out_of(std::string_view value) {
  if (value.size() < sizeof(kEnterprise))
    return {};
  value.remove_prefix(sizeof(kEnterprise)); // in the byte order of its section; the words are ours
  if (!value.starts_with(kWords))
    return {};
  value.remove_prefix(kWords.size());
  uint64_t frames = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), frames);
  if (error != std::errc() || end != value.data() + value.size())
    return {};
  return frames;
}

} // namespace xr
