// SPDX-License-Identifier: Apache-2.0
// The web configuration of Prometheus' exporters (exporter-toolkit): TLS, users, headers. Also what
// --tls and --token say, so that one code path applies both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xr::http {

enum class ClientAuth {
  None,
  Request,          // a client's certificate is asked for, and not checked
  RequireAny,       // needed, and not checked
  VerifyIfGiven,    // checked if there is one
  RequireAndVerify, // needed and checked
};

// The text of a PEM file, and its name for errors.
struct Pem {
  std::string text, name;
};

struct TlsConfig {
  Pem certificate, key, client_ca; // an empty client_ca: none
  ClientAuth client_auth = ClientAuth::None;
  int min_version, max_version;          // OpenSSL's TLS1_2_VERSION and TLS1_3_VERSION
  std::vector<std::string> ciphers;      // OpenSSL's names, up to TLS 1.2; none: its default
  std::vector<std::string> ciphersuites; // of TLS 1.3
  std::vector<std::string> groups;
  bool prefer_server_ciphers = true;

  TlsConfig();
};

struct WebConfig {
  std::optional<TlsConfig> tls;
  std::vector<std::pair<std::string, std::string>> headers; // of every answer
  std::map<std::string, std::string> users;                 // name -> bcrypt hash
  std::string token;              // `Authorization: Bearer TOKEN`; "": none
  std::vector<std::string> notes; // what the file asks for and does not get

  // Anybody who reaches the port is served, in clear text.
  bool open() const { return !tls && users.empty() && token.empty(); }
};

// Paths in the file are relative to its folder.
Result<WebConfig> read_web_config(const std::string &path);
// `name` is for errors, `folder` the base of relative paths.
Result<WebConfig> parse_web_config(const std::string &text, const std::string &name,
                                   const std::string &folder);
// The configuration that --tls and --token give; "": not given.
Result<WebConfig> web_config_of(const std::string &certificate, const std::string &key,
                                const std::string &token);

} // namespace xr::http
