// SPDX-License-Identifier: Apache-2.0
// The rules of a port, in the kernel. Every change is one step for the packets: each meets the
// rules as they were before it or as they are behind it. What rules remember and have counted stays
// with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "impair/rule.h"
#include "model/rules.h"

namespace xr::datapath {

struct RuleList {
  std::vector<RuleRow> rules; // in the order in which packets meet them
  std::vector<impair::Peer> peers;
};

// Adds and removals give the rules as they are then; errors leave all as it was.
Result<RuleList> list_rules(const std::string &ifname, const std::string &netns);
// The same for who cannot wait: an error at once while somebody changes rules or attachments.
Result<RuleList> list_rules_now(const std::string &ifname, const std::string &netns);
Result<RuleList> add_rule(const std::string &ifname, const std::string &netns,
                          const impair::Rule &rule);
// By id or by name.
Result<RuleList> delete_rule(const std::string &ifname, const std::string &netns,
                             const std::string &which);
Result<RuleList> clear_rules(const std::string &ifname, const std::string &netns);
// Counts, what rules remember, schedules: as if they were added now, with their ids. The next QP
// that the port sees is number 1 again.
Result<RuleList> zero_rules(const std::string &ifname, const std::string &netns);
Result<RuleList> apply_rules(const std::string &ifname, const std::string &netns,
                             const impair::File &file);
Result<RuleList> add_peer(const std::string &ifname, const std::string &netns,
                          const impair::Peer &peer);

} // namespace xr::datapath
