// SPDX-License-Identifier: Apache-2.0
// Mirrors that sample: they send one packet in many, and number only what they send.
#pragma once

#include "model/snapshot.h"

namespace xr {

// Whose packets seem sampled, by mirror session: at least a quarter of the packets of its request
// streams, and 16, come after skipped PSNs, and no number says that the mirror lost frames. What
// was taken for lost by the network there becomes unknown. Sets `sampled`, the number of such
// sessions.
void forgive_sampled(Snapshot &snapshot);

} // namespace xr
