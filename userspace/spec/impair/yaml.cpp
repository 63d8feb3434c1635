// SPDX-License-Identifier: Apache-2.0
// Reads a file of rules and peers.
#include <optional>
#include <set>

#include <fmt/format.h>

#include "impair/rule.h"
#include "impair/yaml_words.h"
#include "parse/value.h"
#include "parse/words.h"
#include "parse/yaml.h"

namespace xr::impair {

using namespace parse;

namespace {

struct Reading {
  File file;
  std::optional<uint64_t> seed;
};

Status read_rule(const YAML::Node &node, Reading &reading) {
  const auto words = XR_TRY(words_of(node));
  const size_t number = reading.file.rules.size();
  auto spec = parse_spec(words);
  if (!spec)
    return at_line(node, spec.error().in(fmt::format("rule {}", number + 1)));
  if (spec->chance() && !spec->seeded && reading.seed) {
    spec->seed = *reading.seed + number;
    spec->seeded = true;
    if (spec->text().size() >= ROCE_RULE_TEXT)
      return at_line(node, {fmt::format("rule {}: with its seed it is too long", number + 1),
                            "fewer values, or several rules"});
  }
  reading.file.rules.push_back(compile(std::move(*spec)));
  return {};
}

Status read_rules(const YAML::Node &list, Reading &reading) {
  if (list.IsNull())
    return {};
  if (!list.IsSequence())
    return at_line(list, {"rules is not a list", "each rule begins with `- `"});
  if (list.size() > ROCE_RULES)
    return at_line(list, {fmt::format("there are {} rules", list.size()),
                          fmt::format("a port can have {}", ROCE_RULES)});
  for (const YAML::Node &rule : list)
    if (Status s = read_rule(rule, reading); !s)
      return s;
  return {};
}

// Converts {ip: 192.0.2.1, qp: 0x11, src_qp: 0x12} to words.
Result<std::vector<std::string>> peer_words(const YAML::Node &node) {
  constexpr const char *kUsage = "like {ip: 192.0.2.1, qp: 0x11, src_qp: 0x12}";
  const std::vector<std::string_view> keys = {"ip", "qp", "src_qp"};
  std::vector<std::string> words(keys.size());
  if (node.IsScalar())
    return split(node.Scalar());
  if (!node.IsMap())
    return at_line(node, {"a peer is neither words nor a map", kUsage});
  for (const auto &pair : node) {
    const auto at = choice(scalar(pair.first), keys, "a part of a peer");
    if (!at)
      return at_line(pair.first, at.error());
    if (!words[at.get()].empty())
      return at_line(pair.first, {fmt::format("{} is given twice", keys[at.get()]), kUsage});
    if (pair.second.IsScalar())
      words[at.get()] = pair.second.Scalar();
  }
  for (size_t i = 0; i < keys.size(); i++)
    if (words[i].empty())
      return at_line(node, {fmt::format("{} is missing", keys[i]), kUsage});
  return words;
}

Status read_peers(const YAML::Node &list, Reading &reading) {
  if (list.IsNull())
    return {};
  if (!list.IsSequence())
    return at_line(list, {"peers is not a list", "each peer begins with `- `"});
  for (const YAML::Node &node : list) {
    const auto words = XR_TRY(peer_words(node));
    const auto peer = parse_peer(words);
    if (!peer)
      return at_line(
          node, {fmt::format("peer {}: {}", reading.file.peers.size() + 1, peer.error().message),
                 peer.error().hint});
    reading.file.peers.push_back(peer.get());
  }
  return {};
}

Status read_seed(const YAML::Node &node, Reading &reading) {
  const auto seed = integer(scalar(node), 0, UINT64_MAX);
  if (!seed)
    return at_line(node, {"seed: " + seed.error().message, "seed: 7"});
  reading.seed = seed.get();
  return {};
}

struct Section {
  std::string_view name;
  Status (*read)(const YAML::Node &, Reading &);
};

// Read in this order, not in the order of the file: rules need the seed.
constexpr Section kSections[] = {{"seed", read_seed}, {"peers", read_peers}, {"rules", read_rules}};

Status read(const YAML::Node &root, Reading &reading) {
  std::vector<std::string_view> names;
  for (const Section &section : kSections)
    names.push_back(section.name);
  std::set<size_t> seen;
  if (!root.IsMap())
    return at_line(root, {"there is no `rules:`", "rules: and below it a line for each rule, "
                                                  "like `- opcode data probability 1% drop`"});
  for (const auto &pair : root) {
    const auto at = choice(scalar(pair.first), names, "a part of such a file");
    if (!at)
      return at_line(pair.first, at.error());
    if (!seen.insert(at.get()).second)
      return at_line(pair.first, {fmt::format("{} is given twice", names[at.get()]),
                                  "remove one of them, or join them"});
  }
  for (const size_t i : seen)
    if (Status s = kSections[i].read(root[std::string(names[i])], reading); !s)
      return s;
  return {};
}

} // namespace

Result<File> parse_yaml(const std::string &text, const std::string &name) {
  return with_yaml(text, name, [](const YAML::Node &root) -> Result<File> {
    Reading reading;
    XR_TRY(read(root, reading));
    return std::move(reading.file);
  });
}

Result<File> load(const std::string &path) {
  const auto text = XR_TRY(read_file(path));
  return parse_yaml(text, file_name(path));
}

} // namespace xr::impair
