// SPDX-License-Identifier: Apache-2.0
// What a process ran, where and when: what a reader of its report elsewhere does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xr {

struct RunFacts {
  struct File { // that the run read
    std::string name;
    std::optional<uint64_t> bytes; // unset: it cannot be read
    std::string sha256;            // in hexadecimal; "": not known
  };
  struct Port {
    std::string name, driver; // driver "": unknown
    std::string mac;          // "02:00:00:00:00:01"
    uint32_t mtu = 0;
    uint64_t speed_bps = 0;            // 0: unknown
    std::vector<std::string> offloads; // kernel names of the ethtool features that are on
  };

  std::vector<std::string> command_line;
  std::string host, kernel, machine; // as `uname -nrm`
  std::string version;
  std::string commit; // "": not built in a git repository
  std::string libbpf, libxdp;
  uint64_t start_ns = 0;    // since 1970
  uint64_t duration_ns = 0; // until the report
  std::string clock;        // of the report's times: "realtime", "capture", "virtual"
  std::optional<uint64_t> seed;
  std::vector<File> files;
  std::vector<Port> ports;
};

} // namespace xr
