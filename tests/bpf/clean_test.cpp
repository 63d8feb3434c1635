// SPDX-License-Identifier: Apache-2.0
// Freeing of maps: waiting until maps are freed, and naming the process that holds them.
#include "datapath/clean.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "bpf/lane.h"
#include "datapath/bpffs.h"
#include "datapath/lock.h"
#include "datapath/maps.h"
#include "host/netns.h"

namespace xr::datapath {

namespace {

using std::chrono::milliseconds;

bool names(const std::vector<Holder> &holders, int pid) {
  return std::any_of(holders.begin(), holders.end(), [pid](const Holder &holder) {
    return holder.pid == pid && !holder.name.empty();
  });
}

class Clean : public Lane {
protected:
  static Fd map() { return Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "xr_clean", 4, 8, 1, nullptr)); }
};

} // namespace

TEST_F(Clean, HoldersAreNamed) {
  Fd held = map(), other = map();
  ASSERT_TRUE(held && other);
  const KernelIds ids{{}, {map_id(held.get())}},
      both{{}, {map_id(held.get()), map_id(other.get())}};
  other = Fd();
  // What this process has open is no reason to wait, nor to blame anybody.
  const Freed result = wait_until_freed(both, milliseconds(0), milliseconds(60'000));
  EXPECT_TRUE(result.all);
  EXPECT_TRUE(result.holders.empty());
  EXPECT_TRUE(wait_until_freed(ids, std::chrono::hours(1), std::chrono::hours(1)).all);
  EXPECT_TRUE(held_here(ids));
  EXPECT_FALSE(held_here({{}, {UINT32_MAX}}));
  EXPECT_TRUE(find_holders({{}, {UINT32_MAX}}).empty());

  // A child has it, and this process no more.
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  held = Fd();
  const Freed childs = wait_until_freed(ids, milliseconds(0), milliseconds(60'000));
  EXPECT_FALSE(childs.all);
  EXPECT_TRUE(names(childs.holders, child));
  EXPECT_FALSE(names(childs.holders, getpid()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const Freed last = wait_until_freed(ids, milliseconds(60'000), milliseconds(60'000));
  EXPECT_TRUE(last.all);
  EXPECT_TRUE(last.holders.empty());
}

// What no process holds: a pin, as good as the kernel being slow.
TEST_F(Clean, NobodyIsBlamedForAPin) {
  Fd held = map();
  ASSERT_TRUE(held);
  auto bpffs = find_bpffs();
  ASSERT_TRUE(bpffs.has_value());
  const std::string pin = bpffs->root + "/xr_clean_test_" + std::to_string(getpid());
  const KernelIds ids{{}, {map_id(held.get())}};
  ASSERT_EQ(bpf_obj_pin(held.get(), pin.c_str()), 0);
  held = Fd();
  const Freed result = wait_until_freed(ids, milliseconds(0), milliseconds(20));
  EXPECT_FALSE(result.all);
  EXPECT_TRUE(result.holders.empty());
  unlink(pin.c_str());
  EXPECT_TRUE(wait_until_freed(ids, milliseconds(60'000), milliseconds(60'000)).all);
}

// Files of locks are removed meanwhile: two never have one lock.
TEST_F(Clean, OneHolderWhileFilesAreRemoved) {
  constexpr uint64_t kGone = 1;
  const auto there = host::Netns::all();
  std::atomic<int> holders = 0, most = 0;
  std::atomic<unsigned> taken = 0;
  std::atomic<bool> end = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      while (!end) {
        auto lock = Lock::take_port(kGone, 4242, Lock::Use::Capture);
        if (!lock)
          continue;
        if (const int now = ++holders; now > most)
          most = now;
        taken++;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        holders--;
      }
    });
  for (int k = 0; k < 5000 || taken < 100; k++)
    Lock::remove_files_of_gone(Lock::kDirectory, there);
  end = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(most, 1);
  Lock::remove_files_of_gone(Lock::kDirectory, there);
  EXPECT_NE(access((std::string(Lock::kDirectory) + "/capture-1-4242").c_str(), F_OK), 0);
}

} // namespace xr::datapath
