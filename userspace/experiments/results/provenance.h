// SPDX-License-Identifier: Apache-2.0
// What this process runs, for the block `run` of its reports. main() has the record; a process
// without one (a unit test) has no block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/run_facts.h"
#include "report/document.h"

namespace xr::record {

// The record during the command. After it no thread hashes any more: when main() has returned,
// libcrypto takes down what such a thread still uses.
class Recording {
public:
  struct Command {
    std::vector<std::string> words;    // the whole command line
    std::string name;                  // "analyze"
    std::vector<std::string> subjects; // interfaces and files
    std::string netns;                 // of the interfaces
    bool hash = false;                 // the files
  };
  explicit Recording(const Command &command);
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;
};

// What the words do not say. After record_file() no thread hashes any more, so that a fork is safe.
void record_file(const std::string &path);
void record_seed(uint64_t seed);
void record_clock(const std::string &clock);

// The facts at this moment; ports that are gone are left out. The thread must not hold a NetnsScope
// of another namespace than the caller's.
std::optional<RunFacts> recorded_run();
std::optional<report::Section> recorded_section(); // the same, as the block `run`
// The document as --json prints it, for a file.
std::string json_file(const report::Document &document);

} // namespace xr::record
