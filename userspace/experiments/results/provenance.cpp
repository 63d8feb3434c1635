// SPDX-License-Identifier: Apache-2.0
#include "results/provenance.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include <bpf/libbpf.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "host/link.h"
#include "host/machine.h"
#include "host/netns.h"
#include "report/json.h"
#include "report/run_facts.h"

namespace xr::record {

namespace {

// Hashing a larger file would take time that the command itself needs.
constexpr uint64_t kMostHashed = 64 << 20;

struct Record {
  RunFacts facts;
  uint64_t began_ns = 0; // monotonic
  std::string netns;
  std::vector<std::string> subjects;              // interfaces and files
  std::vector<std::future<RunFacts::File>> files; // hashed while the command works
};

std::optional<Record> the_record;

RunFacts::File read_file_facts(const std::string &path) {
  std::error_code error;
  RunFacts::File file{path, std::nullopt, ""};
  if (const uint64_t bytes = std::filesystem::file_size(path, error); !error)
    file.bytes = bytes;
  if (file.bytes && *file.bytes <= kMostHashed)
    if (auto hash = host::file_sha256(path))
      file.sha256 = *hash;
  return file;
}

std::optional<RunFacts::Port> read_link_facts(const std::string &ifname) {
  auto link = host::read_link({ifname});
  if (!link)
    return {};
  RunFacts::Port port{.name = ifname,
                      .driver = link->driver,
                      .mac = fmt::format("{:02x}", fmt::join(link->mac, ":")),
                      .mtu = link->mtu,
                      .speed_bps = host::read_speed(ifname),
                      .offloads = {}};
  if (auto features = host::read_features(ifname))
    for (const auto &[name, on] : *features)
      if (on)
        port.offloads.push_back(name);
  return port;
}

bool is_regular_file(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

void keep(RunFacts::File file) {
  auto &known = the_record->facts.files;
  if (std::ranges::none_of(known, [&](const auto &other) { return other.name == file.name; }))
    known.push_back(std::move(file));
}

void wait_for_hashes() {
  for (std::future<RunFacts::File> &pending : the_record->files)
    keep(pending.get());
  the_record->files.clear();
}

// The clock of the times in a command's report.
std::string clock_of(const std::string &command) {
  return command == "analyze" || command == "compare" ? "capture" : "realtime";
}

} // namespace

Recording::Recording(const Command &command) {
  const host::Machine machine = host::read_machine();
  const std::string libbpf = libbpf_version_string();
  the_record.emplace();
  the_record->began_ns = monotonic_ns();
  the_record->netns = command.netns;
  the_record->facts.command_line = command.words;
  the_record->facts.host = machine.name;
  the_record->facts.kernel = machine.kernel;
  the_record->facts.machine = machine.architecture;
  the_record->facts.version = XR_VERSION;
  the_record->facts.commit = XR_COMMIT;
  the_record->facts.libbpf = libbpf.substr(libbpf.starts_with("v"));
  the_record->facts.libxdp = XR_LIBXDP_VERSION;
  the_record->facts.start_ns = realtime_ns();
  the_record->facts.clock = clock_of(command.name);
  the_record->subjects = command.subjects;
  if (command.hash)
    for (const std::string &name : the_record->subjects)
      if (is_regular_file(name))
        the_record->files.push_back(std::async(std::launch::async, read_file_facts, name));
}

Recording::~Recording() { the_record.reset(); } // waits for the threads

void record_file(const std::string &path) {
  if (!the_record)
    return;
  wait_for_hashes();
  if (is_regular_file(path))
    keep(read_file_facts(path));
}

void record_seed(uint64_t seed) {
  if (the_record)
    the_record->facts.seed = seed;
}

void record_clock(const std::string &clock) {
  if (the_record)
    the_record->facts.clock = clock;
}

std::optional<RunFacts> recorded_run() {
  if (!the_record)
    return {};
  wait_for_hashes();
  RunFacts facts = the_record->facts;
  facts.duration_ns = monotonic_ns() - the_record->began_ns;
  if (const auto scope = host::enter_netns(the_record->netns))
    for (const std::string &ifname : the_record->subjects)
      if (auto port = read_link_facts(ifname))
        facts.ports.push_back(std::move(*port));
  return facts;
}

std::optional<report::Section> recorded_section() {
  const auto facts = recorded_run();
  return facts ? std::optional(report::run_section(*facts)) : std::nullopt;
}

std::string json_file(const report::Document &document) {
  const auto run = recorded_section();
  return report::to_json(document, report::JsonStyle::Pretty, run ? &*run : nullptr);
}

} // namespace xr::record
