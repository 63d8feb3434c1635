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
constexpr size_t kMostLetters = 1 << 20; // of a flow; YAML aliases can multiply it

using List = std::vector<std::string>;

// Joins the items to one word.
Result<std::string> joined(const YAML::Node &list) {
  std::string text;
  for (const YAML::Node &item : list) {
    if (!item.IsScalar())
      return at_line(item, {"a list of values has something else in it", "like [64, 4096]"});
    text += (text.empty() ? "" : ",") + item.Scalar();
    if (text.size() > kMostLetters)
      return at_line(list, {"the list is too long", "a flow of this length is hardly meant"});
  }
  return text;
}

// Writes each fault as the word `fault` and its arguments.
Status push_faults(const YAML::Node &node, List &out) {
  if (node.IsScalar()) {
    out.insert(out.end(), {"fault", node.Scalar()});
    return {};
  }
  if (!node.IsSequence())
    return at_line(node, {"faults is not a list", R"(like [skip every 100, icrc probability 1%])"});
  if (node.size() > kMostLetters)
    return at_line(node, {"the list is too long", "a flow of this length is hardly meant"});
  for (const YAML::Node &item : node) {
    if (!item.IsScalar())
      return at_line(item, {"a fault is not words", "like skip every 100"});
    out.insert(out.end(), {"fault", item.Scalar()});
  }
  return {};
}

// With `true` or no value, the key alone is a word.
Status push_value(const YAML::Node &key, const YAML::Node &value, List &out) {
  const std::string &word = key.Scalar();
  if (word == "faults" || word == "fault")
    return push_faults(value, out);
  out.push_back(word);
  if (value.IsMap())
    return at_line(value, {fmt::format("{} is a map", word), "its value is words or a list"});
  if (value.IsSequence()) {
    out.push_back(XR_TRY(joined(value)));
  }
  if (!value.IsScalar() || lower(value.Scalar()) == "true")
    return {};
  if (lower(value.Scalar()) == "false")
    return at_line(value, {fmt::format("{} cannot be false", word), "leave it away"});
  out.push_back(value.Scalar());
  return {};
}

Status check_key(const YAML::Node &key) {
  std::vector<std::string_view> names = flow_words();
  names.emplace_back("faults");
  const std::string word = scalar(key);
  if (std::find(names.begin(), names.end(), word) == names.end())
    return at_line(key, wrong(word, "a word of a flow", hint_from(word, names)));
  return {};
}

Result<List> flow_list(const YAML::Node &node) {
  if (node.IsScalar())
    return split(node.Scalar());
  if (!node.IsMap())
    return at_line(node, {"a flow is neither words nor a map",
                          "like `- dst 192.0.2.2 qp 0x11` or `- {dst: 192.0.2.2, qp: 0x11}`"});
  List out, preset;
  for (const auto &pair : node) {
    XR_TRY(check_key(pair.first));
    // a map has no order, but the preset must come before the words that change it
    if (Status s =
            push_value(pair.first, pair.second, pair.first.Scalar() == "preset" ? preset : out);
        !s)
      return s.error();
  }
  preset.insert(preset.end(), out.begin(), out.end());
  return preset;
}

bool names_seed(const List &list) {
  WordReader words(list);
  for (std::string before; !words.done(); before = words.take())
    if (words.peek() == "seed" && before != "name")
      return true;
  return false;
}

Status read_flow(const YAML::Node &node, FlowFile &file) {
  const auto words = XR_TRY(flow_list(node));
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
