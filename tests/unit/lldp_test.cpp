// SPDX-License-Identifier: Apache-2.0
// LLDP: frames against bytes that scapy built and what tshark reads, malformed ones, and the
// neighbours of a port in virtual time.
#include <gtest/gtest.h>

#include <random>
#include <string_view>

#include "station/lldp.h"
#include "unit/frame_readers.h"

namespace xr::test::lldp_test {
namespace {

using station::Lldp;
using station::LldpOptions;
using station::LldpRead;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kSecond = 1'000'000'000;

Bytes bytes_of(std::string_view hex) {
  Bytes bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

// scapy.contrib.lldp: Ether(dst=LLDP_NEAREST_BRIDGE_MAC, src='02:00:00:00:09:0a') /
// LLDPDUChassisID(subtype=4, id='02:00:00:00:00:09') / LLDPDUPortID(subtype=5, id=b'eth1') /
// LLDPDUTimeToLive(ttl=121) / LLDPDUSystemName(system_name=b'tester.example') /
// LLDPDUGenericOrganisationSpecific(org_code=0x0080c2, subtype=1, data=b'\x00\x07') /
// LLDPDUGenericOrganisationSpecific(org_code=0xaabbcc, subtype=127, data=b'abc') /
// LLDPDUEndOfLLDPDU()
constexpr std::string_view kSent =
    "0180c200000e02000000090a88cc0207040200000000090405056574683106020079"
    "0a0e7465737465722e6578616d706c65fe060080c2010007fe07aabbcc7f6162630000";

LldpOptions options() {
  LldpOptions made;
  made.mac = {2, 0, 0, 0, 9, 10};
  made.chassis = {station::kLldpChassisMac, {2, 0, 0, 0, 0, 9}};
  made.port = {station::kLldpPortInterfaceName, {'e', 't', 'h', '1'}};
  made.system_name = "tester.example";
  made.organisations = {{{0x00, 0x80, 0xc2}, 1, {0, 7}},
                        {{0xaa, 0xbb, 0xcc}, 127, {'a', 'b', 'c'}}};
  made.hold_s = 121;
  return made;
}

// Another one, which a switch sends: LLDPDUChassisID(subtype=5, family=1, id='192.0.2.9') /
// LLDPDUPortID(subtype=7, id=b'\x01\xff') / LLDPDUTimeToLive(ttl=3) /
// LLDPDUPortDescription(description=b'uplink') / LLDPDUSystemName(system_name=b'switch') /
// LLDPDUSystemDescription(description=b'a switch') / LLDPDUSystemCapabilities(router_available=1,
// mac_bridge_available=1, router_enabled=1) /
// LLDPDUManagementAddress(management_address_subtype=1, management_address=b'\xc0\x00\x02\x09',
// interface_numbering_subtype=2, interface_number=7) /
// LLDPDUGenericOrganisationSpecific(org_code=0x00120f, subtype=4, data=b'\x05\xdc')
constexpr std::string_view kSwitch =
    "0180c200000e02000000000b88cc02060501c000020904030701ff06020003080675706c696e6b0a06737769"
    "7463680c0861207377697463680e0400140010100c0501c0000209020000000700fe0600120f0405dc0000";

// Ethernet, the mandatory TLVs, and TLVs.
Bytes with(std::string_view tlvs, std::string_view ttl = "06020003") {
  return bytes_of("0180c200000e02000000000b88cc02020761040207" + std::string("62") +
                  std::string(ttl) + std::string(tlvs));
}

TEST(LldpFrames, AreThoseOfAnotherImplementation) {
  const Bytes scapy = bytes_of(kSent);
  EXPECT_EQ(station::lldp_frame(options(), 121), scapy);
  ASSERT_TRUE(station::is_lldp(scapy));
  const LldpRead read = station::parse_lldp(scapy);
  ASSERT_TRUE(read.information);
  EXPECT_EQ(read.information->chassis, options().chassis);
  EXPECT_EQ(read.information->port, options().port);
  EXPECT_EQ(read.information->ttl_s, 121);
  EXPECT_EQ(read.information->system_name, "tester.example");
  EXPECT_EQ(read.information->organisations, options().organisations);
  EXPECT_EQ(read.discarded, 0U);
  EXPECT_EQ(read.unknown, 1U); // aabbcc
}

TEST(LldpFrames, AllTlvsAreRead) {
  const LldpRead read = station::parse_lldp(bytes_of(kSwitch));
  ASSERT_TRUE(read.information);
  const station::LldpInformation &from = *read.information;
  EXPECT_EQ(from.chassis, (station::LldpId{5, {1, 192, 0, 2, 9}}));
  EXPECT_EQ(from.port, (station::LldpId{7, {1, 0xff}}));
  EXPECT_EQ(from.ttl_s, 3);
  EXPECT_EQ(from.port_description, "uplink");
  EXPECT_EQ(from.system_name, "switch");
  EXPECT_EQ(from.system_description, "a switch");
  ASSERT_TRUE(from.capabilities);
  EXPECT_EQ(from.capabilities->has, 0x14);
  EXPECT_EQ(from.capabilities->enabled, 0x10);
  ASSERT_EQ(from.management.size(), 1U);
  EXPECT_EQ(from.management[0].family, 1);
  EXPECT_EQ(from.management[0].address, (Bytes{192, 0, 2, 9}));
  ASSERT_EQ(from.organisations.size(), 1U);
  EXPECT_EQ(from.organisations[0].information, (Bytes{5, 0xdc}));
  EXPECT_EQ(read.discarded + read.unknown, 0U);
}

TEST(LldpFrames, ShutdownHasTheMandatoryTlvsAlone) {
  const Bytes frame = station::lldp_frame(options(), 0);
  EXPECT_EQ(frame.size(), 60U); // padded
  const LldpRead read = station::parse_lldp(frame);
  ASSERT_TRUE(read.information);
  EXPECT_EQ(read.information->ttl_s, 0);
  EXPECT_FALSE(read.information->system_name);
  EXPECT_TRUE(read.information->organisations.empty());
}

class LldpReaders : public FrameReaders {};

TEST_F(LldpReaders, TsharkReadsWhatIsSent) {
  if (!has_tshark())
    GTEST_SKIP() << "SKIP: there is no tshark";
  LldpOptions local = options();
  local.chassis = {station::kLldpChassisLocal, {'b', 'o', 'x'}};
  local.port = {station::kLldpPortMac, {2, 0, 0, 0, 0, 7}};
  local.system_name.reset();
  local.organisations = {{{0xaa, 0xbb, 0xcc}, 1, Bytes(507, 0x5a)}};
  write_pcap({station::lldp_frame(options(), 121), station::lldp_frame(options(), 0),
              station::lldp_frame(local, 65535)});
  const Printed printed = run_command(
      "tshark -n -r " + pcap() +
      " -T fields -E separator=, -E aggregator=+ -e eth.dst -e lldp.chassis.subtype"
      " -e lldp.chassis.id.mac -e lldp.port.subtype -e lldp.port.id"
      " -e lldp.port.id.mac -e lldp.time_to_live -e lldp.tlv.system.name -e lldp.tlv.len"
      " -e _ws.malformed");
  const std::vector<std::string> wanted = {
      "01:80:c2:00:00:0e,4,02:00:00:00:00:09,5,eth1,,121,tester.example,7+5+2+14+6+7+0,",
      "01:80:c2:00:00:0e,4,02:00:00:00:00:09,5,eth1,,0,,7+5+2+0,",
      "01:80:c2:00:00:0e,7,,3,,02:00:00:00:00:07,65535,,4+7+2+511+0,"};
  EXPECT_EQ(printed.lines, wanted);
}

TEST_F(LldpReaders, ScapyReadsWhatIsSent) {
  if (run_command(std::string(kPython) + " -c 'import scapy.contrib.lldp'").status != 0)
    GTEST_SKIP() << "SKIP: there is no scapy";
  write_pcap({station::lldp_frame(options(), 121), station::lldp_frame(options(), 0)});
  const Printed printed = run_python(R"(import sys
from scapy.all import rdpcap, Ether
from scapy.contrib.lldp import *
for frame in rdpcap(sys.argv[1]):
    frame = Ether(bytes(frame))
    name = frame.getlayer(LLDPDUSystemName)
    print(frame[LLDPDUChassisID].id, frame[LLDPDUPortID].id.decode(), frame[LLDPDUTimeToLive].ttl, name and name.system_name.decode(),
          LLDPDUEndOfLLDPDU in frame)
)");
  EXPECT_EQ(printed.lines,
            (std::vector<std::string>{"02:00:00:00:00:09 eth1 121 tester.example True",
                                      "02:00:00:00:00:09 eth1 0 None True"}));
}

TEST(LldpFrames, OnlyThoseToItsGroups) {
  for (const size_t at : {0, 3, 5, 12, 13}) {
    Bytes other = bytes_of(kSwitch);
    other[at] ^= 0x40;
    EXPECT_FALSE(station::is_lldp(other)) << at;
  }
  for (const uint8_t group : {0x00, 0x03, 0x0e}) {
    Bytes frame = bytes_of(kSwitch);
    frame[5] = group;
    EXPECT_TRUE(station::is_lldp(frame)) << group;
  }
}

TEST(LldpFrames, WithoutTheMandatoryTlvsAreDiscarded) {
  const std::string ethernet = "0180c200000e02000000000b88cc";
  for (const char *const tlvs :
       {"", "02", "0000", "0202076104020762", "020207610602000304020762", "0402076202020761",
        "02010704020762060200030000",           // a chassis without a value
        "02020761040107060200030000",           // a port without one
        "0202076104020762060103",               // TTL of one byte
        "02020761040207620602000302020761",     // two of each
        "02020761040207620602000304020762",     // ...
        "0202076104020762060200030602000a0000", // ...
        "0202076104020762060300"})              // past the end
    EXPECT_FALSE(station::parse_lldp(bytes_of(ethernet + tlvs)).information) << tlvs;
  // A value of 256 bytes is one too many.
  Bytes frame = bytes_of(ethernet + "030107");
  frame.insert(frame.end(), 256, 'a');
  const Bytes rest = bytes_of("0402076206020003");
  frame.insert(frame.end(), rest.begin(), rest.end());
  EXPECT_FALSE(station::parse_lldp(frame).information);
  frame[15] = 0;
  frame.erase(frame.begin() + 20);
  EXPECT_TRUE(station::parse_lldp(frame).information);
}

TEST(LldpFrames, WrongTlvsAreLeftOut) {
  struct Case {
    const char *tlvs;
    uint64_t discarded, unknown;
  };
  for (const Case &each :
       std::vector<Case>{{"", 0, 0}, // the end may be missing
                         {"0000", 0, 0},
                         {"0000ffff", 0, 0}, // what follows the end
                         {"000100", 1, 0},   // an end with a value
                         {"0a0161", 0, 0},
                         {"0a01610a0162", 1, 0}, // a second name
                         {"0a0261", 1, 0},       // past the end
                         {"0a", 1, 0},           // half a TLV
                         {"0e03001400", 1, 0},   // capabilities of 3 bytes
                         {"100c0501c0000209020000000700", 0, 0},
                         {"100c0501c0000209020000000701", 1, 0}, // an OID past the end
                         {"100b0501c00002090200000007", 1, 0},   // without its length
                         {"10022101", 1, 0},                     // an address of 33 bytes
                         {"1000", 1, 0},
                         {"fe030080c2", 1, 0}, // without a subtype
                         {"fe040080c201", 0, 0},
                         {"fe040080c200", 0, 1},
                         {"fe0400120f09", 0, 1},
                         {"1200", 0, 1}, // reserved types
                         {"fc00", 0, 1}}) {
    const LldpRead read = station::parse_lldp(with(each.tlvs));
    ASSERT_TRUE(read.information) << each.tlvs;
    EXPECT_EQ(read.discarded, each.discarded) << each.tlvs;
    EXPECT_EQ(read.unknown, each.unknown) << each.tlvs;
  }
  // The first name counts, and TLVs after a wrong one are read.
  const auto information = station::parse_lldp(with("0a01610a01620e00080163")).information;
  ASSERT_TRUE(information);
  EXPECT_EQ(information->system_name, "a");
  EXPECT_EQ(information->port_description, "c");
}

TEST(LldpFrames, AnyBytesAreRead) {
  std::mt19937 random(1);
  const Bytes right = bytes_of(kSwitch);
  Lldp lldp(options());
  lldp.enable(0, true);
  uint64_t sent = 0;
  for (int i = 0; i < 200'000; i++) {
    Bytes frame = right;
    frame.resize(random() % 3 ? frame.size() : 14 + random() % (frame.size() - 14));
    if (random() % 4 == 0)
      for (size_t at = 14; at < frame.size(); at++)
        frame[at] = static_cast<uint8_t>(random());
    for (size_t changes = random() % 4; changes && frame.size() > 14; changes--)
      frame[14 + random() % (frame.size() - 14)] = static_cast<uint8_t>(random());
    frame.shrink_to_fit(); // a sanitizer sees what is read past the end
    sent++;
    ASSERT_TRUE(lldp.receive(static_cast<uint64_t>(i) * 1000, frame));
  }
  const auto counts = lldp.counts();
  EXPECT_EQ(counts.received, sent);
  EXPECT_GT(counts.discarded, sent / 10);
  EXPECT_GT(counts.tlvs_discarded, sent / 100);
  EXPECT_GT(counts.tlvs_unknown, 0U);
  EXPECT_GE(counts.errors, counts.discarded - Lldp::kMostNeighbours);
  EXPECT_LE(lldp.neighbours(0).size(), Lldp::kMostNeighbours);
}

std::vector<Bytes> sent_at(Lldp &lldp, uint64_t now) {
  std::vector<Bytes> all;
  std::array<packet::Outgoing, 4> out;
  while (const size_t count = lldp.next(now, out))
    for (size_t i = 0; i < count; i++)
      all.emplace_back(out[i].raw.begin(), out[i].raw.end());
  return all;
}

TEST(LldpPort, SendsAtItsStartThenEachIntervalAndAtItsEnd) {
  Lldp lldp(options());
  EXPECT_EQ(lldp.wake_at(), kNever);
  EXPECT_TRUE(sent_at(lldp, kSecond).empty());
  lldp.enable(kSecond, false); // as it is
  EXPECT_TRUE(lldp.is_quiet());
  EXPECT_TRUE(sent_at(lldp, kSecond).empty());
  lldp.enable(kSecond, true);
  std::vector<uint64_t> times;
  for (uint64_t now = kSecond; now < 100 * kSecond; now += kSecond / 10)
    for (const Bytes &frame : sent_at(lldp, now)) {
      times.push_back(now / kSecond);
      EXPECT_EQ(frame, station::lldp_frame(options(), 121));
    }
  EXPECT_EQ(times, (std::vector<uint64_t>{1, 31, 61, 91}));
  EXPECT_EQ(lldp.wake_at(), 121 * kSecond);
  lldp.enable(100 * kSecond, false);
  EXPECT_FALSE(lldp.is_quiet());
  EXPECT_EQ(lldp.wake_at(), 100 * kSecond);
  EXPECT_EQ(sent_at(lldp, 100 * kSecond), std::vector<Bytes>{station::lldp_frame(options(), 0)});
  EXPECT_TRUE(lldp.is_quiet());
  EXPECT_EQ(lldp.wake_at(), kNever);
  EXPECT_EQ(lldp.counts().sent, 5U);
}

TEST(LldpPort, NeighboursStayUntilTheirTtlEnds) {
  Lldp lldp(options());
  const Bytes frame = with("0a0161", "06020003"), second = with("0a0162", "06020005");
  EXPECT_TRUE(lldp.receive(0, frame)); // it is off
  EXPECT_TRUE(lldp.neighbours(0).empty());
  lldp.enable(0, true);
  lldp.receive(kSecond, frame);
  ASSERT_EQ(lldp.neighbours(2 * kSecond).size(), 1U);
  EXPECT_EQ(lldp.neighbours(4 * kSecond - 1).size(), 1U);
  EXPECT_TRUE(lldp.neighbours(4 * kSecond).empty());
  lldp.receive(3 * kSecond, second); // of the same chassis and port
  auto all = lldp.neighbours(7 * kSecond);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].number, 1U);
  EXPECT_EQ(all[0].since_ns, kSecond);
  EXPECT_EQ(all[0].at_ns, 3 * kSecond);
  EXPECT_EQ(all[0].information.system_name, "b");
  lldp.receive(9 * kSecond, frame); // it was gone
  all = lldp.neighbours(9 * kSecond);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].number, 2U);
  lldp.receive(9 * kSecond, bytes_of(kSwitch)); // another one
  EXPECT_EQ(lldp.neighbours(9 * kSecond).size(), 2U);
  lldp.receive(9 * kSecond, with("", "06020000")); // its shutdown
  ASSERT_EQ(lldp.neighbours(9 * kSecond).size(), 1U);
  EXPECT_EQ(lldp.neighbours(9 * kSecond)[0].information.system_name, "switch");
  lldp.enable(9 * kSecond, false);
  EXPECT_TRUE(lldp.neighbours(9 * kSecond).empty());
  EXPECT_EQ(lldp.counts().received, 6U);
  EXPECT_EQ(lldp.counts().errors, 0U);
}

TEST(LldpPort, CountsErrorsAndKeepsNoMoreThanItsMost) {
  Lldp lldp(options());
  lldp.enable(0, true);
  const Bytes frame = bytes_of(kSwitch);
  EXPECT_FALSE(lldp.receive(0, std::span(frame).first(13)));
  EXPECT_TRUE(lldp.receive(0, std::span(frame).first(14))); // nothing in it
  EXPECT_TRUE(lldp.receive(0, with("0a03610a")));
  auto counts = lldp.counts();
  EXPECT_EQ(counts.received, 2U);
  EXPECT_EQ(counts.errors, 2U);
  EXPECT_EQ(counts.discarded, 1U);
  EXPECT_EQ(counts.tlvs_discarded, 1U);
  LldpOptions other = options();
  for (size_t i = 0; i < 2 * Lldp::kMostNeighbours; i++) {
    other.port.value = {static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
    lldp.receive(kSecond, station::lldp_frame(other, 10));
  }
  EXPECT_EQ(lldp.neighbours(kSecond).size(), Lldp::kMostNeighbours);
  EXPECT_EQ(lldp.counts().discarded, 1 + Lldp::kMostNeighbours + 1); // one is of the third frame
  lldp.receive(20 * kSecond, station::lldp_frame(other, 10));        // the others are gone
  EXPECT_EQ(lldp.neighbours(20 * kSecond).size(), 1U);
}

} // namespace
} // namespace xr::test::lldp_test
