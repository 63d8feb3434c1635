// SPDX-License-Identifier: Apache-2.0
// RDMA CM: 256-byte MADs, to the parser, to the state machine that connects, and to the follower of
// captures. What was parsed is built and parsed again: it must be the same.
#include <cstring>

#include "analysis/connections.h"
#include "packet/cm.h"
#include "requester/cm_connector.h"
#include "require.h"
#include "roce/cm.h"

namespace {

const xr::Address kLocal{0, 0, ROCE_MAPPED_PREFIX, 1}, kRemote{0, 0, ROCE_MAPPED_PREFIX, 2};

void check_again(const xr::packet::CmMessage &message) {
  const auto again = xr::packet::parse_cm_mad(xr::packet::cm_mad(message));
  REQUIRE(again && again->kind == message.kind && again->local_id == message.local_id &&
          again->remote_id == message.remote_id && again->qpn == message.qpn &&
          again->psn == message.psn && again->reject_reason == message.reject_reason &&
          again->private_data == message.private_data);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  xr::requester::CmConnector connector(
      {{kLocal, kRemote, 0x11, 3, 0}, {kLocal, kRemote, 0x12, 3, 0}}, {.seed = 1});
  xr::ConnectionFollower follower(4);
  uint64_t now = 0;
  connector.start(now);
  // A byte of time, a byte of direction, a MAD.
  for (; size >= 2; now++) {
    const uint8_t time = data[0], how = data[1];
    data += 2;
    size -= 2;
    std::array<uint8_t, ROCE_MAD_LEN> mad{};
    const size_t length = std::min(size, mad.size());
    memcpy(mad.data(), data, length);
    data += length;
    size -= length;
    now += uint64_t{time} * 10'000'000;
    if (const auto message =
            xr::packet::parse_cm_mad({mad.data(), how & 4 ? length : mad.size()})) {
      check_again(*message);
      connector.receive(now, kRemote, *message);
      auto frame = xr::packet::cm_frame(
          {.src = how & 1 ? kLocal : kRemote, .dst = how & 1 ? kRemote : kLocal}, *message, 0);
      REQUIRE(frame.ok());
      roce_packet packet{};
      const uint8_t *bytes = frame->bytes.data();
      roce_parse(bytes, bytes + frame->bytes.size(), roce_swap16(ROCE_UDP_PORT), &packet);
      follower.packet(now, frame->bytes, packet);
      roce_cm parsed{};
      roce_parse_cm(bytes + packet.bth, bytes + frame->bytes.size(), &parsed);
    }
    if (how & 2 && connector.settled())
      connector.disconnect(now);
    for (int i = 0; i < 100 && connector.next(now); i++)
      REQUIRE(i < 99);
    const xr::CmCounts &c = connector.counts();
    REQUIRE(c.established + c.rejected + c.timed_out <= 2);
    REQUIRE(c.ended + c.ended_by_peer + c.not_ended <= c.established);
  }
  REQUIRE(follower.result().rows.size() <= 4);
  return 0;
}
