// SPDX-License-Identifier: Apache-2.0
// Answers of an OTG server: JSON that stock clients can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "otg/object.h"

namespace xr::generator {

using otg::Findings;
using otg::Json;

// Without exponents, as the YAML reader of Python clients takes 1e-05 for a text. Numbers with a
// fraction have up to nine digits of it.
std::string text(const Json &json);

// The JSON of a request, without the members that are null, but for a priority that PFC leaves out
// (pfc_class_N): the model has no null. What is no JSON is an error, and an empty object.
Json parsed(const std::string &body, Findings &findings, const char *hint);

// Rows of metrics, with commas between them; a row with the columns that were asked for (none: all)
// and those that are always there.
std::string rows_text(const Json &rows);
Json with_columns(Json row, const std::vector<std::string> &columns,
                  const std::vector<std::string_view> &always = {});

http::Answer answer(const Json &json);
// {"warnings": [...]}: clients count them, so the list is always there.
http::Answer success(const std::vector<std::string> &warnings = {});
// {"code", "kind", "errors"}. 500 and above are `internal`.
// The message, and its hint in parentheses.
std::string sentence(const Error &error);
http::Answer failures(int status, const std::vector<std::string> &errors);
http::Answer failure(int status, const Error &error);

} // namespace xr::generator
