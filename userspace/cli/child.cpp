// SPDX-License-Identifier: Apache-2.0
#include "cli/child.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xr::cli {

namespace {

constexpr const char *kProgram = "/proc/self/exe";
constexpr auto kTermPatience = std::chrono::seconds(10); // after SIGTERM

std::string contents(const Fd &file) {
  std::string text;
  char part[4096];
  for (;;) {
    const ssize_t n = pread(file.get(), part, sizeof part, static_cast<off_t>(text.size()));
    if (n <= 0)
      return text;
    text.append(part, static_cast<size_t>(n));
  }
}

// Only system calls: this process may have threads.
[[noreturn]] void become(char *const *words, pid_t parent, int out, int err) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) // it ended before the call
    _exit(1);
  if (out >= 0 && (dup2(out, 1) < 0 || dup2(err, 2) < 0))
    _exit(1);
  execv(kProgram, words);
  _exit(127);
}

} // namespace

Result<Child> Child::start(const std::vector<std::string> &words, Prints prints) {
  Child child;
  if (prints == Prints::Kept) {
    child.out_ = Fd(memfd_create("out", MFD_CLOEXEC));
    child.err_ = Fd(memfd_create("err", MFD_CLOEXEC));
    if (!child.out_ || !child.err_)
      return errno_error(errno, "cannot keep what a command prints");
  }
  std::vector<std::string> all = {"xdp-roce"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char *> arguments;
  arguments.reserve(all.size() + 1);
  for (std::string &word : all)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  child.pid_ = fork();
  if (child.pid_ < 0)
    return errno_error(errno, "cannot start a process");
  if (child.pid_ == 0)
    become(arguments.data(), parent, child.out_.get(), child.err_.get());
  child.ended_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, child.pid_, 0)));
  if (!child.ended_)
    return errno_error(errno, "cannot watch a process");
  return child;
}

bool Child::running() const {
  pollfd end{ended_.get(), POLLIN, 0};
  return pid_ > 0 && poll(&end, 1, 0) == 0;
}

void Child::interrupt() const {
  if (pid_ > 0)
    kill(pid_, SIGINT);
}

int Child::wait(const Interrupt &interrupt) {
  using Clock = Interrupt::Clock;
  while (running() && interrupt.sleep_until(Clock::now() + std::chrono::hours(1), ended_.get()))
    ;
  if (running()) {
    kill(pid_, SIGTERM);
    pollfd end{ended_.get(), POLLIN, 0};
    const auto until = Clock::now() + kTermPatience;
    while (running() && Clock::now() < until)
      poll(&end, 1, 100);
    if (running())
      kill(pid_, SIGKILL);
  }
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR)
    ;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Child::~Child() {
  if (pid_ < 0)
    return;
  kill(pid_, SIGTERM);
  pollfd end{ended_.get(), POLLIN, 0};
  if (ended_)
    while (poll(&end, 1, static_cast<int>(std::chrono::milliseconds(kTermPatience).count())) < 0 &&
           errno == EINTR)
      ;
  if (running())
    kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
    ;
}

std::string Child::out() const { return contents(out_); }
std::string Child::err() const { return contents(err_); }

} // namespace xr::cli
