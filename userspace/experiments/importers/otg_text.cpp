// SPDX-License-Identifier: Apache-2.0
#include "importers/otg_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "otg/json_text.h"
#include "parse/yaml.h"

namespace xr::importers {

namespace {

using otg::Json;

constexpr unsigned kMostDepth = 64;           // the model has 15
constexpr size_t kMostYamlNodes = 20'000'000; // aliases may repeat what the file has once

// Whole text of [-+]?[0-9]+, 0o[0-7]+, 0x[0-9a-fA-F]+.
std::optional<Json> whole_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
    if (text.starts_with('-'))
      return {};
  } else if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-'))
      return {};
  }
  const auto read = [&](auto number) -> std::optional<Json> {
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (wrong != std::errc() || end != text.data() + text.size() || text.empty())
      return {};
    return Json(number);
  };
  return text.starts_with('-') ? read(int64_t{}) : read(uint64_t{});
}

std::optional<Json> real_number(std::string_view text) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  // Not what from_chars knows besides: inf, nan.
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != std::string_view::npos)
    return {};
  double number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return {};
  return Json(number);
}

Json plain_scalar(const std::string &text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return {};
  for (const auto &[word, truth] : {std::pair{"true", true},
                                    {"True", true},
                                    {"TRUE", true},
                                    {"false", false},
                                    {"False", false},
                                    {"FALSE", false}})
    if (text == word)
      return truth;
  if (const auto number = whole_number(text))
    return *number;
  return real_number(text).value_or(Json(text));
}

class YamlToJson {
public:
  // The error begins with the line.
  Result<Json> read(const YAML::Node &node, unsigned depth = 0) {
    if (depth > kMostDepth)
      return parse::at_line(node, {"it is nested too deeply", "a configuration of OTG"});
    if (++nodes_ > kMostYamlNodes)
      return parse::at_line(node, {"it is too large", "fewer aliases"});
    if (node.IsMap())
      return map(node, depth);
    if (node.IsSequence()) {
      Json list = Json::array();
      for (const YAML::Node &item : node)
        list.push_back(XR_TRY(read(item, depth + 1)));
      return list;
    }
    if (!node.IsScalar())
      return Json();
    // The tag of a scalar in quotes is "!".
    return node.Tag() == "!" ? Json(node.Scalar()) : plain_scalar(node.Scalar());
  }

private:
  Result<Json> map(const YAML::Node &node, unsigned depth) {
    Json object = Json::object();
    for (const auto &entry : node) {
      if (!entry.first.IsScalar())
        return parse::at_line(entry.first, {"a key is not a text", "key: value"});
      const std::string &key = entry.first.Scalar();
      if (object.contains(key))
        return parse::at_line(entry.first,
                              {fmt::format("{} is there twice", otg::shown(Json(key))), "once"});
      object[key] = XR_TRY(read(entry.second, depth + 1));
    }
    return object;
  }

  size_t nodes_ = 0;
};

// What `run` chooses itself: interfaces, addresses, how answers are marked, captures. *: each key.
constexpr const char *kNotHere[] = {
    "ports.location",
    "layer1.mtu",
    "devices.ethernets.mac",
    "devices.ethernets.mtu",
    "devices.ethernets.ipv4_addresses.gateway",
    "devices.ethernets.ipv4_addresses.gateway_mac.*",
    "devices.ethernets.ipv4_addresses.prefix",
    "devices.ethernets.ipv6_addresses.*",
    "captures.*",
    "options.protocol_options.*",
    "options.per_port_options.protocols.rocev2.cnp.ip_dscp.*",
    "options.per_port_options.protocols.rocev2.cnp.ecn_value",
    "options.per_port_options.protocols.rocev2.connection_type.reliable_connection.ack.ip_dscp.*",
    "options.per_port_options.protocols.rocev2.connection_type.reliable_connection.ack.ecn_value",
    "options.per_port_options.protocols.rocev2.connection_type.reliable_connection.nak.ip_dscp.*",
    "options.per_port_options.protocols.rocev2.connection_type.reliable_connection.nak.ecn_value",
};
constexpr std::string_view kOfOptions = "options.per_port_options.protocols.";

void add(std::vector<std::string> &keys, const std::string &key) {
  if (std::ranges::find(keys, key) == keys.end())
    keys.push_back(key);
}

// Adds `before` and what is there of `path`, in each object of the lists on the way.
void collect(const Json &json, std::string_view path, const std::string &before,
             std::vector<std::string> &keys) {
  if (json.is_array()) {
    for (const Json &item : json)
      collect(item, path, before, keys);
  } else if (path == "*" && json.is_object()) {
    for (const auto &[key, value] : json.items())
      if (!value.is_null())
        add(keys, before + key);
  } else if (path.empty() && !json.is_null()) {
    add(keys, before.substr(0, before.size() - 1));
  } else if (json.is_object()) {
    const size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    if (const auto found = json.find(key); found != json.end())
      collect(*found, dot == std::string_view::npos ? "" : path.substr(dot + 1), before + key + ".",
              keys);
  }
}

} // namespace

Result<Json> otg_json(const std::string &text, const std::string &name) {
  otg::Findings findings;
  if (Json json = otg::parse_json(text, findings); !json.is_discarded()) {
    if (!findings.ok())
      return Error{fmt::format("{}: {}", name, findings.errors.front())};
    return json;
  }
  return parse::with_yaml(
      text, name, [](const YAML::Node &root) -> Result<Json> { return YamlToJson().read(root); });
}

std::vector<std::string> keys_without_effect(const Json &config) {
  std::vector<std::string> keys;
  for (const char *path : kNotHere)
    collect(config, path, "", keys);
  for (std::string &key : keys)
    if (key.starts_with(kOfOptions))
      key.erase(0, kOfOptions.size());
  return keys;
}

} // namespace xr::importers
