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
                 std::string_view(key) == "TOPOLOGY_FILE"
                     ? "the topology's file after the config, as SimAI has it"
                     : fmt::format("add {} FILE", key)};
  const bool workload =
      config.dialect == HpccDialect::SimAi || config.dialect == HpccDialect::AstraSim;
  const std::string found = find_file(path, name);
  if (found.empty())
    return config.wrong(key, fmt::format("there is no file {}", name),
                        workload && std::string_view(key) != "TOPOLOGY_FILE"
                            ? "the flows are of a workload there: run --import simai or chakra "
                              "WORKLOAD TOPOLOGY"
                            : "a path from the directory of the config, or from one of the three "
                              "above");
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

} // namespace

bool is_hpcc_topology(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] >= '0' && text[first] <= '9';
}

Result<ImportedExperiment> hpcc(const std::string &path, const std::string &topology) {
  HpccTexts texts;
  texts.config = XR_TRY(parse::read_file(path));
  auto config = XR_TRY(read_hpcc_config(texts.config, parse::file_name(path)));
  if (topology.empty()) {
    texts.topology = XR_TRY(read_named(config, path, "TOPOLOGY_FILE", texts.topology_name));
  } else {
    texts.topology = XR_TRY(parse::read_file(topology));
    texts.topology_name = parse::file_name(topology);
  }
  texts.flows = XR_TRY(read_named(config, path, flow_key(config), texts.flows_name));
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
