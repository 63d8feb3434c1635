// SPDX-License-Identifier: Apache-2.0
// Source QPNs learnt from real captures, compared with the pairs of QPs found in the whole capture.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "roce/cm.h"

namespace xr::test::learn_captures_test {
namespace {

std::string path_of(const std::string &name) {
  const std::string plain = std::string(XR_TEST_DATA "/") + name + ".pcap";
  return std::filesystem::exists(plain) ? plain : plain + ".gz";
}

std::vector<std::string> captures() {
  std::vector<std::string> names;
  std::ifstream file(XR_TEST_DATA "/captures.txt");
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#'))
      names.push_back(line.substr(0, line.find(' ')));
  return names;
}

using Address = std::array<uint32_t, 4>;

// A stream: from, to, DestQP.
struct End {
  Address from, to;
  uint32_t qp;
  auto operator<=>(const End &) const = default;
};

End end_of(const roce_key &key) {
  roce_key whole = key;
  roce_key_fill(&whole);
  End end{{}, {}, roce_key_qp(&key)};
  std::copy(std::begin(whole.src), std::end(whole.src), end.from.begin());
  std::copy(std::begin(whole.dst), std::end(whole.dst), end.to.begin());
  return end;
}

struct Requests {
  size_t packets = 0, asked = 0; // with AckReq
  std::set<uint32_t> psns, asked_psns;
};

// Facts from one look at all of a capture's RC and XRC packets.
struct Facts {
  std::map<End, Requests> requests;
  std::map<End, std::vector<uint32_t>> answers; // PSNs, in order
  size_t acks = 0;
  // by RDMA CM: the QP of a message's sender, by both hosts and comm ID; and whose reply has which
  std::map<std::tuple<Address, Address, uint32_t>, uint32_t> asking;
  std::map<End, uint32_t> by_cm; // sender's QP of a stream
};

bool answers(const roce_packet &p) {
  const unsigned operation = p.opcode & 0x1f;
  if (operation == 0x11)
    return p.syndrome >> 5 == 0;
  return operation == 0x0d || operation == 0x10 || operation == 0x12;
}

void look_at_cm(Facts &facts, const roce_packet &p, const CapturedFrame &frame) {
  roce_cm cm{};
  roce_parse_cm(frame.data + p.bth, frame.data + frame.captured, &cm);
  const End end = end_of(p.key);
  if (cm.attribute == ROCE_CM_ATTR_REQ)
    facts.asking[{end.from, end.to, cm.local_id}] = cm.qpn;
  if (cm.attribute != ROCE_CM_ATTR_REP)
    return;
  const auto asked = facts.asking.find({end.to, end.from, cm.remote_id});
  if (asked == facts.asking.end())
    return;
  facts.by_cm[{end.to, end.from, cm.qpn}] = asked->second;
  facts.by_cm[{end.from, end.to, asked->second}] = cm.qpn;
}

Facts look_at(const std::string &path) {
  Facts facts;
  const NativeDatapath parser({});
  auto reader = Reader::open(path);
  EXPECT_TRUE(reader.ok()) << path;
  CapturedFrame frame;
  while (reader && reader->next(frame) == Next::Frame) {
    roce_packet p{};
    const roce_class class_ = parser.parse({frame.data, frame.captured, frame.length, 0}, p);
    if ((class_ != ROCE_CLASS_V2 && class_ != ROCE_CLASS_V1) || frame.link != Link::Ethernet)
      continue;
    if (p.opcode == 0x64 && roce_is_gsi(&p))
      look_at_cm(facts, p, frame);
    if (p.opcode >> 5 != 0 && p.opcode >> 5 != 5)
      continue;
    facts.acks += (p.opcode & 0x1f) == 0x11;
    if (p.info & ROCE_OP_REQUEST) {
      Requests &r = facts.requests[end_of(p.key)];
      r.packets++;
      r.asked += p.ack_req;
      r.psns.insert(p.psn);
      if (p.ack_req)
        r.asked_psns.insert(p.psn);
    } else if (answers(p)) {
      facts.answers[end_of(p.key)].push_back(p.psn);
    }
  }
  return facts;
}

// How many of the PSNs are in the set.
size_t hits(const std::vector<uint32_t> &psns, const std::set<uint32_t> &in) {
  return static_cast<size_t>(
      std::count_if(psns.begin(), psns.end(), [&in](uint32_t psn) { return in.contains(psn); }));
}

struct Truth {
  std::optional<uint32_t> qp;
  std::string how;
};

/*
 * Whose stream it is: RDMA CM says so; or only one QP is answered the other way; or of all those
 * that are, only one has none but answers with this stream's PSNs.
 */
Truth truth_of(const Facts &facts, const End &stream) {
  if (const auto cm = facts.by_cm.find(stream); cm != facts.by_cm.end())
    return {cm->second, "CM"};
  const Requests &requests = facts.requests.at(stream);
  std::vector<uint32_t> all, fitting;
  for (const auto &[end, psns] : facts.answers) {
    if (end.from != stream.to || end.to != stream.from)
      continue;
    all.push_back(end.qp);
    if (hits(psns, requests.psns) == psns.size())
      fitting.push_back(end.qp);
  }
  size_t connections = 0;
  for (const auto &[end, r] : facts.requests)
    connections += end.from == stream.from && end.to == stream.to;
  if (all.size() == 1 && connections == 1)
    return {all[0], "the only one"};
  if (fitting.size() == 1)
    return {fitting[0], "by PSNs"};
  return {std::nullopt, all.empty() ? "no answers" : "ambiguous"};
}

// PSNs asked with that were answered to the QP.
size_t answered(const Facts &facts, const End &stream, uint32_t qp) {
  const auto found = facts.answers.find({stream.to, stream.from, qp});
  if (found == facts.answers.end())
    return 0;
  const std::set<uint32_t> once(found->second.begin(), found->second.end());
  return hits({once.begin(), once.end()}, facts.requests.at(stream).asked_psns);
}

class LearnFromCaptures : public testing::Test {
protected:
  // Gives how many streams were learnt, of how many that could be.
  void check(const std::string &name) {
    SCOPED_TRACE(name);
    const Facts facts = look_at(path_of(name));
    const Result<Analysis> analysis = analyze(path_of(name), {});
    ASSERT_TRUE(analysis.ok());
    for (const roce_stream &s : analysis.get().snapshot.streams) {
      const End end = end_of(s.key);
      const bool known = s.flags & ROCE_STREAM_SRC_QP;
      if (roce_key_kind(&s.key) == ROCE_KIND_REQUEST && facts.requests.contains(end))
        check_requests(name, facts, end, known ? std::optional<uint32_t>(s.src_qp) : std::nullopt);
      if (roce_key_kind(&s.key) == ROCE_KIND_RESPONSE && known)
        check_answers(facts, end, s.src_qp);
    }
  }

  static void check_requests(const std::string &name, const Facts &facts, const End &end,
                             std::optional<uint32_t> known) {
    const Truth truth = truth_of(facts, end);
    const size_t evidence = truth.qp ? answered(facts, end, *truth.qp) : 0;
    const Requests &r = facts.requests.at(end);
    printf("%-34s to %06x %5zu requests %5zu AckReq %5zu answered  src_qp %-8s (%s)\n",
           name.c_str(), end.qp, r.packets, r.asked, evidence,
           known ? fmt::format("{:06x}", *known).c_str() : "unknown", truth.how.c_str());
    if (known) {
      EXPECT_TRUE(truth.qp.has_value()) << fmt::format("{:x}", end.qp);
      EXPECT_EQ(known, truth.qp) << fmt::format("{:x}", end.qp);
    }
    if (evidence >= ROCE_VOTES_NEEDED || truth.how == "CM") {
      EXPECT_TRUE(known.has_value()) << fmt::format("{:x}", end.qp);
    }
  }

  // The sender of answers has the QP that the requests to it go to.
  static void check_answers(const Facts &facts, const End &end, uint32_t known) {
    for (const auto &[stream, requests] : facts.requests)
      if (stream.from == end.to && stream.to == end.from && truth_of(facts, stream).qp == end.qp) {
        EXPECT_EQ(known, stream.qp) << fmt::format("answers to {:x}", end.qp);
      }
  }
};

TEST_F(LearnFromCaptures, EveryRcCapture) {
  const auto names = captures();
  ASSERT_GE(names.size(), 40U);
  for (const std::string &name : names)
    check(name);
}

// All at once, one after the other and packet by packet in turn: between the same hosts, most of
// them. What is learnt is the same or less, and never wrong.
TEST_F(LearnFromCaptures, AllTogether) {
  std::vector<Facts> facts;
  std::vector<Reader> readers;
  for (const std::string &name : captures()) {
    if (name == "synthetic_every_opcode")
      continue;
    facts.push_back(look_at(path_of(name)));
    auto reader = Reader::open(path_of(name));
    ASSERT_TRUE(reader.ok());
    readers.push_back(std::move(reader).get());
  }
  // A stream's true sender, where all captures that have the stream agree.
  std::map<End, std::set<uint32_t>> truth;
  for (const Facts &of_one : facts)
    for (const auto &[end, requests] : of_one.requests)
      if (const Truth t = truth_of(of_one, end); t.qp)
        truth[end].insert(*t.qp);
  NativeDatapath accountant({});
  std::vector<bool> over(readers.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < readers.size(); i++) {
      CapturedFrame frame;
      if (over[i] || readers[i].next(frame) != Next::Frame) {
        over[i] = true;
        continue;
      }
      more = true;
      accountant.frame({frame.data, frame.captured, frame.length, frame.time_ns});
    }
  }
  Snapshot snapshot;
  accountant.snapshot(snapshot);
  size_t known = 0, shared = 0;
  for (const roce_stream &s : snapshot.streams) {
    const auto found = truth.find(end_of(s.key));
    if (roce_key_kind(&s.key) != ROCE_KIND_REQUEST || !(s.flags & ROCE_STREAM_SRC_QP) ||
        found == truth.end())
      continue;
    known++;
    shared += found->second.size() > 1;
    EXPECT_TRUE(found->second.contains(s.src_qp))
        << fmt::format("to {:x}: {:x}", roce_key_qp(&s.key), uint32_t{s.src_qp});
  }
  printf("together: %zu of %zu streams learnt, %zu of them with several lives\n", known,
         truth.size(), shared);
  EXPECT_GT(known, truth.size() / 2);
}

} // namespace
} // namespace xr::test::learn_captures_test
