// SPDX-License-Identifier: Apache-2.0
// One attachment's pins: <bpffs>/xdp-roce/<netns inode>-<ifindex>/ with a pin for each map, one for
// the program, and symbolic links that hold text: the names of interface and namespace, which
// nothing else has once those are gone, and what is recorded beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "datapath/bpffs.h"

namespace xr::datapath {

class Pins {
public:
  static constexpr const char *kProgram = "program";
  // There when a bridge made the port promiscuous.
  static constexpr const char *kPromiscuous = "promiscuous";
  // There when the program is alone on the hook: why no other program can join it, in a sentence.
  static constexpr const char *kAlone = "alone";
  // Ends the names of what is about to take another's place: see exchange.h.
  static constexpr const char *kNext = "_next";

  Pins(const Bpffs &bpffs, uint64_t netns, unsigned ifindex);
  // All that are there, whether alive or stale.
  static std::vector<Pins> list(const Bpffs &bpffs);

  bool exist() const;
  // The directory and the names, before anything is pinned in it.
  Status create(const std::string &ifname, const std::string &netns_name) const;
  // Takes everything away; what is not there is no error, so that it can be repeated.
  Status remove() const;

  std::string path(const std::string &name) const { return directory_ + "/" + name; }
  std::vector<std::string> objects() const; // names of pinned maps and programs
  Fd open(const std::string &name) const;
  // NAME_next takes NAME's place, for each there is; or goes.
  Status settle_next(bool take_over) const;

  uint64_t netns() const { return netns_; }
  unsigned ifindex() const { return ifindex_; }
  // A text beside the pins, as a symbolic link. Replaces what was there; "" removes it.
  Status record(const char *name, const std::string &text) const;
  std::string recorded(const char *name) const; // "" when it is not there
  std::string ifname() const { return recorded("interface"); }
  std::string netns_name() const { return recorded("netns"); }
  const std::string &directory() const { return directory_; }

private:
  std::string parent_;
  std::string directory_;
  uint64_t netns_;
  unsigned ifindex_;
};

} // namespace xr::datapath
