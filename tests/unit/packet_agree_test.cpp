// SPDX-License-Identifier: Apache-2.0
// scapy and tshark read our frames correctly: a capture file with every opcode over every network.
// XR_SEED=n makes another file.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "packet_random.h"
#include "unit/frame_readers.h"

namespace xr::test::packet_agree_test {
namespace {

using packet::Headers;
using packet::Network;
using packet::Path;

struct Sample {
  Path path;
  Headers headers;
  packet::Frame frame;

  uint32_t info() const { return roce_opcode_info[headers.opcode]; }
  bool ipv4() const { return path.network == Network::Ipv4; }
  // The four bytes in their order on the wire.
  uint32_t icrc() const { return roce_be32(&frame.bytes[frame.layout.end - 4]); }
  std::string name() const {
    return fmt::format("{} opcode {:#04x}", network_name(path.network), headers.opcode);
  }
};

Sample sample(Random &rng, Network network, uint8_t opcode) {
  // scapy knows GRHs of untagged frames only
  Sample s;
  s.path = random_path(rng, network, network == Network::V1 ? 0 : rng() % 3);
  s.path.dst_port = ROCE_UDP_PORT;
  s.path.src_port |= 0xc000; // no other protocol's
  s.headers = random_headers(rng, opcode);
  // tshark takes what looks like an ethertype for one
  const size_t length = std::min<size_t>(random_payload(rng, opcode).size(), 300);
  const std::vector<uint8_t> payload(length, 0xa5);
  s.frame = packet::build(s.path, s.headers, payload).get();
  return s;
}

std::vector<Sample> all_samples() {
  Random rng(seeds(1)[0]);
  std::vector<Sample> samples;
  for (Network network : kNetworks)
    for (uint8_t opcode : known_opcodes())
      if (exists(network, opcode))
        samples.push_back(sample(rng, network, opcode));
  return samples;
}

class PacketAgree : public FrameReaders {
protected:
  void SetUp() override {
    std::vector<std::vector<uint8_t>> frames;
    for (const Sample &one : samples_)
      frames.push_back(one.frame.bytes);
    write_pcap(frames);
  }

  const std::vector<Sample> samples_ = all_samples();
};

// opcode DestQP PSN PadCnt AckReq iCRC computed-iCRC
constexpr const char *kScript = R"(
import sys
from scapy.all import rdpcap, IP
from scapy.contrib.roce import BTH
for frame in rdpcap(sys.argv[1]):
    bth = frame[BTH]
    computed = bth.compute_icrc(None).hex() if IP in frame else "-"
    print(bth.opcode, bth.dqpn, bth.psn, bth.padcount, bth.ackreq, "%08x" % bth.icrc, computed)
)";

TEST_F(PacketAgree, Scapy) {
  if (!has_scapy_roce())
    GTEST_SKIP() << "SKIP: " << kPython << " has no scapy with scapy.contrib.roce";
  const Printed read = run_python(kScript);
  ASSERT_EQ(read.status, 0);
  ASSERT_EQ(read.lines.size(), samples_.size());
  for (size_t i = 0; i < samples_.size(); i++) {
    const Sample &s = samples_[i];
    const Headers &h = s.headers;
    const std::string computed = s.ipv4() ? fmt::format("{:08x}", s.icrc()) : "-";
    EXPECT_EQ(read.lines[i], fmt::format("{} {} {} {} {} {:08x} {}", h.opcode, h.dest_qp, h.psn,
                                         s.frame.layout.pad, int{h.ack_req}, s.icrc(), computed))
        << s.name();
  }
}

constexpr const char *kFields[] = {
    "infiniband.bth.opcode", "infiniband.bth.destqp",
    "infiniband.bth.psn",    "infiniband.bth.a",
    "infiniband.bth.padcnt", "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",   "infiniband.invariant.crc",
    "ip.checksum.status",    "udp.checksum.status",
    "_ws.malformed",
};

// What tshark tries on any payload.
constexpr const char *kGuesses[] = {"smc",  "smb_direct", "rpcordma",        "nvme-rdma",
                                    "lnet", "iser",       "infiniband.eoib", "infiniband_sdp",
                                    "fcoib"};

std::string tshark_command(const std::string &pcap) {
  std::string command = "tshark -n -r " + pcap +
                        " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields"
                        " -E separator=, -E occurrence=f";
  for (const char *guess : kGuesses)
    command += std::string(" --disable-protocol ") + guess;
  for (const char *field : kFields)
    command += std::string(" -e ") + field;
  return command;
}

std::vector<std::string> split(const std::string &line) {
  std::vector<std::string> words(1);
  for (char c : line)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

// By tshark's proto_checksum_enum_e.
enum Checksum { kGood = 1, kNotPresent = 3, kIllegal = 4 };

void check_checksums(const Sample &s, const std::string &ip, const std::string &udp) {
  const int absent = s.ipv4() ? kNotPresent : kIllegal; // 0 over IPv6, which RoCEv2 allows
  EXPECT_EQ(ip, s.ipv4() ? fmt::format("{}", int{kGood}) : "");
  if (s.path.network == Network::V1)
    EXPECT_EQ(udp, "");
  else
    EXPECT_EQ(udp, fmt::format("{}", s.path.udp_checksum ? kGood : absent));
}

// tshark 4.0 reads an RDETH and all after it four bytes too late; of XRC, FLUSH, ATOMIC
// WRITE and CNP it knows the BTH alone.
bool known_to_tshark(uint8_t opcode) {
  const int transport = opcode & ROCE_TRANSPORT_MASK;
  return (transport == ROCE_RC || transport == ROCE_UC || transport == ROCE_UD) &&
         (opcode & 0x1f) <= 0x17;
}

// tshark writes booleans as words since 4.2.
std::string bit(const std::string &word) {
  return word == "True" ? "1" : word == "False" ? "0" : word;
}

void check_fields(const Sample &s, const std::vector<std::string> &words) {
  const Headers &h = s.headers;
  ASSERT_EQ(words.size(), std::size(kFields));
  EXPECT_EQ(words[0], fmt::format("{}", h.opcode));
  EXPECT_EQ(words[1], fmt::format("{:#08x}", h.dest_qp));
  EXPECT_EQ(words[2], fmt::format("{}", h.psn));
  EXPECT_EQ(bit(words[3]), fmt::format("{}", int{h.ack_req}));
  EXPECT_EQ(words[4], fmt::format("{}", s.frame.layout.pad));
  check_checksums(s, words[8], words[9]);
  if (!known_to_tshark(h.opcode))
    return;
  const bool aeth = s.info() & ROCE_HAS_AETH;
  EXPECT_EQ(words[5], aeth ? fmt::format("{}", h.syndrome) : "");
  EXPECT_EQ(words[6], aeth ? fmt::format("{}", h.msn) : "");
  EXPECT_EQ(words[7], fmt::format("{:#010x}", s.icrc()));
  EXPECT_EQ(words[10], "");
}

TEST_F(PacketAgree, Tshark) {
  if (!has_tshark())
    GTEST_SKIP() << "SKIP: there is no tshark";
  const Printed read = run_command(tshark_command(pcap()));
  ASSERT_EQ(read.status, 0);
  ASSERT_EQ(read.lines.size(), samples_.size());
  for (size_t i = 0; i < samples_.size(); i++) {
    SCOPED_TRACE(samples_[i].name());
    check_fields(samples_[i], split(read.lines[i]));
  }
}

} // namespace
} // namespace xr::test::packet_agree_test
