// SPDX-License-Identifier: Apache-2.0
// What an analysis without --decap does not see: frames in tunnels, and whether RoCE is inside.
#pragma once

#include <memory>

#include "capture/reader.h"
#include "model/snapshot.h"
#include "native/native_datapath.h"

namespace xr {

class HiddenTunnels {
public:
  explicit HiddenTunnels(uint16_t udp_port) : udp_port_(udp_port) {}

  // A frame of class ROCE_CLASS_OTHER.
  void look_at(const CapturedFrame &frame);
  void add_to(std::array<HiddenTunnel, ROCE_TUNNELS> &sum) const;

private:
  uint16_t udp_port_;
  std::unique_ptr<NativeDatapath> datapath_; // made by the first frame
  std::array<HiddenTunnel, ROCE_TUNNELS> found_{};
};

} // namespace xr
