// SPDX-License-Identifier: Apache-2.0
#include "analysis/hidden_tunnels.h"

#include "analysis/captured_packet.h"

namespace xr {

void HiddenTunnels::look_at(const CapturedFrame &frame) {
  if (!datapath_)
    datapath_ = std::make_unique<NativeDatapath>(
        NativeDatapath::Options{.udp_port = udp_port_, .track = false, .decap = ROCE_TUNNELS_ALL});
  NativeDatapath::FrameView view = view_of(frame);
  roce_packet packet;
  const bool roce = roce_is_roce(datapath_->unwrap(view, layer3_of(frame), packet));
  const roce_origin &origin = datapath_->origin();
  constexpr uint32_t kNotSeen = ROCE_ORIGIN_TRUNCATED | ROCE_ORIGIN_FRAGMENT | ROCE_ORIGIN_DEEP;
  const bool unknown = !roce && (origin.flags & kNotSeen || packet.cut);
  for (uint32_t kind = 0; kind < ROCE_TUNNELS; kind++) {
    // Tags alone hide nothing: two are read without --decap.
    if (!(origin.tunnels >> kind & 1) || (kind == ROCE_TUNNEL_QINQ && !roce))
      continue;
    found_[kind].frames++;
    found_[kind].roce += roce;
    found_[kind].unknown += unknown;
  }
}

void HiddenTunnels::add_to(std::array<HiddenTunnel, ROCE_TUNNELS> &sum) const {
  for (size_t i = 0; i < sum.size(); i++) {
    sum[i].frames += found_[i].frames;
    sum[i].roce += found_[i].roce;
    sum[i].unknown += found_[i].unknown;
  }
}

} // namespace xr
