// SPDX-License-Identifier: Apache-2.0
// A feature that a port's program has only while a process uses it (sockets, capture).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/lock.h"
#include "datapath/status.h"

namespace xr::datapath {

struct LeasedFeature {
  uint32_t bit = 0; // enum roce_feature
  const char *user; // for error messages: "capture", "the endpoint"
  Lock::Use use;    // the lock that a user of the feature holds on the port
};

// The port has the feature during the lifetime of this object.
class FeatureLease {
public:
  // One lease of a feature per port. An attached port gets its program exchanged for one with the
  // feature; any other port is attached with `options`. Error if the port is attached with options
  // that differ from non-default ones in `options`. Needs Privilege::Load.
  static Result<FeatureLease> take(const PortName &port, const LeasedFeature &feature,
                                   const AttachOptions &options);
  FeatureLease(FeatureLease &&) noexcept = default;
  FeatureLease &operator=(FeatureLease &&) = delete;
  ~FeatureLease();

  uint64_t netns_inode() const { return held_->netns_inode; }
  unsigned ifindex() const { return held_->ifindex; }
  // Sentences for the user; end() may add one.
  const std::vector<std::string> &notes() const { return notes_; }

  explicit operator bool() const { return held_ != nullptr; }
  // Takes the feature off the port. A port that was attached by a lease is detached with its last
  // lease, unless it has rules; then a note says that it stays attached. Returns the first failure.
  Status end();

private:
  struct Held {
    LeasedFeature feature;
    Lock lock;
    // The port by number, because it may be renamed, and the start time of its attachment (ns).
    uint64_t netns_inode = 0;
    unsigned ifindex = 0;
    uint64_t since_ns = 0;
    bool attached = false; // this lease attached the port
  };
  FeatureLease(Held held, std::vector<std::string> notes)
      : held_(std::make_unique<Held>(std::move(held))), notes_(std::move(notes)) {}

  std::unique_ptr<Held> held_; // until end()
  std::vector<std::string> notes_;
};

} // namespace xr::datapath
