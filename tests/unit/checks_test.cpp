// SPDX-License-Identifier: Apache-2.0
// The checks of a set-up: each with made facts that have the fault and that nearly have it; none
// fires on real captures of correct peers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analysis/analyzer.h"
#include "checks/setup.h"
#include "checks/uplinks.h"
#include "report/checks.h"
#include "report/json.h"
#include "report/text.h"

namespace xr::test::checks_test {
namespace {

using Status = SetupCheck::Status;

// What passed between 192.0.2.x.
struct Made {
  Snapshot snapshot;
  Episodes episodes;
  PassiveLatency latency;
  checks::DscpMap dscp_map = checks::DscpMap::unknown();

  static roce_key key(uint8_t from, uint8_t to, uint32_t qp, roce_kind kind) {
    roce_key key{};
    key.src[3] = roce_swap32(0xc0000200u | from);
    key.dst[3] = roce_swap32(0xc0000200u | to);
    key.qp_kind = qp | static_cast<uint32_t>(kind) << ROCE_KIND_SHIFT | ROCE_KEY_IPV4;
    roce_key_fill(&key);
    return key;
  }
  // The index of a new stream, of one packet.
  size_t stream(uint8_t from, uint8_t to, uint32_t qp = 0x11, roce_kind kind = ROCE_KIND_REQUEST) {
    roce_stream stream{};
    stream.key = key(from, to, qp, kind);
    stream.packets = 1;
    snapshot.streams.push_back(stream);
    snapshot.traffic.emplace_back();
    return snapshot.streams.size() - 1;
  }
  // Packets with this TOS in the tag's PCP; 8: untagged.
  PartTraffic &packets(size_t stream, uint64_t count, uint8_t tos, unsigned pcp = 8,
                       TrafficPart part = TrafficPart::Data) {
    PartTraffic &to = snapshot.traffic[stream].of(part);
    to.ecn[tos & 3] += count;
    to.dscps |= uint64_t{1} << (tos >> 2);
    to.pcps = static_cast<uint16_t>(to.pcps | 1u << pcp);
    to.first_frame = 7;
    return to;
  }
  void count(size_t stream, int counter, uint32_t n) {
    roce_stream_count(&snapshot.streams[stream], counter, n);
  }
  void pmtu(size_t stream, uint64_t code) {
    snapshot.streams[stream].word = code << ROCE_WORD_PMTU_SHIFT;
  }
  void ports(size_t stream, uint16_t port) {
    StreamTraffic &traffic = snapshot.traffic[stream];
    traffic.ports[traffic.ports_used++] = port;
  }
  void finding(roce_finding_type type, uint64_t frame) {
    FindingRow &row = episodes.findings.emplace_back();
    row.name.key = key(1, 2, 0x11, ROCE_KIND_REQUEST);
    row.finding.type = type;
    row.finding.frame = frame;
  }
  void episode(roce_cause cause, uint32_t psn, uint32_t missing = 0) {
    EpisodeRow &row = episodes.episodes.emplace_back();
    row.name.key = key(1, 2, 0x11, ROCE_KIND_REQUEST);
    row.episode.cause = cause;
    row.episode.first_missing = psn;
    row.episode.missing = missing;
    row.episode.resent_frame = 70 + episodes.episodes.size();
  }
  void followed() {
    PairRow &row = episodes.pairs.emplace_back();
    row.name.key = key(1, 2, 0x11, ROCE_KIND_REQUEST);
    row.answers = true;
    if (snapshot.streams.empty())
      stream(1, 2);
  }
  SetupCheck check(const std::string &name) const {
    const auto all = checks::check_setup(
        {.snapshot = snapshot, .episodes = &episodes, .latency = &latency, .dscp_map = dscp_map});
    const auto found = std::ranges::find(all, name, &SetupCheck::name);
    EXPECT_NE(found, all.end()) << name;
    return found == all.end() ? SetupCheck{} : *found;
  }
  Status status(const std::string &name) const { return check(name).status; }
};

TEST(Checks, WithoutPacketsNothingIsDecided) {
  for (const SetupCheck &check : checks::check_setup({Snapshot{}})) {
    EXPECT_EQ(check.status, Status::Unknown) << check.name;
    for (const std::string *words : {&check.value, &check.bound, &check.why, &check.change})
      EXPECT_FALSE(words->empty()) << check.name;
  }
}

TEST(Checks, DataIsEct) {
  Made made;
  const size_t one = made.stream(1, 2), two = made.stream(1, 2, 0x12);
  made.packets(one, 50, 0x68);
  EXPECT_EQ(made.status("data_ect"), Status::Unknown); // no ECN in use
  made.packets(two, 50, 0x6a);
  made.snapshot.traffic[one].not_ect_frame = 3;
  EXPECT_EQ(made.status("data_ect"), Status::Warn);
  EXPECT_EQ(made.check("data_ect").frames, std::vector<uint64_t>{3});
  made.packets(one, 1, 0x6b);
  EXPECT_EQ(made.status("data_ect"), Status::Fail); // mixes

  Made right;
  right.packets(right.stream(1, 2), 50, 0x6a);
  right.packets(right.stream(2, 1, 0x11, ROCE_KIND_RESPONSE), 50, 0x68, 8, TrafficPart::Control);
  right.packets(right.stream(1, 2, 0x13, ROCE_KIND_DATAGRAM), 50, 0x68);
  EXPECT_EQ(right.status("data_ect"), Status::Ok); // ACKs and datagrams need no ECT
}

// Without streams' own counts, as of a port: by opcode.
TEST(Checks, DataIsEctByOpcode) {
  Made made;
  made.snapshot.opcodes[ROCE_RC_ACKNOWLEDGE].packets[0] = 9;
  made.snapshot.opcodes[ROCE_UD_SEND_ONLY].packets[0] = 9;
  EXPECT_EQ(made.status("data_ect"), Status::Unknown);
  made.snapshot.opcodes[ROCE_RC_RDMA_WRITE_ONLY].packets[2] = 9;
  EXPECT_EQ(made.status("data_ect"), Status::Ok);
  made.snapshot.opcodes[ROCE_RC_RDMA_WRITE_ONLY].packets[0] = 1;
  EXPECT_EQ(made.status("data_ect"), Status::Warn);
}

TEST(Checks, MarksAreAnswered) {
  Made made;
  const size_t data = made.stream(1, 2);
  made.count(data, ROCE_STREAM_CE, 5);
  EXPECT_EQ(made.status("marks_answered"), Status::Unknown); // one direction
  Made elsewhere = made; // data come back, answers do not: they may take another path
  elsewhere.count(elsewhere.stream(2, 1, 0x31), ROCE_STREAM_CE, 5);
  EXPECT_EQ(elsewhere.status("marks_answered"), Status::Unknown);
  const size_t answers = made.stream(2, 1, 0x21, ROCE_KIND_RESPONSE);
  EXPECT_EQ(made.status("marks_answered"), Status::Fail);
  made.count(answers, ROCE_STREAM_CNPS, 1);
  EXPECT_EQ(made.status("marks_answered"), Status::Ok);
  Made other = made;
  other.finding(ROCE_FINDING_CE_WITHOUT_CNP, 9);
  EXPECT_EQ(other.status("marks_answered"), Status::Fail);
  EXPECT_EQ(other.check("marks_answered").frames, std::vector<uint64_t>{9});
  other = made;
  other.finding(ROCE_FINDING_CNP_WITHOUT_CE, 9);
  EXPECT_EQ(other.status("marks_answered"), Status::Warn);
  made.snapshot.totals.cnps_after_nak = 1;
  EXPECT_EQ(made.status("marks_answered"), Status::Warn);

  // A place before the switch that marks sees CNPs only.
  Made before;
  before.count(before.stream(2, 1, 0x21, ROCE_KIND_RESPONSE), ROCE_STREAM_CNPS, 3);
  before.finding(ROCE_FINDING_CNP_WITHOUT_CE, 9);
  EXPECT_EQ(before.status("marks_answered"), Status::Unknown);
}

TEST(Checks, CnpsHaveTheirClass) {
  const auto with = [](uint8_t tos, unsigned pcp, uint8_t data_tos, unsigned data_pcp) {
    Made made;
    made.packets(made.stream(1, 2), 9, data_tos, data_pcp);
    made.packets(made.stream(2, 1, 0x21, ROCE_KIND_RESPONSE), 2, tos, pcp, TrafficPart::Cnp);
    return made.status("cnp_class");
  };
  EXPECT_EQ(with(48 << 2, 8, 26 << 2, 8), Status::Ok);
  EXPECT_EQ(with(26 << 2, 8, 26 << 2, 8), Status::Warn);
  EXPECT_EQ(with(0, 8, 26 << 2, 8), Status::Warn);
  EXPECT_EQ(with(48 << 2, 3, 26 << 2, 3), Status::Warn);
  EXPECT_EQ(with(48 << 2, 6, 26 << 2, 3), Status::Ok);
  Made none;
  none.packets(none.stream(1, 2), 9, 26 << 2);
  EXPECT_EQ(none.status("cnp_class"), Status::Unknown);
}

TEST(Checks, OneClass) {
  Made made;
  made.packets(made.stream(1, 2), 9, 26 << 2);
  made.packets(made.stream(1, 3, 0x12), 9, 10 << 2); // other hosts
  EXPECT_EQ(made.status("one_class"), Status::Ok);
  const size_t second = made.stream(1, 2, 0x13);
  made.packets(second, 9, 10 << 2);
  EXPECT_EQ(made.status("one_class"), Status::Warn);
  made.packets(second, 9, 12 << 2).other_frame = 12;
  EXPECT_EQ(made.status("one_class"), Status::Fail);
  EXPECT_EQ(made.check("one_class").frames, std::vector<uint64_t>{12});

  Made tags;
  tags.packets(tags.stream(1, 2), 9, 26 << 2, 3);
  tags.packets(tags.stream(1, 2, 0x12), 9, 26 << 2, 4);
  EXPECT_EQ(tags.status("one_class"), Status::Warn);
}

// PFC of one sender for a priority: pauses, releases, and how long in all, within a second.
void add_pfc(Made &made, unsigned priority, uint64_t xoff, uint64_t xon, uint64_t paused_ns = 0) {
  made.snapshot.totals.pfc_xoff[priority] += xoff;
  made.snapshot.totals.pfc_xon[priority] += xon;
  made.snapshot.pfc_senders.frames += xoff + xon;
  PfcSender &sender = made.snapshot.pfc_senders.senders.emplace_back();
  sender.source = {2, 0, 0, 0, 0, 0x2a};
  PfcSender::Row &row = sender.rows[priority];
  row.xoff = xoff;
  row.xon = xon;
  row.paused.paused_ns = paused_ns;
  row.slow.paused_ns = 10 * paused_ns;
  row.last_ns = 500'000'000;
}

TEST(Checks, PfcIsWhereTheDataIs) {
  const auto with = [](unsigned pcp, unsigned priority, uint64_t xon, uint64_t paused_ns) {
    Made made;
    made.snapshot.quantum_ps = 5120;
    made.packets(made.stream(1, 2), 9, 26 << 2, pcp);
    add_pfc(made, priority, 4, xon, paused_ns);
    return made;
  };
  EXPECT_EQ(with(3, 3, 4, 99'000'000).status("pfc_class"), Status::Ok);
  EXPECT_EQ(with(3, 4, 4, 0).status("pfc_class"), Status::Warn);
  Made untagged = with(8, 4, 4, 0);
  EXPECT_EQ(untagged.status("pfc_class"), Status::Unknown); // no map is known
  untagged.dscp_map = checks::read_dscp_map("div8").get();
  EXPECT_EQ(untagged.status("pfc_class"), Status::Warn); // 26 / 8 is 3
  untagged.dscp_map = checks::read_dscp_map("3:3,26:4").get();
  EXPECT_EQ(untagged.status("pfc_class"), Status::Ok);
  untagged.dscp_map = checks::DscpMap::unknown();
  untagged.packets(untagged.stream(1, 3), 9, 26 << 2, 4); // where it is tagged, it shows the map
  EXPECT_EQ(untagged.status("pfc_class"), Status::Ok);
  EXPECT_EQ(with(3, 3, 0, 0).status("pfc_class"), Status::Warn); // never released
  EXPECT_EQ(with(3, 3, 4, 101'000'000).status("pfc_class"), Status::Fail);
  EXPECT_NE(with(3, 3, 4, 101'000'000).check("pfc_class").value.find("02:00:00:00:00:2a"),
            std::string::npos);
  Made speed = with(3, 3, 4, 101'000'000);
  speed.snapshot.quantum_ps = 0;
  EXPECT_EQ(speed.status("pfc_class"), Status::Unknown);
  Made both = with(3, 3, 4, 0);
  add_pfc(both, ROCE_PFC_ALL, 1, 1);
  EXPECT_EQ(both.status("pfc_class"), Status::Fail);
  Made fault = with(3, 3, 4, 0);
  fault.snapshot.pfc_senders.senders[0].faults[0] = {1, 33};
  EXPECT_EQ(fault.status("pfc_class"), Status::Fail);
  EXPECT_EQ(fault.check("pfc_class").frames, std::vector<uint64_t>{33});
}

TEST(Checks, LosslessIsLossless) {
  Made made;
  const size_t data = made.stream(1, 2);
  made.packets(data, 9, 26 << 2, 3);
  made.count(data, ROCE_SKIPPED, 2);
  made.count(data, ROCE_FILLED, 2);
  add_pfc(made, 3, 4, 4);
  EXPECT_EQ(made.status("lossless"), Status::Ok);
  Made again = made; // lost, and sent again
  again.count(data, ROCE_LOST, 5);
  EXPECT_EQ(again.status("lossless"), Status::Fail);
  Made late = made; // and reordered
  late.count(data, ROCE_LATE, 1);
  late.count(data, ROCE_JUMPED, 2);
  EXPECT_EQ(late.status("lossless"), Status::Ok);
  Made after = made; // passed here, and a NAK asked for it
  after.count(data, ROCE_LOST_AFTER, 1);
  EXPECT_EQ(after.status("lossless"), Status::Warn);
  EXPECT_NE(after.check("lossless").value.find("1 lost after this tap"), std::string::npos);
  made.count(data, ROCE_LOST, 1);
  EXPECT_EQ(made.status("lossless"), Status::Fail);
  made.snapshot.totals.pfc_xoff[3] = 0;
  EXPECT_EQ(made.status("lossless"), Status::Unknown); // it may be a class that loses
}

TEST(Checks, PathMtu) {
  Made made;
  const size_t there = made.stream(1, 2), back = made.stream(2, 1, 0x21);
  made.pmtu(there, 3); // 1024
  made.snapshot.traffic[there].largest_payload = 1024;
  EXPECT_EQ(made.status("path_mtu"), Status::Ok);
  made.snapshot.traffic[back].largest_payload = 2047;
  EXPECT_EQ(made.status("path_mtu"), Status::Ok);
  made.snapshot.traffic[back].largest_payload = 2048;
  EXPECT_EQ(made.status("path_mtu"), Status::Warn);
  made.snapshot.traffic[back].largest_payload = 0;
  made.finding(ROCE_FINDING_PMTU, 5);
  EXPECT_EQ(made.status("path_mtu"), Status::Warn);
  made.snapshot.totals.frames[ROCE_CLASS_FRAGMENT] = 1;
  made.snapshot.strays.fragment_frame = 44;
  EXPECT_EQ(made.status("path_mtu"), Status::Fail);
  EXPECT_EQ(made.check("path_mtu").frames, (std::vector<uint64_t>{44, 5}));
}

TEST(Checks, Entropy) {
  Made made;
  const size_t one = made.stream(1, 2, 0x11), two = made.stream(1, 2, 0x12);
  made.packets(one, 9, 0);
  made.ports(one, 50000);
  EXPECT_EQ(made.status("entropy"), Status::Unknown);
  made.packets(two, 9, 0);
  made.ports(two, 50000);
  EXPECT_EQ(made.status("entropy"), Status::Warn);
  made.ports(two, 50001);
  EXPECT_EQ(made.status("entropy"), Status::Ok);
}

// Check values of the catalogue of CRCs, of MurmurHash3 and of FNV.
TEST(Uplinks, HashesAreThoseOfTheirNames) {
  const auto hash = [](const std::string &name, std::string_view text) {
    const auto all = checks::path_hashes();
    const auto found = std::ranges::find_if(all, [&](auto &each) { return each.name == name; });
    return found->of({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  };
  EXPECT_EQ(hash("crc16", "123456789"), 0x29b1u);
  EXPECT_EQ(hash("crc32", "123456789"), 0xcbf43926u);
  EXPECT_EQ(hash("murmur", "hello"), 0x248bfa47u);
  EXPECT_EQ(hash("murmur", "hello, world"), 0x149bbb7fu);
  EXPECT_EQ(hash("fnv", "foobar"), 0xbf9cf968u);
  EXPECT_EQ(hash("xor", "\x12\x34\x56"), 0x12u ^ 0x56u ^ 0x34u);
}

// The busiest of two paths has the larger part of a binomial distribution.
TEST(Uplinks, ExpectationIsTheBinomialOne) {
  for (const uint64_t flows : {1u, 2u, 7u, 40u, 511u}) {
    double mean = 0, chance = 0;
    const uint64_t least = flows * 3 / 5 + 1;
    for (uint64_t n = 0; n <= flows; n++) {
      const auto of = [](uint64_t x) { return std::lgamma(static_cast<double>(x) + 1); };
      const double p =
          std::exp(of(flows) - of(n) - of(flows - n) - static_cast<double>(flows) * std::log(2.0));
      mean += p * static_cast<double>(std::max(n, flows - n));
      chance += std::max(n, flows - n) >= least ? p : 0;
    }
    const checks::Busiest found = checks::busiest_by_chance(flows, 2, least);
    EXPECT_NEAR(found.mean, mean, 1e-6) << flows;
    EXPECT_NEAR(found.chance, chance, 1e-6) << flows;
  }
  // Three flows on three paths: 6 of 27 ways have one each, 3 have all on one.
  EXPECT_NEAR(checks::busiest_by_chance(3, 3, 3).mean, (6 * 1 + 18 * 2 + 3 * 3) / 27.0, 1e-9);
  EXPECT_NEAR(checks::busiest_by_chance(3, 3, 3).chance, 3 / 27.0, 1e-9);
  // There is no step where it is no longer exact.
  EXPECT_NEAR(checks::busiest_by_chance(513, 8, 0).mean, checks::busiest_by_chance(512, 8, 0).mean,
              0.3);
}

TEST(Uplinks, PortsSpreadFlows) {
  Made made;
  for (uint32_t qp = 0; qp < 400; qp++) {
    const size_t stream = made.stream(1, 2, 0x100 + qp);
    made.packets(stream, 9, 0);
    made.snapshot.streams[stream].bytes = 1000;
    made.ports(stream, static_cast<uint16_t>(49152 + qp * 37));
  }
  for (size_t hash = 0; hash < checks::path_hashes().size(); hash++) {
    const checks::UplinkSpread spread = checks::spread_over(made.snapshot, 4, hash);
    EXPECT_EQ(spread.flows, 400u);
    EXPECT_NEAR(spread.busiest_bytes, static_cast<double>(spread.busiest_flows) / 400, 1e-9);
    EXPECT_GT(spread.chance, 0.001) << checks::path_hashes()[hash].name;
  }
  // All on one of the four, as ports that differ in nothing that the hash sees give it.
  Made even;
  for (uint16_t port = 0; port < 8; port++) {
    const size_t stream = even.stream(1, 2, 0x100u + port);
    even.packets(stream, 9, 0);
    even.ports(stream, static_cast<uint16_t>(49152 + 4 * port));
  }
  const auto entropy = [&even](uint32_t paths) {
    const auto all = checks::check_setup({even.snapshot, nullptr, nullptr, paths, 4 /* xor */});
    return *std::ranges::find(all, "entropy", &SetupCheck::name);
  };
  EXPECT_EQ(entropy(4).status, Status::Warn);
  EXPECT_NE(entropy(4).value.find("the busiest has 8 of them"), std::string::npos);
  EXPECT_EQ(entropy(0).status, Status::Ok);
}

TEST(Checks, Versions) {
  Made made;
  made.stream(1, 2);
  made.snapshot.streams[made.stream(1, 3)].key.qp_kind |= ROCE_KEY_V1;
  EXPECT_EQ(made.status("versions"), Status::Ok);
  made.snapshot.streams[made.stream(2, 1)].key.qp_kind |= ROCE_KEY_V1;
  EXPECT_EQ(made.status("versions"), Status::Warn);
}

TEST(Checks, Icrc) {
  Made made;
  const size_t data = made.stream(1, 2);
  made.snapshot.icrc.checked = 5;
  EXPECT_EQ(made.status("icrc"), Status::Ok);
  made.snapshot.totals.frames[ROCE_CLASS_MALFORMED] = 1;
  EXPECT_EQ(made.status("icrc"), Status::Warn);
  made.snapshot.icrc.bad = 1;
  made.snapshot.traffic[data].bad_icrcs = 1;
  made.snapshot.traffic[data].bad_icrc_frame = 4;
  EXPECT_EQ(made.status("icrc"), Status::Fail);
  EXPECT_EQ(made.check("icrc").frames, std::vector<uint64_t>{4});
  EXPECT_NE(made.check("icrc").value.find("192.0.2.1 to 192.0.2.2: 1"), std::string::npos);
}

TEST(Checks, PeersObey) {
  Made made;
  EXPECT_EQ(made.status("go_back_n"), Status::Unknown);
  made.followed();
  made.episode(ROCE_CAUSE_NAK, 5, 2);
  for (const auto type : {ROCE_FINDING_ICRC, ROCE_FINDING_PMTU, ROCE_FINDING_CNP_WITHOUT_CE,
                          ROCE_FINDING_CE_WITHOUT_CNP})
    made.finding(type, 3);
  EXPECT_EQ(made.status("go_back_n"), Status::Ok); // those have checks of their own
  made.finding(ROCE_FINDING_WRONG_PSN, 8);
  EXPECT_EQ(made.status("go_back_n"), Status::Fail);
  EXPECT_EQ(made.check("go_back_n").frames, std::vector<uint64_t>{8});
}

TEST(Checks, NaksThatBringNothing) {
  Made made;
  made.followed();
  for (uint32_t i = 0; i < 5; i++)
    made.episode(ROCE_CAUSE_NAK, i);
  EXPECT_EQ(made.status("go_back_n"), Status::Ok);
  made.episodes.episodes[1].by_timer = made.episodes.episodes[4].by_timer = true;
  EXPECT_EQ(made.status("go_back_n"), Status::Warn);
  EXPECT_TRUE(made.check("go_back_n").value.starts_with("2 of 5 NAKs brought nothing"));
  EXPECT_EQ(made.check("go_back_n").frames, std::vector<uint64_t>{72});
}

// Pairs are remembered from before the time of the check, requests are of that time.
TEST(Checks, AnIdlePortDecidesNothing) {
  Made made;
  made.followed();
  made.snapshot.streams.clear();
  EXPECT_EQ(made.status("retries"), Status::Unknown);
  EXPECT_EQ(made.status("go_back_n"), Status::Unknown);
}

// Without answers only a pause says that a timer did it.
TEST(Checks, RetriesThatNobodyAnswers) {
  Made made;
  made.followed();
  made.episodes.pairs[0].answers = false;
  for (int i = 0; i < 3; i++) {
    made.episode(ROCE_CAUSE_UNKNOWN, 5);
    made.episodes.episodes.back().episode.last_sent_ns = 1'000'000;
    made.episodes.episodes.back().episode.resent_ns = 68'000'000;
  }
  EXPECT_EQ(made.status("retries"), Status::Warn);
  for (EpisodeRow &row : made.episodes.episodes)
    row.episode.resent_ns = 1'100'000;
  EXPECT_EQ(made.status("retries"), Status::Ok);
}

TEST(DscpMap, Words) {
  const checks::DscpMap map = checks::read_dscp_map("3:3,4:4").get();
  EXPECT_EQ(map.priority[3], 3);
  EXPECT_EQ(map.priority[4], 4);
  EXPECT_EQ(map.priority[26], checks::DscpMap::kUnknown);
  EXPECT_EQ(checks::read_dscp_map("div8").get().priority[63], 7);
  for (const char *wrong : {"64:3", "3:8", "3:3,3:4", "3", "nosuchfile"})
    EXPECT_FALSE(checks::read_dscp_map(wrong)) << wrong;
}

TEST(DscpMap, Files) {
  const std::string path = testing::TempDir() + "/xr_dscp_map";
  const auto of = [&path](const std::string &text) {
    std::ofstream(path) << text;
    return checks::read_dscp_map(path);
  };
  EXPECT_EQ(of("3:3 # lossless\n4:4\n").get().priority[4], 4);
  EXPECT_EQ(of(R"({"DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "46": "5"}}})").get().priority[46], 5);
  EXPECT_FALSE(of(R"({"DSCP_TO_TC_MAP": {"A": {"3": "3"}, "B": {"3": "4"}}})"));
  EXPECT_FALSE(of(R"({"DSCP_TO_TC_MAP": {"A": {"3": "9"}}})"));
  std::remove(path.c_str());
}

TEST(Checks, Retries) {
  Made made;
  made.followed();
  made.episode(ROCE_CAUSE_TIMEOUT, 5);
  made.episode(ROCE_CAUSE_TIMEOUT, 6);
  made.episode(ROCE_CAUSE_NAK, 5);
  EXPECT_EQ(made.status("retries"), Status::Ok); // no PSN twice
  made.episode(ROCE_CAUSE_TIMEOUT, 5);
  EXPECT_EQ(made.status("retries"), Status::Warn);
  for (int i = 0; i < 3; i++)
    made.episode(ROCE_CAUSE_TIMEOUT, 5);
  EXPECT_EQ(made.status("retries"), Status::Fail);
  EXPECT_NE(made.check("retries").value.find("2 timeouts from error"), std::string::npos);
  made.episode(ROCE_CAUSE_TIMEOUT, 5);
  EXPECT_NE(made.check("retries").value.find("1 timeout from error"), std::string::npos);

  Made rnr;
  rnr.followed();
  for (uint32_t i = 0; i < 9; i++)
    rnr.episode(ROCE_CAUSE_RNR, i);
  EXPECT_EQ(rnr.status("retries"), Status::Ok);
  rnr.episode(ROCE_CAUSE_RNR, 9);
  EXPECT_EQ(rnr.status("retries"), Status::Warn);
}

TEST(Checks, RoundTrips) {
  const auto with = [](size_t hosts, uint64_t slowest_ns, uint64_t count = 100) {
    Made made;
    for (size_t i = 0; i < hosts; i++) {
      PassiveRow &row = made.latency.streams.emplace_back();
      row.name.key = Made::key(1, static_cast<uint8_t>(2 + i), 0x11, ROCE_KIND_REQUEST);
      row.times = {.kind = ROCE_LATENCY_ACK, .count = count, .p99 = i ? 1000 : slowest_ns};
    }
    if (hosts == 1) {
      EXPECT_EQ(made.check("rtt").value.find("1 pair of hosts with 100"), 0U);
    }
    return made.status("rtt");
  };
  EXPECT_EQ(with(1, 10'000), Status::Unknown);
  EXPECT_EQ(with(4, 10'000), Status::Warn);
  EXPECT_EQ(with(4, 9'999), Status::Ok);
  EXPECT_EQ(with(2, 10'000), Status::Unknown);
  EXPECT_EQ(with(4, 10'000, 99), Status::Unknown);
}

TEST(ChecksReport, TextHasAdviceForWhatWarnsOrFails) {
  const std::vector<SetupCheck> found = {
      {"icrc", Status::Ok, "5 checked", "none", "why-ok", "change-ok"},
      {"rtt", Status::Unknown, "not timed", "ten", "why-unknown", "change-unknown"},
      {"path_mtu",
       Status::Fail,
       "fragments",
       "no fragments",
       "why-fail",
       "change-fail",
       {3, uint64_t{1} << kFileShift | 9}}};
  report::Document document;
  report::add_checks(document, found, {"a.pcap", "b.pcap"});
  const std::string text = report::to_text(document, {});
  for (const char *words : {"icrc", "5 checked", "not timed", "why-fail", "change-fail", "b.pcap"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  for (const char *words : {"why-ok", "change-unknown"})
    EXPECT_EQ(text.find(words), std::string::npos) << words << "\n" << text;
  const auto rows = nlohmann::json::parse(report::to_json(document)).at("checks");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("frames"), nlohmann::json::array());
  EXPECT_EQ(rows[1].at("status"), "unknown");
  EXPECT_EQ(rows[2].at("status"), "fail");
  EXPECT_EQ(rows[2].at("change"), "change-fail");
  EXPECT_EQ(rows[2].at("frames"), (nlohmann::json{3, 9}));
  EXPECT_EQ(rows[2].at("files"), (nlohmann::json{"a.pcap", "b.pcap"}));
}

Analysis analyzed(const std::string &name) {
  AnalyzeRun run;
  run.options.episodes = run.options.passive_latency = run.options.traffic = true;
  auto done = analyze(XR_TEST_DATA "/" + name, run);
  EXPECT_TRUE(done.ok()) << name;
  return done ? std::move(*done) : Analysis{};
}

std::string fired(const Analysis &found) {
  std::string all;
  for (const SetupCheck &check :
       checks::check_setup({found.snapshot, &found.episodes, &found.passive}))
    if (check.status == Status::Warn || check.status == Status::Fail)
      all += check.name + ": " + check.value + "\n";
  return all;
}

// What Soft-RoCE, perftest and rping sent, without an impairment.
TEST(Checks, NoneFiresOnCorrectPeers) {
  for (const char *name : {"m4200_rc_pmtu2048_v6.pcap.gz",
                           "m4200_rc_read_65536_v4.pcap.gz",
                           "mckey_v4.pcap",
                           "pingpong_ud_v4.pcap",
                           "rc_atomic_cas_v4.pcap",
                           "rc_atomic_faa_v6.pcap",
                           "rc_read_4096_v4.pcap.gz",
                           "rc_read_64_v4.pcap",
                           "rc_send_1024_v4.pcap",
                           "rc_send_4096_v6.pcap.gz",
                           "rc_send_cm_v4.pcap",
                           "rc_send_imm_v4.pcap.gz",
                           "rc_send_mtu256_v4.pcap.gz",
                           "rc_send_psnwrap_v4.pcap.gz",
                           "rc_write_1001_odd_v4.pcap",
                           "rc_write_4096_v4.pcap.gz",
                           "rc_write_ect_v4.pcap",
                           "rc_write_q4_v4.pcap.gz",
                           "rc_zero_len_v4.pcap",
                           "rping_v4.pcap",
                           "uc_send_4096_v4.pcap.gz",
                           "uc_write_imm_v6.pcap.gz",
                           "ud_send_64_v6.pcap",
                           "ud_send_imm_v4.pcap",
                           "ud_send_psnwrap_v4.pcap",
                           "udaddy_v4.pcap"})
    EXPECT_EQ(fired(analyzed(name)), "") << name;
}

TEST(Checks, DamagedPacketsOfARealCapture) {
  const std::string all = fired(analyzed("corrupt_rc_send_v4.pcap.gz"));
  EXPECT_NE(all.find("icrc: 24 of 2700 are wrong; 10.77.0.1 to 10.77.0.2: 24"), std::string::npos)
      << all;
}

// tshark: 80 WRITE packets with DSCP 26 and ECT(0), the first in frame 24; 20 ACKs back.
TEST(Checks, TrafficOfARealCapture) {
  const Snapshot s = analyzed("rc_write_ect_v4.pcap").snapshot;
  ASSERT_EQ(s.traffic.size(), s.streams.size());
  ASSERT_EQ(s.traffic.size(), 2u);
  const StreamTraffic &writes = s.traffic[0], &acks = s.traffic[1];
  EXPECT_EQ(writes.of(TrafficPart::Data).ecn, (std::array<uint64_t, 4>{0, 0, 80, 0}));
  EXPECT_EQ(writes.of(TrafficPart::Data).dscps, uint64_t{1} << 26);
  EXPECT_EQ(writes.of(TrafficPart::Data).pcps, 1u << PartTraffic::kUntagged);
  EXPECT_EQ(writes.of(TrafficPart::Data).first_frame, 24u);
  EXPECT_EQ(writes.of(TrafficPart::Data).other_frame, 0u);
  EXPECT_EQ(writes.of(TrafficPart::Control).packets(), 0u);
  EXPECT_EQ(writes.not_ect_frame, 0u);
  EXPECT_EQ(writes.ports_used, 1u);
  EXPECT_EQ(writes.largest_payload, 1024u);
  EXPECT_EQ(acks.of(TrafficPart::Data).packets(), 0u);
  EXPECT_EQ(acks.of(TrafficPart::Control).packets(), 20u);
}

} // namespace
} // namespace xr::test::checks_test
