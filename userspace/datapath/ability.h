// SPDX-License-Identifier: Apache-2.0
// What a port's program is given for as long as somebody wants it, and loses again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/attach.h"
#include "datapath/lock.h"
#include "datapath/status.h"

namespace xr::datapath {

struct Ability {
  uint32_t feature = 0; // enum roce_feature
  const char *who;      // wants it, and attaches where nothing is
  Lock::Use use;        // who has that lock of the port uses it
};

// A port has the ability as long as this lives.
class Lease {
public:
  // One at a time. A port that has a program is exchanged for one that has the ability, another is
  // attached with `options`; it is an error if one that has a program has it with others than were
  // asked for. Needs Privilege::Load.
  static Result<Lease> take(const std::string &ifname, const std::string &netns,
                            const Ability &ability, const AttachOptions &options);
  Lease(Lease &&) noexcept = default;
  Lease &operator=(Lease &&) = delete;
  ~Lease();

  uint64_t netns_inode() const { return held_->netns_inode; }
  unsigned ifindex() const { return held_->ifindex; }
  // One more may come with end().
  const std::vector<std::string> &notes() const { return notes_; }

  explicit operator bool() const { return held_ != nullptr; }
  // The port has it no more. What was attached by a lease is detached with the last of them, unless
  // it has rules: a note says then that it stays. What could not be done is told.
  Status end();

private:
  struct Held {
    Ability ability;
    Lock lock;
    // The port, whatever it is called by then, and which attachment of it.
    uint64_t netns_inode = 0;
    unsigned ifindex = 0;
    uint64_t since_ns = 0;
    bool attached = false; // nothing was
  };
  Lease(Held held, std::vector<std::string> notes)
      : held_(std::make_unique<Held>(std::move(held))), notes_(std::move(notes)) {}

  std::unique_ptr<Held> held_; // until end()
  std::vector<std::string> notes_;
};

} // namespace xr::datapath
