// SPDX-License-Identifier: Apache-2.0
// This program as a child process, with another command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/fd.h"
#include "base/result.h"
#include "cli/interrupt.h"

namespace xr::cli {

// Ends with the object: by SIGTERM, and by SIGKILL if that is ignored. Ends with this process too,
// whatever ends it.
class Child {
public:
  enum class Prints {
    Here, // where this process prints
    Kept, // into memory: out() and err()
  };

  // `words`: the command line without the program's name.
  static Result<Child> start(const std::vector<std::string> &words, Prints prints);
  Child(Child &&other) noexcept
      : pid_(std::exchange(other.pid_, -1)), ended_(std::move(other.ended_)),
        out_(std::move(other.out_)), err_(std::move(other.err_)) {}
  Child &operator=(Child &&) = delete;
  ~Child();

  // The exit status, as a shell gives it: 128 and more after a signal. A request of this process to
  // end is passed on as SIGTERM.
  int wait(const Interrupt &interrupt);
  void interrupt() const; // SIGINT
  bool running() const;
  std::string out() const;
  std::string err() const;

private:
  Child() = default;

  pid_t pid_ = -1; // -1: waited for
  Fd ended_;       // readable once the child has ended
  Fd out_, err_;   // of Prints::Kept
};

} // namespace xr::cli
