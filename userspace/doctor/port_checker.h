// SPDX-License-Identifier: Apache-2.0
// What the checks of a port's aspects share.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

#include "doctor/port.h"

namespace xr::doctor {

class PortCheckerBase {
protected:
  PortCheckerBase(const PortFacts &facts, Checks &checks) : facts_(facts), checks_(checks) {}

  // A command in the namespace of the port; {} is the interface.
  std::string command(const std::string &what) const {
    return facts_.command(fmt::format(fmt::runtime(what), facts_.link.ifname));
  }
  void add(const char *name, CheckVerdict verdict, std::string text, std::string hint = {}) {
    checks_.push_back({"port", name, verdict, std::move(text), std::move(hint)});
  }

  const PortFacts &facts_;

private:
  Checks &checks_;
};

} // namespace xr::doctor
