// SPDX-License-Identifier: Apache-2.0
// The memory of a responder: what requests write and read, and what is refused.
#include "responder/memory.h"

#include <array>
#include <thread>

#include "base/draw.h"
#include "responder_requests.h"

namespace xr::responder::memory_test {
namespace {

constexpr uint64_t kVa = 0x10000, kSize = 200'000;
constexpr uint32_t kKey = 0x1234;

Bytes random_bytes(size_t length, uint64_t seed) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; i++)
    bytes[i] = static_cast<uint8_t>(draw(seed, i));
  return bytes;
}

TEST(Memory, ChecksKeyBoundsAndAccess) {
  using Verdict = Memory::Verdict;
  auto made = Memory::make({.size = 1000, .va = 0x1000, .rkey = 7, .access = MemorySpec::kRead});
  ASSERT_TRUE(made.ok());
  const Memory &memory = **made;
  EXPECT_EQ(memory.check(0x1000, 1000, 7, MemorySpec::kRead), Verdict::Allowed);
  EXPECT_EQ(memory.check(0x1000, 1001, 7, MemorySpec::kRead), Verdict::OutOfBounds);
  EXPECT_EQ(memory.check(0xfff, 2, 7, MemorySpec::kRead), Verdict::OutOfBounds);
  EXPECT_EQ(memory.check(0x1000 + 1000, 1, 7, MemorySpec::kRead), Verdict::OutOfBounds);
  EXPECT_EQ(memory.check(UINT64_MAX, 2, 7, MemorySpec::kRead), Verdict::OutOfBounds);
  EXPECT_EQ(memory.check(0x1000, 1, 8, MemorySpec::kRead), Verdict::BadKey);
  EXPECT_EQ(memory.check(0x1000, 1, 7, MemorySpec::kWrite), Verdict::NoAccess);
  EXPECT_EQ(memory.check(0, 0, 8, MemorySpec::kWrite), Verdict::Allowed);
  EXPECT_FALSE(Memory::make({.size = 0}).ok());
  EXPECT_FALSE(Memory::make({.size = 0x1001, .va = UINT64_MAX - 0xfff}).ok());
  EXPECT_FALSE(Memory::make({.size = 64, .va = 0x1004}).ok());
  // the last addresses
  auto last = Memory::make({.size = 0x1000, .va = UINT64_MAX - 0xfff, .rkey = 7});
  ASSERT_TRUE(last.ok());
  EXPECT_EQ((*last)->check(UINT64_MAX - 7, 8, 7, MemorySpec::kAtomic), Verdict::Allowed);
  EXPECT_EQ((*last)->check(UINT64_MAX - 7, 9, 7, MemorySpec::kAtomic), Verdict::OutOfBounds);
}

TEST(Memory, KeepsWhatIsWrittenAcrossItsLocks) {
  auto made = Memory::make({.size = kSize});
  ASSERT_TRUE(made.ok());
  const Bytes written = random_bytes(150'000, 1);
  (*made)->write(kVa + 1001, written);
  Bytes read(kSize, 0xff);
  (*made)->read(kVa, read);
  EXPECT_TRUE(std::equal(written.begin(), written.end(), read.begin() + 1001));
  EXPECT_EQ(std::count(read.begin(), read.begin() + 1001, 0), 1001);
  EXPECT_EQ(std::count(read.begin() + 151'001, read.end(), 0), 200'000 - 151'001);
}

TEST(Memory, AtomicsOfThreadsAreWhole) {
  auto made = Memory::make({.size = 64});
  ASSERT_TRUE(made.ok());
  std::array<std::thread, 4> threads;
  for (std::thread &thread : threads)
    thread = std::thread([&] {
      for (int i = 0; i < 10'000; i++)
        (*made)->fetch_add(kVa + 8, 3);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ((*made)->compare_swap(kVa + 8, 120'000, 5), 120'000U);
  EXPECT_EQ((*made)->compare_swap(kVa + 8, 120'000, 6), 5U);
  EXPECT_EQ((*made)->fetch_add(kVa + 8, 0), 5U);
}

class RemoteAccess : public ResponderTest {
protected:
  RemoteAccess() { make(MemorySpec{.size = kSize}); }
  void make(const MemorySpec &spec) {
    auto made = Memory::make(spec);
    EXPECT_TRUE(made.ok());
    memory_ = std::move(*made);
    options_.memory = memory_.get();
    responder_.reset();
  }
  Headers at(uint8_t opcode, uint32_t psn, uint64_t va, uint32_t length) {
    Headers headers = request(opcode, psn);
    headers.va = va;
    headers.rkey = kKey;
    headers.dma_len = length;
    return headers;
  }
  // What the answers to a READ carry.
  Bytes read(uint32_t psn, uint64_t va, uint32_t length) {
    feed(at(ROCE_RC_RDMA_READ_REQUEST, psn, va, length));
    Bytes all;
    for (const Wire &wire : drain()) {
      EXPECT_TRUE(wire.packet.info & ROCE_OP_READ_RESPONSE);
      const uint8_t *end = &wire.bytes[wire.packet.end - ROCE_ICRC_LEN - wire.packet.pad];
      all.insert(all.end(), end - wire.packet.payload, end);
    }
    return all;
  }
  void write(uint32_t psn, uint64_t va, const Bytes &bytes) {
    feed(at(ROCE_RC_RDMA_WRITE_ONLY, psn, va, static_cast<uint32_t>(bytes.size())), bytes);
  }
  uint64_t original_of(const Headers &headers) {
    feed(headers);
    return only().original();
  }
  // The NAK to `headers`; then nothing of the QP is answered.
  void expect_refused(const Headers &headers, const Bytes &payload, uint8_t syndrome) {
    responder_.reset();
    write(0xfffffe, kVa, {1, 2, 3}); // the QP begins
    drain();
    feed(headers, payload);
    expect_nak(syndrome, headers.psn);
    EXPECT_EQ(counts().in_order, 1U);
    const bool error = syndrome == 0x62;
    EXPECT_EQ(counts().qps_in_error, error ? 1U : 0U);
    feed(request(ROCE_RC_SEND_ONLY, headers.psn));
    feed(at(ROCE_RC_RDMA_READ_REQUEST, 0xfffffe, kVa, 1));
    EXPECT_EQ(drain().empty(), error);
    EXPECT_EQ(counts().dropped_in_error, error ? 2U : 0U);
  }

  std::unique_ptr<Memory> memory_;
};

TEST_F(RemoteAccess, ReadsWhatWasWritten) {
  const Bytes bytes = random_bytes(2 * 1024 + 5, 7);
  const auto part = [&](size_t from, size_t to) {
    return Bytes(bytes.begin() + static_cast<ptrdiff_t>(from),
                 bytes.begin() + static_cast<ptrdiff_t>(to));
  };
  feed(at(ROCE_RC_RDMA_WRITE_FIRST, 0xffffff, kVa + 777, 2 * 1024 + 5), part(0, 1024));
  feed(request(ROCE_RC_RDMA_WRITE_MIDDLE, 0), part(1024, 2048));
  feed(request(ROCE_RC_RDMA_WRITE_LAST, 1), part(2048, 2053));
  drain();
  EXPECT_EQ(read(2, kVa + 777, 2053), bytes);
  EXPECT_EQ(read(5, kVa + 777 + 1000, 100), part(1000, 1100));
  EXPECT_EQ(read(6, kVa + kSize - 3, 3), Bytes(3));
  EXPECT_EQ(read(7, 0, 0), Bytes{}); // of no bytes: allowed anywhere
  EXPECT_EQ(counts().bad_rkey + counts().out_of_bounds + counts().no_access, 0U);
  EXPECT_EQ(read(5, kVa + 777 + 1000, 100), part(1000, 1100)); // a duplicate
  EXPECT_EQ(counts().duplicates, 1U);
}

// Duplicate WRITEs are acknowledged and not executed again.
TEST_F(RemoteAccess, WritesOnce) {
  write(5, kVa, {1, 2, 3, 4});
  write(6, kVa, {5, 6, 7, 8});
  write(5, kVa, {1, 2, 3, 4});
  drain();
  EXPECT_EQ(read(7, kVa, 4), (Bytes{5, 6, 7, 8}));
}

TEST_F(RemoteAccess, SharesItAmongQps) {
  write(5, kVa + 64, {9, 8, 7});
  drain();
  Headers other = at(ROCE_RC_RDMA_READ_REQUEST, 77, kVa + 64, 3);
  other.dest_qp = kQp + 1;
  feed(other);
  const Wire answer = only();
  EXPECT_EQ(answer.bytes[answer.packet.bth + ROCE_BTH_LEN + 4], 9);
}

TEST_F(RemoteAccess, ExecutesAtomics) {
  const uint64_t word = 0x0102030405060708;
  Bytes bytes(8);
  memcpy(bytes.data(), &word, 8); // memory has the host's order, packets the network's
  write(5, kVa + 16, bytes);
  drain();
  Headers add = at(ROCE_RC_FETCH_ADD, 6, kVa + 16, 0);
  add.swap_add = 0x10;
  EXPECT_EQ(original_of(add), word);
  Headers swap = at(ROCE_RC_COMPARE_SWAP, 7, kVa + 16, 0);
  swap.compare = word + 0x10;
  swap.swap_add = 99;
  EXPECT_EQ(original_of(swap), word + 0x10);
  EXPECT_EQ(original_of(add), word); // a duplicate: its first result
  add.psn = 8;
  EXPECT_EQ(original_of(add), 99U);
  add.psn = 9;
  add.va += 8; // another word
  EXPECT_EQ(original_of(add), 0U);
  EXPECT_EQ(read(10, kVa + 16, 1), Bytes{99 + 0x10});
  feed(at(ROCE_RC_ATOMIC_WRITE, 11, kVa + 16, 8), Bytes(8, 4));
  drain();
  EXPECT_EQ(read(12, kVa + 16, 8), Bytes(8, 4));
}

TEST_F(RemoteAccess, RefusesAWrongKey) {
  for (const uint8_t opcode :
       {ROCE_RC_RDMA_WRITE_ONLY, ROCE_RC_RDMA_READ_REQUEST, ROCE_RC_COMPARE_SWAP, ROCE_RC_FETCH_ADD,
        ROCE_RC_FLUSH, ROCE_RC_ATOMIC_WRITE}) {
    Headers headers = at(opcode, 0xffffff, kVa, 8);
    headers.rkey = kKey + 1;
    const bool data = roce_opcode_properties[opcode] & (ROCE_OP_WRITE | ROCE_OP_ATOMIC_WRITE);
    expect_refused(headers, Bytes(data ? 8 : 0, 1), 0x62);
    EXPECT_EQ(counts().bad_rkey, 1U) << unsigned{opcode};
  }
}

TEST_F(RemoteAccess, RefusesWhatIsOutside) {
  expect_refused(at(ROCE_RC_RDMA_WRITE_ONLY, 0xffffff, kVa + kSize - 7, 8), Bytes(8, 1), 0x62);
  EXPECT_EQ(counts().out_of_bounds, 1U);
  // The whole message counts, not its first packet.
  expect_refused(at(ROCE_RC_RDMA_WRITE_FIRST, 0xffffff, kVa, kSize + 1), Bytes(1024, 1), 0x62);
  expect_refused(at(ROCE_RC_RDMA_READ_REQUEST, 0xffffff, kVa - 1, 1), {}, 0x62);
  expect_refused(at(ROCE_RC_FETCH_ADD, 0xffffff, kVa + kSize, 8), {}, 0x62);
}

TEST_F(RemoteAccess, RefusesAccessThatIsNotAllowed) {
  make({.size = kSize, .access = MemorySpec::kWrite | MemorySpec::kAtomic});
  expect_refused(at(ROCE_RC_RDMA_READ_REQUEST, 0xffffff, kVa, 1), {}, 0x62);
  EXPECT_EQ(counts().no_access, 1U);
  make({.size = kSize, .access = MemorySpec::kWrite});
  expect_refused(at(ROCE_RC_COMPARE_SWAP, 0xffffff, kVa, 8), {}, 0x62);
  make({.size = kSize, .access = MemorySpec::kRead});
  write(0xffffff, kVa, {1});
  expect_nak(0x62, 0xffffff);
}

TEST_F(RemoteAccess, RefusesWordsThatAreNotAligned) {
  expect_refused(at(ROCE_RC_FETCH_ADD, 0xffffff, kVa + 4, 8), {}, 0x61);
  expect_refused(at(ROCE_RC_ATOMIC_WRITE, 0xffffff, kVa + 1, 8), Bytes(8, 1), 0x61);
  EXPECT_EQ(counts().invalid, 1U);
}

TEST_F(RemoteAccess, RefusesAWriteOfAnotherLength) {
  write(4, kVa, {1});
  drain();
  feed(at(ROCE_RC_RDMA_WRITE_ONLY, 5, kVa, 9), Bytes(8, 1));
  expect_nak(0x61, 5);
  responder_.reset();
  feed(at(ROCE_RC_RDMA_WRITE_FIRST, 5, kVa, 1030), Bytes(1024, 1));
  drain();
  feed(request(ROCE_RC_RDMA_WRITE_LAST, 6), Bytes(7, 1));
  expect_nak(0x61, 6);
  EXPECT_EQ(read(6, kVa + 1024, 6), Bytes{}) << "in the middle of a message";
}

// Like the peer's QP: what follows the NAK is dropped, another connection of the number is served.
TEST_F(RemoteAccess, ServesTheNextConnection) {
  Headers wrong = at(ROCE_RC_RDMA_READ_REQUEST, 0xffffff, kVa, 8);
  wrong.rkey = 1;
  expect_refused(wrong, {}, 0x62);
  write(0x400000, kVa, {1, 2});
  expect_ack(0x400000, 1);
}

TEST_F(RemoteAccess, DropsDuplicateReadsThatItWouldRefuse) {
  write(5, kVa, {1});
  drain();
  EXPECT_EQ(read(6, kVa, 8).size(), 8U);
  Headers wrong = at(ROCE_RC_RDMA_READ_REQUEST, 6, kVa, 8);
  wrong.rkey = 1;
  feed(wrong);
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(read(7, kVa, 1), Bytes{1});
}

TEST_F(RemoteAccess, DropsUnreliableMessagesThatItRefuses) {
  Headers headers = at(ROCE_UC_RDMA_WRITE_ONLY, 5, kVa, 4);
  feed(headers, Bytes(4, 7));
  headers.psn = 6;
  headers.va = kVa + kSize;
  feed(headers, Bytes(4, 8));
  headers.psn = 7;
  headers.va = kVa + 4;
  feed(headers, Bytes(4, 9));
  EXPECT_EQ(counts().out_of_bounds, 1U);
  EXPECT_EQ(counts().uc_dropped, 1U);
  EXPECT_TRUE(drain().empty());
  write(4, kVa + 100, {1});
  drain();
  EXPECT_EQ(read(5, kVa, 8), (Bytes{7, 7, 7, 7, 9, 9, 9, 9}));
}

// Kept requests, with their payload.
TEST_F(RemoteAccess, ExecutesKeptRequestsInOrder) {
  options_.selective = true;
  write(5, kVa, {1});
  write(7, kVa + 1, {3, 3});
  Headers add = at(ROCE_RC_FETCH_ADD, 8, kVa + 64, 8);
  add.swap_add = 5;
  feed(add);
  write(6, kVa, {2, 2});
  drain();
  EXPECT_EQ(read(9, kVa, 3), (Bytes{2, 3, 3}));
  EXPECT_EQ(read(10, kVa + 64, 1), Bytes{5});
  EXPECT_EQ(counts().kept, 2U);
}

TEST_F(RemoteAccess, WorksWithXrcAndIpv6) {
  path_ = path_to(2, packet::Network::Ipv6);
  Headers headers = at(ROCE_XRC_RDMA_WRITE_ONLY, 5, kVa + 8, 4);
  feed(headers, Bytes{4, 3, 2, 1});
  drain();
  headers = at(ROCE_XRC_RDMA_READ_REQUEST, 6, kVa + 8, 4);
  feed(headers);
  const Wire answer = only();
  ASSERT_EQ(answer.packet.payload, 4U);
  EXPECT_EQ(answer.ext()[4], 4);
  EXPECT_EQ(answer.ext()[7], 1);
}

} // namespace
} // namespace xr::responder::memory_test
