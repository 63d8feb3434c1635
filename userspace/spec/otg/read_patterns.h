// SPDX-License-Identifier: Apache-2.0
// Reads the patterns of header fields: a value, a list, a counter, random numbers, or automatic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "otg/object.h"
#include "otg/plain_flow.h"
#include "packet/frame_shape.h"

namespace xr::otg {

// How values are written in JSON.
enum class Notation : uint8_t { Number, Mac, Ipv4, Ipv6 };

// Which automatic values a field has in the model. Absent: none there, and an absent key is still
// computed here, as the model's default of 0 makes a frame that nobody can read.
enum class Automatic : uint8_t { No, Yes, Absent };

struct Field {
  const char *key;
  uint32_t bits;
  packet::Wide otherwise = 0;
  Notation notation = Notation::Number;
  Automatic automatic = Automatic::No;
  bool random = false;
};

struct Pattern {
  bool automatic = false;
  packet::Wide value = 0;                       // the first
  std::optional<packet::Variation> variation{}; // at bit 0; none: always `value`
  std::vector<MetricTag> tags{};
};

// The pattern at field.key of `header`. Absent: the default, which is written there.
Pattern read_pattern(Object &header, const Field &field);

// metric_tags of a field with so many bits. `reach`: from its start, they may be of these.
std::vector<MetricTag> read_tags(Object &object, uint32_t bits, uint32_t reach);

struct Checksum {
  bool bad = false;
  std::optional<uint16_t> custom; // none: computed
};
Checksum read_checksum(Object &header, const char *key);

// "00 11:22 0x..": bytes in hexadecimal with blanks and colons. nullopt: it is something else.
std::optional<std::vector<uint8_t>> hexadecimal_bytes(const std::string &text);

} // namespace xr::otg
