// SPDX-License-Identifier: Apache-2.0
#include "names/names.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <ctime>
#include <sstream>

#include <fmt/format.h>

#include "roce/counters.h"
#include "roce/rnr.h"
#include "roce/tunnel.h"

namespace xr::names {

namespace {

constexpr unsigned kManufacturer = 0xc0; // to 0xff

const char *assigned_name(unsigned opcode) {
  switch (opcode) {
#define ROCE_NAME_(t, p, op, name, ext, props)                                                     \
  case (p) + (op):                                                                                 \
    return #t "_" #name;
    ROCE_OPCODES(ROCE_NAME_)
#undef ROCE_NAME_
  case ROCE_OPCODE_CNP:
    return "CNP";
  default:
    return nullptr;
  }
}

} // namespace

std::string opcode_name(unsigned opcode) {
  if (const char *name = assigned_name(opcode))
    return name;
  return fmt::format("{}_0x{:02x}", opcode >= kManufacturer ? "MANUFACTURER" : "RESERVED", opcode);
}

std::string transport_name(unsigned opcode) {
  if (opcode >= kManufacturer)
    return "manufacturer";
  switch (opcode & ROCE_TRANSPORT_MASK) {
  case ROCE_RC:
    return "RC";
  case ROCE_UC:
    return "UC";
  case ROCE_RD:
    return "RD";
  case ROCE_UD:
    return "UD";
  case ROCE_XRC:
    return "XRC";
  default:
    return opcode == ROCE_OPCODE_CNP ? "CNP" : "reserved";
  }
}

std::string kind_name(const roce_key &key) {
  switch (roce_key_kind(&key)) {
  case ROCE_KIND_REQUEST:
    return "request";
  case ROCE_KIND_RESPONSE:
    return "response";
  default:
    return "datagram";
  }
}

// To add a tunnel: enum roce_tunnel, roce_peel, include/roce/README.md 10, its word here, its
// heading in tunnels.cpp; docs/captures.md; a way in tests/unit/tunnels.h, a kind in
// tests/e2e/tunnels.py.
const std::vector<std::string> &tunnel_names() {
  static const std::vector<std::string> kNames = {"erspan", "gre",  "vxlan", "geneve",
                                                  "mpls",   "ipip", "qinq"};
  static_assert(ROCE_TUNNELS == 7);
  return kNames;
}

std::optional<uint32_t> tunnels_of(const std::string &list) {
  if (list == "auto")
    return ROCE_TUNNELS_ALL;
  uint32_t tunnels = 0;
  std::stringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto &names = tunnel_names();
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
      return std::nullopt;
    tunnels |= 1u << (found - names.begin());
  }
  return tunnels ? std::optional(tunnels) : std::nullopt;
}

std::string address(const __u32 words[4]) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (!words[0] && !words[1] && words[2] == ROCE_MAPPED_PREFIX)
    inet_ntop(AF_INET, &words[3], text, sizeof(text));
  else
    inet_ntop(AF_INET6, words, text, sizeof(text));
  return text;
}

std::string nak_name(uint8_t syndrome) {
  switch (roce_aeth_index(syndrome)) {
  case ROCE_AETH_NAK_PSN_SEQUENCE_ERROR:
    return "psn_sequence_error";
  case ROCE_AETH_NAK_INVALID_REQUEST:
    return "invalid_request";
  case ROCE_AETH_NAK_REMOTE_ACCESS_ERROR:
    return "remote_access_error";
  case ROCE_AETH_NAK_REMOTE_OPERATIONAL_ERROR:
    return "remote_operational_error";
  case ROCE_AETH_NAK_INVALID_RD_REQUEST:
    return "invalid_rd_request";
  default:
    return "reserved";
  }
}

std::string nak_words(uint8_t syndrome) {
  std::string words = nak_name(syndrome);
  for (char &c : words)
    c = c == '_' ? ' ' : c;
  return words.starts_with("psn") ? "PSN" + words.substr(3) : words;
}

std::string psns(uint32_t first, uint32_t count) {
  const uint32_t last = (first + count - 1) & ROCE_PSN_MASK;
  return count == 1 ? fmt::format("1 PSN {}", first)
                    : fmt::format("{} PSNs {}..{}", count, first, last);
}

double rnr_timer_ms(uint8_t syndrome) { return roce_rnr_us(syndrome) / 1000.0; }

// To add an event: roce_event_type, track.h, its name here, reports.cpp or found_event.cpp;
// account_test, golden files.
std::string event_name(unsigned type) {
  constexpr std::array<const char *, ROCE_EVENT_TYPES> kNames = {
      "gap", "rewind", "nak", "rnr_nak", "cnp", "ce_run", "stream_new", "stream_forgotten"};
  return type < kNames.size() ? kNames[type] : fmt::format("type_{}", type);
}

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

std::string clock_text(const char *form, const tm &when) {
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), form, &when)};
}

} // namespace

std::string local_time(uint64_t realtime_ns) {
  const time_t seconds = static_cast<time_t>(realtime_ns / kSecond);
  tm when{};
  localtime_r(&seconds, &when);
  return clock_text("%H:%M:%S", when) + fmt::format(".{:06}", realtime_ns % kSecond / 1000);
}

std::string utc_time(uint64_t realtime_ns) {
  const time_t seconds = static_cast<time_t>(realtime_ns / kSecond);
  tm when{};
  gmtime_r(&seconds, &when);
  return clock_text("%Y-%m-%dT%H:%M:%S", when) + fmt::format(".{:09}Z", realtime_ns % kSecond);
}

} // namespace xr::names
