// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "importers/hpcc_experiment.h"
#include "parse/yaml.h"

namespace xr::importers {

namespace {

using Path = std::filesystem::path;

constexpr unsigned kDirectories = 4; // config.txt's, and those above it

// "": it is in none of the directories.
std::string find_file(const std::string &config, const std::string &name) {
  Path directory = std::filesystem::absolute(config).parent_path();
  for (unsigned i = 0; i < kDirectories; i++, directory = directory.parent_path()) {
    std::error_code error;
    if (std::filesystem::is_regular_file(directory / name, error))
      return (directory / name).lexically_normal().string();
  }
  return "";
}

Result<std::string> read_named(HpccConfig &config, const std::string &path, const char *key,
                               std::string &name) {
  name = config.text(key);
  if (name.empty())
    return Error{fmt::format("{}: {} is missing", config.name, key),
                 fmt::format("add {} FILE", key)};
  const std::string found = find_file(path, name);
  if (found.empty())
    return config.wrong(key, fmt::format("there is no file {}", name),
                        "a path from the directory of the config, or from one of the three above");
  return parse::read_file(found);
}

const char *flow_key(const HpccConfig &config) {
  return config.has("FLOW_FILE") || !config.has("FLOW_INPUT_FILE") ? "FLOW_FILE"
                                                                   : "FLOW_INPUT_FILE";
}

Result<ImportedExperiment> import(HpccConfig config, const HpccTexts &texts) {
  auto network = XR_TRY(read_hpcc_network(texts.topology, texts.topology_name));
  auto flows = XR_TRY(read_hpcc_flows(texts.flows, texts.flows_name, network));
  return hpcc_experiment(std::move(config), std::move(network), std::move(flows));
}

// What is traced there is a capture here; the file is checked all the same.
Status check_trace(HpccConfig &config, const std::string &path, const HpccTexts &texts) {
  const std::string name = config.text("TRACE_FILE"),
                    found = name.empty() ? "" : find_file(path, name);
  if (name.empty())
    return {};
  if (found.empty()) {
    config.notes.push_back(fmt::format("TRACE_FILE {}: there is no such file", name));
    return {};
  }
  const auto text = XR_TRY(parse::read_file(found));
  const auto network = XR_TRY(read_hpcc_network(texts.topology, texts.topology_name));
  const auto nodes = XR_TRY(read_hpcc_trace(text, name, network));
  config.notes.push_back(fmt::format("TRACE_FILE: {} nodes; nothing is traced here", nodes));
  return {};
}

} // namespace

Result<ImportedExperiment> hpcc(const std::string &path) {
  HpccTexts texts;
  texts.config = XR_TRY(parse::read_file(path));
  auto config = XR_TRY(read_hpcc_config(texts.config, parse::file_name(path)));
  texts.topology = XR_TRY(read_named(config, path, "TOPOLOGY_FILE", texts.topology_name));
  texts.flows = XR_TRY(read_named(config, path, flow_key(config), texts.flows_name));
  XR_TRY(check_trace(config, path, texts));
  return import(std::move(config), texts);
}

Result<ImportedExperiment> hpcc(const HpccTexts &texts) {
  auto config = XR_TRY(read_hpcc_config(texts.config, texts.config_name));
  return import(std::move(config), texts);
}

Result<std::string> fct_text(const ImportedExperiment &imported,
                             const ExperimentMeasurement &measured) {
  if (measured.flows.size() != imported.fct_flows.size())
    return Error{"fct.txt: the flows are not those of the flow file", "run it without --set flows"};
  std::vector<std::pair<uint64_t, size_t>> ended;
  for (size_t i = 0; i < measured.flows.size(); i++)
    if (measured.flows[i].end_ns && measured.flows[i].fct_ns)
      ended.emplace_back(*measured.flows[i].end_ns, i);
  std::ranges::sort(ended);
  std::string text;
  for (const auto &[end, i] : ended) {
    const FctFlow &flow = imported.fct_flows[i];
    text +=
        fmt::format("{:08x} {:08x} {} {} {} {} {} {}\n", flow.src_ip, flow.dst_ip, flow.src_port,
                    flow.dst_port, flow.bytes, imported.begins_ns + measured.flows[i].start_ns,
                    *measured.flows[i].fct_ns, flow.standalone_ns);
  }
  return text;
}

} // namespace xr::importers
