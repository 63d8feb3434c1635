// SPDX-License-Identifier: Apache-2.0
// A source that has something of its own to send, and tells how far it is.
#pragma once

#include "packet/source.h"
#include "requester/send_counts.h"

namespace xr::requester {

class Requester : public packet::Source {
public:
  virtual const SendCounts &counts() const = 0;
  // Packets a second asked for on the average; 0: as fast as it goes.
  virtual double asked_pps() const = 0;
  // All packets there will be, or messages where each is followed to its end; 0: no end, or not
  // known. And how many of them are over.
  virtual uint64_t expected() const = 0;
  virtual uint64_t over() const { return counts().packets; }
};

} // namespace xr::requester
