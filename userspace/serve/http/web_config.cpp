// SPDX-License-Identifier: Apache-2.0
#include "http/web_config.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>

#include <fmt/format.h>
#include <openssl/ssl.h>

#include "parse/value.h"
#include "parse/words.h"
#include "parse/yaml.h"

namespace xr::http {

TlsConfig::TlsConfig() : min_version(TLS1_2_VERSION), max_version(TLS1_3_VERSION) {}

namespace {

using parse::at_line;

// What a key of a map does with its value. Errors have the line of the value already.
struct ConfigKey {
  std::string_view name;
  std::function<Status(const YAML::Node &)> read;
};

Status read_map(const YAML::Node &map, const std::string &where,
                const std::vector<ConfigKey> &keys) {
  if (!map.IsDefined() || map.IsNull())
    return {};
  if (!map.IsMap())
    return at_line(map, {fmt::format("{} is not a map", where), "KEY: VALUE, a line each"});
  std::set<std::string> seen;
  for (const auto &item : map) {
    const std::string name = parse::scalar(item.first);
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&name](const ConfigKey &each) { return each.name == name; });
    if (key == keys.end()) {
      std::vector<std::string_view> names;
      names.reserve(keys.size());
      for (const ConfigKey &each : keys)
        names.push_back(each.name);
      return at_line(item.first, {fmt::format("{} has no key '{}'", where, name),
                                  parse::hint_from(name, names)});
    }
    if (!seen.insert(name).second)
      return at_line(item.first,
                     {fmt::format("{} is given twice", name), "remove one of the two lines"});
    XR_TRY(key->read(item.second));
  }
  return {};
}

Result<std::string> text_of(const YAML::Node &node, std::string_view key) {
  if (node.IsNull())
    return std::string();
  if (!node.IsScalar())
    return at_line(node, {fmt::format("{} is not a text", key), fmt::format("{}: TEXT", key)});
  return node.Scalar();
}

ConfigKey truth(std::string_view name, bool &to) {
  return {name, [name, &to](const YAML::Node &node) -> Status {
            if (node.IsScalar() && YAML::convert<bool>::decode(node, to))
              return {};
            return at_line(
                node, {fmt::format("{} is true or false", name), fmt::format("{}: true", name)});
          }};
}

ConfigKey list(std::string_view name, const std::function<Status(const std::string &)> &take) {
  return {name, [name, take](const YAML::Node &node) -> Status {
            if (node.IsNull())
              return {};
            if (!node.IsSequence())
              return at_line(node, {fmt::format("{} is not a list", name),
                                    fmt::format("{}: [NAME, NAME]", name)});
            for (const YAML::Node &each : node)
              if (auto taken = take(parse::scalar(each)); !taken)
                return at_line(each, taken.error());
            return {};
          }};
}

template <typename Value>
ConfigKey word(std::string_view name, Value &to,
               const std::vector<std::pair<std::string_view, Value>> &words) {
  return {name, [name, &to, words](const YAML::Node &node) -> Status {
            const std::string text = XR_TRY(text_of(node, name));
            std::vector<std::string_view> names;
            for (const auto &[each, value] : words) {
              if (each == text) {
                to = value;
                return {};
              }
              if (!each.empty())
                names.push_back(each);
            }
            return at_line(node, {fmt::format("{} cannot be '{}'", name, text),
                                  parse::hint_from(text, names)});
          }};
}

// A key that exporter-toolkit has and this program has not.
ConfigKey unsupported(std::string_view name, const std::string &hint) {
  return {name, [name, hint](const YAML::Node &node) -> Status {
            return at_line(node, {fmt::format("{} is not supported", name), hint});
          }};
}

// PEM text, in the file itself or in another one.
struct Source {
  std::string_view inline_key, file_key;
  std::string folder;
  Pem pem;

  ConfigKey in_line() {
    return {inline_key, [this](const YAML::Node &node) { return take(node, inline_key, false); }};
  }
  ConfigKey in_file() {
    return {file_key, [this](const YAML::Node &node) { return take(node, file_key, true); }};
  }
  Status take(const YAML::Node &node, std::string_view key, bool file) {
    const std::string value = XR_TRY(text_of(node, key));
    if (value.empty())
      return {};
    if (!pem.name.empty())
      return at_line(node, {fmt::format("{} and {} are both given", inline_key, file_key),
                            "remove one of the two"});
    pem = {value, std::string(key)};
    if (!file)
      return {};
    pem.name = (std::filesystem::path(folder) / value).string();
    auto read = parse::read_file(pem.name);
    if (!read)
      return at_line(node, {fmt::format("{}: {}", key, read.error().message),
                            "paths are relative to the folder of this file"});
    pem.text = *read;
    return {};
  }
};

ConfigKey client_auth(ClientAuth &to) {
  return word<ClientAuth>(
      "client_auth_type", to,
      {{"NoClientCert", ClientAuth::None},
       {"RequestClientCert", ClientAuth::Request},
       {"RequireAnyClientCert", ClientAuth::RequireAny},
       {"RequireClientCert", ClientAuth::RequireAny}, // the toolkit's older word
       {"VerifyClientCertIfGiven", ClientAuth::VerifyIfGiven},
       {"RequireAndVerifyClientCert", ClientAuth::RequireAndVerify},
       {"", ClientAuth::None}});
}

ConfigKey version(std::string_view name, int &to) {
  return {name, [name, &to](const YAML::Node &node) -> Status {
            const std::string text = XR_TRY(text_of(node, name));
            if (text == "TLS10" || text == "TLS11")
              return at_line(node, {fmt::format("{} cannot be {}, which is not secure", name, text),
                                    fmt::format("{}: TLS12", name)});
            return word<int>(name, to, {{"TLS12", TLS1_2_VERSION}, {"TLS13", TLS1_3_VERSION}})
                .read(node);
          }};
}

// Go's name is the one of IANA, but for two of old drafts.
Status add_cipher(TlsConfig &tls, const std::string &name) {
  const std::string iana = name.ends_with("_WITH_CHACHA20_POLY1305") ? name + "_SHA256" : name;
  if (iana.starts_with("TLS_AES_") || iana.starts_with("TLS_CHACHA20_")) {
    tls.ciphersuites.push_back(iana);
    return {};
  }
  const std::string found = OPENSSL_cipher_name(iana.c_str());
  if (found == "(NONE)")
    return Error{fmt::format("there is no cipher suite '{}'", name),
                 "names of IANA, like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};
  tls.ciphers.push_back(found);
  return {};
}

Status add_group(TlsConfig &tls, const std::string &name) {
  static const std::vector<std::pair<std::string_view, const char *>> kGroups = {
      {"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}};
  std::vector<std::string_view> names;
  for (const auto &[each, group] : kGroups) {
    if (each == name) {
      tls.groups.emplace_back(group);
      return {};
    }
    names.push_back(each);
  }
  return Error{fmt::format("there is no curve '{}'", name), parse::hint_from(name, names)};
}

Status check_tls(const YAML::Node &node, const TlsConfig &tls) {
  if (tls.certificate.name.empty() || tls.key.name.empty())
    return at_line(node, {fmt::format("tls_server_config has no {}",
                                      tls.certificate.name.empty() ? "certificate" : "key"),
                          "cert_file: FILE and key_file: FILE"});
  if (tls.min_version > tls.max_version)
    return at_line(node, {"min_version is above max_version", "min_version: TLS12"});
  const bool verifies = tls.client_auth == ClientAuth::VerifyIfGiven ||
                        tls.client_auth == ClientAuth::RequireAndVerify;
  const bool has_ca = !tls.client_ca.name.empty();
  if (verifies && !has_ca)
    return at_line(node,
                   {"client_auth_type needs the authority that signed the clients' certificates",
                    "client_ca_file: FILE"});
  if (has_ca && tls.client_auth == ClientAuth::None)
    return at_line(node, {"client_ca_file has no effect without client_auth_type",
                          "client_auth_type: RequireAndVerifyClientCert"});
  return {};
}

Status read_tls(const YAML::Node &node, const std::string &folder, WebConfig &config) {
  TlsConfig tls;
  Source certificate{"cert", "cert_file", folder, {}}, key{"key", "key_file", folder, {}},
      ca{"client_ca", "client_ca_file", folder, {}};
  XR_TRY(read_map(
      node, "tls_server_config",
      {certificate.in_file(), certificate.in_line(), key.in_file(), key.in_line(), ca.in_file(),
       ca.in_line(), client_auth(tls.client_auth), version("min_version", tls.min_version),
       version("max_version", tls.max_version),
       list("cipher_suites", [&tls](const std::string &name) { return add_cipher(tls, name); }),
       list("curve_preferences", [&tls](const std::string &name) { return add_group(tls, name); }),
       truth("prefer_server_cipher_suites", tls.prefer_server_ciphers),
       unsupported("client_allowed_sans",
                   "remove it; a client_ca_file of these clients alone does the same")}));
  if (!node.IsMap() || node.size() == 0)
    return {}; // without TLS, as exporter-toolkit
  tls.certificate = certificate.pem;
  tls.key = key.pem;
  tls.client_ca = ca.pem;
  XR_TRY(check_tls(node, tls));
  config.tls = tls;
  return {};
}

// The names and values that exporter-toolkit accepts.
Status read_headers(const YAML::Node &node, WebConfig &config) {
  std::vector<ConfigKey> keys;
  for (const char *name : {"Content-Security-Policy", "Strict-Transport-Security",
                           "X-Content-Type-Options", "X-Frame-Options", "X-XSS-Protection"})
    keys.push_back({name, [name, &config](const YAML::Node &value) -> Status {
                      const std::string text = XR_TRY(text_of(value, name));
                      // A line break would begin a header of its own.
                      if (text.find_first_of("\r\n") != std::string::npos)
                        return at_line(value, {fmt::format("{} has a line break", name),
                                               "write the value in one line"});
                      if (!text.empty())
                        config.headers.emplace_back(name, text);
                      return {};
                    }});
  return read_map(node, "headers", keys);
}

Status read_http(const YAML::Node &node, WebConfig &config) {
  return read_map(
      node, "http_server_config",
      {{"http2",
        [&config](const YAML::Node &value) -> Status {
          bool on = false;
          XR_TRY(truth("http2", on).read(value));
          if (on)
            config.notes.emplace_back(
                "http2 is true in the web configuration; this server speaks HTTP/1.1");
          return {};
        }},
       {"headers", [&config](const YAML::Node &value) { return read_headers(value, config); }}});
}

// A cost of 16 takes a processor some four seconds; one more doubles it.
constexpr int kMostCost = 16;

Status check_hash(const std::string &user, const std::string &hash) {
  static const std::regex kHash(R"(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})");
  std::smatch match;
  if (!std::regex_match(hash, match, kHash))
    return Error{fmt::format("the password of '{}' is not a bcrypt hash", user),
                 "`htpasswd -nBC 10 USER` makes one"};
  const int cost = std::stoi(match[1]);
  if (cost < 4 || cost > kMostCost)
    return Error{fmt::format("the bcrypt cost of '{}' is {}, not 4 to {}", user, cost, kMostCost),
                 "`htpasswd -nBC 10 USER` makes a hash of cost 10"};
  return {};
}

Status read_users(const YAML::Node &node, WebConfig &config) {
  if (node.IsNull())
    return {};
  if (!node.IsMap())
    return at_line(node, {"basic_auth_users is not a map", "USER: BCRYPT_HASH, a line each"});
  for (const auto &item : node) {
    const std::string user = parse::scalar(item.first);
    if (user.empty() || user.find(':') != std::string::npos)
      return at_line(item.first,
                     {fmt::format("'{}' cannot be a user's name", user), "a name without a colon"});
    const std::string hash = parse::scalar(item.second);
    if (auto right = check_hash(user, hash); !right)
      return at_line(item.first, right.error());
    if (!config.users.emplace(user, hash).second)
      return at_line(item.first, {fmt::format("user '{}' is given twice", user),
                                  "remove one of the two lines"});
  }
  return {};
}

} // namespace

Result<WebConfig> parse_web_config(const std::string &text, const std::string &name,
                                   const std::string &folder) {
  return parse::with_yaml(text, name, [&folder](const YAML::Node &root) -> Result<WebConfig> {
    WebConfig config;
    XR_TRY(read_map(
        root, "the web configuration",
        {{"tls_server_config",
          [&](const YAML::Node &node) { return read_tls(node, folder, config); }},
         {"http_server_config", [&](const YAML::Node &node) { return read_http(node, config); }},
         {"basic_auth_users", [&](const YAML::Node &node) { return read_users(node, config); }},
         unsupported("rate_limit", "remove it; the server has limits of its own")}));
    return config;
  });
}

Result<WebConfig> read_web_config(const std::string &path) {
  const std::string text = XR_TRY(parse::read_file(path));
  return parse_web_config(text, path, std::filesystem::path(path).parent_path().string());
}

Result<WebConfig> web_config_of(const std::string &certificate, const std::string &key,
                                const std::string &token) {
  WebConfig config;
  config.token = token;
  if (certificate.empty())
    return config;
  TlsConfig tls;
  tls.certificate = {XR_TRY(parse::read_file(certificate)), certificate};
  tls.key = {XR_TRY(parse::read_file(key)), key};
  config.tls = tls;
  return config;
}

} // namespace xr::http
