// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_set.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

namespace xr {

namespace {

namespace fs = std::filesystem;

bool is_capture(const fs::path &path) {
  const fs::path name = path.extension() == ".gz" ? path.stem() : path.filename();
  const std::string kind = name.extension();
  return kind == ".pcap" || kind == ".pcapng" || kind == ".cap";
}

} // namespace

Result<std::vector<std::string>> capture_paths(const std::vector<std::string> &names) {
  std::vector<std::string> paths;
  for (const std::string &name : names) {
    std::error_code error;
    if (name == "-" || !fs::is_directory(name, error)) {
      paths.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    fs::directory_iterator at(name, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error))
      if (is_capture(at->path()) && at->is_regular_file(error))
        found.push_back(at->path());
    if (error)
      return Error{fmt::format("{}: {}", name, error.message())};
    if (found.empty())
      return Error{fmt::format("{}: no captures in this directory", name),
                   "captures end in .pcap, .pcapng or .cap, also with .gz; name other files one by "
                   "one"};
    std::ranges::sort(found);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  XR_TRY(check_distinct(paths));
  return paths;
}

Status check_distinct(const std::vector<std::string> &paths) {
  std::map<std::pair<dev_t, ino_t>, const std::string *> known;
  for (const std::string &path : paths) {
    struct stat status {};
    if (stat(path.c_str(), &status) < 0)
      continue; // opening it says why
    const auto [at, is_new] = known.try_emplace({status.st_dev, status.st_ino}, &path);
    if (is_new)
      continue;
    const std::string &first = *at->second;
    return Error{first == path ? fmt::format("{} is given twice", path)
                               : fmt::format("{} and {} are the same file", first, path),
                 "name each capture once, or its packets count twice"}
        .as_usage();
  }
  return {};
}

Result<CaptureSet> CaptureSet::open(std::vector<std::string> paths, const std::atomic<bool> *stop,
                                    bool keep, const ReadOptions &options) {
  CaptureSet set(std::move(paths), stop, keep, options);
  if (set.paths_.size() == 1) {
    auto reader = XR_TRY(Reader::open(set.paths_[0], stop, keep, options));
    set.total_bytes_ = reader.progress().total;
    set.active_.push_back({std::move(reader), {}, 0});
    if (!set.advance(set.active_[0]))
      set.active_.clear();
    return set;
  }
  for (uint32_t file = 0; file < set.paths_.size(); file++)
    XR_TRY(set.look_at(file));
  // The earliest last; of those that begin at the same time, the first named last.
  std::ranges::sort(set.waiting_, [](const Waiting &a, const Waiting &b) {
    return std::pair(a.first_ns, a.file) > std::pair(b.first_ns, b.file);
  });
  return set;
}

// When the file's first frame is.
Status CaptureSet::look_at(uint32_t file) {
  if (paths_[file] == "-")
    return Error{"standard input is read alone", "name it once, without other files"};
  auto reader = XR_TRY(Reader::open(paths_[file], stop_, false, options_));
  total_bytes_ += reader.progress().total;
  CapturedFrame frame;
  const Next next = reader.next(frame);
  if (next == Next::Frame)
    waiting_.push_back({frame.time_ns, file});
  else
    notes_.add(reader.notes(), file);
  if (next != Next::Frame && next != Next::End) {
    errors_.push_back(reader.error());
    end_ = std::max(end_, next);
  }
  return {};
}

// Reads the file's next frame. False: there is none.
bool CaptureSet::advance(Active &active) {
  const Next next = active.reader.next(active.frame);
  active.frame.file = active.file;
  active.frame.number = ++active.read;
  if (next == Next::Frame)
    return true;
  if (next != Next::End) {
    errors_.push_back(active.reader.error());
    end_ = std::max(end_, next);
  }
  done_bytes_ += active.reader.progress().bytes;
  notes_.add(active.reader.notes(), active.file);
  return false;
}

void CaptureSet::activate(const Waiting &waiting) {
  auto reader = Reader::open(paths_[waiting.file], stop_, keep_, options_);
  if (!reader) { // it was there before
    errors_.push_back(std::move(reader).error());
    end_ = Next::Error;
    return;
  }
  active_.push_back({std::move(reader).get(), {}, waiting.file});
  if (!advance(active_.back()))
    active_.pop_back();
}

CaptureSet::Active *CaptureSet::earliest() {
  Active *first = nullptr;
  for (Active &active : active_)
    if (!first ||
        std::pair(active.frame.time_ns, active.file) < std::pair(first->frame.time_ns, first->file))
      first = &active;
  return first;
}

void CaptureSet::leave_all(Reader &reader) {
  if (keep_)
    std::ranges::move(reader.leave(true), std::back_inserter(left_));
}

std::vector<LeftBytes> CaptureSet::leave() {
  for (Active &active : active_)
    std::ranges::move(active.reader.leave(false), std::back_inserter(left_));
  return std::exchange(left_, {});
}

std::vector<Ahead> CaptureSet::ahead(size_t distance) {
  std::vector<Ahead> all;
  for (Active &active : active_)
    if (const Ahead next = active.reader.ahead(distance); !next.empty())
      all.push_back(next);
  return all;
}

Next CaptureSet::next(CapturedFrame &frame) {
  if (returned_ && !advance(*returned_)) {
    leave_all(returned_->reader);
    active_.erase(active_.begin() + (returned_ - active_.data()));
  }
  returned_ = nullptr;
  if (active_.size() == 1 && waiting_.empty()) {
    returned_ = active_.data();
    frame = returned_->frame;
    return Next::Frame;
  }
  Active *first = earliest();
  while (!waiting_.empty() && (!first || waiting_.back().first_ns <= first->frame.time_ns)) {
    const Waiting next = waiting_.back();
    waiting_.pop_back();
    activate(next);
    first = earliest();
  }
  if (!first)
    return end_;
  returned_ = first;
  frame = first->frame;
  return Next::Frame;
}

CaptureNotes CaptureSet::notes() const {
  CaptureNotes all = notes_;
  for (const Active &active : active_)
    all.add(active.reader.notes(), active.file);
  return all;
}

Reader::Progress CaptureSet::progress() const {
  uint64_t bytes = done_bytes_;
  for (const Active &active : active_)
    bytes += active.reader.progress().bytes;
  return {bytes, total_bytes_};
}

} // namespace xr
