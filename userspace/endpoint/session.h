// SPDX-License-Identifier: Apache-2.0
// What every run on a port has: the port, what steers frames to it, its engines, and their report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/steering.h"
#include "endpoint/crew.h"
#include "endpoint/port.h"

namespace xr::endpoint {

// On which queues, and how.
struct Lanes {
  uint32_t first = 0, count = 1; // queues
  bool copy = false;             // never zero-copy
  bool zero_copy = false;        // an error where it is not to be had
  uint32_t receive = 4096;       // frames that may wait to be read, of each
};

struct Session {
  Port port;
  std::optional<datapath::Steering> steering; // none: it only sends
  Crew crew;
  std::vector<std::string> notes;
  PortDrops drops_before;

  Status open(const std::string &ifname, const std::string &netns);
  // Frames to these addresses come in, for `mac`, from the moment the sockets are open.
  Status listen(const datapath::AttachOptions &attach,
                const std::vector<packet::Address> &addresses, const packet::Mac &mac,
                bool promiscuous);
  // A socket on each of the lanes' queues; they also receive where it listens.
  Result<std::vector<std::unique_ptr<afxdp::Socket>>> sockets(const Lanes &lanes);

  // `use` is called for each source.
  void look(RunReport &report, const std::function<void(packet::Source &)> &use);
  // The port as it was before.
  Status close();
};

} // namespace xr::endpoint
