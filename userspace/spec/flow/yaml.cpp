// SPDX-License-Identifier: Apache-2.0
// Reads a file of flows.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "flow/words.h"
#include "parse/value.h"
#include "parse/yaml.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr size_t kMostFlows = 100'000;
using List = std::vector<std::string>;

bool names_seed(const List &list) {
  WordReader words(list);
  for (std::string before; !words.done(); before = words.take())
    if (words.peek() == "seed" && before != "name")
      return true;
  return false;
}

Status read_flow(const YAML::Node &node, FlowFile &file) {
  const auto words = XR_TRY(flow_language().from_yaml(node));
  const size_t number = file.flows.size();
  auto flow = parse_flow(words);
  if (!flow)
    return at_line(
        node, {fmt::format("flow {}: {}", number + 1, flow.error().message), flow.error().hint});
  if (file.seed && !names_seed(words))
    flow->seed = *file.seed + number;
  file.flows.push_back(std::move(flow).get());
  return {};
}

Status read_flows(const YAML::Node &list, FlowFile &file) {
  if (list.IsNull())
    return {};
  if (!list.IsSequence())
    return at_line(list, {"flows is not a list", "each flow begins with `- `"});
  if (list.size() > kMostFlows)
    return at_line(list, {fmt::format("there are {} flows", list.size()),
                          fmt::format("at most {}", kMostFlows)});
  for (const YAML::Node &flow : list)
    if (Status s = read_flow(flow, file); !s)
      return s;
  return {};
}

Status read_seed(const YAML::Node &node, FlowFile &file) {
  const auto seed = integer(scalar(node), 0, UINT64_MAX);
  if (!seed)
    return at_line(node, {"seed: " + seed.error().message, "seed: 7"});
  file.seed = seed.get();
  return {};
}

// Parses the rate as words of a flow and accepts no others.
Status read_rate(const YAML::Node &node, FlowFile &file) {
  const List words = split(scalar(node));
  if (words.empty() || words.size() > 2)
    return at_line(node, {"rate: one rate is wanted", "rate: 10gbit"});
  auto flow = parse_flow({"rate", words[0], words.size() > 1 ? words[1] : ""});
  if (!flow)
    return at_line(node, flow.error());
  file.rate = flow->pacing.rate;
  return {};
}

Status read_stagger(const YAML::Node &node, FlowFile &file) {
  const auto ns = duration(scalar(node));
  if (!ns)
    return at_line(node, {"stagger: " + ns.error().message, "stagger: 10ms"});
  file.stagger_ns = ns.get();
  return {};
}

struct Section {
  std::string_view name;
  Status (*read)(const YAML::Node &, FlowFile &);
};

// Read in this order, not in the order of the file: flows need the seed.
constexpr Section kSections[] = {
    {"seed", read_seed}, {"rate", read_rate}, {"stagger", read_stagger}, {"flows", read_flows}};

Result<FlowFile> read(const YAML::Node &root) {
  FlowFile file;
  std::vector<std::string_view> names;
  for (const Section &section : kSections)
    names.push_back(section.name);
  std::map<size_t, YAML::Node> found;
  if (!root.IsMap())
    return at_line(root, {"there is no `flows:`", "flows: and below it a line for each flow, like "
                                                  "`- dst 192.0.2.2 qp 0x11 write size 64k`"});
  for (const auto &pair : root) {
    const auto at = choice(scalar(pair.first), names, "a part of such a file");
    if (!at)
      return at_line(pair.first, at.error());
    if (!found.emplace(at.get(), pair.second).second)
      return at_line(pair.first, {fmt::format("{} is given twice", names[at.get()]),
                                  "remove one of them, or join them"});
  }
  for (const auto &[section, node] : found)
    XR_TRY(kSections[section].read(node, file));
  return file;
}

} // namespace

Result<FlowFile> parse_flows_yaml(const std::string &text, const std::string &name) {
  return with_yaml(text, name, read);
}

Result<FlowFile> load_flows(const std::string &path) {
  const auto text = XR_TRY(read_file(path));
  return parse_flows_yaml(text, file_name(path));
}

} // namespace xr::flow
