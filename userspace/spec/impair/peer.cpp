// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "impair/fields.h"
#include "impair/rule.h"
#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr const char *kUsage =
    "like 192.0.2.1 0x11 0x12: its packets for QP 0x11 come from its QP 0x12";

Error with_usage(const Error &error) {
  return {error.message, error.hint.empty() ? kUsage : error.hint};
}

} // namespace

Result<Peer> parse_peer(const std::vector<std::string> &list) {
  WordReader words(list);
  const auto ip = address(words.take());
  if (!ip)
    return with_usage(ip.error());
  const auto qp = integer(words.take(), 0, kMost24, "a QPN");
  if (!qp)
    return with_usage(qp.error());
  words.take_if("->");
  if (words.take_if("-")) // the shell has created a file QPN
    return Error{"the shell took '> QPN' for a file to write to", "quote '->' or leave it out"};
  const auto src_qp = integer(words.take(), 0, kMost24, "a QPN");
  if (!src_qp)
    return with_usage(src_qp.error());
  if (!words.done())
    return Error{fmt::format("'{}' is one word too many", words.peek()), kUsage};
  return Peer{ip.get(), static_cast<uint32_t>(qp.get()), static_cast<uint32_t>(src_qp.get())};
}

// Without the arrow, which a shell would parse as a redirection.
std::string peer_text(const Peer &peer) {
  return fmt::format("{} {:#x} {:#x}", address_text(peer.address), peer.qp, peer.src_qp);
}

} // namespace xr::impair
