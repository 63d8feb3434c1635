// SPDX-License-Identifier: Apache-2.0
// Options that several subcommands have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"

#include "report/reports.h"

namespace xr::cli {

struct Repeat {
  double interval = 0; // seconds; 0: one report
  uint64_t count = 0;  // reports; 0: until interrupted
};

void add_interface(Command command, std::string &ifname,
                   const std::string &description = "An interface that is attached");
void add_interval(Command command, double &interval, const std::string &description);
void add_repeat(Command command, Repeat &repeat);
void add_count(Command command, uint64_t &count, const std::string &description);
void add_sort(Command command, std::string &sort, const std::string &description,
              const std::vector<std::string> &keys = report::stream_sort_keys());
void add_stream_options(Command command, report::StreamOptions &options);
void add_udp_port(Command command, uint16_t &port);
// --dscp-map: checks::read_dscp_map.
void add_dscp_map(Command command, std::string &map);
// --decap: tunnels to take off, 1 << enum roce_tunnel.
void add_decap(Command command, uint32_t &tunnels);

// Accepts only whole numbers from `from` to `to`.
ValueCheck whole_number(uint64_t from, uint64_t to);
// The words that an option accepts, in the form "{a,b}" of the help, which the completion parses.
std::string choices(const std::vector<std::string> &words);
// Accepts only these words; the help shows them after the value's name.
ValueCheck one_of(const std::vector<std::string> &words);

// In lines of at most 100 characters.
std::string wrapped(const std::string &text);

} // namespace xr::cli
