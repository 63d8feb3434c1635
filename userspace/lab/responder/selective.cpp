// SPDX-License-Identifier: Apache-2.0
// Selective repeat: keeps the requests after a missing one, executes them when it has come, and
// then asks for the next one that is missing.
#include <algorithm>

#include "responder/connection.h"

namespace xr::responder {

void Connection::keep(const Context &c) {
  if (!(c.packet.info & ROCE_OP_REQUEST))
    return;
  if (kept_.contains(c.packet.psn)) {
    c.counts.duplicates++;
    return;
  }
  if (kept_.size() >= c.options.most_kept || !c.kept_room.left) {
    c.counts.kept_no_room++;
    return;
  }
  c.counts.kept++;
  c.kept_room.left--;
  if (auto &spare = c.kept_room.spare; !spare.empty()) {
    spare.back().key() = c.packet.psn;
    kept_.insert(std::move(spare.back()));
    spare.pop_back();
  }
  Kept &kept = kept_[c.packet.psn];
  kept.packet = c.packet;
  if (c.options.memory) {
    kept.payload.assign(c.payload, c.payload + c.packet.payload);
    std::copy(c.bth, std::min(c.payload, c.bth + kept.bth.size()), kept.bth.begin());
  } else if (c.packet.info & ROCE_OP_ATOMIC)
    std::copy_n(c.bth, kept.bth.size() - (transport_ == ROCE_XRC ? 0 : 4), kept.bth.begin());
}

void Connection::forget_kept(KeptRoom &kept_room) {
  kept_room.left += kept_.size();
  kept_.clear();
}

// The missing request was executed. One ACK or NAK answers all that follow from it.
void Connection::take_kept(const Context &c) {
  filling_ = true;
  while (!kept_.empty() && responses_.size() < kMaxResponses) {
    const int32_t ahead = roce_psn_diff(kept_.begin()->first, expected_);
    if (ahead > 0)
      break;
    auto node = kept_.extract(kept_.begin());
    c.kept_room.left++;
    const Kept &kept = node.mapped();
    c.counts.duplicates += ahead < 0;
    const bool go_on =
        ahead < 0 || in_order({kept.bth.data(), kept.payload.data(), kept.packet, c.options,
                               c.counts, c.kept_room, psns_of(kept.packet)});
    c.kept_room.spare.push_back(std::move(node));
    if (!go_on)
      break;
  }
  filling_ = false;
  if (kept_.empty() || nak_ || c.options.reorder ||
      roce_psn_diff(kept_.begin()->first, expected_) <= 0)
    return;
  if (!responses_.empty() && responses_.back().kind == Kind::Ack)
    responses_.pop_back(); // the NAK acknowledges as much
  ask_for_expected();
}

} // namespace xr::responder
