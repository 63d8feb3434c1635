// SPDX-License-Identifier: Apache-2.0
// Words for the endpoints of a flow and for the headers before the BTH.
#include "flow/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "parse/address.h"
#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr uint32_t kMostVid = 4094, kMostPriority = 7; // 4095 is reserved (IEEE 802.1Q, 9.6)

Status parse_seed(FlowDraft &draft, WordReader &words) {
  draft.flow.seed = XR_TRY(integer(words.take(), 0, UINT64_MAX));
  return {};
}

Status parse_name(FlowDraft &draft, WordReader &words) {
  draft.flow.name = XR_TRY(name(words.take()));
  return {};
}

Status parse_end(WordReader &words, packet::Address &end, bool &given) {
  end = XR_TRY(address(words.take()));
  given = true;
  return {};
}
Status parse_src(FlowDraft &d, WordReader &w) {
  return parse_end(w, d.flow.path.src, d.flow.src_given);
}
Status parse_dst(FlowDraft &d, WordReader &w) {
  return parse_end(w, d.flow.path.dst, d.flow.dst_given);
}

template <std::optional<packet::Mac> Flow::*member>
Status parse_mac(FlowDraft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto mac = packet::parse_mac(word);
  if (!mac)
    return wrong(word, "a MAC address", "like 02:00:00:00:00:01");
  draft.flow.*member = mac.get();
  return {};
}

Result<packet::Tag> parse_tag(const std::string &word) {
  constexpr std::string_view kHint = "ID/PRIORITY, like 5 or 5/3: 0 to 4094 and 0 to 7";
  const size_t slash = word.find('/');
  const auto vid = integer(word.substr(0, slash), 0, kMostVid);
  const auto priority = slash == std::string::npos
                            ? Result<uint64_t>(0)
                            : integer(word.substr(slash + 1), 0, kMostPriority);
  if (!vid || !priority)
    return wrong(word, "a VLAN", std::string(kHint));
  packet::Tag tag;
  tag.tci = static_cast<uint16_t>(priority.get() << 13 | vid.get());
  return tag;
}

Status parse_vlan(FlowDraft &draft, WordReader &words) {
  std::vector<packet::Tag> &tags = draft.flow.path.tags;
  tags.clear();
  if (words.take_if("none"))
    return {};
  const std::string word = words.take();
  for (const std::string &part : parts(word)) {
    tags.push_back(XR_TRY(parse_tag(part)));
  }
  if (tags.size() > ROCE_VLAN_MAX)
    return Error{fmt::format("'{}' are {} tags", word, tags.size()),
                 fmt::format("{} are possible", ROCE_VLAN_MAX)};
  if (tags.size() > 1)
    tags.front().tpid = ROCE_ETHERTYPE_QINQ;
  return {};
}

Status parse_v1(FlowDraft &draft, WordReader &) {
  draft.flow.path.network = packet::Network::V1;
  return {};
}

Status parse_port(FlowDraft &draft, WordReader &words) {
  Flow &flow = draft.flow;
  const std::string word = words.take();
  if (looks_like_number(word)) {
    const auto number = XR_TRY(integer(word, 1, 0xffff, "a UDP port"));
    flow.port = PortChoice::Fixed;
    flow.path.src_port = static_cast<uint16_t>(number);
    return {};
  }
  const auto at = XR_TRY(choice(word, {"hash", "vary"}, "hash, vary or a UDP port"));
  flow.port = at ? PortChoice::Vary : PortChoice::Hash;
  return {};
}

Status parse_dscp(FlowDraft &draft, WordReader &words) {
  const auto dscp = XR_TRY(integer(words.take(), 0, 63));
  uint8_t &tos = draft.flow.path.tos;
  tos = static_cast<uint8_t>(dscp << 2 | (tos & 3));
  return {};
}

Status parse_ecn(FlowDraft &draft, WordReader &words) {
  const auto codepoint = XR_TRY(named(words.take(), kCodepoints, "an ECN codepoint"));
  uint8_t &tos = draft.flow.path.tos;
  tos = static_cast<uint8_t>((tos & ~3) | codepoint);
  return {};
}

Status parse_ttl(FlowDraft &draft, WordReader &words) {
  const auto ttl = XR_TRY(integer(words.take(), 1, 255));
  draft.flow.path.ttl = static_cast<uint8_t>(ttl);
  return {};
}

Status parse_flow_label(FlowDraft &draft, WordReader &words) {
  const auto label = XR_TRY(integer(words.take(), 0, 0xfffff));
  draft.flow.path.flow_label = static_cast<uint32_t>(label);
  return {};
}

constexpr FlowKeyword kPathWords[] = {
    {"name", Slot::Name, parse_name, "name first"},
    {"src", Slot::Src, parse_src, "src 192.0.2.1"},
    {"dst", Slot::Dst, parse_dst, "dst 192.0.2.2"},
    {"src-mac", Slot::SrcMac, parse_mac<&Flow::src_mac>, "src-mac 02:00:00:00:00:01"},
    {"dst-mac", Slot::DstMac, parse_mac<&Flow::dst_mac>, "dst-mac 02:00:00:00:00:02"},
    {"vlan", Slot::Vlan, parse_vlan, "vlan 5, vlan 5/3 or, with an outer one, vlan 7,5/3"},
    {"v1", Slot::V1, parse_v1, "v1"},
    {"port", Slot::Port, parse_port, "port hash, port vary or port 49152"},
    {"dscp", Slot::Dscp, parse_dscp, "dscp 26"},
    {"ecn", Slot::Ecn, parse_ecn, "ecn ect0"},
    {"ttl", Slot::Ttl, parse_ttl, "ttl 64"},
    {"flow-label", Slot::FlowLabel, parse_flow_label, "flow-label 0x12345"},
    {"seed", Slot::Seed, parse_seed, "seed 7"},
};

} // namespace

std::span<const FlowKeyword> path_words() { return kPathWords; }

} // namespace xr::flow
