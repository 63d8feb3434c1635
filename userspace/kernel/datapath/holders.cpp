// SPDX-License-Identifier: Apache-2.0
#include "datapath/holders.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace xr::datapath {

namespace fs = std::filesystem;

namespace {

bool has(const std::vector<uint32_t> &ids, uint32_t id) {
  return id && std::find(ids.begin(), ids.end(), id) != ids.end();
}

// fdinfo has map_id for a map, prog_id for a program or a link (format: proc(5)).
bool is_of(const fs::path &fdinfo, const KernelIds &ids) {
  std::ifstream file(fdinfo);
  std::string key;
  for (uint32_t value = 0; file >> key; file.ignore(256, '\n')) {
    if (key == "map_id:" && file >> value && has(ids.maps, value))
      return true;
    if (key == "prog_id:" && file >> value && has(ids.programs, value))
      return true;
    file.clear();
  }
  return false;
}

bool holds(const fs::path &process, const KernelIds &ids) {
  std::error_code error;
  // Reads fdinfo only of anon_inode:bpf-map, bpf-prog and bpf_link: most files are something else.
  for (fs::directory_iterator file(process / "fd", error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(file->path(), gone).string().starts_with("anon_inode:bpf") &&
        is_of(process / "fdinfo" / file->path().filename(), ids))
      return true;
  }
  return false;
}

} // namespace

std::vector<Holder> find_holders(const KernelIds &ids) {
  std::vector<Holder> holders;
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const std::string text = process->path().filename().string();
    int pid = 0;
    const auto [rest, wrong] = std::from_chars(text.data(), text.data() + text.size(), pid);
    if (wrong != std::errc() || rest != text.data() + text.size() || pid == getpid() ||
        !holds(process->path(), ids))
      continue;
    Holder holder{pid, {}};
    std::getline(std::ifstream(process->path() / "comm") >> std::ws, holder.name);
    holders.push_back(std::move(holder));
  }
  return holders;
}

bool held_here(const KernelIds &ids) { return holds("/proc/self", ids); }

} // namespace xr::datapath
