// SPDX-License-Identifier: Apache-2.0
#include "otg/json_text.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace xr::otg {

namespace {

class Writer {
public:
  Writer(std::string &out, unsigned indent) : out_(out), indent_(indent) {}

  void write(const Json &json, unsigned level = 0) {
    if (json.is_structured() && !json.empty())
      members(json, level);
    else if (json.is_number_float())
      append_text(json.get<double>(), out_);
    else if (json.is_string())
      append_text(std::string_view(json.get_ref<const std::string &>()), out_);
    else
      out_ += json.dump();
  }

private:
  void members(const Json &json, unsigned level) {
    bool first = true;
    out_ += json.is_object() ? '{' : '[';
    for (const auto &member : json.items()) {
      out_ += first ? "" : indent_ ? "," : ", ";
      first = false;
      line(level + 1);
      if (json.is_object()) {
        append_text(std::string_view(member.key()), out_);
        out_ += ": ";
      }
      write(member.value(), level + 1);
    }
    line(level);
    out_ += json.is_object() ? '}' : ']';
  }

  void line(unsigned level) {
    if (indent_)
      out_ += "\n" + std::string(size_t{indent_} * level, ' ');
  }

  std::string &out_;
  unsigned indent_;
};

} // namespace

Json parse_json(std::string_view text, Findings &findings) {
  std::vector<std::set<std::string>> keys; // of the objects that are open
  const auto check = [&](int /*depth*/, Json::parse_event_t event, const Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key &&
             !keys.back().insert(parsed.get_ref<const std::string &>()).second)
      findings.error(
          "", {fmt::format("an object has the key {} twice", shown(parsed)), "each key once"});
    return true;
  };
  return Json::parse(text, check, false);
}

void append_text(double value, std::string &out) {
  std::string digits = fmt::format("{:.9f}", std::isfinite(value) ? value : 0);
  digits.erase(std::max(digits.find_last_not_of('0'), digits.find('.') + 1) + 1);
  out += digits;
}

void append_text(std::string_view value, std::string &out) {
  const bool plain = std::ranges::all_of(
      value, [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
  if (plain)
    out.append("\"").append(value).append("\"");
  else
    out += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_text(const Json &json, unsigned indent) {
  std::string out;
  Writer(out, indent).write(json);
  return out;
}

} // namespace xr::otg
