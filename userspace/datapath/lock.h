// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/fd.h"
#include "base/result.h"

namespace xr::datapath {

// One lock for the whole tool: whoever changes attachments holds it alone, whoever looks at them
// shares it. The kernel lets go of it when its process dies, however it dies.
class Lock {
public:
  enum class Kind { Shared, Exclusive };

  // Of this process; to be changed before there are threads. 20 s: far more than an attach with a
  // large table takes.
  static std::chrono::milliseconds &patience();

  // Waits so long for whoever has it, then gives up in a sentence.
  static Result<Lock> take(Kind kind, std::chrono::milliseconds patience = Lock::patience());

  // Of which a port has one at a time: at once, or the error says that there is another.
  enum class Use { Endpoint, Capture };
  static Result<Lock> take_port(uint64_t netns, unsigned ifindex, Use use = Use::Endpoint);

private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

} // namespace xr::datapath
