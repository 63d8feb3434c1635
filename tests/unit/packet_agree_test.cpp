// SPDX-License-Identifier: Apache-2.0
// scapy and tshark read our frames correctly: a capture file with every opcode over every network.
// XR_SEED=n makes another file.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "packet_random.h"

namespace xr::test {
namespace {

using packet::Headers;
using packet::Network;
using packet::Path;

constexpr const char *kPython = "/usr/bin/python3";

struct Sample {
  Path path;
  Headers headers;
  packet::Frame frame;

  uint32_t info() const { return roce_opcode_info[headers.opcode]; }
  bool ipv4() const { return path.network == Network::Ipv4; }
  // As the four bytes are on the wire.
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

void put32(std::ofstream &file, uint32_t value) {
  file.write(reinterpret_cast<const char *>(&value), 4);
}

void write_pcap(const std::string &name, const std::vector<Sample> &samples) {
  std::ofstream file(name, std::ios::binary);
  for (uint32_t word : {0xa1b2c3d4u, 0x00040002u, 0u, 0u, 65535u, 1u}) // 2.4, Ethernet
    put32(file, word);
  for (const Sample &s : samples) {
    const auto length = static_cast<uint32_t>(s.frame.bytes.size());
    for (uint32_t word : {0u, 0u, length, length})
      put32(file, word);
    file.write(reinterpret_cast<const char *>(s.frame.bytes.data()), length);
  }
}

struct Outcome {
  int status = -1;
  std::vector<std::string> lines;
};

Outcome run(const std::string &command) {
  Outcome outcome;
  FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe)
    return outcome;
  std::string line;
  for (int c; (c = fgetc(pipe)) != EOF;)
    if (c == '\n')
      outcome.lines.push_back(std::exchange(line, {}));
    else
      line += static_cast<char>(c);
  outcome.status = pclose(pipe);
  return outcome;
}

class PacketAgree : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/xr-packet-agree-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    samples_ = all_samples();
    write_pcap(pcap(), samples_);
  }
  void TearDown() override {
    for (const std::string &file : {pcap(), script()})
      unlink(file.c_str());
    rmdir(directory_.c_str());
  }

  std::string pcap() const { return directory_ + "/frames.pcap"; }
  std::string script() const { return directory_ + "/read.py"; }

  std::string directory_;
  std::vector<Sample> samples_;
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
  if (run(std::string(kPython) + " -c 'import scapy.contrib.roce'").status)
    GTEST_SKIP() << "SKIP: " << kPython << " has no scapy with scapy.contrib.roce";
  std::ofstream(script()) << kScript;
  const Outcome read = run(fmt::format("{} {} {}", kPython, script(), pcap()));
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
  if (run("tshark --version").status)
    GTEST_SKIP() << "SKIP: there is no tshark";
  const Outcome read = run(tshark_command(pcap()));
  ASSERT_EQ(read.status, 0);
  ASSERT_EQ(read.lines.size(), samples_.size());
  for (size_t i = 0; i < samples_.size(); i++) {
    SCOPED_TRACE(samples_[i].name());
    check_fields(samples_[i], split(read.lines[i]));
  }
}

} // namespace
} // namespace xr::test
