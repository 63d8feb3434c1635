// SPDX-License-Identifier: Apache-2.0
// To add a fault: PfcFault in model/pfc_senders.h, its condition here, its words in
// report/classes.cpp; docs/report.schema.json; pfc_senders_test.
#include "analysis/pfc_senders.h"

#include <algorithm>

#include "roce/wire.h"

namespace xr {

namespace {

constexpr Mac kPauseAddress = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
constexpr uint32_t kLeastLength = 60;           // without FCS
constexpr uint32_t kOpcodeEnd = 0x0007;         // 802.3, table 31A-1: PAUSE, and five of EPON
constexpr uint32_t kOpcodeExtension = 0xfffe;   // the same
constexpr uint32_t kSlowestQuantumPs = 512'000; // 512 bits at 1 Gbit/s

bool is_reserved(uint32_t opcode) {
  return (!opcode || opcode >= kOpcodeEnd) && opcode != ROCE_MAC_CONTROL_PFC &&
         opcode != kOpcodeExtension;
}

Mac mac_at(const uint8_t *bytes) {
  Mac mac;
  std::copy_n(bytes, mac.size(), mac.begin());
  return mac;
}

void restart(roce_pfc &pfc, uint64_t quanta, uint64_t quantum_ps, uint64_t now) {
  pfc.paused_ns = roce_pfc_paused(&pfc, now);
  pfc.until_ns = now + quanta * quantum_ps / 1000;
  pfc.since_ns = quanta ? now : 0;
}

} // namespace

PfcSender *PfcSenderTable::sender_of(const Mac &source) {
  const auto known = index_.find(source);
  if (known != index_.end())
    return &found_.senders[known->second];
  if (found_.senders.size() == PfcSenders::kSenders)
    return nullptr;
  index_.emplace(source, found_.senders.size());
  found_.senders.push_back({.source = source});
  return &found_.senders.back();
}

void PfcSenderTable::pause(PfcSender &sender, uint32_t priority, uint32_t quanta, uint64_t now) {
  PfcSender::Row &row = sender.rows[priority];
  if (!row.xoff && !row.xon)
    row.first_ns = now;
  row.last_ns = now;
  (quanta ? row.xoff : row.xon)++;
  row.quanta += quanta;
  restart(row.paused, quanta, quantum_ps_, now);
  restart(row.slow, quanta, kSlowestQuantumPs, now);
}

// Like include/roce/pfc.h: `control` is the offset of the opcode.
void PfcSenderTable::pauses(PfcSender &sender, const NativeDatapath::FrameView &frame,
                            uint32_t control) {
  const uint8_t *at = frame.data + control;
  if (control + 4 > frame.captured)
    return;
  if (roce_be16(at) == ROCE_MAC_CONTROL_PAUSE)
    return pause(sender, ROCE_PFC_ALL, roce_be16(at + 2), frame.time_ns);
  if (control + 4 + 2 * ROCE_PFC_ALL > frame.captured)
    return;
  const uint32_t enabled = roce_be16(at + 2);
  const uint8_t *quanta = at + 4;
  for (uint32_t i = 0; i < ROCE_PFC_ALL; i++, quanta += 2)
    if (enabled >> i & 1)
      pause(sender, i, roce_be16(quanta), frame.time_ns);
}

void PfcSenderTable::look_at(const NativeDatapath::FrameView &frame, bool whole) {
  uint32_t type_at = 12;
  const auto type_is = [&](uint16_t type) {
    return frame.captured >= type_at + 2 && roce_be16(frame.data + type_at) == type;
  };
  for (int i = 0;
       i < ROCE_VLAN_MAX && (type_is(ROCE_ETHERTYPE_VLAN) || type_is(ROCE_ETHERTYPE_QINQ)); i++)
    type_at += ROCE_VLAN_LEN;
  const uint32_t control = type_at + 2;
  if (!type_is(ROCE_ETHERTYPE_MAC_CONTROL) || frame.captured < control + 2)
    return;
  const uint32_t opcode = roce_be16(frame.data + control);
  const bool pfc = opcode == ROCE_MAC_CONTROL_PFC, global = opcode == ROCE_MAC_CONTROL_PAUSE;
  if (!pfc && !global && !is_reserved(opcode))
    return; // of EPON
  found_.frames++;
  PfcSender *sender = sender_of(mac_at(frame.data + 6));
  if (!sender) {
    found_.without_row++;
    return;
  }
  if (pfc || global)
    pauses(*sender, frame, control);
  const Mac destination = mac_at(frame.data);
  const bool group = destination[0] & 1;
  const auto fault = [&](PfcFault kind, bool is) {
    PfcSender::Fault &of = sender->faults[static_cast<size_t>(kind)];
    if (is && !of.frames++)
      of.first_frame = frame.number;
  };
  fault(PfcFault::Destination, destination != kPauseAddress && (pfc || (global && group)));
  fault(PfcFault::Opcode, is_reserved(opcode));
  fault(PfcFault::Short, whole && frame.length < kLeastLength);
  fault(PfcFault::Tagged, control > ROCE_ETH_LEN);
  fault(PfcFault::ReservedBits, pfc && frame.captured > control + 2 && frame.data[control + 2]);
}

PfcSenders PfcSenderTable::result(uint64_t begun_ns, uint64_t now_ns) const {
  PfcSenders all = found_;
  all.begun_ns = begun_ns;
  for (PfcSender &sender : all.senders)
    for (PfcSender::Row &row : sender.rows)
      for (roce_pfc *pfc : {&row.paused, &row.slow})
        pfc->paused_ns = roce_pfc_paused(pfc, now_ns);
  return all;
}

} // namespace xr
