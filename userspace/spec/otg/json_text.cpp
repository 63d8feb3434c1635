// SPDX-License-Identifier: Apache-2.0
#include "otg/json_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

// Builds the value. nlohmann's parser with a callback would do so too, but walks through a list
// again after each of its objects.
class Builder : public Json::json_sax_t {
public:
  explicit Builder(Findings &findings) : findings_(findings) {}

  Json take() { return std::move(root_); }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t & /*text*/) override {
    return scalar(value);
  }
  bool string(string_t &value) override { return scalar(std::move(value)); }
  bool binary(binary_t & /*value*/) override { return false; } // not in a text
  bool start_object(size_t /*size*/) override { return open(Json::object()); }
  bool start_array(size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &key) override {
    if (deeper_)
      return true;
    if (open_.size() == 1)
      outermost_ = key;
    const auto [member, added] =
        open_.back()->get_ref<Json::object_t &>().try_emplace(std::move(key));
    member_ = &member->second;
    if (!added)
      findings_.error("", {fmt::format("an object has the key {} twice", shown(member->first)),
                           "each key once"});
    return true;
  }
  bool parse_error(size_t /*at*/, const std::string & /*token*/,
                   const Json::exception & /*error*/) override {
    return false;
  }

private:
  static constexpr size_t kMostLevels = 100; // a writer of JSON calls itself for each

  // Where it is placed: at the end of a list, as the member of that key, or as the whole value.
  Json *place(Json &&value) {
    if (!open_.empty() && open_.back()->is_array())
      return &open_.back()->get_ref<Json::array_t &>().emplace_back(std::move(value));
    Json *const there = open_.empty() ? &root_ : member_;
    *there = std::move(value);
    return there;
  }
  bool scalar(Json value) {
    if (!deeper_)
      place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (deeper_ || open_.size() == kMostLevels) {
      if (!deeper_++)
        findings_.error("", {(outermost_.is_null() ? "a list" : shown(outermost_)) +
                                 " has too many levels of lists and objects",
                             fmt::format("at most {}", kMostLevels)});
      return true;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    if (deeper_)
      deeper_--;
    else
      open_.pop_back();
    return true;
  }

  Findings &findings_;
  Json root_;
  std::vector<Json *> open_; // lists and objects, which stay where they are while they are open
  Json *member_ = nullptr;   // of the object that was opened last, of the key that was read last
  size_t deeper_ = 0;        // levels beyond the most, whose values are left out
  Json outermost_;           // the last key of the whole object
};

} // namespace

Json parse_json(std::string_view text, Findings &findings) {
  Builder builder(findings);
  return Json::sax_parse(text, &builder) ? builder.take() : Json(Json::value_t::discarded);
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
