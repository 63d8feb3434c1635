// SPDX-License-Identifier: Apache-2.0
// Functions that run in processes of their own, each of which passes a text on.
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
    std::string failure; // its error, or how the process ended; "": none
  };

  Processes() = default;
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;
  ~Processes(); // those that run are killed

  Status start(size_t job, const std::function<Result<std::string>()> &function);
  size_t running() const { return children_.size(); }
  // Waits a little for some to end.
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
