// SPDX-License-Identifier: Apache-2.0
// A web configuration in use: its TLS context, and which requests are let in.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "http/passwords.h"
#include "http/web_config.h"

struct ssl_ctx_st;

namespace xr::http {

class Access {
public:
  enum class Verdict { Allowed, Denied, Busy };

  static Result<std::shared_ptr<const Access>> make(const WebConfig &config);

  const WebConfig &config() const { return config_; }
  ssl_ctx_st *tls() const { return tls_.get(); } // null: without TLS
  // Of the value of a request's header `Authorization`. Called by several threads at once.
  Verdict check(const std::string &authorization) const;
  // The value of `WWW-Authenticate`.
  const char *scheme() const {
    return config_.token.empty() ? "Basic realm=\"xdp-roce\"" : "Bearer";
  }

private:
  explicit Access(const WebConfig &config) : config_(config), passwords_(config.users) {}

  WebConfig config_;
  std::shared_ptr<ssl_ctx_st> tls_;
  mutable Passwords passwords_;
};

} // namespace xr::http
