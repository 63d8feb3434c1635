// SPDX-License-Identifier: Apache-2.0
// Runs functions in processes, each of which passes on a text.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"

namespace xr::record {

class Processes {
public:
  struct Ended {
    size_t job;
    std::string text;    // what its function returned
    std::string failure; // its error, or the signal that ended it; "": none
  };

  Processes() = default;
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;
  ~Processes(); // kills those that run

  Status start(size_t job, const std::function<Result<std::string>()> &function);
  size_t running() const { return children_.size(); }
  // Waits up to 200 ms, and returns those that ended.
  std::vector<Ended> wait();
  void signal(int number) const; // to all
  void kill(size_t job);

private:
  struct Child {
    pid_t pid;
    Fd pipe;
    size_t job;
    std::string text;
  };
  static Ended end(Child &child);

  std::vector<Child> children_;
};

} // namespace xr::record
