// SPDX-License-Identifier: Apache-2.0
#include "otg/object.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "parse/address.h"
#include "parse/words.h"

namespace xr::otg {

namespace {

constexpr size_t kShown = 60; // bytes of a value in an error

void add(std::vector<std::string> &all, size_t &more, std::string text) {
  if (all.size() < Findings::kMost)
    all.push_back(std::move(text));
  else
    more++;
}

std::vector<std::string> with_more(std::vector<std::string> all, size_t more) {
  if (more)
    all.push_back(fmt::format("and {} more", more));
  return all;
}

std::string at(const std::string &path, const std::string &what) {
  return path.empty() ? what : path + ": " + what;
}

bool is_empty(const Json &json) { return json.is_null() || (json.is_structured() && json.empty()); }

} // namespace

void Findings::error(std::string path, const Error &what) {
  add(errors, more_errors,
      at(path, what.hint.empty() ? what.message : fmt::format("{} ({})", what.message, what.hint)));
}

void Findings::warning(std::string path, const std::string &what) {
  add(warnings, more_warnings, at(path, what));
}

std::vector<std::string> Findings::all_errors() const { return with_more(errors, more_errors); }
std::vector<std::string> Findings::all_warnings() const {
  return with_more(warnings, more_warnings);
}

std::string shown(const Json &json) {
  std::string text = json.is_string() ? "'" + json.get_ref<const std::string &>() + "'"
                                      : json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) {
    size_t end = kShown; // not within a character of UTF-8
    while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      end--;
    text = text.substr(0, end) + "...";
  }
  // What a client prints must not move its cursor.
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 127; }, '.');
  return text;
}

Object::Object(Json &json, Findings &findings, std::string_view what)
    : json_(json), findings_(findings), what_(what) {
  if (json_.is_object())
    return;
  findings_.error("", {fmt::format("{} is not an object", shown(json_)), "{\"ports\": [...]}"});
  json_ = Json::object();
}

Object::Object(Json &json, const Object &parent, const char *key, size_t index,
               std::string_view what)
    : json_(json), findings_(parent.findings_), parent_(&parent), key_(key), index_(index),
      what_(what) {
  if (json_.is_object())
    return;
  if (!json_.is_null())
    error(nullptr, {fmt::format("{} is not an object", shown(json_)), "{...}"});
  json_ = Json::object();
}

std::string Object::path(const char *key) const {
  std::string text = parent_ ? parent_->path(key_) : "";
  if (index_ != kNoIndex)
    text += fmt::format("[{}]", index_);
  if (!key)
    return text;
  return text.empty() ? key : text + "." + key;
}

void Object::error(const char *key, const Error &what) const { findings_.error(path(key), what); }
void Object::warning(const char *key, const std::string &what) const {
  findings_.warning(path(key), what);
}

Json *Object::find(const char *key) {
  asked_.emplace_back(key);
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool Object::has(const char *key) {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

bool Object::is_null(const char *key) {
  const auto found = json_.find(key);
  return found != json_.end() && found->is_null();
}

Json *Object::value(const char *key) { return find(key); }

void Object::set_default(const char *key, const Json &value) {
  if (!find(key))
    fill(key, value);
}

std::string Object::text(const char *key, std::string_view otherwise) {
  const Json *json = find(key);
  if (json && json->is_string())
    return json->get<std::string>();
  if (json)
    error(key, {fmt::format("{} is not a text", shown(*json)), "\"...\""});
  else if (!otherwise.empty())
    fill(key, otherwise);
  return std::string(otherwise);
}

std::string Object::needed_text(const char *key) {
  const bool there = has(key);
  std::string text = this->text(key);
  if (text.empty() && (!there || json_[key].is_string()))
    error(key, {fmt::format("{} needs it", what_), "\"...\""});
  return text;
}

bool Object::flag(const char *key, bool otherwise) {
  const Json *json = find(key);
  if (json && json->is_boolean())
    return json->get<bool>();
  if (json)
    error(key, {fmt::format("{} is not a truth", shown(*json)), "true or false"});
  else
    fill(key, otherwise);
  return otherwise;
}

std::optional<uint64_t> Object::number(const char *key, Json &json, uint64_t from, uint64_t to) {
  std::optional<uint64_t> value;
  // Made by a program, 4 may be a signed number.
  if (json.is_number_unsigned() || (json.is_number_integer() && json.get<int64_t>() >= 0)) {
    value = json.get<uint64_t>();
  } else if (json.is_string()) {
    const auto &text = json.get_ref<const std::string &>();
    uint64_t read = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (wrong == std::errc() && end == text.data() + text.size() && !text.empty())
      value = read;
  }
  if (!value || *value < from || *value > to) {
    error(key, {fmt::format("{} is not a whole number from {} to {}", shown(json), from, to), ""});
    return {};
  }
  return value;
}

uint64_t Object::integer(const char *key, uint64_t from, uint64_t to, uint64_t otherwise) {
  if (Json *json = find(key))
    return number(key, *json, from, to).value_or(otherwise);
  fill(key, otherwise);
  return otherwise;
}

std::optional<uint64_t> Object::maybe_integer(const char *key, uint64_t from, uint64_t to) {
  Json *json = find(key);
  return json ? number(key, *json, from, to) : std::nullopt;
}

double Object::real(const char *key, double from, double to, double otherwise) {
  const Json *json = find(key);
  if (!json) {
    fill(key, otherwise);
    return otherwise;
  }
  if (json->is_number())
    if (const auto value = json->get<double>();
        std::isfinite(value) && value >= from && value <= to)
      return value;
  error(key, {fmt::format("{} is not a number from {:g} to {:g}", shown(*json), from, to), ""});
  return otherwise;
}

uint64_t Object::hexadecimal(const char *key, unsigned digits, uint64_t otherwise) {
  const Json *json = find(key);
  if (!json)
    return otherwise;
  if (json->is_string()) {
    std::string_view text = json->get_ref<const std::string &>();
    if (text.starts_with("0x") || text.starts_with("0X"))
      text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (wrong == std::errc() && end == text.data() + text.size() && text.size() <= digits)
      return value;
  }
  error(key, {fmt::format("{} is not a text of 1 to {} hexadecimal digits", shown(*json), digits),
              "like \"bb\""});
  return otherwise;
}

Address Object::address(const char *key, bool ipv4, const Address &otherwise) {
  const Json *json = find(key);
  if (!json)
    return otherwise;
  if (json->is_string())
    if (const auto made = parse::address(json->get<std::string>());
        made.ok() && is_mapped(made.get()) == ipv4)
      return made.get();
  error(key, {fmt::format("{} is not an {} address", shown(*json), ipv4 ? "IPv4" : "IPv6"),
              ipv4 ? "like 192.0.2.1" : "like 2001:db8::1"});
  return otherwise;
}

Address Object::needed_address(const char *key, bool ipv4) {
  if (!has(key))
    error(key, {fmt::format("{} needs it", what_), ipv4 ? "like 192.0.2.1" : "like 2001:db8::1"});
  return address(key, ipv4);
}

std::optional<packet::Mac> Object::mac(const char *key) {
  const Json *json = find(key);
  if (!json)
    return {};
  packet::Mac mac{};
  if (json->is_string() && json->get_ref<const std::string &>().size() == 17) {
    const auto &text = json->get_ref<const std::string &>();
    bool good = true;
    for (size_t i = 0; i < mac.size(); i++) {
      const char *from = text.data() + 3 * i;
      const auto [end, wrong] = std::from_chars(from, from + 2, mac[i], 16);
      good = good && wrong == std::errc() && end == from + 2 && (i == 5 || *end == ':');
    }
    if (good)
      return mac;
  }
  error(key, {fmt::format("{} is not a MAC address", shown(*json)), "like 00:00:5e:00:53:01"});
  return {};
}

std::vector<std::string> Object::texts(const char *key) {
  std::vector<std::string> all;
  const Json *json = find(key);
  if (!json)
    return all;
  if (json->is_array() &&
      std::ranges::all_of(*json, [](const Json &item) { return item.is_string(); })) {
    for (const Json &item : *json)
      all.push_back(item.get<std::string>());
    return all;
  }
  error(key, {fmt::format("{} is not a list of texts", shown(*json)), "[\"...\"]"});
  return all;
}

size_t Object::word(const char *key, const std::vector<std::string_view> &words, size_t otherwise) {
  const Json *json = find(key);
  if (!json) {
    fill(key, words[otherwise]);
    return otherwise;
  }
  if (json->is_string()) {
    const auto &text = json->get_ref<const std::string &>();
    if (const auto found = std::ranges::find(words, text); found != words.end())
      return static_cast<size_t>(found - words.begin());
    error(key,
          {fmt::format("{} is not a value of it", shown(*json)), parse::hint_from(text, words)});
  } else {
    error(key, {fmt::format("{} is not a text", shown(*json)), parse::hint_from("", words)});
  }
  return otherwise;
}

size_t Object::choice(const std::vector<std::string_view> &members, size_t otherwise) {
  std::vector<size_t> there;
  for (size_t i = 0; i < members.size(); i++)
    if (const auto found = json_.find(members[i]); found != json_.end() && !found->is_null())
      there.push_back(i);
  size_t chosen = otherwise;
  if (has("choice"))
    chosen = word("choice", members, otherwise);
  else {
    (void)find("choice");
    if (there.size() > 1)
      error("choice", {fmt::format("it is absent, and there are '{}' and '{}'", members[there[0]],
                                   members[there[1]]),
                       fmt::format("\"choice\": \"{}\"", members[there[0]])});
    chosen = there.empty() ? otherwise : there.front();
    fill("choice", members[chosen]);
  }
  for (const size_t i : there)
    if (i != chosen) {
      asked_.push_back(members[i]);
      findings_.warning(path() + (path().empty() ? "" : ".") + std::string(members[i]),
                        fmt::format("without an effect: the choice is '{}'", members[chosen]));
    }
  return chosen;
}

void Object::object(const char *key, std::string_view what,
                    const std::function<void(Object &)> &read, bool made) {
  Json *json = find(key);
  if (!json && !made)
    return;
  if (!json)
    json = &(json_[key] = Json::object());
  Object inner(*json, *this, key, kNoIndex, what);
  read(inner);
  inner.done();
}

void Object::each(const char *key, std::string_view what,
                  const std::function<void(Object &)> &read) {
  Json *json = find(key);
  if (!json)
    return;
  if (!json->is_array()) {
    error(key, {fmt::format("{} is not a list", shown(*json)), "[{...}]"});
    return;
  }
  for (size_t i = 0; i < json->size(); i++) {
    Object inner((*json)[i], *this, key, i, what);
    read(inner);
    inner.done();
  }
}

void Object::unsupported(const char *key, std::string_view hint) {
  if (const Json *json = find(key); json && !is_empty(*json))
    error(key, {"it is not supported", std::string(hint)});
}

void Object::unused(const char *key, std::string_view why) {
  if (const Json *json = find(key); json && !is_empty(*json))
    warning(key, why.empty() ? "it has no effect here" : fmt::format("it has no effect: {}", why));
}

void Object::done() {
  for (const auto &[key, value] : json_.items())
    if (std::ranges::find(asked_, key) == asked_.end())
      error(nullptr, {fmt::format("{} is not a key of {}", shown(Json(key)), what_),
                      parse::hint_from(key, asked_)});
}

} // namespace xr::otg
