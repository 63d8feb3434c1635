// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/document.h"

namespace xr::report {

enum class JsonStyle {
  Pretty, // each section and each table row on its own line
  Line,   // one line, for streams of documents
};

// The output ends with a newline. False if the sink stopped it.
// `last`: a further section, at the end.
bool write_json(const Document &document, JsonStyle style, const Sink &sink,
                const Section *last = nullptr);
std::string to_json(const Document &document, JsonStyle style = JsonStyle::Pretty,
                    const Section *last = nullptr);

} // namespace xr::report
