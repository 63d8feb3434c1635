// SPDX-License-Identifier: Apache-2.0
#include "generator/answer.h"

#include <fmt/format.h>

#include "otg/json_text.h"

namespace xr::generator {

std::string text(const Json &json) { return otg::json_text(json); }

Json parsed(const std::string &body, Findings &findings, const char *hint) {
  Json json = otg::parse_json(body, findings);
  if (!json.is_discarded())
    return json;
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
