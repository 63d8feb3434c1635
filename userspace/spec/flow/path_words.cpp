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

Status parse_name(FlowDraft &draft, WordReader &words) {
  draft.spec.name = XR_TRY(name(words.take()));
  return {};
}

Status parse_end(WordReader &words, packet::Address &end, bool &given) {
  end = XR_TRY(address(words.take()));
  given = true;
  return {};
}
Status parse_src(FlowDraft &d, WordReader &w) {
  return parse_end(w, d.spec.path.src, d.spec.src_given);
}
Status parse_dst(FlowDraft &d, WordReader &w) {
  return parse_end(w, d.spec.path.dst, d.spec.dst_given);
}

template <std::optional<packet::Mac> Flow::*member>
Status parse_mac(FlowDraft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto mac = packet::parse_mac(word);
  if (!mac)
    return wrong(word, "a MAC address", "like 02:00:00:00:00:01");
  draft.spec.*member = mac.get();
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
  std::vector<packet::Tag> &tags = draft.spec.path.tags;
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
  draft.spec.path.network = packet::Network::V1;
  return {};
}

Status parse_port(FlowDraft &draft, WordReader &words) {
  Flow &flow = draft.spec;
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
  uint8_t &tos = draft.spec.path.tos;
  tos = static_cast<uint8_t>(dscp << 2 | (tos & 3));
  return {};
}

Status parse_ecn(FlowDraft &draft, WordReader &words) {
  const auto codepoint = XR_TRY(named(words.take(), kCodepoints, "an ECN codepoint"));
  uint8_t &tos = draft.spec.path.tos;
  tos = static_cast<uint8_t>((tos & ~3) | codepoint);
  return {};
}

Status parse_ttl(FlowDraft &draft, WordReader &words) {
  const auto ttl = XR_TRY(integer(words.take(), 1, 255));
  draft.spec.path.ttl = static_cast<uint8_t>(ttl);
  return {};
}

Status parse_flow_label(FlowDraft &draft, WordReader &words) {
  const auto label = XR_TRY(integer(words.take(), 0, 0xfffff));
  draft.spec.path.flow_label = static_cast<uint32_t>(label);
  return {};
}

std::string tag_text(const packet::Tag &tag) {
  const unsigned vid = tag.tci & ROCE_VLAN_VID, priority = tag.tci >> 13;
  return priority ? fmt::format("{}/{}", vid, priority) : fmt::format("{}", vid);
}

Said say_vlan(const Flow &flow) {
  std::string text;
  for (const packet::Tag &tag : flow.path.tags)
    text += (text.empty() ? "" : ",") + tag_text(tag);
  return say_if(!text.empty(), "{}", text);
}

template <std::optional<packet::Mac> Flow::*member> Said say_mac(const Flow &flow) {
  const auto &mac = flow.*member;
  return mac ? Said{packet::mac_text(*mac)} : Said();
}

Said say_port(const Flow &flow) {
  if (flow.port == PortChoice::Hash)
    return {};
  return {flow.port == PortChoice::Vary ? "vary" : std::to_string(flow.path.src_port)};
}

constexpr FlowWord kPathWords[] = {
    {{"name", "", "name first", "NAME"},
     parse_name,
     [](const Flow &flow) { return say_if(!flow.name.empty(), "{}", flow.name); }},
    {{"src", "", "src 192.0.2.1", "IP"},
     parse_src,
     [](const Flow &flow) {
       return say_if(flow.src_given, "{}", parse::address_text(flow.path.src));
     }},
    {{"dst", "", "dst 192.0.2.2", "IP"},
     parse_dst,
     [](const Flow &flow) {
       return say_if(flow.dst_given, "{}", parse::address_text(flow.path.dst));
     }},
    {{"src-mac", "", "src-mac 02:00:00:00:00:01", "MAC"},
     parse_mac<&Flow::src_mac>,
     say_mac<&Flow::src_mac>},
    {{"dst-mac", "", "dst-mac 02:00:00:00:00:02", "MAC"},
     parse_mac<&Flow::dst_mac>,
     say_mac<&Flow::dst_mac>},
    {{"vlan", "", "vlan 5, vlan 5/3 or, with an outer one, vlan 7,5/3", "ID[/PRIO][,ID[/PRIO]]"},
     parse_vlan,
     say_vlan},
    {{"v1", "", "v1", "", "RoCEv1"},
     parse_v1,
     [](const Flow &flow) { return say_if(flow.path.network == packet::Network::V1, ""); }},
};

constexpr FlowWord kFieldWords[] = {
    {{"port", "", "port hash, port vary or port 49152", "hash|vary|N", "UDP source port"},
     parse_port,
     say_port},
    {{"dscp", "", "dscp 26", "N"},
     parse_dscp,
     [](const Flow &flow) { return say_if(flow.path.tos >> 2, "{}", flow.path.tos >> 2); }},
    {{"ecn", "", "ecn ect0", "not-ect|ect0|ect1|ce"},
     parse_ecn,
     [](const Flow &flow) {
       const uint8_t ecn = flow.path.tos & 3;
       return say_if(ecn != ROCE_ECN_ECT0, "{}", name_of(kCodepoints, ecn));
     }},
    {{"ttl", "", "ttl 64", "N"},
     parse_ttl,
     [](const Flow &flow) {
       return say_if(flow.path.ttl != plain_flow().path.ttl, "{}", flow.path.ttl);
     }},
    {{"flow-label", "", "flow-label 0x12345", "N"},
     parse_flow_label,
     [](const Flow &flow) { return say_if(flow.path.flow_label, "{:#x}", flow.path.flow_label); }},
};

} // namespace

std::span<const FlowWord> path_words() { return kPathWords; }
std::span<const FlowWord> field_words() { return kFieldWords; }

} // namespace xr::flow
