// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace xr::afxdp {

// Memory of whole pages that the kernel and we share frames in.
class Area {
public:
  static Result<Area> map(size_t bytes);
  Area() = default;
  Area(Area &&other) noexcept;
  Area &operator=(Area &&other) noexcept;
  ~Area();

  uint8_t *bytes() const { return bytes_; }
  size_t size() const { return size_; }

private:
  uint8_t *bytes_ = nullptr;
  size_t size_ = 0;
};

// How frames lie in chunks. The kernel keeps 256 bytes before what it receives; chunks are half a
// page or a whole one; a longer frame is in several chunks (kernel 6.6), which for frames that we
// send lie one behind the other.
struct Geometry {
  uint32_t chunk = 2048; // bytes
  uint32_t pieces = 1;   // chunks of the longest frame that is sent
  bool several = false;  // frames may be in several chunks, sent or received

  // Of frames of at most so many bytes, FCS not included.
  static Geometry of(uint32_t longest);
  uint32_t slot() const { return chunk * pieces; }
};

} // namespace xr::afxdp
