// SPDX-License-Identifier: Apache-2.0
// `watch --web`: the ports on a page that a browser keeps up to date.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/web_options.h"

namespace xr::cli {

struct LivePage {
  bool wanted = false;
  WebOptions web{"127.0.0.1:9480"};
};

void add_live_page(Command command, LivePage &page);
// The streams with most of `sort` are on the page. Returns the exit status.
int serve_live_page(const LivePage &page, const std::vector<std::string> &ifnames,
                    const std::string &sort, const Globals &globals);

} // namespace xr::cli
