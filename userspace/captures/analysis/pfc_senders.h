// SPDX-License-Identifier: Apache-2.0
// The senders of PFC and PAUSE frames in a capture.
#pragma once

#include <map>

#include "capture/reader.h"
#include "model/pfc_senders.h"
#include "native/native_datapath.h"

namespace xr {

class PfcSenderTable {
public:
  // `quantum_ps`: 512 bits at the speed of the captured port; 0: not known.
  explicit PfcSenderTable(uint32_t quantum_ps) : quantum_ps_(quantum_ps) {}

  // An Ethernet frame, in order of time. `whole`: it is not what a mirror left of one. What is no
  // MAC control frame is ignored.
  void look_at(const NativeDatapath::FrameView &frame, bool whole);
  // Times that are paused end now.
  PfcSenders result(uint64_t begun_ns, uint64_t now_ns) const;

private:
  PfcSender *sender_of(const Mac &source);
  void pauses(PfcSender &sender, const NativeDatapath::FrameView &frame, uint32_t control);
  void pause(PfcSender &sender, uint32_t priority, uint32_t quanta, uint64_t now);

  uint32_t quantum_ps_;
  std::map<Mac, size_t> index_;
  PfcSenders found_;
};

} // namespace xr
