// SPDX-License-Identifier: Apache-2.0
// Requests that name memory of the responder: RDMA WRITE and READ, atomics, ATOMIC WRITE and FLUSH,
// with R_Key, bounds and access checked (IBA vol. 1, 9.7.4.1.5 and 9.7.4.1.6).
#include "responder/connection.h"

namespace xr::responder {
namespace {

constexpr uint8_t kAccessError = 0x62; // IBA vol. 1, 9.7.5.2.1

struct Remote {
  uint64_t va;
  uint32_t rkey, length;
};

// The RETH or AtomicETH, which begin alike.
Remote remote_of(const uint8_t *bth, const roce_packet &packet) {
  const uint8_t *at = bth + ROCE_BTH_LEN;
  if (packet.info & ROCE_HAS_XRCETH)
    at += ROCE_EXT_LEN(ROCE_EXT_XRCETH);
  if (packet.info & ROCE_HAS_FETH)
    at += ROCE_EXT_LEN(ROCE_EXT_FETH);
  const uint32_t length = packet.info & ROCE_OP_ATOMIC ? 8 : roce_be32(at + ROCE_RETH_DMALEN);
  return {roce_be64(at), roce_be32(at + 8), length};
}

uint8_t access_for(const roce_packet &packet) {
  if (packet.info & ROCE_OP_READ_REQUEST)
    return MemorySpec::kRead;
  if (packet.info & ROCE_OP_ATOMIC)
    return MemorySpec::kAtomic;
  return properties(packet) & ROCE_OP_FLUSH ? 0 : MemorySpec::kWrite;
}

bool is_allowed(Memory::Verdict verdict, RespondCounts &counts) {
  counts.bad_rkey += verdict == Memory::Verdict::BadKey;
  counts.out_of_bounds += verdict == Memory::Verdict::OutOfBounds;
  counts.no_access += verdict == Memory::Verdict::NoAccess;
  return verdict == Memory::Verdict::Allowed;
}

} // namespace

// Checks a request and executes it if it writes. Returns the syndrome of the NAK that refuses it,
// or 0.
uint8_t Connection::access_memory(const Context &c) {
  const roce_packet &packet = c.packet;
  const bool atomic = properties(packet) & ROCE_ATOMIC_OPS;
  if (packet.info & (ROCE_HAS_RETH | ROCE_HAS_ATOMICETH)) {
    const Remote remote = remote_of(c.bth, packet);
    if (atomic && (remote.va % 8 || remote.length != 8))
      return kInvalidRequest;
    if (!is_allowed(
            c.options.memory->check(remote.va, remote.length, remote.rkey, access_for(packet)),
            c.counts))
      return kAccessError;
    if (!(properties(packet) & ROCE_OP_WRITE)) {
      request_va_ = remote.va;
      if (properties(packet) & ROCE_OP_ATOMIC_WRITE)
        c.options.memory->write(remote.va, {c.payload, packet.payload});
      return 0;
    }
    write_va_ = remote.va;
    write_left_ = remote.length;
  }
  if (!(properties(packet) & ROCE_OP_WRITE))
    return 0;
  // The payload of a message is as long as its RETH says.
  const bool ends = packet.info & ROCE_OP_ENDS_MESSAGE;
  if (packet.payload > write_left_ || (ends && packet.payload != write_left_))
    return kInvalidRequest;
  c.options.memory->write(write_va_, {c.payload, packet.payload});
  write_va_ += packet.payload;
  write_left_ -= packet.payload;
  return 0;
}

// Without a memory, every address is the same word of the QP.
uint64_t Connection::atomic(const Context &c) {
  const uint8_t *operands = c.bth + ROCE_BTH_LEN + (transport_ == ROCE_XRC ? 4 : 0) + 12;
  const uint64_t operand = roce_be64(operands), compare = roce_be64(operands + 8);
  const bool add = (c.packet.opcode & ~ROCE_TRANSPORT_MASK) == ROCE_RC_FETCH_ADD;
  uint64_t original = memory_word_;
  if (c.options.memory)
    original = add ? c.options.memory->fetch_add(request_va_, operand)
                   : c.options.memory->compare_swap(request_va_, compare, operand);
  else if (add)
    memory_word_ += operand;
  else if (memory_word_ == compare)
    memory_word_ = operand;
  if (atomics_.size() == kMaxAtomicResults)
    atomics_.pop();
  atomics_.push({c.packet.psn, original});
  return original;
}

// A duplicate of a READ that would be refused is dropped.
bool Connection::may_read_again(const Context &c, uint64_t &va) const {
  if (!c.options.memory)
    return true;
  const Remote remote = remote_of(c.bth, c.packet);
  va = remote.va;
  return c.options.memory->check(va, remote.length, remote.rkey, MemorySpec::kRead) ==
         Memory::Verdict::Allowed;
}

// After a NAK remote access error nothing is executed, until the QP's number is used for another
// connection (IBA vol. 1, 10.3.1: the QP is in the state error).
void Connection::enter_error(const Context &c) {
  in_error_ = true;
  c.counts.qps_in_error++;
}

} // namespace xr::responder
