// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/document.h"

namespace xr::report {

struct TextStyle {
  bool colour = false;
  size_t width = 100; // small groups are placed side by side within it; tables may be wider
};

// False if the sink stopped it.
bool write_text(const Document &document, const TextStyle &style, const Sink &sink);
std::string to_text(const Document &document, const TextStyle &style = {});

// Replaces control characters: a file name must not control the terminal.
std::string printable(std::string text);

// Formats a single value.
std::string format_value(const Value &value, Format format);
// Three digits with an SI prefix, and the unit: "0 bit/s", "94.2 Gbit/s".
std::string scaled_words(double number, std::string_view unit);

} // namespace xr::report
