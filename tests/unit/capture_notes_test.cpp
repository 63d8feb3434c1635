// SPDX-License-Identifier: Apache-2.0
// What capture files say about themselves: link types, tags of cooked frames, units of time,
// packets that the capture dropped.
#include <filesystem>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "drain.h"
#include "report/reports.h"
#include "report/text.h"

namespace xr::test::capture_notes_test {
namespace {

std::string path_of(const std::string &name) { return XR_TEST_DATA "/" + name + ".pcap"; }

Snapshot analyzed(const std::string &path, const AnalyzeRun &how = {}) {
  Result<Analysis> done = analyze(path, how);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return done ? done->snapshot : Snapshot{};
}

CaptureNotes notes_of(const Writer &file, size_t chunk = 64 << 10, const ReadOptions &how = {}) {
  Result<Reader> reader = Reader::from_memory(file.bytes, chunk, how);
  EXPECT_TRUE(reader.ok());
  CapturedFrame frame;
  while (reader->next(frame) == Next::Frame)
    ;
  return reader->notes();
}

uint64_t packets_of_pcp(const Snapshot &s, int pcp) {
  return s.classes.at(static_cast<size_t>(ROCE_CLASS_PCP + pcp)).packets;
}

// tshark -T fields -e vlan.priority: 4 in each of the six frames.
TEST(CaptureNotes, TagsOfCookedFramesHaveTheirPcp) {
  AnalyzeRun in_tunnels;
  in_tunnels.options.decap = ROCE_TUNNELS_ALL;
  for (const AnalyzeRun &how : {AnalyzeRun{}, in_tunnels}) {
    const Snapshot s = analyzed(path_of("links/sll_vlan_pcp4"), how);
    EXPECT_EQ(6u, packets_of_pcp(s, 4));
    EXPECT_EQ(0u, s.classes[ROCE_CLASS_UNTAGGED].packets);
  }
}

// Frames after a header of SLL2, of 20 bytes with the protocol first; the second tag's
// PCP is not the frame's.
TEST(CaptureNotes, TagsOfSll2FramesHaveTheirPcp) {
  Result<Reader> reader = Reader::open(path_of("links/sll_vlan_pcp4"));
  ASSERT_TRUE(reader.ok());
  PcapWriter file(false, 276);
  CapturedFrame frame;
  while (reader->next(frame) == Next::Frame) {
    FileBytes bytes(20, 0);
    bytes[0] = 0x88;
    bytes[1] = 0xa8;
    bytes.insert(bytes.end(), {0xa0, 0x05, 0x81, 0x00}); // PCP 5
    bytes.insert(bytes.end(), frame.data + 16, frame.data + frame.captured);
    file.packet(bytes);
  }
  const TemporaryFile copy(file.bytes);
  const Snapshot s = analyzed(copy.path());
  EXPECT_EQ(6u, packets_of_pcp(s, 5));
  EXPECT_EQ(0u, packets_of_pcp(s, 4));
}

TEST(CaptureNotes, LinkTypes12And14AreRawIp) {
  const Snapshot twelve = analyzed(path_of("links/raw_link_type_12"));
  EXPECT_EQ(2u, twelve.streams.size()) << "tshark: two pairs of address and QP";
  FileBytes bytes = read_whole(path_of("links/raw_link_type_12"));
  for (const uint8_t type : {14, 101}) {
    bytes.at(20) = type;
    const TemporaryFile copy(bytes);
    const Snapshot s = analyzed(copy.path());
    EXPECT_EQ(s.totals.bytes, twelve.totals.bytes);
    ASSERT_EQ(2u, s.streams.size()) << int{type};
    EXPECT_EQ(roce_stream_packets(&s.streams[0]), roce_stream_packets(&twelve.streams.at(0)));
  }
}

std::string text_of(const Snapshot &s) {
  return report::to_text(report::analyze_report(s, {}), {});
}

TEST(CaptureNotes, FractionsOfNanosecondsInAFileOfMicroseconds) {
  const Snapshot wrong = analyzed(path_of("ns_in_us_file"));
  EXPECT_EQ(8u, wrong.notes.fractions_over_us);
  EXPECT_NE(text_of(wrong).find("add --fraction ns"), std::string::npos) << text_of(wrong);
  AnalyzeRun how;
  how.read.fraction_ns = true;
  const Snapshot right = analyzed(path_of("ns_in_us_file"), how);
  EXPECT_EQ(0u, right.notes.fractions_over_us + right.notes.fractions_over_ns);
  EXPECT_EQ(text_of(right).find("--fraction"), std::string::npos);
}

TEST(CaptureNotes, FractionsAreReadAsNanoseconds) {
  for (const uint16_t minor : {4, 3}) // the second through libpcap
    for (const uint32_t fraction : {999999u, 1000000u, 999999999u, 1000000000u}) {
      PcapWriter file(false, 1, 0xa1b2c3d4, 262144, minor);
      file.packet(data(60), 7, fraction);
      EXPECT_EQ(notes_of(file).fractions_over_us, fraction > 999999) << fraction << " " << minor;
      const CaptureNotes as_ns = notes_of(file, 64 << 10, {.fraction_ns = true});
      EXPECT_EQ(as_ns.fractions_over_us, 0u);
      EXPECT_EQ(as_ns.fractions_over_ns, fraction > 999999999) << fraction << " " << minor;
      const Outcome got = drain(Reader::from_memory(file.bytes, 64 << 10, {.fraction_ns = true}));
      EXPECT_EQ(got.frames.at(0).time_ns, 7000000000 + fraction) << minor;
    }
  EXPECT_EQ(
      notes_of(PcapWriter(true, 1, 0xa1b23c4d).packet(data(60), 1, 1000000000)).fractions_over_ns,
      1u);
}

PcapngWriter::Options counters(bool big, std::initializer_list<std::pair<uint16_t, uint64_t>> all) {
  PcapngWriter::Options options;
  for (const auto &[code, value] : all)
    options.push_back({code, Writer(big).u64(value).bytes});
  return options;
}

// pcapng, 4.6: isb_ifrecv 4, isb_ifdrop 5, isb_osdrop 7; 4.3: epb_dropcount 4.
void statistics(PcapngWriter &file, bool big, uint32_t interface,
                std::initializer_list<std::pair<uint16_t, uint64_t>> all) {
  Writer body(big);
  body.u32(interface).u32(0).u32(0);
  for (const auto &[code, bytes] : counters(big, all))
    body.u16(code).u16(8).raw(bytes);
  body.u32(0);
  file.block(5, body);
}

TEST(CaptureNotes, WhatACaptureDroppedItself) {
  for (const bool big : {false, true}) {
    PcapngWriter file(big);
    file.interface(1, 0, {{2, {'e', 't', 'h', '0'}}}).interface().interface().interface();
    statistics(file, big, 0, {{4, 10}, {5, 1}}); // so far: the next one counts further
    file.packet(data(60), 0, 0).packet(data(60), 0, 2, -1, counters(big, {{4, 5}}));
    file.packet(data(60), 0, 2, -1, counters(big, {{4, 6}}));
    statistics(file, big, 0, {{4, 100}, {5, 3}, {7, 20}});
    statistics(file, big, 1, {{4, 50}, {5, 0}});
    statistics(file, big, 9, {{5, 1000}}); // of no interface
    file.section(!big).interface();
    statistics(file, !big, 0, {{7, 400}});
    for (const size_t chunk : {size_t{7}, size_t{65536}}) {
      const CaptureNotes notes = notes_of(file, chunk);
      EXPECT_TRUE(notes.has_dropped);
      EXPECT_EQ(3u + 20 + 5 + 6 + 400, notes.dropped);
      ASSERT_EQ(4u, notes.interfaces.size()) << "one says nothing";
      const CapturedInterface &first = notes.interfaces[0];
      EXPECT_EQ("eth0", first.name);
      EXPECT_EQ(100u, first.received);
      EXPECT_EQ(3u, first.dropped);
      EXPECT_EQ(20u, first.os_dropped);
      EXPECT_TRUE(notes.interfaces[1].has_dropped);
      EXPECT_EQ(0u, notes.interfaces[1].lost());
      EXPECT_FALSE(notes.interfaces[1].has_os_dropped);
      EXPECT_EQ(2u, notes.interfaces[2].number);
      EXPECT_EQ(11u, notes.interfaces[2].dropped_between);
      EXPECT_EQ(1u, notes.interfaces[3].section);
      EXPECT_EQ(400u, notes.interfaces[3].os_dropped);
    }
  }
}

// The packet block of before 2011 has 16 bits for it, 0xffff: not known.
TEST(CaptureNotes, OldPacketBlocksCountDrops) {
  PcapngWriter file;
  file.interface().old_packet(data(60));
  EXPECT_FALSE(notes_of(file).has_dropped);
  Writer body;
  body.u16(0).u16(12).u64(0).u32(60).u32(60).raw(data(60));
  file.block(2, body);
  EXPECT_EQ(12u, notes_of(file).dropped);
}

TEST(CaptureNotes, RowsOfInterfacesAreBounded) {
  PcapngWriter file;
  for (uint32_t i = 0; i < 300; i++) {
    file.interface();
    statistics(file, false, i, {{5, 2}});
  }
  const CaptureNotes notes = notes_of(file);
  EXPECT_EQ(CaptureNotes::kInterfaces, notes.interfaces.size());
  EXPECT_EQ(300 - CaptureNotes::kInterfaces, notes.interfaces_more);
  EXPECT_EQ(600u, notes.dropped);
}

TEST(CaptureNotes, SeveralCapturesAreAddedUp) {
  PcapngWriter one, two, empty;
  one.interface().packet(data(60));
  statistics(one, false, 0, {{5, 1}});
  two.interface().packet(data(60));
  statistics(two, false, 0, {{7, 2}});
  empty.interface();
  statistics(empty, false, 0, {{5, 4}});
  const TemporaryFile first(one.bytes), second(two.bytes), third(empty.bytes);
  for (const unsigned jobs : {1u, 3u}) {
    AnalyzeRun how;
    how.jobs = jobs;
    Result<Analysis> done = analyze({first.path(), second.path(), third.path()}, how);
    ASSERT_TRUE(done.ok());
    const CaptureNotes &notes = done->snapshot.notes;
    EXPECT_EQ(7u, notes.dropped);
    ASSERT_EQ(3u, notes.interfaces.size());
    EXPECT_EQ(2u, notes.interfaces[0].file) << "without packets: looked at first";
    const std::string text = text_of(done->snapshot);
    EXPECT_NE(text.find("packets dropped by the capture itself"), std::string::npos) << text;
    EXPECT_NE(text.find(second.path()), std::string::npos) << text;
  }
}

} // namespace
} // namespace xr::test::capture_notes_test
