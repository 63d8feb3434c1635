// SPDX-License-Identifier: Apache-2.0
// What a port's program is given for as long as somebody wants it, and loses again.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/lock.h"
#include "datapath/place.h"
#include "datapath/status.h"

namespace xr::datapath {

struct Ability {
  uint32_t feature = 0; // enum roce_feature
  const char *what;     // "a program with ..."
  const char *who;      // wants it, and attaches where nothing is
  bool AttachOptions::*option;
  Lock::Use use; // who has that lock of the port uses it
};

struct Joined {
  bool attached = false; // nothing was
  std::vector<std::string> notes;
};
// The port has it from now on: exchanged for a program that has, or attached with `options`.
Result<Joined> join(const std::string &ifname, const std::string &netns, const Ability &ability,
                    const AttachOptions &options);

// It has it no more. What was attached by a user of abilities is detached with the last of them,
// unless it has rules: then a sentence says that it stays.
Result<std::string> leave(const std::string &ifname, const std::string &netns,
                          const Ability &ability, const Joined &joined);

} // namespace xr::datapath
