// SPDX-License-Identifier: Apache-2.0
#include "impair/fields.h"

namespace xr::impair {

namespace {

constexpr std::string_view kNames[] = {
    "src",  "dst",        "dest-qp", "transport", "opcode",   "psn",          "ecn",     "dscp",
    "vlan", "size",       "roce",    "ipv4",      "se",       "migreq",       "padcnt",  "tver",
    "pkey", "fecn",       "becn",    "resv6",     "ack-req",  "resv7",        "src-mac", "dst-mac",
    "pcp",  "inner-vlan", "mpls",    "src-port",  "dst-port", "roce-version", "bytes",
};
static_assert(std::size(kNames) == static_cast<size_t>(Field::RawBytes) + 1);

constexpr BthField kBthFields[] = {
    {Field::Se, kBthFlags, 7, 1},     {Field::MigReq, kBthFlags, 6, 1},
    {Field::PadCnt, kBthFlags, 4, 2}, {Field::TVer, kBthFlags, 0, 4},
    {Field::Fecn, kBthMarks, 7, 1},   {Field::Becn, kBthMarks, 6, 1},
    {Field::Resv6, kBthMarks, 0, 6},  {Field::AckReq, kBthAck, 7, 1},
    {Field::Resv7, kBthAck, 0, 7},
};

constexpr uint32_t kBth = 0, kDeth = 9, kReth = 12, kAeth = 14, kImmDt = 16;

constexpr HeaderField kHeaderFields[] = {
    {"opcode", kBth, 0, 8},    {"se", kBth, 8, 1},        {"migreq", kBth, 9, 1},
    {"padcnt", kBth, 10, 2},   {"tver", kBth, 12, 4},     {"pkey", kBth, 16, 16},
    {"dest-qp", kBth, 40, 24}, {"ackreq", kBth, 64, 1},   {"psn", kBth, 72, 24},
    {"syndrome", kAeth, 0, 8}, {"msn", kAeth, 8, 24},     {"va", kReth, 0, 64},
    {"rkey", kReth, 64, 32},   {"dmalen", kReth, 96, 32}, {"qkey", kDeth, 0, 32},
    {"src-qp", kDeth, 40, 24}, {"imm", kImmDt, 0, 32},
};

constexpr std::string_view kEcnValues[] = {"not-ect", "ect1", "ect0", "ce"};
constexpr std::string_view kScopes[] = {"stream", "pair", "port"};

} // namespace

std::string_view field_name(Field field) { return kNames[static_cast<size_t>(field)]; }

const std::vector<std::string_view> &ecn_names() {
  static const std::vector<std::string_view> kPoints = {"not-ect", "ect0", "ect1", "ect", "ce"};
  return kPoints;
}

std::span<const BthField> bth_fields() { return kBthFields; }
std::span<const HeaderField> header_fields() { return kHeaderFields; }
std::span<const std::string_view> ecn_values() { return kEcnValues; }
std::span<const std::string_view> cnp_scopes() { return kScopes; }

} // namespace xr::impair
