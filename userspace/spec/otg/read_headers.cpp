// SPDX-License-Identifier: Apache-2.0
#include "otg/read_headers.h"

#include <algorithm>

#include <fmt/format.h>

#include "otg/header_stack.h"

namespace xr::otg {

using packet::FrameShape;
using packet::Wide;

void HeaderStack::read(Object &header) {
  const std::span<const HeaderKind> kinds = header_kinds();
  std::vector<std::string_view> names;
  names.reserve(kinds.size());
  for (const HeaderKind &each : kinds)
    names.emplace_back(each.name);
  const HeaderKind &kind = kinds[header.choice(names, 1)];
  if (size() == 0 && !kind.first) {
    header.value(kind.name);
    header.error(nullptr, {fmt::format("a frame does not start with {}", kind.name),
                           "an ethernet header, or custom with the bytes of one"});
    return;
  }
  if (kind.fields.empty()) {
    header.value(kind.name);
    header.error(kind.name, {"headers of this kind are not supported", "custom, with their bytes"});
    return;
  }
  resolve(&kind);
  start_ = size();
  any_flag_ = false;
  if (const std::string_view name = kind.name; name == "ipv4" || name == "ipv6") {
    l3_ = start_;
    l3_is_ipv4_ = name == "ipv4";
    route_end_.reset();
    route_of_usids_ = false;
  } else if (size() == 0 && (name == "pfcpause" || name == "ethernetpause")) {
    made_.pauses = true;
  }
  header.object(
      kind.name, kind.what, [&](Object &object) { fields(object, kind.fields); }, true);
  end_of_header(header, kind);
  last_ = &kind;
}

void HeaderStack::end_of_header(const Object &header, const HeaderKind &kind) {
  if (words_) {
    const HeaderField &field = *words_->field;
    const uint32_t bytes = size() - start_, words = (bytes - field.from) / field.unit;
    packet::set_bits(shape_.headers, words_->bit, field.bits, words);
    if (words >> field.bits)
      header.error(kind.name, {fmt::format("{} bytes are more than {} can say", bytes, field.key),
                               fmt::format("fewer, or a value in {}", field.key)});
    words_.reset();
  }
  if (own_sum_)
    checksums_[*own_sum_].to = size();
  own_sum_.reset();
}

void HeaderStack::fields(Object &object, std::span<const HeaderField> fields) {
  std::vector<std::string_view> choices;
  for (const HeaderField &each : fields)
    if (each.role == Role::Choice)
      choices.emplace_back(each.key);
  const size_t chosen = choices.empty() ? 0 : object.choice(choices, 0);
  const auto choice = [&](const HeaderField &each) {
    return each.role != Role::Choice || each.key == choices[chosen];
  };
  for (const HeaderField &each : fields)
    if (choice(each))
      field(object, each);
}

void HeaderStack::field(Object &object, const HeaderField &field) {
  if (field.optional && !any_flag_) {
    object.unused(field.key, "the flags before are 0");
    return;
  }
  switch (field.role) {
  case Role::Reserved:
    put(field.otherwise, field.bits);
    break;
  case Role::Unused:
    object.unused(field.key, field.why);
    break;
  case Role::Checksum:
  case Role::SumOfHeader:
    checksum(object, field);
    break;
  case Role::Flag: {
    const Pattern flag = take(object, field);
    any_flag_ = any_flag_ || flag.value != 0;
    if (flag.variation)
      object.error(field.key, {"it decides how long the header is, and may not vary", "one value"});
    break;
  }
  case Role::Group:
  case Role::Choice:
    object.object(
        field.key, field.key, [&](Object &group) { fields(group, field.inside); }, true);
    break;
  case Role::List:
    if (const Json *list = object.value(field.key);
        field.needed && (!list || !list->is_array() || list->empty()))
      object.error(field.key, {"it needs at least one", "[{...}]"});
    object.each(field.key, "an element", [&](Object &each) { fields(each, field.inside); });
    break;
  case Role::Special:
    (this->*field.special)(object, field);
    break;
  case Role::Swapped:
    swap(bits_, bits_ + field.bits, field.bits);
    take(object, field);
    break;
  default:
    automatic(object, field);
  }
}

// A field whose automatic value depends on what else is there.
void HeaderStack::automatic(Object &object, const HeaderField &field) {
  const uint32_t at = bits_;
  if (!take(object, field).automatic)
    return;
  switch (field.role) {
  case Role::Length:
    shape_.lengths.push_back({at / 8, start_ + field.from});
    break;
  case Role::Words:
    words_ = Pending{at, &field};
    break;
  case Role::Count: {
    const Json *list = object.value(field.of);
    size_t count = list && list->is_array() ? list->size() : 0;
    count -= std::min<size_t>(count, field.from);
    packet::set_bits(shape_.headers, at, field.bits, count);
    if (count >> field.bits)
      object.error(field.key,
                   {fmt::format("{} does not fit in it", count), "fewer elements, or a value"});
    break;
  }
  case Role::EtherType:
  case Role::Protocol:
  case Role::PppProtocol:
  case Role::Bottom:
    pending_ = Pending{at, &field};
    break;
  default:
    break; // `otherwise`
  }
}

// Appends a field, and returns its position.
uint32_t HeaderStack::put(const Pattern &pattern, uint32_t bits) {
  const uint32_t at = bits_;
  bits_ += bits;
  shape_.headers.resize((bits_ + 7) / 8);
  packet::set_bits(shape_.headers, at, bits, pattern.value);
  if (pattern.variation) {
    shape_.variations.push_back(*pattern.variation);
    shape_.variations.back().bit = at;
  }
  for (const MetricTag &tag : pattern.tags)
    made_.tags.push_back({tag.name, {at + tag.at.bit, tag.at.bits}});
  return at;
}

Pattern HeaderStack::take(Object &object, const HeaderField &field) {
  Pattern pattern = read_pattern(object, {.key = field.key,
                                          .bits = field.bits,
                                          .otherwise = field.otherwise,
                                          .notation = field.notation,
                                          .automatic = field.automatic,
                                          .random = field.random});
  put(pattern, field.bits);
  return pattern;
}

// `next`: nullptr: there is none.
void HeaderStack::resolve(const HeaderKind *next) {
  if (!pending_)
    return;
  const HeaderField &field = *pending_->field;
  Wide value = field.otherwise;
  switch (field.role) {
  case Role::EtherType:
    value = next && next->ether ? next->ether : value;
    break;
  case Role::Protocol:
    value = next && next->protocol >= 0 ? static_cast<Wide>(next->protocol) : value;
    break;
  case Role::PppProtocol:
    value = next && next->ppp ? next->ppp : value;
    break;
  default: // Bottom
    value = !next || next->name != std::string_view("mpls");
  }
  packet::set_bits(shape_.headers, pending_->bit, field.bits, value);
  pending_.reset();
}

// Appends a checksum from the start of the header on.
void HeaderStack::checksum(Object &object, const HeaderField &field) {
  const Checksum read = read_checksum(object, field.key);
  const uint32_t at = size();
  put(read.custom.value_or(0), field.bits);
  if (read.custom)
    return;
  packet::ChecksumField made{.at = at, .from = start_};
  made.bad = read.bad;
  if (field.role == Role::SumOfHeader)
    own_sum_ = checksums_.size();
  if (field.protocol) {
    if (!l3_) {
      object.warning(field.key, "it is 0: there is no IP header before, whose addresses it counts");
      return;
    }
    made.addresses = *l3_ + (l3_is_ipv4_ ? 12 : 8);
    made.addresses_of = l3_is_ipv4_ ? 8 : 32;
    made.destination = route_end_.value_or(0);
    if (route_of_usids_)
      object.warning(field.key, "it counts the destination that the frame has; a route of uSIDs "
                                "ends at another one");
    made.protocol = field.protocol;
    made.never_zero = field.protocol == kUdp;
  }
  checksums_.push_back(made);
}

void HeaderStack::finish() {
  resolve(nullptr);
  if (shape_.icrc && !icrc_wanted_) {
    flow_.error("packet",
                {"x_xdp_roce_icrc is in a header that is not the last", "an iCRC ends the frame"});
    shape_.icrc.reset();
  }
  // The headers outside count those inside.
  shape_.checksums.assign(checksums_.rbegin(), checksums_.rend());
}

ReadHeaders read_headers(Object &flow) {
  ReadHeaders made;
  HeaderStack stack(flow, made);
  const Json standard = Json::array({Json::object()}); // the model's: an Ethernet header
  if (Json *given = flow.value("packet"); given && given->is_array() && given->empty())
    *given = standard;
  flow.set_default("packet", standard);
  flow.each("packet", "a header", [&](Object &header) { stack.read(header); });
  stack.finish();
  return made;
}

std::vector<MetricTag> read_egress(Object &flow) {
  ReadHeaders made;
  HeaderStack stack(flow, made);
  if (Json *given = flow.value("egress_packet"); given && given->is_array() && !given->empty())
    flow.each("egress_packet", "a header", [&](Object &header) { stack.read(header); });
  return made.tags;
}

FrameShape swapped(FrameShape shape, const std::vector<ReadHeaders::Swap> &swaps) {
  for (const ReadHeaders::Swap &swap : swaps) {
    const Wide a = packet::get_bits(shape.headers, swap.a, swap.bits);
    packet::set_bits(shape.headers, swap.a, swap.bits,
                     packet::get_bits(shape.headers, swap.b, swap.bits));
    packet::set_bits(shape.headers, swap.b, swap.bits, a);
    for (packet::Variation &field : shape.variations)
      if (field.bit == swap.a)
        field.bit = swap.b;
      else if (field.bit == swap.b)
        field.bit = swap.a;
  }
  return shape;
}

} // namespace xr::otg
