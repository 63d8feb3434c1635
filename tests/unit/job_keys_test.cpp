// SPDX-License-Identifier: Apache-2.0
// Jobs of others in experiment files, and the experiments that are made of them.
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "directory.h"
#include "experiment/experiment.h"
#include "importers/job_file.h"

namespace xr::job_keys_test {
namespace {

constexpr const char *kGoal =
    "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
constexpr const char *kHead = "experiment: x\nuntil: done\n"
                              "topology: {star: {senders: 3, rate: 40gbit, delay: 2us}}\n";

class JobKeys : public testing::Test {
protected:
  void save(const std::string &name, const std::string &text) {
    std::ofstream(directory_.file(name)) << text;
  }
  Result<experiment::Experiment> read(const std::string &jobs) {
    return experiment::ExperimentFile(kHead + jobs, "f.yaml", directory_.path()).read({});
  }
  std::string error(const std::string &jobs) {
    const auto made = read(jobs);
    return made.ok() ? "" : made.error().message;
  }

  test::Directory directory_;
};

TEST_F(JobKeys, AreReadBesideTheExperiment) {
  save("a.goal", kGoal);
  const auto made =
      read("jobs: [{goal: a.goal}, {goal: a.goal, name: b, start: 3us, words: pmtu 1024}]\n");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto &jobs = made.get().scenario.jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].job.name, "goal");
  EXPECT_EQ(jobs[1].job.name, "b");
  EXPECT_EQ(jobs[1].job.steps.at(0).name, "b");
  EXPECT_EQ(jobs[1].job.start_ns, 3000U);
  EXPECT_EQ(jobs[1].like.flow.pmtu, 1024U);
  EXPECT_EQ(jobs[0].like.flow.verb, packet::Verb::WriteImmediate);
  EXPECT_EQ(jobs[0].job.hosts, (std::vector<std::string>{"sender-1", "sender-2"}));
}

TEST_F(JobKeys, AreRefusedWithTheirLine) {
  save("a.goal", kGoal);
  save("wrong.goal", "num_ranks 1\nrank 0 {\nloop\n}\n");
  save("many.goal",
       "num_ranks 5\nrank 0 {\n}\nrank 1 {\n}\nrank 2 {\n}\nrank 3 {\n}\nrank 4 {\n}\n");
  const std::string at = "f.yaml:4: ";
  EXPECT_EQ(error("jobs: {goal: a.goal}\n"), at + "jobs: it is not a list of maps");
  EXPECT_EQ(error("jobs: [{name: a}]\n"), at + "jobs: the file of a job is missing");
  EXPECT_EQ(error("jobs: [{goal: a.goal, chakra: b}]\n"), at + "a job is of one file");
  EXPECT_EQ(error("jobs: [{goal: a.goal, name: a}, {goal: a.goal, name: a}]\n"),
            at + "there are two jobs 'a'");
  EXPECT_EQ(error("jobs: [{goal: wrong.goal}]\n"),
            at + "goal: " + directory_.file("wrong.goal") +
                ": line 3: the end of the line is not ':', 'requires' or 'irequires'");
  EXPECT_EQ(error("jobs: [{goal: many.goal}]\n"),
            at + "jobs: 5 ranks do not have a host each: there are 4 hosts");
  EXPECT_NE(error("jobs: [{goal: none.goal}]\n").find("none.goal"), std::string::npos);
}

// One switch has links for 256 ranks, fat trees of 12 pods hosts for 432.
TEST_F(JobKeys, AnImportIsAnExperimentWithEnoughHosts) {
  for (const unsigned ranks : {2U, 256U, 257U}) {
    std::string text = fmt::format("num_ranks {}\n", ranks);
    for (unsigned rank = 0; rank < ranks; rank++)
      text += fmt::format("rank {} {{\n}}\n", rank);
    save("p.goal", text);
    const auto made = importers::job_file("goal", directory_.file("p.goal"));
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(made.get().notes.size(), 1U);
    const auto read = experiment::ExperimentFile(made.get().yaml, "f.yaml", "/").read({});
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.get().name, "p.goal");
    EXPECT_TRUE(read.get().scenario.until_done);
    ASSERT_EQ(read.get().scenario.jobs.size(), 1U);
    EXPECT_EQ(read.get().scenario.jobs[0].job.hosts.size(), ranks);
  }
  EXPECT_FALSE(importers::job_file("goal", directory_.file("none")).ok());
  EXPECT_TRUE(importers::is_job_file("chakra"));
  EXPECT_FALSE(importers::is_job_file("netem"));
}

} // namespace
} // namespace xr::job_keys_test
