// SPDX-License-Identifier: Apache-2.0
// A stamped template equals build() with the same fields, whatever the frame contained before.
// XR_SEED=n runs one seed.
#include <gtest/gtest.h>

#include "packet/icrc.h"

#include "packet/stamp.h"
#include "packet/template.h"
#include "packet_random.h"
#include <algorithm>
#include <array>
#include <tuple>

namespace xr::test::packet_template_test {
namespace {

using packet::Fields;
using packet::Headers;
using packet::Network;
using packet::Path;
using packet::Template;
using Bytes = std::vector<uint8_t>;

Bytes copy(const Template &t) { return Bytes(t.bytes().begin(), t.bytes().end()); }

Icrc check(const Bytes &frame, const packet::Layout &layout) {
  roce_packet p{};
  p.l3 = layout.l3;
  p.bth = layout.bth;
  p.end = layout.end;
  return icrc_check(frame.data(), static_cast<uint32_t>(frame.size()), p);
}

struct Subject {
  Path path;
  Headers headers;
  Bytes payload;
  int pad;
  Template stencil;

  Subject(Random &rng, Network network, uint8_t opcode)
      : path(random_path(rng, network, rng() % 3)), headers(random_headers(rng, opcode)),
        payload(random_payload(rng, opcode)), pad(static_cast<int>(rng() % 5) - 1) {
    path.udp_checksum = false;
    auto made = Template::make(path, headers, payload, pad);
    EXPECT_TRUE(made.ok()) << made.error().message;
    stencil = std::move(made.get());
  }

  Fields own() const {
    return {.dest_qp = headers.dest_qp,
            .psn = headers.psn,
            .src_port = path.src_port,
            .ack_req = headers.ack_req,
            .solicited = headers.solicited,
            .src_qp = headers.src_qp,
            .immediate = headers.immediate,
            .aeth = static_cast<uint32_t>(headers.syndrome) << 24 | headers.msn,
            .dma_len = headers.dma_len,
            .va = headers.va};
  }

  // What build() makes of these fields.
  Bytes built(const Fields &f) const {
    Path with = path;
    Headers h = headers;
    with.src_port = f.src_port;
    h.dest_qp = f.dest_qp;
    h.psn = f.psn;
    h.ack_req = f.ack_req;
    h.solicited = f.solicited;
    h.src_qp = f.src_qp;
    h.immediate = f.immediate;
    h.syndrome = static_cast<uint8_t>(f.aeth >> 24);
    h.msn = f.aeth & 0xffffff;
    h.dma_len = f.dma_len;
    h.va = f.va;
    return packet::build(with, h, payload, pad).get().bytes;
  }
};

// Some fields as the template has them, some not.
Fields random_fields(Random &rng, Fields f) {
  const uint64_t which = rng();
  const auto change = [&](int bit) { return (which >> bit & 1) != 0; };
  if (change(0))
    f.dest_qp = rng() & 0xffffff;
  if (change(1))
    f.psn = rng() & 0xffffff;
  if (change(2))
    f.src_port = static_cast<uint16_t>(rng());
  if (change(3))
    f.ack_req = !f.ack_req;
  if (change(4))
    f.solicited = !f.solicited;
  if (change(5))
    f.src_qp = rng() & 0xffffff;
  if (change(6))
    f.immediate = static_cast<uint32_t>(rng());
  if (change(7))
    f.aeth = static_cast<uint32_t>(rng());
  if (change(8))
    f.dma_len = static_cast<uint32_t>(rng());
  if (change(9))
    f.va = rng();
  return f;
}

// Calls `test` with templates of every opcode and network, seed after seed.
template <typename Test> void for_templates(uint64_t count, Test test) {
  for (uint64_t seed : seeds(count)) {
    Random rng(seed);
    for (Network network : kNetworks)
      for (uint8_t opcode : known_opcodes()) {
        if (!exists(network, opcode))
          continue;
        SCOPED_TRACE(testing::Message() << "XR_SEED=" << seed << " " << network_name(network)
                                        << ", opcode " << int{opcode});
        const Subject subject(rng, network, opcode);
        test(rng, subject);
        if (testing::Test::HasFailure())
          return;
      }
  }
}

TEST(PacketTemplate, IsTheBuiltFrame) {
  for_templates(2, [](Random &, const Subject &s) {
    EXPECT_EQ(copy(s.stencil), s.built(s.own()));
    EXPECT_EQ(s.stencil.opcode(), s.headers.opcode);
    EXPECT_EQ(s.stencil.layout().end, s.stencil.bytes().size());
    Bytes frame = copy(s.stencil);
    s.stencil.stamp(frame.data(), s.own());
    EXPECT_EQ(frame, copy(s.stencil));
  });
}

// Over the same buffer again and again: nothing of the previous stamp stays.
TEST(PacketTemplate, StampedIsBuilt) {
  for_templates(20, [](Random &rng, const Subject &s) {
    Bytes frame = copy(s.stencil);
    for (int i = 0; i < 8; i++) {
      const Fields fields = random_fields(rng, s.own());
      s.stencil.stamp(frame.data(), fields);
      ASSERT_EQ(frame, s.built(fields)) << "stamp " << i;
    }
  });
}

auto fields_of(const roce_packet &p) {
  return std::tuple(std::to_array(p.key.src), std::to_array(p.key.dst), p.key.qp_kind, p.info,
                    p.psn, p.payload, p.end, p.bth, p.l3, p.dma_len, p.src_qp, p.opcode, p.ecn,
                    p.syndrome, p.pad, p.cut, p.tos, p.vlan, p.ack_req, p.ipv4);
}

TEST(PacketTemplate, ParsedIsWhatTheParserFinds) {
  for_templates(20, [](Random &rng, const Subject &s) {
    for (int i = 0; i < 8; i++) {
      const Fields fields = random_fields(rng, s.own());
      const Bytes frame = s.built(fields);
      roce_packet read{}, known;
      const auto length = static_cast<uint32_t>(frame.size());
      const int class_ = roce_check_length(
          roce_parse(frame.data(), frame.data() + length, roce_swap16(ROCE_UDP_PORT), &read),
          length, &read);
      ASSERT_EQ(s.stencil.parsed(fields, known), class_);
      if (roce_is_roce(class_)) {
        ASSERT_EQ(fields_of(known), fields_of(read));
      }
    }
  });
}

TEST(PacketTemplate, HeadersAlone) {
  for_templates(4, [](Random &rng, const Subject &s) {
    const auto length =
        static_cast<uint32_t>(s.headers.opcode == ROCE_OPCODE_CNP ? 0 : s.payload.size());
    const auto whole = Template::make(s.path, s.headers, packet::counting_payload(length), s.pad);
    const auto made = Template::make_headers(s.path, s.headers, length, s.pad);
    ASSERT_TRUE(whole.ok() && made.ok());
    const Template &t = made.get();
    EXPECT_EQ(t.size(), whole.get().bytes().size());
    EXPECT_EQ(t.bytes().size(), t.layout().payload);
    const Fields fields = random_fields(rng, s.own());
    Bytes frame, expected;
    t.write_whole(frame, fields);
    whole.get().write_whole(expected, fields);
    EXPECT_EQ(frame, expected);
    roce_packet read{}, known{};
    EXPECT_EQ(t.parsed(fields, read), whole.get().parsed(fields, known));
    EXPECT_EQ(fields_of(read), fields_of(known));
  });
}

// Every bit of every field on its own, so that no table is left out.
TEST(PacketTemplate, EveryBitOfEveryField) {
  for_templates(1, [](Random &, const Subject &s) {
    Bytes frame = copy(s.stencil);
    for (int bit = 0; bit < 64; bit++) {
      Fields fields[9];
      std::fill(std::begin(fields), std::end(fields), s.own());
      fields[0].dest_qp ^= bit < 24 ? 1u << bit : 0;
      fields[1].psn ^= bit < 24 ? 1u << bit : 0;
      fields[2].src_port ^= bit < 16 ? 1u << bit : 0;
      fields[3].src_qp ^= bit < 24 ? 1u << bit : 0;
      fields[4].immediate ^= bit < 32 ? 1u << bit : 0;
      fields[5].aeth ^= bit < 32 ? 1u << bit : 0;
      fields[6].dma_len ^= bit < 32 ? 1u << bit : 0;
      fields[7].va ^= 1ull << bit;
      fields[8].ack_req ^= bit & 1;
      for (const Fields &f : fields) {
        s.stencil.stamp(frame.data(), f);
        ASSERT_EQ(frame, s.built(f)) << "bit " << bit << " of field " << &f - fields;
      }
    }
  });
}

// The frame is the same as if the payload had been built with the stamp, over the same buffer again
// and again.
TEST(PacketTemplate, StampIsPartOfTheIcrc) {
  size_t tried = 0;
  for_templates(10, [&](Random &rng, const Subject &s) {
    auto made = Template::make(s.path, s.headers, s.payload, s.pad, true);
    if (s.payload.size() < packet::kStampBytes) {
      EXPECT_FALSE(made.ok());
      return;
    }
    ASSERT_TRUE(made.ok());
    const Template &stencil = made.get();
    EXPECT_TRUE(stencil.stamped());
    EXPECT_FALSE(s.stencil.stamped());
    Bytes frame = copy(stencil);
    Subject wanted = s;
    for (int i = 0; i < 8; i++, tried++) {
      const Fields fields = random_fields(rng, s.own());
      const uint64_t sequence = rng() >> rng() % 64, time = rng() >> rng() % 64;
      stencil.stamp(frame.data(), fields);
      stencil.set_stamp(frame.data(), sequence, time);
      for (uint32_t at = 0; at < 8; at++) {
        wanted.payload[16 + at] = static_cast<uint8_t>(sequence >> (56 - 8 * at));
        wanted.payload[24 + at] = static_cast<uint8_t>(time >> (56 - 8 * at));
      }
      ASSERT_EQ(frame, wanted.built(fields)) << "stamp " << i;
    }
    const auto at = static_cast<uint32_t>(stencil.layout().bth + rng() % ROCE_BTH_LEN);
    stencil.set_byte(frame.data(), at, static_cast<uint8_t>(rng()));
    EXPECT_EQ(check(frame, stencil.layout()), Icrc::Good);
  });
  EXPECT_GT(tried, 1000U);
}

// What is wider than its field is cut and spoils no neighbour.
TEST(PacketTemplate, WideValuesAreCut) {
  for_templates(1, [](Random &, const Subject &s) {
    Bytes frame = copy(s.stencil);
    Fields wide = s.own();
    for (uint32_t *field : {&wide.dest_qp, &wide.psn, &wide.src_qp})
      *field |= 0xff000000;
    s.stencil.stamp(frame.data(), wide);
    EXPECT_EQ(frame, copy(s.stencil));
  });
}

TEST(PacketTemplate, SetBytesKeepTheIcrc) {
  for_templates(4, [](Random &rng, const Subject &s) {
    const packet::Layout &layout = s.stencil.layout();
    Bytes frame = copy(s.stencil);
    s.stencil.stamp(frame.data(), random_fields(rng, s.own()));
    for (uint32_t at = layout.bth; at < layout.payload; at++)
      for (int i = 0; i < 2; i++) {
        const auto value = static_cast<uint8_t>(rng());
        s.stencil.set_byte(frame.data(), at, value);
        ASSERT_EQ(frame[at], value);
        ASSERT_EQ(check(frame, layout), Icrc::Good) << "byte " << at - layout.bth << " of BTH";
      }
    frame = copy(s.stencil);
    const Fields fields = random_fields(rng, s.own());
    s.stencil.stamp(frame.data(), fields);
    EXPECT_EQ(frame, s.built(fields));
  });
}

TEST(PacketTemplate, SetBackTheStampIsRightAgain) {
  for_templates(1, [](Random &rng, const Subject &s) {
    const packet::Layout &layout = s.stencil.layout();
    for (uint32_t at = layout.bth; at < layout.payload; at++) {
      Bytes frame = copy(s.stencil);
      s.stencil.set_byte(frame.data(), at, static_cast<uint8_t>(rng()));
      s.stencil.set_byte(frame.data(), at, s.stencil.bytes()[at]);
      ASSERT_EQ(frame, copy(s.stencil));
    }
  });
}

TEST(PacketTemplate, SpoiltUntilStamped) {
  for_templates(4, [](Random &rng, const Subject &s) {
    const packet::Layout &layout = s.stencil.layout();
    Bytes frame = copy(s.stencil);
    const Fields fields = random_fields(rng, s.own());
    s.stencil.stamp(frame.data(), fields);
    for (int i = 0; i < 3; i++) { // twice is no undo
      s.stencil.spoil_icrc(frame.data());
      ASSERT_EQ(check(frame, layout), Icrc::Bad);
    }
    s.stencil.set_byte(frame.data(), layout.bth + 2, static_cast<uint8_t>(rng()));
    EXPECT_EQ(check(frame, layout), Icrc::Bad);
    s.stencil.set_byte(frame.data(), layout.bth + 2, s.stencil.bytes()[layout.bth + 2]);
    s.stencil.stamp(frame.data(), fields);
    EXPECT_EQ(frame, s.built(fields));
  });
}

// Copies share their tables, which outlive the template they were made for.
TEST(PacketTemplate, CopiesAndTheirTables) {
  Random rng(1);
  Template kept;
  Bytes expected;
  {
    const Subject subject(rng, Network::Ipv6, ROCE_RC_SEND_ONLY);
    kept = subject.stencil;
    Fields f = subject.own();
    f.psn ^= 0x123456;
    expected = subject.built(f);
    Bytes frame = copy(kept);
    kept.stamp(frame.data(), f);
    EXPECT_EQ(frame, expected);
  }
  const Subject again(rng, Network::Ipv4, ROCE_RC_SEND_ONLY);
  Fields f = again.own();
  f.psn ^= 0x123456;
  Bytes frame = copy(again.stencil);
  again.stencil.stamp(frame.data(), f);
  EXPECT_EQ(frame, again.built(f));
}

TEST(PacketTemplate, Refuses) {
  Random rng(1);
  Path path = random_path(rng, Network::Ipv4, 0);
  path.udp_checksum = true;
  const auto summed = Template::make(path, {}, {});
  ASSERT_FALSE(summed.ok());
  EXPECT_NE(summed.error().message.find("no UDP checksum"), std::string::npos);
  path.udp_checksum = false;
  const auto wide = Template::make(path, {.tver = 16}, {});
  ASSERT_FALSE(wide.ok());
  EXPECT_NE(wide.error().message.find("TVer 0x10"), std::string::npos);
}

} // namespace
} // namespace xr::test::packet_template_test
