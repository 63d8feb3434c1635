// SPDX-License-Identifier: Apache-2.0
// A sequence of frames into a responder and a requester, and what they answer, built into frames.
// The input: for each frame its length and the nanoseconds since the one before in units of 2^10,
// 16 bits little-endian each, then the bytes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "packet/icrc.h"
#include "requester/reliable.h"
#include "require.h"
#include "responder/responder.h"

using namespace xr;

namespace {

constexpr uint16_t kPort = roce_swap16(ROCE_UDP_PORT);
constexpr size_t kMost = 256; // answers to one frame: a READ may have millions

// A copy of any length, whose end the sanitizer knows, and iCRCs that are right, or nothing would
// get past the first door.
struct Input {
  std::vector<uint8_t> frame;
  roce_packet packet{};
  roce_class class_;

  explicit Input(std::vector<uint8_t> bytes) : frame(std::move(bytes)) {
    frame.reserve(1); // an empty frame is somewhere, too
    const uint8_t *data = frame.data();
    int parsed = roce_parse(data, data + frame.size(), kPort, &packet);
    parsed = roce_check_length(parsed, static_cast<uint32_t>(frame.size()), &packet);
    class_ = static_cast<roce_class>(parsed);
    if (roce_is_roce(parsed) && !packet.cut && packet.end <= frame.size())
      icrc_write(frame.data(), packet);
  }
};

// What comes out is sound: whole frames with the right iCRC, unless it is none of RoCE's.
void check(const packet::Outgoing &out) {
  std::vector<uint8_t> bytes(out.raw.begin(), out.raw.end());
  if (out.shape) {
    bytes.assign(out.shape->bytes().begin(), out.shape->bytes().end());
    out.shape->stamp(bytes.data(), out.fields);
    if (!out.payload.empty())
      out.shape->set_payload(bytes.data(), out.payload);
  }
  REQUIRE(bytes.size() >= ROCE_ETH_LEN);
  roce_packet packet{};
  const int class_ = roce_parse(bytes.data(), bytes.data() + bytes.size(), kPort, &packet);
  REQUIRE(class_ != ROCE_CLASS_MALFORMED);
  if (roce_is_roce(class_))
    REQUIRE(icrc_check(bytes.data(), static_cast<uint32_t>(bytes.size()), packet) == Icrc::Good);
}

void drain(packet::Source &source, uint64_t now) {
  std::vector<packet::Outgoing> out(16);
  for (size_t all = 0; all < kMost;) {
    const size_t count = source.next(now, out);
    for (size_t i = 0; i < count; i++)
      check(out[i]);
    if (!count)
      break;
    all += count;
  }
}

flow::Flow fuzzed_flow() {
  flow::Flow flow;
  flow.path.src = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0x0a4d0001)}; // 10.77.0.1
  flow.path.dst = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0x0a4d0002)};
  flow.src_given = flow.dst_given = true;
  flow.qp = 0x56;
  flow.qps = 8;
  flow.size.parts = {{3000, 1}};
  flow.messages = 40;
  flow.psn = 0;
  return flow;
}

// A small memory where the first request for one is, so that some accesses are in it.
std::unique_ptr<responder::Memory> memory_for(const Input &in) {
  const roce_packet &packet = in.packet;
  if (!roce_is_roce(in.class_) || packet.cut || packet.end > in.frame.size() ||
      (packet.opcode & ROCE_TRANSPORT_MASK) != ROCE_RC ||
      !(packet.info & (ROCE_HAS_RETH | ROCE_HAS_ATOMICETH)))
    return nullptr;
  const uint8_t *at = &in.frame[packet.bth + ROCE_BTH_LEN];
  auto made = responder::Memory::make(
      {.size = 4096, .va = roce_be64(at) & ~uint64_t{7}, .rkey = roce_be32(at + 8)});
  return made ? std::move(*made) : nullptr;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  responder::ResponderOptions options;
  options.qps = 16;
  options.rnr_every = 7;
  responder::Responder responder(options);
  std::unique_ptr<responder::Memory> memory; // of the second one, from the first request for one on
  std::unique_ptr<responder::Responder> second;
  requester::ReliableSource requester({fuzzed_flow()}, {}, 1e10, {});
  uint64_t now = 1'000'000;
  drain(requester, now);
  while (size >= 4) {
    const size_t length = std::min<size_t>(data[0] | data[1] << 8, size - 4);
    now += static_cast<uint64_t>(data[2] | data[3] << 8) << 10;
    const Input in(std::vector<uint8_t>(data + 4, data + 4 + length));
    if (!memory && (memory = memory_for(in))) {
      options.memory = memory.get();
      options.selective = data[2] & 1;
      second = std::make_unique<responder::Responder>(options);
    }
    for (packet::Source *source :
         {static_cast<packet::Source *>(&responder), static_cast<packet::Source *>(second.get()),
          static_cast<packet::Source *>(&requester)}) {
      if (!source)
        continue;
      source->receive(now, in.frame, in.class_, in.packet);
      drain(*source, now);
    }
    data += 4 + length;
    size -= 4 + length;
  }
  return 0;
}
