// SPDX-License-Identifier: Apache-2.0
#include "experiment/settled_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "parse/quantity.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

constexpr const char *kVars = "vars", *kCongestion = "congestion";
constexpr std::string_view kSweep = "sweep.";

// A key of a sweep is itself a path.
std::vector<std::string> path_of(const std::string &key) {
  if (key.starts_with(kSweep))
    return {"sweep", key.substr(kSweep.size())};
  std::vector<std::string> path(1);
  for (const char c : key)
    if (c == '.')
      path.emplace_back();
    else
      path.back() += c;
  return path;
}

// The entry of a list, from 1.
Result<size_t> entry(const YAML::Node &list, const std::string &word) {
  const auto index = parse::integer(word, 1, std::max<size_t>(list.size(), 1), "an entry");
  if (!index || !list.size())
    return Error{fmt::format("'{}' is not an entry of the list", word), "they count from 1"};
  return index.get() - 1;
}

// Parameters are set in the words of congestion control. `node`: the part that has it.
Status set_congestion(YAML::Node node, const std::vector<std::string> &path,
                      const std::string &text, const std::string &key, SetValues &set) {
  const YAML::Node given = node[kCongestion];
  auto words = XR_TRY(with_parameter(given ? parse::scalar(given) : "", path, text));
  node[kCongestion] = words;
  set.emplace_back(node[kCongestion], key);
  return {};
}

// Sets the value at a path like topology.star.senders or flows.1.words.
Status set_value(YAML::Node root, const std::string &key, const YAML::Node &value, SetValues &set) {
  const std::vector<std::string> path = path_of(key);
  YAML::Node node = root;
  for (size_t i = 0; i < path.size(); i++) {
    const bool last = i + 1 == path.size();
    if (node.IsSequence()) {
      const size_t index = XR_TRY(entry(node, path[i]));
      if (last)
        node[index] = value;
      node.reset(node[index]);
      continue;
    }
    if (node.IsScalar())
      return Error{fmt::format("'{}' is below a value", path[i]), "like topology.star.senders=8"};
    if (!last && path[i] == kCongestion)
      return set_congestion(node, {path.begin() + static_cast<long>(i) + 1, path.end()},
                            parse::scalar(value), key, set);
    if (last)
      node[path[i]] = value;
    else if (!node[path[i]] && i == 0)
      node[path[i]] = YAML::Node(YAML::NodeType::Map);
    else if (!node[path[i]]) {
      std::vector<std::string> names;
      for (const auto &pair : node)
        names.push_back(parse::scalar(pair.first));
      return Error{fmt::format("there is no '{}' in the file", path[i]),
                   parse::hint_from(path[i], {names.begin(), names.end()})};
    }
    node.reset(node[path[i]]);
  }
  set.emplace_back(value, key);
  return {};
}

// "{rate}/8" is a text, though YAML reads a map at its begin.
Result<YAML::Node> value_of(const std::string &text) {
  if (const auto expression = parse::Expression::parse(text);
      expression && !expression->names().empty() && !expression->is_name())
    return YAML::Node(text);
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception &) {
    return Error{fmt::format("'{}' is not a value", text), "KEY=VALUE, the value as in the file"};
  }
}

// The texts that were replaced in `value` are now in `words`, which it became.
void move_replaced(const YAML::Node &value, const YAML::Node &words,
                   std::vector<ReplacedText> &replaced) {
  for (ReplacedText &text : replaced)
    if (is_part(value, text.node)) {
      text.node.reset(words);
      text.whole = false;
    }
}

Status words_in_place(const YamlReader &reader, YAML::Node part,
                      std::vector<ReplacedText> &replaced) {
  if (!part.IsMap() || !part[kCongestion] || !part[kCongestion].IsMap())
    return {};
  YAML::Node node = part[kCongestion];
  auto words = congestion_words(node);
  if (!words)
    return reader.in(node, kCongestion, words.error());
  move_replaced(node, node, replaced);
  node = *words; // keeps its line
  return {};
}

// The experiment's congestion control, and that of each entry of flows.
Status all_words_in_place(const YamlReader &reader, const YAML::Node &root,
                          std::vector<ReplacedText> &replaced) {
  XR_TRY(words_in_place(reader, root, replaced));
  if (const YAML::Node flows = root["flows"]; flows && flows.IsSequence())
    for (const YAML::Node &flow : flows)
      XR_TRY(words_in_place(reader, flow, replaced));
  return {};
}

class Settling {
public:
  Settling(const YAML::Node &root, const std::vector<std::string_view> &parts, SettledFile &file)
      : root_(root), parts_(parts), file_(file), reader_(file.origins) {}

  Status run(const Settings &settings) {
    for (const auto &[key, text] : settings)
      if (is_of_vars(key))
        XR_TRY(set_variable(key, text));
    for (const auto &[key, text] : settings)
      if (is_variable(key))
        XR_TRY(set_variable("vars." + key, text));
    if (root_[kVars])
      XR_TRY(read_variables());
    XR_TRY(all_words_in_place(reader_, root_, file_.origins.replaced));
    for (const auto &[key, text] : settings)
      if (!is_of_vars(key) && !is_variable(key))
        XR_TRY(set_key(key, text));
    return {};
  }

private:
  static bool is_of_vars(const std::string &key) {
    return key == kVars || key.starts_with("vars.");
  }
  bool is_variable(const std::string &key) const {
    const YAML::Node vars = root_[kVars];
    return vars && vars.IsMap() && vars[key].IsDefined();
  }
  static Status of(const std::string &key, const Status &done) {
    return done ? done : Status(done.error().in(std::string(kOfSetting) + key).as_usage());
  }

  Status set_variable(const std::string &key, const std::string &text) {
    auto value = value_of(text);
    return of(key, value ? set_value(root_, key, value.get(), file_.origins.set)
                         : Status(value.error()));
  }

  Status read_variables() {
    std::vector<std::string_view> reserved = parts_;
    reserved.insert(reserved.end(), {"seeds", "zip"}); // keys of sweep
    XR_TRY(file_.variables.read(reader_, root_[kVars], reserved));
    for (const auto &pair : root_)
      if (const std::string part = parse::scalar(pair.first); part != kVars)
        XR_TRY(file_.variables.substitute(reader_, pair.second,
                                          part == "sweep" ? file_.sweep_used : file_.used,
                                          file_.origins.replaced));
    file_.used.insert(file_.sweep_used.begin(), file_.sweep_used.end());
    return {};
  }

  Status set_key(const std::string &key, const std::string &text) {
    auto value = value_of(text);
    if (!value)
      return of(key, value.error());
    keep_goals(key, *value);
    std::vector<ReplacedText> &replaced = file_.origins.replaced;
    const size_t before = replaced.size();
    if (!file_.variables.empty())
      XR_TRY(of(key, with_variables(path_of(key).front(), *value, key)));
    XR_TRY(of(key, set_value(root_, key, value.get(), file_.origins.set)));
    forget_replaced(*value, before);
    if (const YAML::Node &words = file_.origins.set.back().first; !words.is(*value))
      move_replaced(*value, words, replaced);
    return all_words_in_place(reader_, root_, replaced);
  }

  // Another key to find, with the file's goals.
  void keep_goals(const std::string &key, YAML::Node value) const {
    const YAML::Node old = root_[key];
    if (key == "find" && value.IsMap() && value.size() && !value["goals"] && old && old.IsMap() &&
        old["goals"])
      value["goals"] = old["goals"];
  }

  // A node that was in the place of `value` is now that, without the text that it had. `before`:
  // how many texts were there before. An assignment of nodes would change the file's.
  void forget_replaced(const YAML::Node &value, size_t before) {
    std::vector<ReplacedText> kept;
    for (size_t i = 0; i < file_.origins.replaced.size(); i++)
      if (const ReplacedText &text = file_.origins.replaced[i];
          i >= before || !is_part(value, text.node))
        kept.push_back(text);
    file_.origins.replaced.swap(kept);
  }

  // `value`: what the part gets by the setting of `key`.
  Status with_variables(const std::string &part, const YAML::Node &value, const std::string &key) {
    if (std::ranges::find(parts_, part) == parts_.end()) {
      std::vector<std::string_view> names = file_.variables.names();
      names.insert(names.end(), parts_.begin(), parts_.end());
      return parse::wrong(part, "a variable or a part of an experiment",
                          parse::hint_from(part, names));
    }
    std::set<std::string> used;
    const ValueOrigins set{{{value, key}}, {}};
    XR_TRY(file_.variables.substitute(YamlReader(set), value, used, file_.origins.replaced));
    if (part == key && part == "sweep")
      file_.sweep_used.clear();
    if (part == "sweep")
      file_.sweep_used.insert(used.begin(), used.end());
    file_.used.merge(used);
    return {};
  }

  const YAML::Node &root_;
  const std::vector<std::string_view> &parts_;
  SettledFile &file_;
  YamlReader reader_;
};

} // namespace

Status settle(YAML::Node root, const Settings &settings, const std::vector<std::string_view> &parts,
              SettledFile &file) {
  return Settling(root, parts, file).run(settings);
}

} // namespace xr::experiment
