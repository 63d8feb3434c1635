// SPDX-License-Identifier: Apache-2.0
// The canonical words of a flow: all values that differ from the defaults, in the order of Slot.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flow/words.h"
#include "parse/address.h"
#include "parse/value.h"
#include "roce/parse.h"

namespace xr::flow {

namespace {

using Out = std::vector<std::string>;

template <typename... Args> void say(Out &out, fmt::format_string<Args...> format, Args &&...args) {
  out.push_back(fmt::format(format, std::forward<Args>(args)...));
}

std::string_view name_of(std::span<const Named> names, uint8_t value) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [value](const Named &n) { return n.value == value; });
  return found == names.end() ? "?" : found->name;
}

std::string tag_text(const packet::Tag &tag) {
  const unsigned vid = tag.tci & ROCE_VLAN_VID, priority = tag.tci >> 13;
  return priority ? fmt::format("{}/{}", vid, priority) : fmt::format("{}", vid);
}

std::string sizes_text(const Sizes &sizes) {
  std::vector<std::string> texts;
  for (const Sizes::Part &part : sizes.parts)
    texts.push_back(sizes.kind == Sizes::Kind::Mix
                        ? fmt::format("{}:{}", parse::byte_text(part.bytes), part.weight)
                        : parse::byte_text(part.bytes));
  return fmt::format("{}", fmt::join(texts, sizes.kind == Sizes::Kind::Uniform ? "-" : ","));
}

void say_path(const Flow &flow, Out &out) {
  const packet::Path &path = flow.path;
  if (!flow.name.empty())
    say(out, "name {}", flow.name);
  if (flow.src_given)
    say(out, "src {}", parse::address_text(path.src));
  if (flow.dst_given)
    say(out, "dst {}", parse::address_text(path.dst));
  if (flow.src_mac)
    say(out, "src-mac {}", packet::mac_text(*flow.src_mac));
  if (flow.dst_mac)
    say(out, "dst-mac {}", packet::mac_text(*flow.dst_mac));
  if (path.tags.size() == 1)
    say(out, "vlan {}", tag_text(path.tags[0]));
  if (path.tags.size() == 2)
    say(out, "vlan {},{}", tag_text(path.tags[0]), tag_text(path.tags[1]));
  if (path.network == packet::Network::V1)
    say(out, "v1");
}

void say_opcodes(const std::vector<uint8_t> &opcodes, Out &out) {
  std::vector<std::string> names;
  names.reserve(opcodes.size());
  for (const uint8_t opcode : opcodes)
    names.push_back(opcode_name(opcode));
  say(out, "opcode {}", fmt::join(names, ","));
}

void say_messages(const Flow &flow, const Flow &plain, Out &out) {
  if (!flow.opcodes.empty())
    say_opcodes(flow.opcodes, out);
  else if (flow.transport != plain.transport)
    say(out, "transport {}", name_of(kTransports, flow.transport));
  if (flow.opcodes.empty() && flow.verb != plain.verb)
    say(out, "verb {}", packet::verb_name(flow.verb));
  if (flow.qp != plain.qp)
    say(out, "qp {:#x}", flow.qp);
  if (flow.qps != plain.qps)
    say(out, "qps {}", flow.qps);
  if (flow.src_qp)
    say(out, "src-qp {:#x}", *flow.src_qp);
  if (!flow.interleave)
    say(out, "by message");
  // without a word, the size follows from PMTU or `frames`
  if (const std::string sizes = sizes_text(flow.size); sizes != sizes_text(plain.size) ||
                                                       flow.transport == ROCE_UD || flow.frames ||
                                                       !flow.opcodes.empty())
    say(out, "size {}", sizes);
  if (flow.frame_size)
    say(out, "frame-size {}", flow.frame_size);
  else if (flow.pmtu != plain.pmtu)
    say(out, "pmtu {}", flow.pmtu);
  if (flow.frames)
    say(out, "frames {}", flow.frames);
  if (flow.repeat)
    say(out, "repeat {}", *flow.repeat);
  else if (flow.messages)
    say(out, "messages {}", flow.messages);
  if (flow.duration_ns)
    say(out, "for {}", parse::duration_text(flow.duration_ns));
  if (flow.psn)
    say(out, "psn {}", *flow.psn);
  if (flow.ack_every)
    say(out, "ack-every {}", flow.ack_every);
}

void say_fields(const Flow &flow, const Flow &plain, Out &out) {
  const packet::Path &path = flow.path;
  if (flow.port == PortChoice::Fixed)
    say(out, "port {}", path.src_port);
  if (flow.port == PortChoice::Vary)
    say(out, "port vary");
  if (path.tos >> 2)
    say(out, "dscp {}", path.tos >> 2);
  if ((path.tos & 3) != ROCE_ECN_ECT0)
    say(out, "ecn {}", name_of(kCodepoints, path.tos & 3));
  if (path.ttl != plain.path.ttl)
    say(out, "ttl {}", path.ttl);
  if (path.flow_label)
    say(out, "flow-label {:#x}", path.flow_label);
}

void say_bit(std::string_view word, std::optional<bool> bit, Out &out) {
  if (bit)
    say(out, "{} {}", word, *bit ? 1 : 0);
}

void say_bth(const BthBits &bth, Out &out) {
  const auto set = [](bool bit) { return bit ? std::optional(true) : std::nullopt; };
  say_bit("se", set(bth.solicited), out);
  say_bit("migreq", set(bth.mig_req), out);
  if (bth.pad)
    say(out, "padcnt {}", *bth.pad);
  if (bth.tver)
    say(out, "tver {}", bth.tver);
  if (bth.pkey != BthBits().pkey)
    say(out, "pkey {:#x}", bth.pkey);
  say_bit("fecn", set(bth.fecn), out);
  say_bit("becn", bth.becn, out);
  if (bth.resv6)
    say(out, "resv6 {:#x}", bth.resv6);
  say_bit("ack-req", bth.ack_req, out);
  if (bth.resv7)
    say(out, "resv7 {:#x}", bth.resv7);
}

void say_pacing(const congestion::Pacing &pacing, Out &out) {
  if (pacing.rate.kind != congestion::Rate::Kind::Top)
    say(out, "rate {}{}", pacing.rate.text,
        pacing.rate.kind == congestion::Rate::Kind::BitsL1 ? " l1" : "");
  if (pacing.shape == congestion::Pacing::Shape::Poisson)
    say(out, "poisson");
  if (pacing.shape == congestion::Pacing::Shape::Burst) {
    say(out, "burst {} gap {}", pacing.burst_packets, parse::duration_text(pacing.burst_gap_ns));
    if (pacing.bursts)
      say(out, "count {}", pacing.bursts);
  }
  if (pacing.start_ns)
    say(out, "start {}", parse::duration_text(pacing.start_ns));
  if (pacing.ramp_ns)
    say(out, "ramp {}", parse::duration_text(pacing.ramp_ns));
  if (pacing.ramp_ns && pacing.ramp_from > 0)
    say(out, "from {}", pacing.ramp_from);
}

std::string rate_words(const congestion::Rate &rate) {
  return rate.text + (rate.kind == congestion::Rate::Kind::BitsL1 ? " l1" : "");
}

void say_control(const congestion::Control &control, Out &out) {
  using Kind = congestion::Control::Kind;
  if (control.kind == Kind::None)
    return;
  if (control.kind == Kind::Fixed)
    say(out, "cc fixed {}", rate_words(control.rate));
  if (const congestion::ParameterSet *parameters = control.parameters()) {
    const std::string words = parameters->words();
    const std::string file = control.plugin ? " " + control.plugin->path() : "";
    say(out, "cc {}{}{}{}", control.word(), file, words.empty() ? "" : " ", words);
  }
  if (control.is_dynamic() && control.rate.kind != congestion::Rate::Kind::Top)
    say(out, "line {}", rate_words(control.rate));
  if (control.burst != 1)
    say(out, "burst={}", control.burst);
  if (const congestion::Window &window = control.window;
      window.kind != congestion::Window::Kind::None)
    say(out, "window {}{}",
        window.kind == congestion::Window::Kind::Bdp ? "bdp" : std::to_string(window.bytes),
        window.vary ? " vary" : "");
}

void say_keys(const Flow &flow, const Flow &plain, Out &out) {
  if (flow.qkey != plain.qkey)
    say(out, "qkey {:#x}", flow.qkey);
  if (flow.rkey != plain.rkey)
    say(out, "rkey {:#x}", flow.rkey);
  if (flow.va != plain.va)
    say(out, "va {:#x}", flow.va);
  if (flow.immediate)
    say(out, "imm {:#x}", flow.immediate);
  if (flow.srq)
    say(out, "srq {:#x}", flow.srq);
  if (flow.ee_context)
    say(out, "ee-context {:#x}", flow.ee_context);
  if (flow.syndrome != plain.syndrome)
    say(out, "syndrome {:#x}", flow.syndrome);
  if (flow.seed)
    say(out, "seed {}", flow.seed);
  if (flow.stamp)
    say(out, "stamp");
}

void say_fault(const Fault &fault, Out &out) {
  const std::string_view kind = fault_names()[static_cast<size_t>(fault.kind)];
  switch (fault.when) {
  case Fault::When::Positions:
    return say(out, "fault {} at {}", kind, fmt::join(fault.positions, ","));
  case Fault::When::Every:
    return say(out, "fault {} every {}", kind, fault.every);
  case Fault::When::Probability:
    return say(out, "fault {} probability {}", kind, fault.probability);
  }
}

} // namespace

std::string Flow::text() const {
  const Flow plain;
  Out out;
  say_path(*this, out);
  say_messages(*this, plain, out);
  say_fields(*this, plain, out);
  say_bth(bth, out);
  say_pacing(pacing, out);
  say_control(control, out);
  say_keys(*this, plain, out);
  for (const Fault &fault : faults)
    say_fault(fault, out);
  return fmt::format("{}", fmt::join(out, " "));
}

} // namespace xr::flow
