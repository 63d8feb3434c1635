// SPDX-License-Identifier: Apache-2.0
// A capture file for programs that are not ours, tshark and scapy, and what they print of it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/directory.h"

namespace xr::test {

inline constexpr const char *kPython = "/usr/bin/python3";

struct Printed {
  int status = -1;
  std::vector<std::string> lines;
};

inline Printed run_command(const std::string &command) {
  Printed printed;
  FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe)
    return printed;
  std::string line;
  for (int c; (c = fgetc(pipe)) != EOF;)
    if (c == '\n')
      printed.lines.push_back(std::exchange(line, {}));
    else
      line += static_cast<char>(c);
  printed.status = pclose(pipe);
  return printed;
}

inline bool has_tshark() { return run_command("tshark --version").status == 0; }
inline bool has_scapy_roce() {
  return run_command(std::string(kPython) + " -c 'import scapy.contrib.roce'").status == 0;
}

class FrameReaders : public testing::Test {
protected:
  void write_pcap(const std::vector<std::vector<uint8_t>> &frames) const {
    std::ofstream file(pcap(), std::ios::binary);
    const auto put = [&](std::initializer_list<uint32_t> words) {
      for (const uint32_t word : words)
        file.write(reinterpret_cast<const char *>(&word), sizeof(word));
    };
    put({0xa1b2c3d4U, 0x00040002U, 0U, 0U, 65535U, 1U}); // 2.4, Ethernet
    for (const std::vector<uint8_t> &frame : frames) {
      const auto length = static_cast<uint32_t>(frame.size());
      put({0U, 0U, length, length});
      file.write(reinterpret_cast<const char *>(frame.data()), length);
    }
  }
  // A Python program that gets the capture file's name.
  Printed run_python(const char *program) const {
    const std::string script = directory_.file("read.py");
    std::ofstream(script) << program;
    return run_command(fmt::format("{} {} {}", kPython, script, pcap()));
  }
  std::string pcap() const { return directory_.file("frames.pcap"); }

private:
  Directory directory_;
};

} // namespace xr::test
