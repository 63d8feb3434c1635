// SPDX-License-Identifier: Apache-2.0
// SimAI's workloads as jobs. Numbers are those of microAllReduce_16g.txt and workload_ep_test.txt
// in aliyun/SimAI, messages and bytes those of rings by hand.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "job/simai.h"

namespace xr::job_simai_test {
namespace {

using job::Job;
using job::Operation;

std::string head(const std::string &keys, const std::string &layers) {
  return "HYBRID_TRANSFORMER_FWD_IN_BCKWD " + keys + "\n" + layers;
}

constexpr const char *k16 = "model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 16 "
                            "checkpoints: 0 checkpoint_initiates: 0";
constexpr const char *k32 = "model_parallel_NPU_group: 4 ep: 4 pp: 1 vpp: 1 ga: 1 all_gpus: 32 "
                            "checkpoints: 0 checkpoint_initiates: 0 pp_comm 0";

Job read(const std::string &text) {
  auto job = job::read_simai(text, "w.txt");
  EXPECT_TRUE(job.ok()) << (job.ok() ? "" : job.error().message);
  return job.ok() ? std::move(job).get() : Job();
}

struct Sum {
  size_t messages = 0, computes = 0;
  uint64_t bytes = 0;
  std::set<uint32_t> peers_of_5; // to which rank 5 sends
};
Sum sum(const Job &job) {
  Sum out;
  for (const Operation &operation : job.operations) {
    out.computes += operation.kind == Operation::Kind::Compute;
    if (operation.kind != Operation::Kind::Message)
      continue;
    out.messages++;
    out.bytes += operation.amount;
    if (operation.rank == 5)
      out.peers_of_5.insert(operation.peer);
  }
  return out;
}

TEST(Simai, TwoAllReducesOfTensorParallelGroups) {
  const Job job =
      read(head(k16, "2\nembedding_layer -1 556000 ALLREDUCE 16777216 1 NONE 0 1 NONE 0 1\n"
                     "embedding_layer -1 556000 ALLREDUCE 67108864 1 NONE 0 1 NONE 0 1\n"));
  EXPECT_EQ(job.hosts.size(), 16U);
  EXPECT_EQ(job.steps.size(), 1U);
  const Sum all = sum(job);
  EXPECT_EQ(all.messages, 2U * 2 * 8 * 14);                         // layers, groups, ranks, steps
  EXPECT_EQ(all.bytes, 2 * 14 * (16'777'216ULL + 67'108'864));      // 2 (n - 1) x size a group
  EXPECT_EQ(all.computes, 16U * (2 /*fp*/ + 2 /*update*/ + 2 + 2)); // ig, wg
  EXPECT_EQ(all.peers_of_5, (std::set<uint32_t>{6}));
}

TEST(Simai, Groups) {
  const auto peers = [](const std::string &type, const char *part) {
    const std::string none = " 1 NONE 0", some = " 1 " + type + " 6291456";
    const bool wg = std::string(part) == "wg";
    return sum(read(head(k32, "1\nl -1" + (wg ? none : some) + none + (wg ? some : none) + " 0\n")))
        .peers_of_5;
  };
  using Set = std::set<uint32_t>;
  EXPECT_EQ(peers("ALLGATHER", "fp"), Set{6});            // TP: 4 5 6 7
  EXPECT_EQ(peers("ALLTOALL_EP", "fp"), (Set{1, 9, 13})); // EP: 1 5 9 13
  EXPECT_EQ(peers("REDUCESCATTER", "wg"), Set{9});        // DP: 1 5 9 ... 29
  EXPECT_EQ(peers("ALLGATHER_DP_EP", "wg"), Set{21});     // 5 21
}

// Longest chain of compute, where messages take no time.
uint64_t chain_ns(const Job &job) {
  std::vector<uint64_t> end(job.operations.size());
  uint64_t last = 0;
  for (uint32_t i = 0; i < job.operations.size(); i++) {
    for (const job::Need &need : job.needs(i))
      end[i] = std::max(end[i], end[need.operation]);
    if (job.operations[i].kind == Operation::Kind::Compute)
      end[i] += job.operations[i].amount;
    last = std::max(last, end[i]);
  }
  return last;
}

TEST(Simai, PassesFollowOneAnotherAndWeightsAreBeside) {
  // fp 100 + 20, ig 3 + 4, wg 5 + 6: all in a row; two updates of 1000 at the end of wg in a row,
  // the first after the last layer's wg
  const Job job = read(head(k32, "2\na -1 100 NONE 0 3 NONE 0 5 ALLREDUCE 4096 1000\n"
                                 "b -1 20 NONE 0 4 NONE 0 6 ALLREDUCE 4096 1000\n"));
  EXPECT_EQ(chain_ns(job), 100U + 20 + 4 + 6 + 1000 + 1000);
  // of fp and ig an update is in the row: 1 + 7 + 1 + 7 + 1
  EXPECT_EQ(chain_ns(read(head(k32, "1\na -1 1 ALLTOALL 64 1 ALLTOALL 64 1 NONE 0 7\n"))), 17U);
}

// Values of SimAI's example/workload_analytical.txt: pp, vpp, ga, and pp_comm without a colon.
TEST(Simai, APipelineFillsAndDrains) {
  const std::string keys = "model_parallel_NPU_group: 2 ep: 1 pp: 4 vpp: 2 ga: 3 all_gpus: 16 "
                           "checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096";
  std::string layers = "12\n";
  for (unsigned i = 0; i < 12; i++)
    layers += "l -1 10 NONE 0 20 NONE 0 0 NONE 0 1\n";
  const Job job = read(head(keys, layers));
  // 2 x ga x vpp transfers of each rank that has a stage after (or before) it
  EXPECT_EQ(sum(job).messages, 2U * 6 * 12);
  EXPECT_EQ(sum(job).bytes, 2U * 6 * 12 * 4096);
  EXPECT_EQ(sum(job).peers_of_5, (std::set<uint32_t>{1, 9})); // its place, 4 ranks a stage
  // The bubble is (pp - 1) / (ga x vpp) of the work, as SimAI's report computes it.
  EXPECT_EQ(chain_ns(job), 12U * 30 + 12U * 30 * 3 / 6);
  // Groups are within a stage: DP is 0 2, not 0 2 4 ...
  const Job weights = read(head(keys, "1\nl -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"));
  for (const Operation &operation : weights.operations)
    if (operation.kind == Operation::Kind::Message && operation.amount == 2048) {
      EXPECT_EQ(operation.rank / 4, operation.peer / 4);
    }
}

// The layers from the checkpoint on are done again before the gradients.
TEST(Simai, CheckpointsAreRecomputed) {
  const std::string layers = "3\na -1 100 NONE 0 1 NONE 0 0 NONE 0 0\n"
                             "b -1 10 NONE 0 1 NONE 0 0 NONE 0 0\n"
                             "c -1 1 NONE 0 1 NONE 0 0 NONE 0 0\n";
  const std::string keys = "model_parallel_NPU_group: 2 all_gpus: 4 ";
  EXPECT_EQ(chain_ns(read(head(keys + "checkpoints: 0 checkpoint_initiates: 0", layers))), 114U);
  EXPECT_EQ(chain_ns(read(head(keys + "checkpoints: 2 0 1 checkpoint_initiates: 1 2", layers))),
            114U + 10);
  EXPECT_EQ(chain_ns(read(head(keys + "checkpoints: 1 0 checkpoint_initiates: 1 2", layers))),
            114U + 110);
}

// AICB's micro tests say neither groups nor GPUs, its older files no GPUs, and its quotients are
// real numbers.
TEST(Simai, RanksCanBeThoseOfTheNetwork) {
  const auto micro =
      job::read_simai("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096\n", "w.txt", {.hosts = 8});
  ASSERT_TRUE(micro) << micro.error().message;
  EXPECT_EQ(sum(micro.get()).messages, 8U * 14); // one DP group
  const auto old = job::read_simai(head("model_parallel_NPU_group: 8 pp_comm: 4096.0",
                                        "1\nnorm -1 0 BROADCAST 16384 1 NONE 0 1 NONE 0 100\n"),
                                   "w.txt", {.hosts = 16});
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(sum(old.get()).messages, 2U * 7); // from the first of each TP group
}

TEST(Simai, ATooLargeOneRunsInPart) {
  std::string layers = "40\n";
  for (unsigned i = 0; i < 40; i++)
    layers += "l -1 1 ALLREDUCE 1000000000 1 NONE 0 1 NONE 0 1\n";
  const std::string text =
      head("model_parallel_NPU_group: 1024 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 1024", layers);
  auto size = job::measure_simai(text, "w.txt", {});
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(size->operations, 40U * (2 * 1024 * 1023 + 5 * 1024));
  EXPECT_EQ(size->part, "layers: 1-9");
  const auto whole = job::read_simai(text, "w.txt", {});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message,
            "w.txt: 40 layers of 1024 ranks have 84008960 operations, more than 20000000");
  const auto part = job::read_simai(text, "w.txt", {.first_layer = 2, .last_layer = 2});
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ(sum(part.get()).messages, 2U * 1024 * 1023);
  EXPECT_EQ(job::read_simai(text, "w.txt", {.first_layer = 2, .last_layer = 41}).error().message,
            "w.txt: layers 2-41: there are 40");
}

TEST(Simai, RefusesWithTheLine) {
  const auto refused = [](const std::string &text, const std::string &why) {
    const auto job = job::read_simai(text, "w.txt");
    ASSERT_FALSE(job.ok()) << why;
    EXPECT_EQ(job.error().message, why);
    EXPECT_NE(job.error().hint, "");
  };
  const std::string layer = "l -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  refused("", "w.txt:0: '' is not a policy that is here");
  refused("DATA\n", "w.txt:1: 'DATA' is not a policy that is here");
  refused("MICRO\n1\n" + layer, "w.txt:1: all_gpus is missing");
  refused(head("tp: 8", ""), "w.txt:1: 'tp:' is not a key of the first line");
  refused(head("ep: 8", ""), "w.txt:1: model_parallel_NPU_group is missing");
  refused(head("ep: 8 ep: 8", ""), "w.txt:1: ep is there twice");
  refused(head("ep:", ""), "w.txt:1: ep: '' is not a whole number from 1 to 100000");
  refused(head("checkpoints: 2 1", ""),
          "w.txt:1: checkpoints: '' is not a whole number from 0 to 1000000");
  refused(head("model_parallel_NPU_group: 2 all_gpus: 8 checkpoints: 1 7", "1\n" + layer),
          "w.txt:1: there is no layer 7");
  refused(head("model_parallel_NPU_group: 2 all_gpus: 8 checkpoint_initiates: 1 0", "1\n" + layer),
          "w.txt:1: checkpoint_initiates: no layer before 0 is a checkpoint");
  refused(head("model_parallel_NPU_group: 2 all_gpus: 8 pp: 3", ""),
          "w.txt:1: 8 GPUs are not whole groups of 2 x 1 x 3");
  refused(head("model_parallel_NPU_group: 3 all_gpus: 8", ""),
          "w.txt:1: 8 GPUs are not whole groups of 3 x 1");
  refused(head(k16, ""), "w.txt:1: the second line is the number of layers");
  refused(head(k16, "0\n"), "w.txt:2: layers: '0' is not a whole number from 1 to 1000000");
  refused(head(k16, "2\n" + layer), "w.txt:3: the file ends: there are 2 layers");
  refused(head(k16, "1\n" + layer + layer), "w.txt:4: there are more than 1 layers");
  refused(head(k16, "1\nl -1 1\n"), "w.txt:3: a layer has 12 words, not 3");
  refused(head(k16, "1\nl -1 1 ALLREDUCEALLTOALL 9 1 NONE 0 1 NONE 0 1\n"),
          "w.txt:3: 'ALLREDUCEALLTOALL' is not a type of a collective");
  refused(head(k16, "1\nl -1 x NONE 0 1 NONE 0 1 NONE 0 1\n"),
          "w.txt:3: fp: 'x' is not a whole number from 0 to 1000000000000");
}

} // namespace
} // namespace xr::job_simai_test
