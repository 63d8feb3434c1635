// SPDX-License-Identifier: Apache-2.0
// ARP and neighbour discovery: bytes as in RFC 826 and RFC 4861, built and parsed, and rejected
// frames.
#include <gtest/gtest.h>

#include "frames.h"

#include "packet/neighbour.h"
#include "packet_random.h"
#include "parse/address.h"
#include <algorithm>

namespace xr::test::packet_neighbour_test {
namespace {

using packet::Address;
using packet::Mac;
using packet::NeighbourMessage;
using packet::Tag;

const Mac kMacA{0x02, 0, 0, 0, 0, 0x0a}, kMacB{0x02, 0, 0, 0, 0, 0x0b};

Address ip(const char *text) {
  const auto address = parse::address(text);
  EXPECT_TRUE(address.ok()) << text;
  return address.get();
}

uint32_t at16(const Bytes &frame, size_t at) {
  return static_cast<uint32_t>(frame[at] << 8 | frame[at + 1]);
}

// The sum of ICMPv6 after an untagged Ethernet header: 0xffff when it is right.
uint32_t icmp_sum(const Bytes &frame) {
  uint32_t sum = at16(frame, 18) + 58; // length and next header of the pseudo-header
  for (size_t i = 22; i < frame.size(); i += 2)
    sum += at16(frame, i);
  while (sum >> 16)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

void mend_icmp(Bytes &frame) {
  frame[56] = frame[57] = 0;
  const uint32_t sum = ~icmp_sum(frame);
  frame[56] = static_cast<uint8_t>(sum >> 8);
  frame[57] = static_cast<uint8_t>(sum);
}

NeighbourMessage parsed(const Bytes &frame) {
  const auto message = packet::parse_neighbour(frame);
  EXPECT_TRUE(message.has_value());
  return message.value_or(NeighbourMessage{});
}

bool refused(const Bytes &frame) { return !packet::parse_neighbour(frame).has_value(); }

TEST(PacketNeighbour, ArpQuestionToTheByte) {
  EXPECT_EQ(packet::neighbour_question(ip("192.0.2.1"), kMacA, ip("192.0.2.2"), {}),
            from_hex("ffffffffffff02000000000a0806" // all
                     "0001080006040001"
                     "02000000000ac0000201"
                     "000000000000c0000202"));
}

TEST(PacketNeighbour, ArpAnswerToTheByte) {
  const NeighbourMessage question{true, ip("192.0.2.1"), kMacA, ip("192.0.2.2"), {}};
  EXPECT_EQ(packet::neighbour_answer(question, kMacB),
            from_hex("02000000000a02000000000b0806" // to who asked
                     "0001080006040002"
                     "02000000000bc0000202"
                     "02000000000ac0000201"));
}

TEST(PacketNeighbour, SolicitationToTheByte) {
  Bytes expected = from_hex("3333ff00000202000000000a86dd"
                            "6000000000203aff"
                            "20010db8000000000000000000000001"
                            "ff0200000000000000000001ff000002"
                            "8700000000000000"
                            "20010db8000000000000000000000002"
                            "010102000000000a");
  mend_icmp(expected);
  EXPECT_EQ(packet::neighbour_question(ip("2001:db8::1"), kMacA, ip("2001:db8::2"), {}), expected);
}

TEST(PacketNeighbour, AdvertisementToTheByte) {
  const NeighbourMessage question{true, ip("2001:db8::1"), kMacA, ip("2001:db8::2"), {}};
  Bytes expected = from_hex("02000000000a02000000000b86dd"
                            "6000000000203aff"
                            "20010db8000000000000000000000002"
                            "20010db8000000000000000000000001"
                            "8800000060000000" // solicited, override
                            "20010db8000000000000000000000002"
                            "020102000000000b");
  mend_icmp(expected);
  EXPECT_EQ(packet::neighbour_answer(question, kMacB), expected);
}

// Duplicate address detection: no option to ask with, and all nodes hear the answer.
TEST(PacketNeighbour, ProbesOfIpv6) {
  const Bytes probe = packet::neighbour_question({}, kMacA, ip("2001:db8::aa:bbcc"), {});
  EXPECT_EQ(probe.size(), 14u + 40 + 24);
  EXPECT_EQ(Bytes(probe.begin(), probe.begin() + 6), from_hex("3333ffaabbcc"));
  const NeighbourMessage question = parsed(probe);
  EXPECT_TRUE(question.question);
  EXPECT_EQ(question.sender, Address{});
  EXPECT_EQ(question.sender_mac, kMacA);
  Bytes expected = from_hex("33330000000102000000000b86dd"
                            "6000000000203aff"
                            "20010db8000000000000000000aabbcc"
                            "ff020000000000000000000000000001"
                            "8800000020000000" // override, not solicited
                            "20010db8000000000000000000aabbcc"
                            "020102000000000b");
  mend_icmp(expected);
  EXPECT_EQ(packet::neighbour_answer(question, kMacB), expected);
}

TEST(PacketNeighbour, ProbesOfIpv4) {
  const Bytes probe = packet::neighbour_question({}, kMacA, ip("192.0.2.2"), {});
  const NeighbourMessage question = parsed(probe);
  EXPECT_EQ(question.sender, Address{});
  EXPECT_EQ(question.target, ip("192.0.2.2"));
  EXPECT_EQ(packet::neighbour_answer(question, kMacB), from_hex("02000000000a02000000000b0806"
                                                                "0001080006040002"
                                                                "02000000000bc0000202"
                                                                "02000000000a00000000"));
}

// Both families, with every number of tags, there and back.
TEST(PacketNeighbour, QuestionsAndAnswersAreRead) {
  for (uint64_t seed : seeds(300)) {
    Random rng(seed);
    SCOPED_TRACE(testing::Message() << "XR_SEED=" << seed);
    const bool ipv4 = rng() % 2;
    const Mac asking = random_mac(rng), answering = random_mac(rng);
    Address source = random_address(rng, ipv4), target = random_address(rng, ipv4);
    if (!ipv4) // unicast
      source[0] &= ~0xffu, target[0] &= ~0xffu;
    std::vector<Tag> tags(rng() % 3);
    for (Tag &tag : tags)
      tag = {ROCE_ETHERTYPE_QINQ, static_cast<uint16_t>(rng())};

    const NeighbourMessage question =
        parsed(packet::neighbour_question(source, asking, target, tags));
    EXPECT_TRUE(question.question);
    EXPECT_EQ(question.sender, source);
    EXPECT_EQ(question.sender_mac, asking);
    EXPECT_EQ(question.target, target);
    const NeighbourMessage answer = parsed(packet::neighbour_answer(question, answering));
    EXPECT_FALSE(answer.question);
    EXPECT_EQ(answer.sender, target);
    EXPECT_EQ(answer.sender_mac, answering);
    EXPECT_EQ(answer.target, target);
    for (const NeighbourMessage *message : {&question, &answer}) {
      ASSERT_EQ(message->tags.size(), tags.size());
      for (size_t i = 0; i < tags.size(); i++) {
        EXPECT_EQ(message->tags[i].tpid, tags[i].tpid);
        EXPECT_EQ(message->tags[i].tci, tags[i].tci);
      }
    }
  }
}

Bytes solicitation() {
  return packet::neighbour_question(ip("2001:db8::1"), kMacA, ip("2001:db8::2"), {});
}

// What pads a short frame is not the message's.
TEST(PacketNeighbour, EthernetPaddingIsIgnored) {
  Bytes arp = packet::neighbour_question(ip("192.0.2.1"), kMacA, ip("192.0.2.2"), {});
  arp.resize(60, 0xee);
  EXPECT_EQ(parsed(arp).target, ip("192.0.2.2"));
  Bytes probe = solicitation();
  probe.resize(probe.size() + 9, 0xee);
  EXPECT_EQ(parsed(probe).target, ip("2001:db8::2"));
}

TEST(PacketNeighbour, EveryFlippedBitIsSeen) {
  const Bytes sound = solicitation();
  for (size_t at = 22; at < sound.size(); at++) // all that the checksum covers
    for (int bit = 0; bit < 8; bit++) {
      Bytes frame = sound;
      frame[at] ^= static_cast<uint8_t>(1 << bit);
      EXPECT_TRUE(refused(frame)) << "byte " << at << " bit " << bit;
    }
}

TEST(PacketNeighbour, PartsOfMessagesAreRefused) {
  const Bytes question = solicitation();
  const Bytes arp = packet::neighbour_question(ip("192.0.2.1"), kMacA, ip("192.0.2.2"), {{}, {}});
  for (const Bytes &whole : {question, arp})
    for (size_t length = 0; length < whole.size(); length++)
      EXPECT_TRUE(
          refused(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)))) // for ASan
          << length;
}

// Changed with a right checksum.
void expect_refused(const char *why, Bytes frame, size_t at, uint8_t value) {
  ASSERT_NE(frame.at(at), value) << why;
  frame[at] = value;
  mend_icmp(frame);
  EXPECT_TRUE(refused(frame)) << why;
}

TEST(PacketNeighbour, UnsoundDiscoveryIsRefused) {
  Bytes mended = solicitation();
  mend_icmp(mended);
  ASSERT_FALSE(refused(mended));
  expect_refused("hop limit 254: through a router", solicitation(), 21, 254);
  expect_refused("TCP", solicitation(), 20, 6);
  expect_refused("code", solicitation(), 55, 1);
  expect_refused("router solicitation", solicitation(), 54, 133);
  expect_refused("target multicast", solicitation(), 62, 0xff);
  expect_refused("option of length 0", solicitation(), 79, 0);
  expect_refused("option longer than the message", solicitation(), 79, 2);
  expect_refused("IP version", solicitation(), 14, 0x40);
}

// RFC 4861, 7.1.1: a probe has no source address option, and goes to the solicited-node address.
TEST(PacketNeighbour, UnsoundProbesAreRefused) {
  Bytes with_option = solicitation();
  std::fill_n(with_option.begin() + 22, 16, 0);
  mend_icmp(with_option);
  EXPECT_TRUE(refused(with_option));
  const Bytes probe = packet::neighbour_question({}, kMacA, ip("2001:db8::2"), {});
  EXPECT_FALSE(refused(probe));
  expect_refused("to another group", probe, 53, 0x03);
}

TEST(PacketNeighbour, AMulticastAnswerIsNotSolicited) {
  const NeighbourMessage probe{true, {}, kMacA, ip("2001:db8::2"), {}};
  const Bytes answer = packet::neighbour_answer(probe, kMacB);
  EXPECT_FALSE(refused(answer));
  expect_refused("solicited", answer, 58, 0x60);
}

TEST(PacketNeighbour, OptionsOfOtherTypesAreSkipped) {
  Bytes frame = solicitation();
  const Bytes nonce = from_hex("0e01112233445566");
  frame.insert(frame.begin() + 78, nonce.begin(), nonce.end());
  frame[19] = static_cast<uint8_t>(frame[19] + nonce.size());
  frame[6 + 5] = 0xcc; // the Ethernet source is not the option's
  mend_icmp(frame);
  EXPECT_EQ(parsed(frame).sender_mac, kMacA);
}

TEST(PacketNeighbour, OtherFramesAreNone) {
  const Bytes arp = packet::neighbour_question(ip("192.0.2.1"), kMacA, ip("192.0.2.2"), {});
  for (size_t at : {12, 14, 16, 18, 19, 20}) { // ethertype, hardware, protocol, lengths, operation
    Bytes frame = arp;
    frame[at] ^= 0x11;
    EXPECT_TRUE(refused(frame)) << at;
  }
  Bytes reverse = arp;
  reverse[21] = 3; // RARP
  EXPECT_TRUE(refused(reverse));
  EXPECT_TRUE(refused(FrameBuilder(ROCE_RC_SEND_ONLY).payload(64).build().bytes));
  EXPECT_TRUE(refused(FrameBuilder(ROCE_RC_SEND_ONLY).ipv6().payload(64).build().bytes));
  Bytes three_tags =
      packet::neighbour_question(ip("192.0.2.1"), kMacA, ip("192.0.2.2"), std::vector<Tag>(3));
  EXPECT_TRUE(refused(three_tags));
}

} // namespace
} // namespace xr::test::packet_neighbour_test
