// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/document.h"

namespace xr::report {

enum class JsonStyle {
  Pretty, // a section, or a table's row, a line
  Line,   // one line, for streams of documents
};

// Ends with a newline. False when the sink wanted no more.
bool write_json(const Document &document, JsonStyle style, const Sink &sink);
std::string to_json(const Document &document, JsonStyle style = JsonStyle::Pretty);

} // namespace xr::report
