// SPDX-License-Identifier: Apache-2.0
// Several captures as one: the report is that of one file with the same frames, also by several
// jobs.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture/capture_set.h"
#include "capture_writer.h"
#include "directory.h"
#include "report/episodes.h"
#include "report/json.h"
#include "report/latency.h"
#include "report/reports.h"
#include "report/rows.h"

namespace xr::test::capture_set_test {
namespace {

namespace fs = std::filesystem;

struct TakenFrame {
  FileBytes bytes;
  uint64_t ns;
};
using Frames = std::vector<TakenFrame>;

constexpr uint64_t kStart = 1'700'000'000'000'000'000;

std::string path_of(const std::string &name) {
  const std::string plain = std::string(XR_TEST_DATA "/") + name + ".pcap";
  return fs::exists(plain) ? plain : plain + ".gz";
}

// The frames of a capture, begun `after` ns after kStart, between hosts of their own: `hosts` goes
// into an IPv4 address and two bytes of an IPv6 address.
Frames frames_of(const std::string &name, uint8_t hosts, uint64_t after) {
  Frames frames;
  Result<Reader> reader = Reader::open(path_of(name));
  EXPECT_TRUE(reader.ok());
  uint64_t first = 0;
  for (CapturedFrame frame; reader->next(frame) == Next::Frame;) {
    first = first ? first : frame.time_ns;
    FileBytes bytes(frame.data, frame.data + frame.captured);
    const bool ipv4 = bytes.size() > 34 && bytes[12] == 8 && bytes[13] == 0;
    const bool ipv6 = bytes.size() > 54 && bytes[12] == 0x86;
    if (ipv4)
      bytes[28] = bytes[32] = hosts;
    if (ipv6)
      bytes[25] = bytes[41] = hosts;
    frames.push_back({std::move(bytes), kStart + after + frame.time_ns - first});
  }
  return frames;
}

// Six captures with losses, READs, atomics and CM, interleaved.
const std::vector<Frames> &taps() {
  static const std::vector<Frames> all = [] {
    std::vector<Frames> made;
    uint8_t hosts = 1;
    for (const char *name : {"loss_rc_send_v4", "loss_rc_read_v4", "loss2_rc_atomic_v4",
                             "rc_send_cm_v4", "m4200_rc_pmtu2048_v6", "reorder_rc_send_v4"}) {
      made.push_back(frames_of(name, hosts, hosts * 12'345));
      hosts++;
    }
    return made;
  }();
  return all;
}

Frames whole() {
  Frames all;
  for (const Frames &tap : taps())
    all.insert(all.end(), tap.begin(), tap.end());
  std::ranges::stable_sort(all, {}, &TakenFrame::ns);
  return all;
}

class Captures : public Directory {
public:
  std::string write(const std::string &name, const Frames &frames, size_t cut = 0) const {
    PcapWriter file(false, 1, 0xa1b23c4d);
    for (const TakenFrame &frame : frames)
      file.packet(frame.bytes, static_cast<uint32_t>(frame.ns / 1'000'000'000),
                  static_cast<uint32_t>(frame.ns % 1'000'000'000));
    std::ofstream(this->file(name), std::ios::binary)
        .write(reinterpret_cast<const char *>(file.bytes.data()),
               static_cast<std::streamsize>(file.bytes.size() - cut));
    return this->file(name);
  }
};

Analysis run(const std::vector<std::string> &paths, unsigned jobs = 1) {
  AnalyzeRun how;
  how.options.episodes = true;
  how.jobs = jobs;
  Result<Analysis> done = analyze(paths, how);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return done ? std::move(done).get() : Analysis{};
}

// The report, but for the names of files.
std::string report_of(Analysis analysis) {
  analysis.snapshot.name = "captures";
  analysis.snapshot.files.clear();
  if (!analysis.episodes.files.empty())
    for (FindingRow &row : analysis.episodes.findings)
      row.finding.frame = row.finding.other_frame = 1;
  analysis.episodes.files.clear();
  report::Document document = report::analyze_report(analysis.snapshot);
  report::add_latency(document, analysis.latency);
  report::add_episodes(document, analysis.episodes);
  return report::to_json(document);
}

std::string without_finding_frames(Analysis analysis) {
  for (FindingRow &row : analysis.episodes.findings)
    row.finding.frame = row.finding.other_frame = 1;
  return report_of(std::move(analysis));
}

TEST(CaptureSet, TapsAreOneCapture) {
  const Captures at;
  const std::string one = at.write("one.pcap", whole());
  std::vector<std::string> paths;
  for (size_t i = 0; i < taps().size(); i++)
    paths.push_back(at.write("tap" + std::to_string(i) + ".pcap", taps()[i]));
  const std::string expected = without_finding_frames(run({one}));
  EXPECT_NE(expected.find("\"cause\":\"nak\""), std::string::npos);
  EXPECT_EQ(report_of(run(paths)), expected);
  std::ranges::reverse(paths);
  EXPECT_EQ(report_of(run(paths)), expected);
}

// Files of a ring, of which streams cross the borders; also out of order.
TEST(CaptureSet, ARingIsOneCapture) {
  const Captures at;
  const Frames all = whole();
  const std::string one = at.write("one.pcap", all);
  std::vector<std::string> paths;
  constexpr size_t kFiles = 7;
  for (size_t i = 0; i < kFiles; i++)
    paths.push_back(
        at.write("ring" + std::to_string(i) + ".pcap",
                 Frames(all.begin() + static_cast<ptrdiff_t>(all.size() * i / kFiles),
                        all.begin() + static_cast<ptrdiff_t>(all.size() * (i + 1) / kFiles))));
  const std::string expected = without_finding_frames(run({one}));
  EXPECT_EQ(report_of(run(paths)), expected);
  std::swap(paths[0], paths[5]);
  std::swap(paths[2], paths[3]);
  EXPECT_EQ(report_of(run(paths)), expected);
}

// Frames of findings and events are named by their file and their number there.
TEST(CaptureSet, FramesHaveTheirFileAndNumber) {
  const Captures at;
  const std::vector<std::string> paths = {at.write("b.pcap", taps()[1]),
                                          at.write("a.pcap", taps()[0])};
  auto set = CaptureSet::open(paths);
  ASSERT_TRUE(set.ok());
  uint64_t last = 0;
  std::vector<uint64_t> numbers(2);
  CapturedFrame frame;
  while (set->next(frame) == Next::Frame) {
    EXPECT_GE(frame.time_ns, last);
    last = frame.time_ns;
    ASSERT_LT(frame.file, 2u);
    EXPECT_EQ(frame.number, ++numbers[frame.file]);
    EXPECT_EQ(frame.captured, taps()[1 - frame.file][frame.number - 1].bytes.size());
  }
  EXPECT_EQ(numbers[0], taps()[1].size());
  EXPECT_EQ(numbers[1], taps()[0].size());
}

// One that is cut short does not end the others.
TEST(CaptureSet, TheRestOfATruncatedSet) {
  const Captures at;
  const Analysis both = run({at.write("cut.pcap", taps()[0], 10), at.write("b.pcap", taps()[1])});
  ASSERT_EQ(both.troubles.size(), 1u);
  EXPECT_NE(both.troubles[0].message.find("cut.pcap: truncated"), std::string::npos)
      << both.troubles[0].message;
  EXPECT_TRUE(both.snapshot.truncated);
  const auto packets = [](const Analysis &analysis) {
    uint64_t sum = 0;
    for (const roce_stream &stream : analysis.snapshot.streams)
      sum += roce_stream_packets(&stream);
    return sum;
  };
  const Frames before(taps()[0].begin(), taps()[0].end() - 1);
  EXPECT_EQ(packets(both), packets(run({at.write("x.pcap", before)})) +
                               packets(run({at.write("y.pcap", taps()[1])})));
}

TEST(CaptureSet, ReadsTheCapturesOfADirectory) {
  const Captures at;
  const std::string b = at.write("b.pcapng", taps()[0]), a = at.write("a.pcap", taps()[1]);
  at.write("c.pcap.gz", taps()[1]);
  at.write("notes.txt", {});
  const Captures elsewhere;
  const std::string d = elsewhere.write("d.pcap", taps()[0]);
  const auto found = capture_paths({at.path(), d});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found.get(), (std::vector<std::string>{a, b, at.path() + "/c.pcap.gz", d}));
  const Captures empty;
  const auto none = capture_paths({empty.path()});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, empty.path() + ": no captures in this directory");
}

// Its packets would count twice: by the same name, by another path, in a directory, by a link.
TEST(CaptureSet, AFileIsReadOnce) {
  const Captures at;
  const std::string a = at.write("a.pcap", taps()[0]), b = at.write("b.pcap", taps()[0]);
  EXPECT_TRUE(capture_paths({a, b}).ok()); // other files with the same content
  const auto named = capture_paths({a, b, a});
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().message, a + " is given twice");
  const std::string other = at.path() + "/./a.pcap";
  const auto path = capture_paths({a, other});
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().message, a + " and " + other + " are the same file");
  EXPECT_FALSE(capture_paths({at.path(), b}).ok());
  const Captures links;
  const std::string symbolic = links.path() + "/s.pcap", hard = links.path() + "/h.pcap";
  std::filesystem::create_symlink(a, symbolic);
  EXPECT_FALSE(capture_paths({a, symbolic}).ok());
  std::filesystem::create_hard_link(a, hard);
  EXPECT_FALSE(capture_paths({a, hard}).ok());
}

TEST(CaptureSet, StandardInputIsReadAlone) {
  const Captures at;
  const auto refused = CaptureSet::open({at.write("a.pcap", taps()[0]), "-"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "standard input is read alone");
  EXPECT_FALSE(CaptureSet::open({at.path() + "/none.pcap", at.path() + "/a.pcap"}).ok());
}

std::string rows_of(const report::Document &document, const char *table, report::RowFormat format) {
  std::string out;
  const report::Group same = {{{"host", ""}, std::string("a,b")}, {{"run", ""}, std::string("1")}};
  EXPECT_TRUE(report::write_rows(document, table, format, same, [&out](std::string_view text) {
    out += text;
    return true;
  }));
  return out;
}

TEST(Rows, AreTheTableOfTheReport) {
  report::Document document;
  document.sections.push_back(
      {"streams", "",
       report::make_table({{"src", "SOURCE"},
                           {"text", "ONLY TEXT", report::Format::Text, report::Hide::Never,
                            report::Tone::Plain, report::Where::Text},
                           {"gaps", "GAPS", report::Format::Count},
                           {"findings", "FINDINGS"}},
                          {{std::string("192.0.2.1"), std::string("x"), uint64_t{1234},
                            report::StringList{"a", "b"}},
                           {std::string("say \"no\""), std::string("x"), report::Value{},
                            report::StringList{}}})});
  EXPECT_EQ(rows_of(document, "streams", report::RowFormat::Csv),
            "host,run,src,gaps,findings\n"
            "\"a,b\",1,192.0.2.1,1234,a;b\n"
            "\"a,b\",1,\"say \"\"no\"\"\",,\n");
  EXPECT_EQ(rows_of(document, "streams", report::RowFormat::Ndjson),
            "{\"host\":\"a,b\",\"run\":\"1\",\"src\":\"192.0.2.1\",\"gaps\":1234,\"findings\":"
            "[\"a\",\"b\"]}\n"
            "{\"host\":\"a,b\",\"run\":\"1\",\"src\":\"say \\\"no\\\"\",\"gaps\":null,\"findings\":"
            "[]}\n");
}

} // namespace
} // namespace xr::test::capture_set_test
