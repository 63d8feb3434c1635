// SPDX-License-Identifier: Apache-2.0
#include "otg/read_patterns.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "packet/frame.h"
#include "parse/address.h"

namespace xr::otg {

using packet::Variation;
using packet::Wide;

namespace {

Wide largest(uint32_t bits) { return bits < 128 ? (Wide{1} << bits) - 1 : ~Wide{0}; }

Wide from_bytes(const uint8_t *bytes, size_t count) {
  Wide value = 0;
  for (size_t i = 0; i < count; i++)
    value = value << 8 | bytes[i];
  return value;
}

size_t bytes_of(Notation notation) {
  return notation == Notation::Mac ? 6 : notation == Notation::Ipv4 ? 4 : 16;
}

std::string text_of(Notation notation, Wide value) {
  if (notation == Notation::Mac) {
    packet::Mac mac{};
    for (size_t i = 0; i < mac.size(); i++)
      mac[i] = static_cast<uint8_t>(value >> 8 * (5 - i));
    return packet::mac_text(mac);
  }
  const size_t bytes = bytes_of(notation);
  Address address{0, 0, bytes == 4 ? ROCE_MAPPED_PREFIX : 0, 0};
  auto *end = reinterpret_cast<uint8_t *>(address.data()) + sizeof(address);
  for (size_t i = 0; i < bytes; i++)
    *--end = static_cast<uint8_t>(value >> 8 * i);
  return parse::address_text(address);
}

std::optional<Wide> number_of(const Json &json) {
  if (json.is_number_unsigned())
    return json.get<uint64_t>();
  if (!json.is_string())
    return {};
  const auto &text = json.get_ref<const std::string &>();
  uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || wrong != std::errc() || end != text.data() + text.size())
    return {};
  return value;
}

std::optional<Wide> value_of(const Json &json, const Field &field) {
  if (field.notation == Notation::Number) {
    const auto value = number_of(json);
    return value && *value <= largest(field.bits) ? value : std::nullopt;
  }
  if (!json.is_string())
    return {};
  const auto &text = json.get_ref<const std::string &>();
  if (field.notation == Notation::Mac) {
    const auto mac = packet::parse_mac(text);
    return mac.ok() ? std::optional(from_bytes(mac.get().data(), 6)) : std::nullopt;
  }
  const auto made = parse::address(text);
  const bool ipv4 = field.notation == Notation::Ipv4;
  if (!made.ok() || is_mapped(made.get()) != ipv4)
    return {};
  const Address address = made.get();
  const auto *bytes = reinterpret_cast<const uint8_t *>(address.data());
  return ipv4 ? from_bytes(bytes + 12, 4) : from_bytes(bytes, 16);
}

void wrong(const Object &object, const char *key, const Json &json, const Field &field) {
  switch (field.notation) {
  case Notation::Number:
    object.error(key, {fmt::format("{} is not a whole number from 0 to {}", shown(json),
                                   static_cast<uint64_t>(largest(field.bits))),
                       ""});
    break;
  case Notation::Mac:
    object.error(key, {shown(json) + " is not a MAC address", "like 00:00:5e:00:53:01"});
    break;
  case Notation::Ipv4:
    object.error(key, {shown(json) + " is not an IPv4 address", "like 192.0.2.1"});
    break;
  case Notation::Ipv6:
    object.error(key, {shown(json) + " is not an IPv6 address", "like 2001:db8::1"});
    break;
  }
}

Wide read_value(Object &object, const char *key, const Field &field, Wide otherwise) {
  if (!object.has(key)) {
    if (field.notation == Notation::Number)
      return object.integer(key, 0, static_cast<uint64_t>(largest(field.bits)),
                            static_cast<uint64_t>(otherwise));
    object.text(key, text_of(field.notation, otherwise));
    return otherwise;
  }
  const Json &json = *object.value(key);
  if (const auto value = value_of(json, field))
    return *value;
  wrong(object, key, json, field);
  return otherwise;
}

std::vector<Wide> read_values(Object &object, const Field &field) {
  std::vector<Wide> values;
  const Json *json = object.value("values");
  if (json && json->is_array()) {
    for (size_t i = 0; i < json->size(); i++)
      if (const auto value = value_of((*json)[i], field))
        values.push_back(*value);
      else
        wrong(object, fmt::format("values[{}]", i).c_str(), (*json)[i], field);
  } else if (json) {
    object.error("values", {shown(*json) + " is not a list", "[...]"});
  }
  return values.empty() ? std::vector{field.otherwise} : values;
}

Variation read_counter(Object &object, const char *key, const Field &field, bool down) {
  Variation made;
  object.object(
      key, "a counter",
      [&](Object &counter) {
        made.start = read_value(counter, "start", field, field.otherwise);
        const Wide step = read_value(counter, "step", field, 1);
        made.step = down ? Wide{0} - step : step;
        made.count = counter.integer("count", 1, UINT32_MAX, 1);
      },
      true);
  return made;
}

Variation read_random(Object &object, const Field &field) {
  Variation made{.kind = Variation::Kind::Random};
  object.object(
      "random", "random numbers",
      [&](Object &random) {
        const Wide from = read_value(random, "min", field, 0);
        const Wide to = read_value(random, "max", field, largest(field.bits));
        made.seed = random.integer("seed", 0, UINT32_MAX, 1);
        made.count = random.integer("count", 1, UINT32_MAX, 1);
        if (from > to)
          random.error("min", {"it is larger than `max`", "the smaller of both"});
        made.start = from;
        made.span = from > to ? 0 : to - from;
      },
      true);
  return made;
}

Pattern read_choice(Object &object, const Field &field) {
  enum { kValue, kValues, kIncrement, kDecrement, kAuto, kRandom };
  std::vector<std::string_view> choices{"value", "values", "increment", "decrement"};
  const bool address = field.notation == Notation::Ipv4 || field.notation == Notation::Ipv6;
  const bool automatic = field.automatic == Automatic::Yes;
  if (automatic || address || field.random)
    choices.push_back("auto");
  if (field.random)
    choices.push_back("random");
  Pattern made{.value = field.otherwise};
  switch (object.choice(choices, automatic ? kAuto : kValue)) {
  case kValue:
    made.value = read_value(object, "value", field, field.otherwise);
    break;
  case kValues: {
    Variation all{.kind = Variation::Kind::Values, .values = read_values(object, field)};
    all.count = all.values.size();
    made.variation = all;
    break;
  }
  case kIncrement:
    made.variation = read_counter(object, "increment", field, false);
    break;
  case kDecrement:
    made.variation = read_counter(object, "decrement", field, true);
    break;
  case kAuto:
    object.value("auto");
    made.automatic = automatic;
    if (!automatic)
      object.error("choice", {address ? "addresses that DHCP gives are not supported"
                                      : "it has no automatic value",
                              "\"choice\": \"value\""});
    break;
  case kRandom:
    made.variation = read_random(object, field);
    break;
  }
  made.tags = read_tags(object, field.bits, field.bits);
  return made;
}

} // namespace

std::vector<MetricTag> read_tags(Object &object, uint32_t bits, uint32_t reach) {
  std::vector<MetricTag> tags;
  object.each("metric_tags", "a metric tag", [&](Object &given) {
    MetricTag tag{.name = given.needed_text("name"), .at = {}};
    constexpr uint32_t kWidest = 128; // of a BitRange
    const uint32_t all = std::max(reach, 1U), most = std::min(all, kWidest);
    const auto bit = static_cast<uint32_t>(given.integer("offset", 0, all - 1, 0));
    const uint32_t rest = bit < bits ? bits - bit : 1;
    tag.at = {bit, static_cast<uint32_t>(given.integer("length", 1, most, std::min(rest, most)))};
    if (bit + tag.at.bits > reach)
      given.error("length", {fmt::format("the field has {} bits", bits), "a smaller one"});
    else
      tags.push_back(tag);
  });
  return tags;
}

Pattern read_pattern(Object &header, const Field &field) {
  if (field.automatic == Automatic::Absent && !header.has(field.key)) {
    header.value(field.key);
    return {.automatic = true, .value = field.otherwise};
  }
  Pattern made;
  header.object(
      field.key, "a pattern", [&](Object &object) { made = read_choice(object, field); }, true);
  if (made.variation) {
    made.variation->bits = field.bits;
    made.value = made.variation->value(0);
    if (made.variation->count == 1)
      made.variation.reset();
  }
  return made;
}

Checksum read_checksum(Object &header, const char *key) {
  Checksum made;
  header.object(
      key, "a checksum",
      [&](Object &object) {
        if (object.choice({"generated", "custom"}, 0) == 0)
          made.bad = object.word("generated", {"good", "bad"}, 0) == 1;
        else
          made.custom = static_cast<uint16_t>(object.integer("custom", 0, 0xffff, 0));
      },
      true);
  return made;
}

std::optional<std::vector<uint8_t>> hexadecimal_bytes(const std::string &text) {
  std::vector<uint8_t> bytes;
  std::string digits;
  const size_t from = text.starts_with("0x") || text.starts_with("0X") ? 2 : 0;
  for (size_t i = from; i < text.size(); i++)
    if (text[i] != ' ' && text[i] != ':')
      digits += text[i];
  if (digits.empty() || digits.size() % 2)
    return {};
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, wrong] = std::from_chars(&digits[i], &digits[i] + 2, byte, 16);
    if (wrong != std::errc() || end != &digits[i] + 2)
      return {};
    bytes.push_back(byte);
  }
  return bytes;
}

} // namespace xr::otg
