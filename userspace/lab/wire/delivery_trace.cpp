// SPDX-License-Identifier: Apache-2.0
#include "wire/delivery_trace.h"

#include <charconv>

#include <fmt/format.h>

namespace xr::wire {

namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kLongest = 100ULL * 24 * 3'600'000; // ms, as durations in words

Error wrong_line(size_t line, std::string_view why) {
  return {fmt::format("line {} of the trace {}", line, why),
          "each line is a time in ms at which 1500 bytes can be delivered, in ascending order"};
}

} // namespace

Result<DeliveryTrace> parse_trace(std::string_view text) {
  DeliveryTrace trace;
  size_t line = 0;
  while (!text.empty()) {
    line++;
    const size_t end = text.find('\n');
    std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (word.ends_with('\r'))
      word.remove_suffix(1);
    uint64_t ms = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), ms);
    if (error != std::errc() || stop != word.data() + word.size() || ms > kLongest)
      return wrong_line(line, fmt::format("is '{}'", word.substr(0, 20)));
    if (!trace.empty() && ms * kMs < trace.back())
      return wrong_line(line, "is earlier than the line before it");
    trace.push_back(ms * kMs);
  }
  if (trace.empty() || trace.back() == 0)
    return Error{"the trace has no time after 0 ms", "its last line is its length in ms"};
  return trace;
}

void TraceCursor::start(std::shared_ptr<const DeliveryTrace> trace, uint64_t now) {
  trace_ = std::move(trace);
  lap_ = now;
  at_ = 0;
}

void TraceCursor::advance() {
  if (++at_ == trace_->size()) {
    at_ = 0;
    lap_ += trace_->back();
  }
}

uint64_t TraceCursor::skip(uint64_t now) {
  uint64_t passed = 0;
  while (next() <= now) {
    const uint64_t laps = at_ == 0 ? (now - lap_) / trace_->back() : 0;
    if (laps) {
      lap_ += laps * trace_->back();
      passed += laps * trace_->size();
      continue;
    }
    advance();
    passed++;
  }
  return passed;
}

} // namespace xr::wire
