// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/document.h"

namespace xr::report {

struct TextStyle {
  bool colour = false;
  size_t width = 100; // small groups stand side by side within it; tables take what they need
};

// False when the sink wanted no more.
bool write_text(const Document &document, const TextStyle &style, const Sink &sink);
std::string to_text(const Document &document, const TextStyle &style = {});

// A value alone.
std::string format_value(const Value &value, Format format);

} // namespace xr::report
