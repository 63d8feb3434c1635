// SPDX-License-Identifier: Apache-2.0
#include "congestion/rate_control.h"

#include <utility>

#include "congestion/copa.h"
#include "congestion/dcqcn.h"
#include "congestion/dctcp.h"
#include "congestion/hpcc.h"
#include "congestion/plugin_control.h"
#include "congestion/swift.h"
#include "congestion/timely.h"

namespace xr::congestion {

namespace {

constexpr double kBitsOfByte = 8;

// `cc fixed`: a QP keeps the rate that was asked for, whatever the network reports.
class FixedRate final : public RateControl {
public:
  // `rate` in the units of RateControl::rate().
  explicit FixedRate(double rate) { publish(rate); }
  void start(uint64_t now) override { begin_ = now; }
  void cnp(uint64_t) override { cnps_++; }
  ControlState state(uint64_t now) const override {
    ControlState state;
    state.rate = state.target = rate();
    state.rate_seconds = rate() * static_cast<double>(now - begin_) * 1e-9;
    state.cnps = state.cnps_unused = cnps_;
    return state;
  }

private:
  uint64_t begin_ = 0, cnps_ = 0;
};

// Makes controls of class C, which share the settings and know the QP.
template <class C, class Settings> auto sharing(Settings settings, const xdp_roce_qp &qp) {
  return [shared = std::make_shared<const Settings>(std::move(settings)),
          qp]() -> std::unique_ptr<RateControl> { return std::make_unique<C>(shared, qp); };
}

} // namespace

RateControlMaker::RateControlMaker(const Control &control, double rate, const PacketSize &packet) {
  const double line = rate * kBitsOfByte;
  xdp_roce_qp qp{};
  qp.line = line;
  qp.base_rtt_ns = control.path.base_rtt_ns;
  qp.switches = control.path.switches;
  qp.payload = packet.payload;
  qp.frame = packet.frame;
  switch (control.kind) {
  case Control::Kind::Dcqcn:
    make_ = [settings = std::make_shared<const DcqcnSettings>(resolve(control.dcqcn, line))]() {
      return std::make_unique<Dcqcn>(settings);
    };
    break;
  case Control::Kind::Timely:
  case Control::Kind::TimelyPatched:
    make_ = sharing<Timely>(timely_settings(control.table, line), qp);
    break;
  case Control::Kind::Dctcp:
    make_ = sharing<Dctcp>(dctcp_settings(control.table, line), qp);
    break;
  case Control::Kind::Hpcc:
    make_ = sharing<Hpcc>(hpcc_settings(control.table, line), qp);
    break;
  case Control::Kind::Swift:
    make_ = sharing<Swift>(swift_settings(control.table, line), qp);
    break;
  case Control::Kind::Copa:
    make_ = sharing<Copa>(copa_settings(control.table, line), qp);
    break;
  case Control::Kind::Plugin:
    make_ = sharing<PluginControl>(plugin_settings(control), qp);
    break;
  default:
    make_ = [rate]() { return std::make_unique<FixedRate>(rate); };
  }
}

} // namespace xr::congestion
