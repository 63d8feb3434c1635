// SPDX-License-Identifier: Apache-2.0
#include "generator/answer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "otg/json_text.h"

namespace xr::generator {

void write(double value, std::string &out) {
  std::string digits = fmt::format("{:.9f}", std::isfinite(value) ? value : 0);
  digits.erase(std::max(digits.find_last_not_of('0'), digits.find('.') + 1) + 1);
  out += digits;
}

void write(std::string_view value, std::string &out) {
  const bool plain = std::ranges::all_of(
      value, [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
  if (plain)
    out.append("\"").append(value).append("\"");
  else
    out += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write(const Json &json, std::string &out) {
  if (json.is_object()) {
    out += '{';
    bool first = true;
    for (const auto &[key, value] : json.items()) {
      out += first ? "" : ", ";
      first = false;
      write(std::string_view(key), out);
      out += ": ";
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
    write(json.get<double>(), out);
  } else if (json.is_string()) {
    write(std::string_view(json.get_ref<const std::string &>()), out);
  } else {
    out += json.dump();
  }
}

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
