// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/run_files.h"

namespace xr::cli {

namespace {

constexpr int kPoll = 200; // ms

// A point that runs: its process writes what pack_point() made, or "!" and an error.
struct Child {
  pid_t pid;
  Fd pipe;
  size_t point;
  std::string text;
};

// The directory of a point: its settings, without what a file name must not have.
std::string directory_name(size_t number, const experiment::Settings &point) {
  constexpr size_t kLongest = 80;
  std::string name;
  for (const auto &[key, value] : point)
    name += (name.empty() ? "" : ",") + key.substr(key.rfind('.') + 1) + "=" + value;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c)) && !std::strchr("=,.-_", c))
      c = '-';
  return fmt::format("{:03}-{}", number + 1, name.substr(0, kLongest));
}

void write_all(int fd, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n > 0)
      done += static_cast<size_t>(n);
    else if (errno != EINTR)
      return;
  }
}

class Sweep {
public:
  Sweep(const experiment::ExperimentFile &file, const experiment::Settings &settings,
        const std::vector<experiment::Settings> &points, const SweepOptions &options)
      : file_(file), settings_(settings), points_(points), options_(options) {
    for (size_t i = 0; i < points.size(); i++) {
      rows_.push_back({.settings = points[i]});
      rows_.back().failure = "it did not run";
      if (!options.out.empty())
        rows_.back().directory = options.out + "/" + directory_name(i, points[i]);
    }
  }

  Result<std::vector<report::SweepPoint>> run() {
    Progress progress("sweep");
    for (size_t next = 0, over = 0; over < points_.size();) {
      while (!interrupt_.asked() && next < points_.size() && children_.size() < options_.jobs) {
        if (Status s = start(next++); !s)
          return stop_all(), s.error();
      }
      if (children_.empty())
        break;
      if (interrupt_.asked())
        for (const Child &child : children_)
          kill(child.pid, SIGTERM);
      over += collect();
      progress.update(
          over, points_.size(),
          fmt::format("{} of {} points, {} running", over, points_.size(), children_.size()));
    }
    return std::move(rows_);
  }

private:
  Status start(size_t point) {
    int ends[2];
    if (pipe(ends) < 0)
      return errno_error(errno, "cannot make a pipe");
    Fd from(ends[0]), to(ends[1]);
    const pid_t pid = fork();
    if (pid < 0)
      return errno_error(errno, "cannot make a process");
    if (pid == 0) {
      write_all(to.get(), run_point(point));
      _exit(0);
    }
    children_.push_back({pid, std::move(from), point, {}});
    return {};
  }

  std::string run_point(size_t point) const {
    auto experiment = file_.read(joined(settings_, points_[point]));
    if (!experiment)
      return "!" + experiment.error().message;
    const auto result =
        run_experiment(experiment.get(), {rows_[point].directory, ""},
                       [this](const experiment::RunProgress &) { return !interrupt_.asked(); });
    return result ? report::pack_point(result.get()) : "!" + result.error().message;
  }

  // Waits a little; how many points ended.
  size_t collect() {
    std::vector<pollfd> fds;
    for (const Child &child : children_)
      fds.push_back({child.pipe.get(), POLLIN, 0});
    if (poll(fds.data(), fds.size(), kPoll) <= 0)
      return 0;
    size_t ended = 0;
    for (size_t i = 0; i < fds.size(); i++) {
      if (!fds[i].revents)
        continue;
      char buffer[1 << 14];
      const ssize_t n = read(fds[i].fd, buffer, sizeof(buffer));
      if (n > 0)
        children_[i].text.append(buffer, static_cast<size_t>(n));
      else if (n == 0)
        ended += finish(children_[i]);
    }
    std::erase_if(children_, [](const Child &child) { return child.pid == 0; });
    return ended;
  }

  size_t finish(Child &child) {
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
      ;
    child.pid = 0;
    report::SweepPoint &row = rows_[child.point];
    row.failure.clear();
    if (child.text.starts_with("!"))
      row.failure = child.text.substr(1);
    else if (!report::unpack_point(child.text, row))
      row.failure = WIFSIGNALED(status)
                        ? fmt::format("its process was ended by signal {}", WTERMSIG(status))
                        : "its process ended without a result";
    if (!row.failure.empty())
      row.result.measured.why_void = {row.failure};
    return 1;
  }

  void stop_all() {
    for (const Child &child : children_) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
  }

  const experiment::ExperimentFile &file_;
  const experiment::Settings &settings_;
  const std::vector<experiment::Settings> &points_;
  const SweepOptions &options_;
  Interrupt interrupt_;
  std::vector<Child> children_;
  std::vector<report::SweepPoint> rows_;
};

} // namespace

experiment::Settings joined(const experiment::Settings &first, const experiment::Settings &second) {
  experiment::Settings all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

Result<std::vector<report::SweepPoint>> sweep(const experiment::ExperimentFile &file,
                                              const experiment::Settings &settings,
                                              const std::vector<experiment::Settings> &points,
                                              const SweepOptions &options) {
  return Sweep(file, settings, points, options).run();
}

} // namespace xr::cli
