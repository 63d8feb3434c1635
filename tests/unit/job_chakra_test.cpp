// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces as jobs: bytes of astra-sim's samples, traces written here by the schema,
// refusals, and times of runs by hand.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "directory.h"
#include "job/chakra.h"
#include "job_run.h"

namespace xr::job_chakra_test {
namespace {

using job::ChakraFile;
using job::Job;
using job::Need;
using Kind = job::Operation::Kind;

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string text(unsigned field, const std::string &bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number(unsigned field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string message(const std::string &bytes) { return varint(bytes.size()) + bytes; }
std::string attribute(const std::string &name, const std::string &value) {
  return text(10, text(1, name) + value);
}
// Fields of AttributeProto: int32 7, int64 9, uint64 13, bool 27, string 29.
std::string whole(const std::string &name, uint64_t value) {
  return attribute(name, number(9, value));
}

std::string metadata() { return message(text(1, "0.0.4")); }

std::string node(uint64_t id, unsigned type, const std::string &rest) {
  return message(number(1, id) + text(2, "node") + number(3, type) + rest);
}
std::string comp(uint64_t id, uint64_t micros, const std::string &rest = "") {
  return node(id, 4, number(7, micros) + rest);
}
std::string send(uint64_t id, unsigned to, uint64_t size, const std::string &rest = "") {
  return node(id, 5, whole("comm_dst", to) + whole("comm_size", size) + rest);
}
std::string recv(uint64_t id, unsigned from, uint64_t size, const std::string &rest = "") {
  return node(id, 6, whole("comm_src", from) + whole("comm_size", size) + rest);
}
std::string coll(uint64_t id, unsigned type, uint64_t size, const std::string &rest = "") {
  return node(id, 7, whole("comm_type", type) + whole("comm_size", size) + rest);
}
std::string after(uint64_t id) { return text(5, varint(id)); }

std::vector<ChakraFile> files(const std::vector<std::string> &nodes) {
  std::vector<ChakraFile> made;
  for (size_t i = 0; i < nodes.size(); i++)
    made.push_back({fmt::format("t.{}.et", i), metadata() + nodes[i]});
  return made;
}

Job chakra(const std::vector<ChakraFile> &given) {
  auto job = job::read_chakra(given, "job");
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().message);
  return job.ok() ? std::move(job).get() : Job();
}

std::string unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// examples/workload/microbenchmarks of astra-sim, all_reduce/8npus_1MB/all_reduce.2.et: an
// all-reduce of 1 MiB, the same bytes for each rank but for the node's id.
constexpr std::string_view kSample =
    "070a05302e302e344a08021214616c6c5f7265647563655f386e7075735f314d421807520e0a0969735f6370755f6f"
    "70"
    "d80100520d0a09636f6d6d5f747970654800520f0a09636f6d6d5f73697a6548808040";

// The sample with another collective (comm_type 2, 6, 7).
std::vector<ChakraFile> samples(unsigned ranks, char type) {
  std::string bytes = unhex(kSample);
  const size_t at = bytes.find("comm_type");
  bytes[at + 10] = type;
  std::vector<ChakraFile> made;
  for (unsigned i = 0; i < ranks; i++)
    made.push_back({fmt::format("all.{}.et", i), bytes});
  return made;
}

constexpr uint64_t kMib = 1 << 20;

TEST(Chakra, SamplesOfAstraSim) {
  for (const unsigned n : {4U, 8U, 16U}) {
    const double part = message_ns(kMib / n), whole_part = message_ns(kMib);
    const Job all = chakra(samples(n, 0));
    EXPECT_EQ(all.kind, "chakra");
    EXPECT_EQ(all.steps[0].bytes, kMib);
    EXPECT_DOUBLE_EQ(all.steps[0].bus_factor, 2.0 * (n - 1) / n);
    const ExperimentJob reduced = run_job(all);
    EXPECT_EQ(reduced.bytes, 2ULL * (n - 1) * kMib);
    EXPECT_NEAR(static_cast<double>(time_of(reduced)), 2 * (n - 1) * (part + ack_ns()) - ack_ns(),
                2.0 * n);
    // each rank has 1 MiB, and gets that of each other one
    const ExperimentJob gathered = run_job(chakra(samples(n, 2)));
    EXPECT_EQ(gathered.bytes, uint64_t{n} * (n - 1) * kMib);
    EXPECT_NEAR(static_cast<double>(time_of(gathered)),
                (n - 1) * (whole_part + ack_ns()) - ack_ns(), 2.0 * n);
    const ExperimentJob scattered = run_job(chakra(samples(n, 7)));
    EXPECT_EQ(scattered.bytes, (n - 1) * kMib);
    EXPECT_NEAR(static_cast<double>(time_of(scattered)), (n - 1) * (part + ack_ns()) - ack_ns(),
                2.0 * n);
    EXPECT_EQ(run_job(chakra(samples(n, 6))).bytes, (n - 1) * kMib);
  }
}

TEST(Chakra, ComputeSendAndReceiveTakeTheirTimeByHand) {
  const uint64_t bytes = 8 * kPmtu;
  // a processor does one after the other: 3 us and 4 us; the CPU's 5 us are beside them
  const ExperimentJob ran = run_job(
      chakra(files({comp(1, 3) + comp(2, 4) + comp(3, 5, attribute("is_cpu_op", number(27, 1))) +
                        send(4, 1, bytes, after(1) + after(2) + after(3)),
                    recv(9, 0, bytes) + comp(10, 2, number(4, 9))})));
  EXPECT_EQ(ran.left, 0U);
  EXPECT_NEAR(static_cast<double>(time_of(ran)), 7000 + message_ns(bytes) + 2000, 2);
}

// Nodes of a file may wait for later ones; who waits for a send waits for its confirmation.
TEST(Chakra, WaitsForWhatTheFileSays) {
  const Job job = chakra(files(
      {comp(1, 3, after(2)) + send(2, 1, 8) + node(3, 1, "") + node(4, 0, ""), recv(1, 0, 8)}));
  ASSERT_EQ(job.operations.size(), 5U);
  EXPECT_EQ(job.operations[0].kind, Kind::Message);
  EXPECT_EQ(job.operations[1].kind, Kind::Compute);
  EXPECT_EQ(job.operations[1].amount, 3000U);
  ASSERT_EQ(job.needs(1).size(), 1U);
  EXPECT_EQ(job.needs(1)[0].operation, 0U);
  EXPECT_EQ(job.needs(1)[0].when, Need::When::Sent);
}

// Two groups of two ranks at once, then all; the second one of a group after the first.
TEST(Chakra, GroupsAreByName) {
  const auto group = [](const char *name) { return attribute("pg_name", text(29, name)); };
  std::vector<std::string> nodes;
  for (const char *name : {"a", "b", "a", "b"})
    nodes.push_back(coll(1, 0, 2 * kPmtu, group(name)) + coll(2, 0, 4 * kPmtu, after(1)));
  const Job job = chakra(files(nodes));
  EXPECT_EQ(job.steps[0].bus_factor, 0); // of several collectives there is none
  uint64_t bytes = 0;
  for (const job::Operation &operation : job.operations)
    if (operation.kind == Kind::Message) {
      bytes += operation.amount;
      if (bytes <= 8 * kPmtu) { // the groups are 0, 2 and 1, 3
        EXPECT_EQ((operation.rank + 2) % 4, operation.peer);
      }
    }
  EXPECT_EQ(bytes, (8 + 24) * kPmtu);
  const ExperimentJob ran = run_job(job);
  EXPECT_EQ(ran.left, 0U);
  EXPECT_NEAR(static_cast<double>(time_of(ran)), 8 * (message_ns(kPmtu) + ack_ns()) - ack_ns(), 16);
}

// From the first rank of the group, or from comm_src.
TEST(Chakra, ABroadcastLeavesItsRoot) {
  const auto roots = [](const std::string &more) {
    const std::string one = coll(1, 5, 4 * kPmtu, more);
    const Job job = chakra(files({one, one, one}));
    std::set<uint32_t> from;
    uint64_t bytes = 0;
    for (const job::Operation &operation : job.operations)
      if (operation.kind == Kind::Message) {
        from.insert(operation.rank);
        bytes += operation.amount;
      }
    EXPECT_EQ(bytes, 2 * 4 * kPmtu);
    return from;
  };
  EXPECT_EQ(roots(""), std::set<uint32_t>{0});
  EXPECT_EQ(roots(whole("comm_src", 2)), std::set<uint32_t>{2});
  const auto other = job::read_chakra(
      files({coll(1, 5, 8, whole("comm_src", 7)), coll(1, 5, 8, whole("comm_src", 7))}), "job");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message,
            "t.0.et: node 1 (COMM_COLL_NODE) is from rank 7, which is not of its group");
}

// Two groups of the same ranks have sends with the same tag.
TEST(Chakra, SendsAndReceivesMeetInTheirGroup) {
  const auto group = [](const char *name) { return attribute("pg_name", text(29, name)); };
  const Job job = chakra(files({send(1, 1, 8, group("a")) + send(2, 1, 16, group("b")),
                                recv(1, 0, 16, group("b")) + recv(2, 0, 8, group("a"))}));
  EXPECT_EQ(run_job(job).left, 0U);
  const auto apart =
      job::read_chakra(files({send(1, 1, 8, group("a")), recv(1, 0, 8, group("b"))}), "job");
  ASSERT_FALSE(apart.ok());
  EXPECT_EQ(apart.error().message,
            "t.1.et: node 1 (COMM_RECV_NODE) has no send of rank 0 with tag 0 in group b");
}

TEST(Chakra, RefusesByName) {
  const std::string ok = send(1, 1, 8), other = recv(1, 0, 8);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{node(7, 2, "")}, "t.0.et: node 7: MEM_LOAD_NODE is not here"},
      {{node(7, 3, "")}, "t.0.et: node 7: MEM_STORE_NODE is not here"},
      {{node(7, 8, "")}, "t.0.et: node 7: STORAGE_NODE is not here"},
      {{node(7, 9, "")}, "t.0.et: node 7: BATCH_NODE is not here"},
      {{node(7, 10, "")}, "t.0.et: node 7: CHECKPOINT_NODE is not here"},
      {{node(7, 11, "")}, "t.0.et: node 7 has type 11, which is not of the schema"},
      {{comp(1, 1) + comp(1, 2)}, "t.0.et: there are two nodes 1"},
      {{comp(1, 0, whole("num_ops", 5))},
       "t.0.et: node 1 has num_ops, but no duration_micros: how long it takes is not known"},
      {{comp(1, 1, number(15, 1))}, "t.0.et: field 15 of a node is not that of the schema"},
      {{comp(1, 1, text(7, "x"))}, "t.0.et: field 7 of a node is not that of the schema"},
      {{varint(100) + "x"}, "t.0.et: it ends within a message"},
      {{message("\x0b")}, "t.0.et: a field has wire type 3, 4, 6 or 7"},
      {{message("\x08\xff")}, "t.0.et: a number does not end"},
      {{message("\x09\x01")}, "t.0.et: it ends within a number"},
      {{comp(1, 1, after(5))}, "t.0.et: node 1 (COMP_NODE) waits for node 5, which is not there"},
      {{comp(1, 1, after(2)) + comp(2, 1, after(1))},
       "t.0.et: node 1 (COMP_NODE) waits for itself, by way of others"},
      {{send(1, 2, 8), ""}, "t.0.et: node 1 (COMM_SEND_NODE) has no comm_dst among the ranks"},
      {{send(1, 1, 8, whole("comm_src", 1)), ""}, "t.0.et: node 1 (COMM_SEND_NODE) is of rank 1"},
      {{node(1, 5, whole("comm_dst", 1)), ""}, "t.0.et: node 1 (COMM_SEND_NODE) has no comm_size"},
      {{node(1, 5, attribute("comm_dst", text(29, "1"))), ""},
       "t.0.et: node 1: comm_dst is not a whole number"},
      {{ok, ""}, "t.0.et: node 1 (COMM_SEND_NODE) has no receive at rank 1 with tag 0"},
      {{"", other}, "t.1.et: node 1 (COMM_RECV_NODE) has no send of rank 0 with tag 0"},
      {{ok, recv(1, 0, 8, whole("comm_tag", 3))},
       "t.1.et: node 1 (COMM_RECV_NODE) has no send of rank 0 with tag 3"},
      {{ok, recv(1, 0, 9)},
       "t.1.et: node 1 (COMM_RECV_NODE) is of 9 bytes, its send, node 1 of rank 0, of 8"},
      {{coll(1, 9, 8), coll(1, 9, 8)},
       "t.0.et: node 1 (COMM_COLL_NODE) is a BARRIER, which is not here"},
      {{coll(1, 10, 8), coll(1, 10, 8)},
       "t.0.et: node 1 (COMM_COLL_NODE) has no comm_type of the schema"},
      {{coll(1, 0, 0), coll(1, 0, 0)}, "t.0.et: node 1 (COMM_COLL_NODE) has no comm_size"},
      {{coll(1, 0, 8), ""},
       "t.0.et: node 1 (COMM_COLL_NODE) is a collective that not all ranks of its group have"},
      {{coll(1, 0, 8)}, "t.0.et: node 1 (COMM_COLL_NODE) is a collective of one rank"},
      {{coll(1, 0, 8), coll(4, 0, 9)},
       "t.1.et: node 4 (COMM_COLL_NODE) is ALL_REDUCE of 9 bytes, that of rank 0 (node 1) "
       "ALL_REDUCE of 8"},
      {{coll(1, 0, 8, attribute("involved_dim", text(28, text(1, std::string("\1\0", 2))))), ""},
       "t.0.et: node 1 (COMM_COLL_NODE) is of some dimensions (involved_dim), which are not here"},
  };
  for (const auto &[nodes, expected] : cases) {
    const auto job = job::read_chakra(files(nodes), "job");
    ASSERT_FALSE(job.ok()) << expected;
    EXPECT_EQ(job.error().message, expected);
    EXPECT_FALSE(job.error().hint.empty()) << expected;
  }
}

TEST(Chakra, ADirectoryHasAFileForEachRank) {
  const test::Directory directory;
  const auto save = [&](const std::string &name, const std::string &bytes) {
    std::ofstream(directory.file(name), std::ios::binary) << bytes;
  };
  const auto message = [&] {
    const auto job = job::read_chakra(directory.path(), "job");
    return job.ok() ? std::string() : job.error().message;
  };
  EXPECT_NE(message().find("there is no file"), std::string::npos);
  for (unsigned rank = 0; rank < 11; rank++)
    if (rank != 1)
      save(fmt::format("a.{}.et", rank), unhex(kSample));
  EXPECT_NE(message().find("there is no file of rank 1"), std::string::npos);
  save("a.1.et", unhex(kSample));
  const auto job = job::read_chakra(directory.path(), "job");
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job.get().hosts.size(), 11U);
  save("b.1.et", unhex(kSample));
  EXPECT_NE(message().find("there are two files of rank 1"), std::string::npos);
  save("c.et", "");
  EXPECT_FALSE(message().empty());
  EXPECT_FALSE(job::read_chakra(directory.file("none"), "job").ok());
}

} // namespace
} // namespace xr::job_chakra_test
