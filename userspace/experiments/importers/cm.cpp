// SPDX-License-Identifier: Apache-2.0
#include "importers/cm.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/cm_connections.h"
#include "importers/cm_topology.h"
#include "parse/value.h"

namespace xr::importers {

namespace {

// A duration in which the connections end unless they are far slower than their links: four times
// the longest chain of them and the busiest host's bytes, each at the least rate; and 10 ms of
// those that never end.
uint64_t duration_ns(const CmMatrix &matrix, const CmTopology &topology) {
  std::vector<uint64_t> chain(matrix.connections.size()), sends(matrix.nodes),
      receives(matrix.nodes);
  uint64_t start = 0, longest = 0, busiest = 0;
  bool endless = false;
  for (size_t i = 0; i < matrix.connections.size(); i++) {
    const CmConnection &connection = matrix.connections[i];
    for (const CmConnection::Activator &activator : connection.after)
      chain[i] = std::max(chain[i], chain[activator.connection]);
    const uint64_t bytes = connection.bytes * connection.messages;
    endless = endless || !bytes;
    chain[i] += bytes;
    longest = std::max(longest, chain[i]);
    start = std::max(start, connection.start_ns);
    busiest =
        std::max({busiest, sends[connection.src] += bytes, receives[connection.dst] += bytes});
  }
  const double seconds =
      static_cast<double>(longest + busiest) * 8 * 4 / static_cast<double>(topology.slowest);
  constexpr double kMost = 1e6, kMillisecond = 1e6;
  return start +
         static_cast<uint64_t>(std::min(seconds, kMost) * 1e9 + (endless ? 10 : 1) * kMillisecond);
}

std::string host(uint32_t number) { return fmt::format("host-{}", number + 1); }

std::string after(const CmMatrix &matrix, const CmConnection &connection) {
  std::vector<std::string> items;
  if (connection.fewest < connection.after.size())
    items.push_back(connection.fewest == 1 ? "any" : fmt::format("{} of", connection.fewest));
  for (const CmConnection::Activator &activator : connection.after)
    items.push_back(fmt::format("{} {}", matrix.connections[activator.connection].name,
                                activator.received ? "received" : "sent"));
  return fmt::format("after: [{}]", fmt::join(items, ", "));
}

bool listable(const CmConnection &connection) {
  return connection.after.empty() && !connection.activates && connection.messages == 1;
}

// Connections that no other waits for, and that wait for none, are lists.
std::string flows(const CmMatrix &matrix) {
  std::string yaml = "flows:\n";
  bool listing = false;
  for (const CmConnection &connection : matrix.connections) {
    const std::string src = host(connection.src), dst = host(connection.dst);
    const std::string size =
        connection.bytes ? fmt::format("{}", connection.bytes) : std::string("endless");
    if (listable(connection)) {
      if (!listing)
        yaml += "  - reliable: true\n    words: \"write pmtu 4096\"\n    list: |\n";
      yaml += fmt::format("      {} {} {} {}ns {}\n", src, dst, size, connection.start_ns,
                          connection.name);
    } else {
      yaml += fmt::format("  - {{name: {}, from: {}, to: {}, reliable: true, words: \"write pmtu "
                          "4096{}\", {}}}\n",
                          connection.name, src, dst,
                          connection.bytes ? fmt::format(" size {} messages {}", connection.bytes,
                                                         connection.messages)
                                           : " size 1000000",
                          connection.after.empty() ? fmt::format("start: {}ns", connection.start_ns)
                                                   : after(matrix, connection));
    }
    listing = listable(connection);
  }
  return yaml;
}

} // namespace

Result<ImportedExperiment> cm(const CmTexts &texts) {
  const CmMatrix matrix = XR_TRY(read_cm_matrix(texts.matrix, texts.matrix_name));
  const CmTopology topology =
      XR_TRY(texts.topology_name.empty() ? fat_tree_of(matrix.nodes, texts.matrix_name)
                                         : read_cm_topology(texts.topology, texts.topology_name));
  if (matrix.nodes > topology.hosts)
    return Error{fmt::format("{}: Nodes is {}, and {} has {}", texts.matrix_name, matrix.nodes,
                             texts.topology_name, topology.hosts),
                 "a topology with as many hosts"};
  ImportedExperiment out;
  std::string name = texts.matrix_name.substr(texts.matrix_name.rfind('/') + 1);
  std::erase_if(name, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; });
  const uint64_t duration = duration_ns(matrix, topology);
  out.yaml = fmt::format("# Imported from {0} (htsim): host i is host-(i + 1)\n"
                         "experiment: \"htsim: {0}\"\nseed: 1\nduration: {1}\n"
                         "measure: {{from: 0s}}\n{2}"
                         "queue: {{words: \"buffer 16M red 400k 1600k 20% ce only\"}}\n"
                         "congestion: \"dcqcn preset hpcc\"\n",
                         name, parse::duration_text(duration), topology.yaml);
  out.yaml += flows(matrix);
  out.notes = matrix.notes;
  out.notes.insert(out.notes.end(), topology.notes.begin(), topology.notes.end());
  out.notes.push_back(fmt::format(
      "htsim's congestion control, queues, packet size, paths and end are of its command line: "
      "here they are DCQCN, RED, 4096 bytes, ECMP and {}",
      parse::duration_text(duration)));
  return out;
}

} // namespace xr::importers
