// SPDX-License-Identifier: Apache-2.0
#include "record/processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace xr::record {

namespace {

constexpr int kPoll = 200;   // ms
constexpr char kError = '!'; // begins the text of an error, and of no result

void write_to(int fd, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      return;
  }
}

// Otherwise the job of a killed parent would write beside a new one that continues its work.
void end_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

} // namespace

Processes::~Processes() {
  signal(SIGKILL);
  for (const Child &child : children_)
    wait_for(child.pid);
}

Status Processes::start(size_t job, const std::function<Result<std::string>()> &function) {
  int ends[2];
  if (pipe(ends) < 0)
    return errno_error(errno, "cannot make a pipe");
  Fd from(ends[0]), to(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    return errno_error(errno, "cannot make a process");
  if (pid == 0) {
    end_with(parent);
    auto made = function();
    write_to(to.get(), made.ok() ? std::move(made).get() : kError + made.error().message);
    _exit(0);
  }
  children_.push_back({pid, std::move(from), job, {}});
  return {};
}

void Processes::signal(int number) const {
  for (const Child &child : children_)
    ::kill(child.pid, number);
}

void Processes::kill(size_t job) {
  std::erase_if(children_, [job](const Child &child) {
    if (child.job != job)
      return false;
    ::kill(child.pid, SIGKILL);
    wait_for(child.pid);
    return true;
  });
}

Processes::Ended Processes::end(Child &child) {
  const int status = wait_for(child.pid);
  child.pid = 0;
  Ended ended{child.job, std::move(child.text), {}};
  if (!ended.text.empty() && ended.text.front() == kError)
    ended.failure = ended.text.substr(1);
  else if (WIFSIGNALED(status))
    ended.failure = fmt::format("its process was ended by signal {}", WTERMSIG(status));
  return ended;
}

std::vector<Processes::Ended> Processes::wait() {
  std::vector<Ended> ended;
  std::vector<pollfd> fds;
  for (const Child &child : children_)
    fds.push_back({child.pipe.get(), POLLIN, 0});
  if (poll(fds.data(), fds.size(), kPoll) <= 0)
    return ended;
  for (size_t i = 0; i < fds.size(); i++) {
    if (!fds[i].revents)
      continue;
    char buffer[1 << 14];
    const ssize_t n = read(fds[i].fd, buffer, sizeof(buffer));
    if (n > 0)
      children_[i].text.append(buffer, static_cast<size_t>(n));
    else if (n == 0)
      ended.push_back(end(children_[i]));
  }
  std::erase_if(children_, [](const Child &child) { return child.pid == 0; });
  return ended;
}

} // namespace xr::record
