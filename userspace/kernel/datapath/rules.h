// SPDX-License-Identifier: Apache-2.0
// The rules of a port, in the kernel. Every change is atomic: a packet meets either all rules
// before the change or all rules after it. Unchanged rules keep their state and counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "impair/rule.h"
#include "model/rules.h"

namespace xr::datapath {

struct RuleList {
  std::vector<RuleRow> rules; // in the order in which they are matched
  std::vector<impair::Peer> peers;
  std::vector<std::string> notes; // of the rules that the call put into effect: what limits them
};

// Every function returns the rules after its change; on an error nothing is changed.
Result<RuleList> list_rules(const PortName &port);
// Lists without waiting: an error while another process changes rules or attachments.
Result<RuleList> list_rules_now(const PortName &port);
Result<RuleList> add_rule(const PortName &port, const impair::Rule &rule);
// By id or by name.
Result<RuleList> delete_rule(const PortName &port, const std::string &which);
// By id or by name. A disabled rule keeps its place, state and counts, and matches nothing; its
// schedule continues. No error if the rule is so already.
Result<RuleList> enable_rule(const PortName &port, const std::string &which, bool enabled);
Result<RuleList> clear_rules(const PortName &port);
// Resets counts, states and schedules as if the rules were added now; ids stay. The next QP that
// the port sees is number 1 again. `streams`: its streams begin again, too: counts at 0, the next
// packet is the first.
Result<RuleList> zero_rules(const PortName &port, bool streams = false);
Result<RuleList> apply_rules(const PortName &port, const impair::File &file);
Result<RuleList> add_peer(const PortName &port, const impair::Peer &peer);

} // namespace xr::datapath
