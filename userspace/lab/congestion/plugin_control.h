// SPDX-License-Identifier: Apache-2.0
// `cc plugin`: the rate control of one QP by a shared object. A plug-in that crashes or does not
// return ends the process, and the last words name it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "congestion/rated_control.h"

namespace xr::congestion {

struct PluginSettings {
  std::shared_ptr<const Plugin> plugin;
  std::vector<double> parameters; // as its table has them
};
PluginSettings plugin_settings(const Control &control);

class PluginControl final : public RatedControl {
public:
  PluginControl(std::shared_ptr<const PluginSettings> settings, const xdp_roce_qp &qp);
  ~PluginControl() override;

  void sent(uint64_t now, uint32_t frame_bytes) override;
  void acked(const Ack &ack) override;
  void cnp(uint64_t now) override;
  void lost(uint64_t now, Loss loss) override;
  void wake(uint64_t now) override;
  ControlState state(uint64_t now) const override;
  std::span<const char *const> names() const override;
  void read(uint64_t now, double *values) override;

private:
  template <class Call> void call(uint64_t now, Call call);
  void take_answer(uint64_t now);

  std::shared_ptr<const PluginSettings> settings_;
  const xdp_roce_algorithm &algorithm_;
  double line_;
  xdp_roce_answer answer_{};
  void *state_ = nullptr;
};

} // namespace xr::congestion
