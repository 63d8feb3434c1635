// SPDX-License-Identifier: Apache-2.0
// For this folder only: the wire format of protobuf (protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace xr::job {

// Fields of a message, one after the other.
class Fields {
public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  bool done() const { return bytes_.empty(); }

  struct Field {
    uint64_t number = 0;
    bool is_bytes = false;
    uint64_t value = 0;     // a number: little-endian
    std::string_view bytes; // text, a message, or numbers one after the other
  };
  Result<Field> next() {
    const uint64_t key = XR_TRY(varint());
    Field field;
    field.number = key >> 3;
    switch (key & 7) {
    case 0:
      field.value = XR_TRY(varint());
      return field;
    case 1:
      field.value = XR_TRY(fixed(8));
      return field;
    case 2:
      field.is_bytes = true;
      field.bytes = XR_TRY(message());
      return field;
    case 5:
      field.value = XR_TRY(fixed(4));
      return field;
    default:
      return broken("a field has wire type 3, 4, 6 or 7");
    }
  }

  // Bytes with their length before them.
  Result<std::string_view> message() {
    const uint64_t length = XR_TRY(varint());
    if (length > bytes_.size())
      return broken("it ends within a message");
    const std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return taken;
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1)
        break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    return broken("a number does not end");
  }

private:
  Result<uint64_t> fixed(unsigned size) {
    if (bytes_.size() < size)
      return broken("it ends within a number");
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[i])) << 8 * i;
    bytes_.remove_prefix(size);
    return value;
  }
  static Error broken(const char *what) {
    return {what, "a Chakra execution trace of schema 0.0.4, as et_converter writes them"};
  }

  std::string_view bytes_;
};

} // namespace xr::job
