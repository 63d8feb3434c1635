// SPDX-License-Identifier: Apache-2.0
#include "peer/hub.h"

namespace xr::peer {

using station::QpEvent;

void Hub::listen(uint64_t service, bool exchange) {
  service_ = service;
  exchange_ = exchange;
}

void Hub::keep(uint32_t qp, size_t bytes) {
  kept_[qp];
  qps_.keep(qp, bytes);
}

void Hub::clear() {
  traffic_ = nullptr;
  attends_ = false;
  connected_.clear();
  opened_.clear();
  kept_.clear();
  qps_.close_all();
}

responder::Receiver::Answer Hub::requested(const packet::CmMessage &request) {
  constexpr uint16_t kInvalidServiceId = 8; // IBA vol. 1, 12.6.7.2
  if (!service_ || request.service_id != service_)
    return {.reject = kInvalidServiceId, .qp = {}};
  return {};
}

void Hub::event(uint64_t now, const QpEvent &event) {
  switch (event.kind) {
  case QpEvent::Kind::Connected:
    connected_.push_back(event.qp);
    if (exchange_ && kept_.empty())
      keep(event.qp, 256);
    break;
  case QpEvent::Kind::Opened:
  case QpEvent::Kind::Refused:
    opened_[event.qp] = event.kind == QpEvent::Kind::Opened;
    break;
  case QpEvent::Kind::Arrived:
    if (const auto kept = kept_.find(event.qp); kept != kept_.end()) {
      if (event.message.send)
        kept->second.emplace_back(
            event.bytes.begin(),
            event.bytes.begin() + static_cast<ptrdiff_t>(
                                      std::min<uint64_t>(event.bytes.size(), event.message.bytes)));
      return;
    }
    break;
  default:
    break;
  }
  if (traffic_)
    traffic_->event(now, event);
  if (event.kind == QpEvent::Kind::Disconnected)
    qps_.close(event.qp);
}

} // namespace xr::peer
