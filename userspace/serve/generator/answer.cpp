// SPDX-License-Identifier: Apache-2.0
#include "generator/answer.h"

#include <cmath>

#include <fmt/format.h>

#include "otg/json_text.h"

namespace xr::generator {

namespace {

void write(const Json &json, std::string &out) {
  if (json.is_object()) {
    out += '{';
    bool first = true;
    for (const auto &[key, value] : json.items()) {
      out += first ? "" : ", ";
      first = false;
      out += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
      write(value, out);
    }
    out += '}';
  } else if (json.is_array()) {
    out += '[';
    for (size_t i = 0; i < json.size(); i++) {
      out += i ? ", " : "";
      write(json[i], out);
    }
    out += ']';
  } else if (json.is_number_float()) {
    const auto value = json.get<double>();
    std::string digits = fmt::format("{:.9f}", std::isfinite(value) ? value : 0);
    digits.erase(std::max(digits.find_last_not_of('0'), digits.find('.') + 1) + 1);
    out += digits;
  } else {
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

} // namespace

std::string text(const Json &json) {
  std::string out;
  write(json, out);
  return out;
}

Json parsed(const std::string &body, Findings &findings, const char *hint) {
  Json json = otg::parse_json(body, findings);
  if (!json.is_discarded())
    return json;
  findings.error("", {"the body is not JSON", hint});
  return Json::object();
}

http::Answer answer(const Json &json) { return {200, "application/json", text(json)}; }

http::Answer success(const std::vector<std::string> &warnings) {
  Json json = Json::object();
  if (!warnings.empty())
    json["warnings"] = warnings;
  return answer(json);
}

http::Answer failures(int status, const std::vector<std::string> &errors) {
  const Json json = {
      {"code", status}, {"kind", status < 500 ? "validation" : "internal"}, {"errors", errors}};
  return {status, "application/json", text(json)};
}

http::Answer failure(int status, const Error &error) {
  return failures(
      status, std::vector<std::string>{error.hint.empty()
                                           ? error.message
                                           : fmt::format("{} ({})", error.message, error.hint)});
}

} // namespace xr::generator
