// SPDX-License-Identifier: Apache-2.0
// One attachment's pins: the directory <bpffs>/xdp-roce/<netns inode>-<ifindex>/ with a pin for
// each map and for the program, and symbolic links whose targets hold text: the names of interface
// and namespace, which cannot be read elsewhere once these are deleted, and the records below.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/port_name.h"
#include "base/result.h"
#include "datapath/bpffs.h"

namespace xr::datapath {

class Pins {
public:
  static constexpr const char *kProgram = "program";
  // Record: a bridge made the port promiscuous.
  static constexpr const char *kPromiscuous = "promiscuous";
  // Record: a sentence why no other program can share the hook.
  static constexpr const char *kAlone = "alone";
  // Suffix of pins that replace those without it at the end of an exchange: see exchange.h.
  static constexpr const char *kNext = "_next";

  Pins(const Bpffs &bpffs, uint64_t netns, unsigned ifindex);
  // The pins of all attachments, living and stale.
  static std::vector<Pins> list(const Bpffs &bpffs);

  bool exist() const;
  // Creates the directory with the two names, before anything is pinned in it.
  Status create(const PortName &port) const;
  // Removes all pins. A missing pin is no error, so the call can be repeated.
  Status remove() const;

  std::string path(const std::string &name) const { return directory_ + "/" + name; }
  std::vector<std::string> objects() const; // names of pinned maps and programs
  Fd open(const std::string &name) const;
  // Ends an exchange: renames each NAME_next to NAME (`take_over`), or removes each NAME_next.
  Status settle_next(bool take_over) const;

  uint64_t netns() const { return netns_; }
  unsigned ifindex() const { return ifindex_; }
  // Writes a record as a symbolic link; replaces an existing one, "" removes it.
  Status record(const char *name, const std::string &text) const;
  std::string recorded(const char *name) const; // "" if there is no such record
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
