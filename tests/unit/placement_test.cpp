// SPDX-License-Identifier: Apache-2.0
// The choice of processors, on machines made of files.
#include "host/placement.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "directory.h"

namespace xr::host::placement_test {

namespace {

using List = std::vector<uint32_t>;

const auto kNoneTaken = [](uint32_t) { return false; };

// Eight processors on two NUMA nodes, two to a core (0 and 4, 1 and 5, ...); a NIC on node 1, whose
// queue 0 interrupts processor 2 and whose queue 1 processor 3.
class MadeMachine {
public:
  MadeMachine() {
    write("/sys/devices/system/node/node0/cpulist", "0-1,4-5");
    write("/sys/devices/system/node/node1/cpulist", "2-3,6-7");
    for (uint32_t i = 0; i < 8; i++)
      write("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list",
            std::to_string(i % 4) + "," + std::to_string(i % 4 + 4));
    const std::string device = "/sys/bus/pci/devices/0000:08:00.0";
    write(device + "/numa_node", "1");
    interrupt(device, 60, "mlx5_async0@pci:0000:08:00.0", "6");
    interrupt(device, 61, "mlx5_comp0@pci:0000:08:00.0", "2");
    interrupt(device, 62, "mlx5_comp1@pci:0000:08:00.0", "3");
    interrupt(device, 63, "mlx5_comp2@pci:0000:08:00.0", "0-7"); // anywhere
  }
  Topology read(const List &allowed, const std::string &bus = "0000:08:00.0") const {
    return Topology::read(Files(root_.path()), bus, allowed);
  }
  ProcessorLocks locks() const { return ProcessorLocks(root_.file("locks")); }

private:
  void interrupt(const std::string &device, int number, const std::string &name,
                 const std::string &processors) {
    const std::string irq = std::to_string(number);
    write(device + "/msi_irqs/" + irq, "msix");
    write("/sys/kernel/irq/" + irq + "/actions", name);
    write("/proc/irq/" + irq + "/effective_affinity_list", processors);
  }
  void write(const std::string &path, const std::string &text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  test::Directory root_;
};

const List kAll = {0, 1, 2, 3, 4, 5, 6, 7};

} // namespace

TEST(Placement, ReadsTheMachine) {
  const Topology all = MadeMachine().read(kAll);
  EXPECT_EQ(1, all.port_node);
  EXPECT_EQ(0, all.nodes.at(5));
  EXPECT_EQ(1, all.nodes.at(6));
  EXPECT_EQ((List{1, 5}), all.siblings.at(5));
  EXPECT_EQ((std::map<uint32_t, List>{{0, {2}}, {1, {3}}}), all.interrupts);
  const Topology veth = MadeMachine().read(kAll, "");
  EXPECT_EQ(-1, veth.port_node);
  EXPECT_TRUE(veth.interrupts.empty());
}

TEST(Placement, NearThePortAndNotWhereTheInterruptIs) {
  const Topology all = MadeMachine().read(kAll);
  EXPECT_EQ((List{3, 6, 7, 2, 0, 1, 4, 5}), by_preference(all, {.queue = 0}, {}, kNoneTaken));
  EXPECT_EQ((List{2, 6, 7, 3, 0, 1, 4, 5}), by_preference(all, {.queue = 1}, {}, kNoneTaken));
  EXPECT_EQ((List{2, 3, 6, 7, 0, 1, 4, 5}), by_preference(all, {}, {}, kNoneTaken));
}

TEST(Placement, ACoreOfWhichNoneIsTaken) {
  const Topology all = MadeMachine().read(kAll);
  const auto taken = [](uint32_t processor) { return processor == 6; };
  EXPECT_EQ((List{3, 6, 7, 2, 0, 1, 4, 5}), by_preference(all, {.queue = 7}, {}, taken));
  EXPECT_EQ((List{2, 3, 7, 6, 0, 1, 4, 5}), by_preference(all, {}, {2}, kNoneTaken));
}

TEST(Placement, OnlyAllowedProcessors) {
  const Topology all = MadeMachine().read({1, 5});
  EXPECT_EQ((List{1, 5}), by_preference(all, {.queue = 0}, {}, kNoneTaken));
}

// Drivers have a queue for each processor below their number of queues, or that number modulo it.
TEST(Placement, LiveFramesHaveAQueueOfTheirOwn) {
  const Topology veth = MadeMachine().read({1, 3, 4, 5, 6, 7}, "");
  EXPECT_EQ((List{1, 3, 4, 5, 6, 7}), by_preference(veth, {.queues = 4}, {}, kNoneTaken));
  EXPECT_EQ(4U, by_preference(veth, {.queues = 4}, {1, 3}, kNoneTaken)[2]); // queue 0
}

TEST(Placement, EachProcessorIsTakenOnce) {
  const MadeMachine machine;
  const Topology all = machine.read({0, 1});
  Placement first({}, machine.locks()), second({}, machine.locks());
  EXPECT_EQ(0U, first.place(all, {}).processor);
  const PlacedThread other = second.place(all, {});
  EXPECT_EQ(1U, other.processor);
  EXPECT_EQ("no other xdp-roce has it", other.why);
  const PlacedThread third = second.place(all, {});
  EXPECT_FALSE(third.processor);
  EXPECT_EQ("all are taken: where the kernel puts it", third.why);
}

TEST(Placement, TheEndOfAProcessFreesItsProcessors) {
  const MadeMachine machine;
  const Topology all = machine.read({0});
  {
    Placement first({}, machine.locks());
    EXPECT_EQ(0U, first.place(all, {}).processor);
    EXPECT_TRUE(machine.locks().is_taken(0));
  }
  EXPECT_FALSE(machine.locks().is_taken(0));
  Placement second({}, machine.locks());
  EXPECT_EQ(0U, second.place(all, {}).processor);
}

TEST(Placement, NearIsSaid) {
  const MadeMachine machine;
  Placement placement({}, machine.locks());
  EXPECT_EQ("no other xdp-roce has it; NUMA node 1, as the port",
            placement.place(machine.read(kAll), {}).why);
}

TEST(Placement, WhatIsAskedForIsUsedInTurn) {
  const MadeMachine machine;
  const Topology all = machine.read(kAll);
  Placement other({}, machine.locks());
  EXPECT_EQ(2U, other.place(all, {}).processor);
  Placement placement({5, 2}, machine.locks());
  EXPECT_TRUE(placement.is_asked());
  PlacedThread thread = placement.place(all, {});
  EXPECT_EQ(5U, thread.processor);
  EXPECT_EQ("--cpus", thread.why);
  thread = placement.place(all, {});
  EXPECT_EQ(2U, thread.processor);
  EXPECT_EQ("--cpus; another xdp-roce has it, too", thread.why);
  thread = placement.place(all, {});
  EXPECT_EQ(5U, thread.processor);
  EXPECT_EQ("--cpus; for another of its threads, too", thread.why);
}

TEST(Placement, WithoutLocksNothingIsTaken) {
  const MadeMachine machine;
  Placement placement({}, ProcessorLocks("/proc/none"));
  const PlacedThread thread = placement.place(machine.read(kAll), {});
  EXPECT_FALSE(thread.processor);
  EXPECT_NE(std::string::npos, thread.why.find("cannot lock /proc/none/processor-2")) << thread.why;
}

TEST(Placement, AskedForMustBeAllowed) {
  EXPECT_TRUE(check_processors({1, 2}, {1, 2, 3}));
  const Status refused = check_processors({1, 4}, {1, 2, 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ("--cpus: processor 4 is not one that this process may use", refused.error().message);
  EXPECT_EQ("of 1,2,3", refused.error().hint);
}

} // namespace xr::host::placement_test
