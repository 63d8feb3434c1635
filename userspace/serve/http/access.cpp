// SPDX-License-Identifier: Apache-2.0
#include "http/access.h"

#include <string_view>

#include <openssl/crypto.h>
#include <strings.h>

#include "http/encoding.h"
#include "http/tls.h"

namespace xr::http {

namespace {

// Takes equally long for each token of the same length.
bool same(const std::string &a, const std::string &b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// The part after a scheme, whose name has no case; "" if it is another one.
std::string credentials(const std::string &authorization, std::string_view scheme) {
  if (authorization.size() <= scheme.size() || authorization[scheme.size()] != ' ' ||
      strncasecmp(authorization.data(), scheme.data(), scheme.size()) != 0)
    return "";
  const size_t begin = authorization.find_first_not_of(' ', scheme.size());
  return begin == std::string::npos ? "" : authorization.substr(begin);
}

} // namespace

Result<std::shared_ptr<const Access>> Access::make(const WebConfig &config) {
  const std::shared_ptr<Access> made(new Access(config));
  if (config.tls)
    made->tls_ = XR_TRY(make_tls(*config.tls));
  return std::shared_ptr<const Access>(made);
}

Access::Verdict Access::check(const std::string &authorization) const {
  if (!config_.token.empty())
    return same(credentials(authorization, "Bearer"), config_.token) ? Verdict::Allowed
                                                                     : Verdict::Denied;
  if (config_.users.empty())
    return Verdict::Allowed;
  const std::string encoded = credentials(authorization, "Basic");
  const std::string pair = from_base64(encoded);
  const size_t colon = pair.find(':');
  if (colon == std::string::npos)
    return Verdict::Denied;
  switch (passwords_.check(pair.substr(0, colon), pair.substr(colon + 1))) {
  case Passwords::Outcome::Right:
    return Verdict::Allowed;
  case Passwords::Outcome::Busy:
    return Verdict::Busy;
  case Passwords::Outcome::Wrong:
    break;
  }
  return Verdict::Denied;
}

} // namespace xr::http
