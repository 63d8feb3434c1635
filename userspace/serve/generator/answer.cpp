// SPDX-License-Identifier: Apache-2.0
#include "generator/answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "otg/json_text.h"

namespace xr::generator {

namespace {

void remove_nulls(Json &json) {
  if (json.is_object())
    for (auto member = json.begin(); member != json.end();)
      member = member->is_null() && !member.key().starts_with("pfc_class_") ? json.erase(member)
                                                                            : std::next(member);
  for (Json &each : json)
    if (each.is_structured())
      remove_nulls(each);
}

} // namespace

std::string text(const Json &json) { return otg::json_text(json); }

std::string rows_text(const Json &rows) {
  const std::string all = text(rows);
  return all.substr(1, all.size() - 2);
}

Json with_columns(Json row, const std::vector<std::string> &columns,
                  const std::vector<std::string_view> &always) {
  for (auto column = row.begin(); !columns.empty() && column != row.end();)
    column = std::ranges::find(always, column.key()) != always.end() ||
                     std::ranges::find(columns, column.key()) != columns.end()
                 ? std::next(column)
                 : row.erase(column);
  return row;
}

Json parsed(const std::string &body, Findings &findings, const char *hint) {
  Json json = otg::parse_json(body, findings);
  if (!json.is_discarded()) {
    remove_nulls(json);
    return json;
  }
  findings.error("", {"the body is not JSON", hint});
  return Json::object();
}

http::Answer answer(const Json &json) { return {200, "application/json", text(json)}; }

http::Answer success(const std::vector<std::string> &warnings) {
  return answer({{"warnings", warnings}});
}

http::Answer failures(int status, const std::vector<std::string> &errors) {
  const Json json = {
      {"code", status}, {"kind", status < 500 ? "validation" : "internal"}, {"errors", errors}};
  return {status, "application/json", text(json)};
}

std::string sentence(const Error &error) {
  return error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
}

http::Answer failure(int status, const Error &error) { return failures(status, {sentence(error)}); }

} // namespace xr::generator
