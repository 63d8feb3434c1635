// SPDX-License-Identifier: Apache-2.0
// Analyzes real captures and compares with the counters of the driver and of tshark.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture_writer.h"

namespace xr::test::analyzer_test {
namespace {

std::string path_of(const std::string &name) {
  const std::string plain = std::string(XR_TEST_DATA "/") + name + ".pcap";
  return std::filesystem::exists(plain) ? plain : plain + ".gz";
}

Analysis run(const std::string &path, const AnalyzeRun &how = {}) {
  Result<Analysis> done = analyze(path, how);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return done ? std::move(done).get() : Analysis{};
}

using Opcodes = std::map<uint32_t, uint64_t>;

// RoCEv1's beside RoCEv2's.
Opcodes opcodes_of(const Snapshot &s) {
  Opcodes counts;
  for (size_t i = 0; i < s.opcodes.size(); i++)
    for (uint64_t packets : s.opcodes[i].packets)
      if (packets)
        counts[i % 256] += packets;
  return counts;
}

uint64_t total(const Snapshot &s) {
  uint64_t sum = 0;
  for (const auto &[opcode, packets] : opcodes_of(s))
    sum += packets;
  return sum;
}

uint64_t sum_of(const Snapshot &s, roce_stream_counters counter) {
  uint64_t sum = 0;
  for (const roce_stream &stream : s.streams)
    sum += roce_stream_counter(&stream, counter);
  return sum;
}

struct Fact {
  std::string name;
  uint64_t frames;
  Opcodes opcodes;
  std::map<std::string, uint64_t> aeth;
};

std::vector<Fact> facts() {
  std::vector<Fact> all;
  std::ifstream file(XR_TEST_DATA "/captures.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    std::istringstream words(line);
    Fact fact;
    std::string opcodes, aeth, item;
    words >> fact.name >> fact.frames >> opcodes >> aeth;
    for (std::istringstream items(opcodes); std::getline(items, item, ',');)
      fact.opcodes[static_cast<uint32_t>(std::stoul(item, nullptr, 16))] =
          std::stoul(item.substr(item.find(':') + 1));
    for (std::istringstream items(aeth); aeth != "-" && std::getline(items, item, ',');)
      fact.aeth[item.substr(0, item.find('='))] = std::stoul(item.substr(item.find('=') + 1));
    all.push_back(fact);
  }
  return all;
}

const char *const kAeth[ROCE_AETH_COUNTS] = {"ack",
                                             "rnr_nak",
                                             "nak_psn_sequence_error",
                                             "nak_invalid_request",
                                             "nak_remote_access_error",
                                             "nak_remote_operational_error",
                                             "nak_invalid_rd_request",
                                             "reserved"};

bool impaired(const std::string &name) {
  for (const char *prefix : {"loss", "reorder", "wire_m1500_drop100_vb_drv_rq-tb"})
    if (name.starts_with(prefix))
      return true;
  return false;
}

TEST(Analyzer, OpcodesSyndromesAndIcrcsOfEveryCapture) {
  const auto all = facts();
  ASSERT_GE(all.size(), 40u);
  for (const Fact &fact : all) {
    SCOPED_TRACE(fact.name);
    const Analysis got = run(path_of(fact.name));
    const Snapshot &s = got.snapshot;
    EXPECT_TRUE(got.troubles.empty());
    EXPECT_FALSE(s.truncated);
    EXPECT_EQ(s.name, path_of(fact.name));
    EXPECT_EQ(s.source, Snapshot::Source::Capture);
    EXPECT_EQ(opcodes_of(s), fact.opcodes);
    EXPECT_EQ(total(s), fact.frames);
    for (int i = 0; i < ROCE_AETH_COUNTS; i++)
      EXPECT_EQ(s.totals.aeth[i], fact.aeth.contains(kAeth[i]) ? fact.aeth.at(kAeth[i]) : 0)
          << kAeth[i];
    EXPECT_EQ(s.icrc.checked, fact.frames);
    EXPECT_EQ(s.icrc.bad, fact.name == "corrupt_rc_send_v4" ? 24u : 0u);
    EXPECT_EQ(s.icrc.zero, 0u);
    EXPECT_EQ(s.totals.frames[ROCE_CLASS_MALFORMED], 0u);
    EXPECT_EQ(s.totals.streams_full + s.totals.streams_contended, 0u);
    uint64_t in_streams = 0;
    for (const roce_stream &stream : s.streams)
      in_streams += roce_stream_packets(&stream);
    EXPECT_EQ(in_streams, fact.frames);
  }
}

TEST(Analyzer, NoGapWithoutLoss) {
  size_t clean = 0;
  for (const Fact &fact : facts()) {
    if (impaired(fact.name))
      continue;
    const Snapshot s = run(path_of(fact.name)).snapshot;
    EXPECT_EQ(sum_of(s, ROCE_GAPS), 0u) << fact.name;
    EXPECT_EQ(sum_of(s, ROCE_SKIPPED), 0u) << fact.name;
    EXPECT_EQ(sum_of(s, ROCE_RESYNCS), 0u) << fact.name;
    clean++;
  }
  EXPECT_GE(clean, 30u);
}

// The driver's counters: NAKs and timeouts of the requester are its rewinds; the wire's drops,
// jumps.
TEST(Analyzer, EqualsTheDriversCounters) {
  const Snapshot loss = run(path_of("loss_rc_send_v4")).snapshot;
  EXPECT_EQ(sum_of(loss, ROCE_REWINDS), 30u);
  EXPECT_GT(sum_of(loss, ROCE_GAPS), 0u);
  EXPECT_EQ(sum_of(loss, ROCE_SKIPPED), sum_of(loss, ROCE_FILLED));
  const Snapshot after = run(path_of("wire_m1500_drop100_vb_drv_rq-tb")).snapshot;
  EXPECT_EQ(sum_of(after, ROCE_REWINDS), 46u);
  EXPECT_EQ(sum_of(after, ROCE_JUMPED), 66u);
  EXPECT_EQ(sum_of(after, ROCE_GAPS), 26u);
  const Snapshot before = run(path_of("wire_m1500_drop100_vb_drv_rq-va")).snapshot;
  EXPECT_EQ(sum_of(before, ROCE_REWINDS), 46u);
  EXPECT_EQ(sum_of(before, ROCE_JUMPED), 0u);
  // UC repeats nothing: 26 were dropped of 400, one of them the last, which nothing shows
  const Snapshot uc = run(path_of("loss_uc_write_only_v4")).snapshot;
  EXPECT_EQ(sum_of(uc, ROCE_SKIPPED) - sum_of(uc, ROCE_FILLED), 25u);
  const Snapshot ect = run(path_of("rc_write_ect_v4")).snapshot;
  EXPECT_EQ(ect.opcodes[ROCE_RC_RDMA_WRITE_FIRST].packets[2], 20u);
}

TEST(Analyzer, SyntheticHasEveryOpcode) {
  const Snapshot s = run(path_of("synthetic_every_opcode")).snapshot;
  EXPECT_EQ(total(s), 193u);
  EXPECT_EQ(s.icrc.checked, 193u);
  EXPECT_EQ(s.icrc.bad, 0u);
  uint64_t v1 = 0;
  for (size_t i = ROCE_OPCODE_COUNT_V1; i < ROCE_OPCODE_COUNTS; i++)
    v1 += s.opcodes[i].packets[0];
  EXPECT_EQ(v1, 193u - 131u);
  EXPECT_GE(opcodes_of(s).size(), 60u);
}

TEST(Analyzer, DropBadIcrc) {
  AnalyzeRun how;
  const Snapshot kept = run(path_of("corrupt_rc_send_v4"), how).snapshot;
  how.options.drop_bad_icrc = true;
  const Snapshot dropped = run(path_of("corrupt_rc_send_v4"), how).snapshot;
  EXPECT_EQ(opcodes_of(dropped), opcodes_of(kept)); // counted all the same
  EXPECT_EQ(dropped.icrc.bad, 24u);
  uint64_t with = 0, without = 0;
  for (const roce_stream &stream : kept.streams)
    with += roce_stream_packets(&stream);
  for (const roce_stream &stream : dropped.streams)
    without += roce_stream_packets(&stream);
  EXPECT_EQ(with - without, 24u);
  // what the receiver saw: gaps that were filled by going back
  EXPECT_GT(sum_of(dropped, ROCE_GAPS), 0u);
  EXPECT_EQ(sum_of(dropped, ROCE_SKIPPED), sum_of(dropped, ROCE_FILLED));
  EXPECT_EQ(sum_of(dropped, ROCE_REWINDS), 12u);
  // and it matters not where there is none
  const Snapshot clean = run(path_of("rping_v4"), how).snapshot;
  EXPECT_EQ(clean.streams.size(), run(path_of("rping_v4")).snapshot.streams.size());
}

TEST(Analyzer, UncheckedAndUntracked) {
  AnalyzeRun how;
  how.options.check_icrc = false;
  how.options.track = false;
  const Snapshot s = run(path_of("corrupt_rc_send_v4"), how).snapshot;
  EXPECT_EQ(s.icrc.checked + s.icrc.bad, 0u);
  EXPECT_TRUE(s.streams.empty());
  EXPECT_FALSE(s.tracked);
  EXPECT_EQ(total(s), 2700u);
}

TEST(Analyzer, ZeroIcrcIsNotBad) {
  PcapWriter file;
  Result<Reader> reader = Reader::open(path_of("rc_zero_len_v4"));
  ASSERT_TRUE(reader.ok());
  CapturedFrame frame;
  while (reader->next(frame) == Next::Frame) {
    FileBytes bytes(frame.data, frame.data + frame.captured);
    // the only UDP frames here are RoCE; all end in an iCRC, at IP's total length
    if (bytes[12] == 8 && bytes[13] == 0 && bytes[23] == 17) {
      const size_t end = 14 + static_cast<size_t>(bytes[16] << 8 | bytes[17]);
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(end) - 4, 4, 0);
    }
    file.packet(bytes);
  }
  const TemporaryFile zeroed(file.bytes);
  const Snapshot s = run(zeroed.path()).snapshot;
  EXPECT_EQ(s.icrc.checked, 40u);
  EXPECT_EQ(s.icrc.zero, 40u);
  EXPECT_EQ(s.icrc.bad, 0u);
}

// ---- the same packets otherwise

// What must be equal. Bytes are not when the link header is another.
void expect_same(const Snapshot &got, const Snapshot &expected, bool bytes) {
  EXPECT_EQ(opcodes_of(got), opcodes_of(expected));
  for (int i = 0; i < ROCE_AETH_COUNTS; i++)
    EXPECT_EQ(got.totals.aeth[i], expected.totals.aeth[i]);
  for (int i = 0; i < ROCE_CLASS_MAX; i++)
    EXPECT_EQ(got.totals.frames[i], expected.totals.frames[i]);
  ASSERT_EQ(got.streams.size(), expected.streams.size());
  for (size_t i = 0; i < got.streams.size(); i++) {
    const roce_stream &a = got.streams[i], &b = expected.streams[i];
    EXPECT_EQ(std::memcmp(&a.key, &b.key, sizeof(a.key)), 0);
    EXPECT_EQ(roce_stream_packets(&a), roce_stream_packets(&b));
    for (int c = 0; c < ROCE_STREAM_COUNTERS; c++)
      EXPECT_EQ(roce_stream_counter(&a, c), roce_stream_counter(&b, c)) << c;
    EXPECT_EQ(a.messages, b.messages);
    if (bytes) {
      EXPECT_EQ(roce_stream_bytes(&a), roce_stream_bytes(&b));
    }
  }
  EXPECT_EQ(got.icrc.bad, expected.icrc.bad);
}

// Only IP: what ARP and their like become is not the point.
Snapshot rewritten(const std::string &name, uint32_t linktype, const FileBytes &header,
                   size_t ethertype_at, size_t snap = ~0u) {
  PcapWriter file(false, linktype);
  Result<Reader> reader = Reader::open(path_of(name));
  CapturedFrame frame;
  while (reader->next(frame) == Next::Frame) {
    const FileBytes whole(frame.data, frame.data + frame.captured);
    if (whole[12] != 0x08 && whole[12] != 0x86)
      continue;
    FileBytes bytes = header;
    if (ethertype_at < header.size())
      std::copy_n(whole.begin() + 12, 2, bytes.begin() + static_cast<ptrdiff_t>(ethertype_at));
    bytes.insert(bytes.end(), whole.begin() + (linktype == 1 ? 0 : 14), whole.end());
    const auto length = static_cast<int64_t>(bytes.size());
    bytes.resize(std::min(bytes.size(), snap));
    file.packet(bytes, 0, 0, length);
  }
  const TemporaryFile copy(file.bytes);
  Analysis got = run(copy.path());
  EXPECT_TRUE(got.troubles.empty());
  return got.snapshot;
}

TEST(Analyzer, LinkTypesGiveTheSame) {
  for (const char *name : {"loss2_rc_atomic_v4", "rc_send_4096_v6", "rping_v4"}) {
    SCOPED_TRACE(name);
    const Snapshot ethernet = rewritten(name, 1, {}, ~0u);
    ASSERT_GT(total(ethernet), 0u);
    FileBytes sll(16, 0xee), sll2(20, 0xee);
    for (const Snapshot &other : {rewritten(name, 113, sll, 14), rewritten(name, 276, sll2, 0),
                                  rewritten(name, 101, {}, ~0u)}) {
      expect_same(other, ethernet, false);
      EXPECT_EQ(other.icrc.checked, ethernet.icrc.checked);
    }
    // a VLAN tag after the cooked header: its ethertype, TCI, then the packet's
    FileBytes tagged(20, 0xee);
    tagged[14] = 0x81;
    tagged[15] = 0x00;
    expect_same(rewritten(name, 113, tagged, 18), ethernet, false);
    tagged = FileBytes(28, 0xee);
    tagged[0] = 0x88;
    tagged[1] = 0xa8;
    tagged[22] = 0x81;
    tagged[23] = 0x00;
    expect_same(rewritten(name, 276, tagged, 26), ethernet, false);
  }
  const Snapshot v4 = rewritten("rping_v4", 228, {}, ~0u);
  EXPECT_EQ(total(v4), 245u);
  const Snapshot v6 = rewritten("rc_send_4096_v6", 229, {}, ~0u);
  EXPECT_EQ(total(v6), 250u);
}

// tshark: one of 8 VXLAN packets has ip.dsfield.ecn 3 outside and 2 inside, and a CNP after it.
TEST(Analyzer, ATunnelsMarkIsThePackets) {
  AnalyzeRun how;
  how.options.decap = 1 << ROCE_TUNNEL_VXLAN;
  const Snapshot s = run(path_of("cases/vxlan_outer_ce_with_cnps"), how).snapshot;
  EXPECT_EQ(1u, s.opcodes[ROCE_RC_RDMA_WRITE_ONLY].packets[ROCE_ECN_CE]);
  EXPECT_EQ(0u, s.totals.not_ect_in_ce);
  EXPECT_EQ(1u, s.totals.cnps_after_ce);
}

// tshark: EtherType 0 in two of four mirrored frames, erspan.truncated 0 in all.
TEST(Analyzer, AnInnerTypeOfZeroIsNotCut) {
  AnalyzeRun how;
  how.options.decap = ROCE_TUNNELS_ALL;
  const Snapshot s = run(path_of("cases/erspan_inner_type_0"), how).snapshot;
  EXPECT_EQ(4u, s.totals.tunnels[ROCE_TUNNEL_ERSPAN]);
  EXPECT_EQ(0u, s.totals.truncated);
}

TEST(Analyzer, SnapLengthAffectsOnlyTheIcrcs) {
  for (const char *name : {"loss_rc_send_v4", "rc_send_4096_v6", "loss_rc_read_v4"}) {
    SCOPED_TRACE(name);
    const Snapshot whole = rewritten(name, 1, {}, ~0u);
    const Snapshot cut = rewritten(name, 1, {}, ~0u, 96);
    expect_same(cut, whole, true);
    EXPECT_LT(cut.icrc.checked, whole.icrc.checked);
  }
}

// Cut anywhere, of any link type: a frame is counted once.
TEST(Analyzer, EverySnapLength) {
  const std::pair<uint32_t, FileBytes> links[] = {
      {1, {}}, {113, FileBytes(16)}, {276, FileBytes(20)}, {101, {}}};
  const Snapshot whole = rewritten("rping_v4", 1, {}, ~0u);
  for (const auto &[linktype, header] : links)
    for (size_t snap = 0; snap < 100; snap++) {
      const Snapshot s = rewritten("rping_v4", linktype, header, linktype == 113 ? 14 : 0, snap);
      uint64_t frames = total(s);
      for (uint64_t n : s.totals.frames)
        frames += n;
      EXPECT_EQ(frames, 245u) << linktype << " " << snap;
      EXPECT_EQ(s.totals.cut, s.totals.frames[ROCE_CLASS_OTHER]) << linktype << " " << snap;
    }
}

TEST(Analyzer, AnotherUdpPort) {
  AnalyzeRun how;
  how.options.udp_port = 4792;
  const Snapshot s = run(path_of("rping_v4"), how).snapshot;
  EXPECT_EQ(total(s), 0u);
  EXPECT_EQ(s.totals.frames[ROCE_CLASS_OTHER], 245u);
}

// ---- how it runs

TEST(Analyzer, TruncatedFileIsReportedUpToItsEnd) {
  const FileBytes whole = read_whole(path_of("rping_v4"));
  const TemporaryFile cut({whole.begin(), whole.end() - 1});
  const Analysis got = run(cut.path());
  EXPECT_EQ(total(got.snapshot), 244u);
  EXPECT_TRUE(got.snapshot.truncated);
  ASSERT_EQ(got.troubles.size(), 1u);
  EXPECT_NE(got.troubles[0].message.find("truncated"), std::string::npos)
      << got.troubles[0].message;

  FileBytes damaged = whole;
  std::fill_n(damaged.begin() + 24 + 8, 4, 0xff); // the first packet's length
  const TemporaryFile bad(damaged);
  const Analysis none = run(bad.path());
  EXPECT_FALSE(none.snapshot.truncated);
  EXPECT_EQ(none.troubles.size(), 1u);
  EXPECT_EQ(total(none.snapshot), 0u);

  EXPECT_FALSE(analyze("/tmp/xr-test-no-such-file", {}).ok());
}

TEST(Analyzer, StopEndsWithTheReportSoFar) {
  const std::atomic<bool> stop = true;
  AnalyzeRun how;
  how.stop = &stop;
  Result<Analysis> got = analyze(path_of("rping_v4"), how); // before the first byte
  EXPECT_FALSE(got.ok() && total(got->snapshot) > 0);

  std::atomic<bool> later = false;
  how.stop = &later;
  how.on_event = [&later](const roce_event &) { later = true; };
  const Analysis part = run(path_of("loss_rc_send_v4"), how);
  EXPECT_TRUE(part.stopped);
  EXPECT_TRUE(part.troubles.empty());
  EXPECT_GT(total(part.snapshot), 0u);
  EXPECT_LT(total(part.snapshot), 5516u);
}

TEST(Analyzer, EventsComeInOrderWithTheirTime) {
  uint64_t gaps = 0, streams = 0, before = 0;
  AnalyzeRun how;
  how.on_event = [&](const roce_event &event) {
    gaps += event.type == ROCE_EVENT_GAP;
    streams += event.type == ROCE_EVENT_STREAM_NEW;
    EXPECT_GE(event.time_ns, before);
    before = event.time_ns;
  };
  const Snapshot s = run(path_of("loss_uc_write_only_v4"), how).snapshot;
  EXPECT_EQ(gaps + s.totals.events_limited, sum_of(s, ROCE_GAPS));
  EXPECT_EQ(streams, s.streams.size());
  EXPECT_GT(before, 1000000000000000000u);
}

TEST(Analyzer, Progress) {
  AnalyzeRun how;
  uint64_t calls = 0, last = 0;
  how.progress_step = 100 << 10;
  how.on_progress = [&](const Reader::Progress &progress) {
    calls++;
    EXPECT_GT(progress.bytes, last);
    EXPECT_LE(progress.bytes, progress.total);
    last = progress.bytes;
  };
  const TemporaryFile plain(read_whole(path_of("loss_rc_send_v4")));
  run(plain.path(), how);
  EXPECT_GE(calls, 5u);
  EXPECT_LE(calls, 18u);
}

// tshark's numeric field; it knows fewer opcodes by name than there are.
TEST(Analyzer, OpcodesAsTsharkCountsThem) {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "tshark is not installed";
  for (const char *name : {"loss_rc_send_v4", "synthetic_every_opcode", "rc_send_4096_v6"}) {
    const std::string command =
        "tshark -r '" + path_of(name) + "' -T fields -e infiniband.bth.opcode 2>/dev/null";
    FILE *out = popen(command.c_str(), "r");
    ASSERT_NE(out, nullptr);
    Opcodes theirs;
    for (char line[64]; fgets(line, sizeof(line), out);)
      if (line[0] != '\n')
        theirs[static_cast<uint32_t>(std::strtoul(line, nullptr, 0))]++;
    ASSERT_EQ(pclose(out), 0) << name;
    EXPECT_EQ(theirs, opcodes_of(run(path_of(name)).snapshot)) << name;
  }
}

} // namespace
} // namespace xr::test::analyzer_test
