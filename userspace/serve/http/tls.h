// SPDX-License-Identifier: Apache-2.0
// The TLS side of a server, from its configuration.
#pragma once

#include <memory>

#include "base/result.h"
#include "http/web_config.h"

struct ssl_ctx_st;

namespace xr::http {

Result<std::shared_ptr<ssl_ctx_st>> make_tls(const TlsConfig &config);

} // namespace xr::http
