// SPDX-License-Identifier: Apache-2.0
#include "otg/read_flows.h"

namespace xr::otg {

void read_flows(Object &root, Config & /*config*/) {
  root.unsupported("flows", "stateful_flows: those of RoCEv2");
}

} // namespace xr::otg
