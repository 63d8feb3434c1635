// SPDX-License-Identifier: Apache-2.0
#include "model/port_status.h"

namespace xr {

const char *mode_name(Mode mode) {
  switch (mode) {
  case Mode::Native:
    return "native";
  case Mode::Skb:
    return "skb";
  case Mode::Hardware:
    return "hardware";
  default:
    return "auto";
  }
}

const char *state_name(AttachState state) {
  switch (state) {
  case AttachState::Attached:
    return "attached";
  case AttachState::NotAttached:
    return "not attached";
  case AttachState::OffHook:
    return "stale: its program is not on the interface";
  case AttachState::InterfaceGone:
    return "stale: the interface is gone";
  case AttachState::OtherAbi:
    return "attached by another version";
  case AttachState::Unpinned:
    return "attached, but its pins are not here";
  }
  return "?";
}

} // namespace xr
