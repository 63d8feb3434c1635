// SPDX-License-Identifier: Apache-2.0
// Congestion control with its parameters as keys: they become the words that flows have too.
#include <algorithm>

#include <fmt/format.h>

#include "experiment/settled_file.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

// A keyword is followed by its value; every other parameter is NAME=VALUE. The file of a plug-in
// has no keyword: it follows the name.
constexpr std::string_view kKeywords[] = {"preset", "line", "window"};
constexpr std::string_view kFile = "file", kVary = "vary";
constexpr const char *kExample = "congestion: {dcqcn: {preset: paper, rai: 40mbit}}";

bool is_keyword(std::string_view name) {
  return std::ranges::find(kKeywords, name) != std::end(kKeywords);
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// A window may have `vary` after it.
Result<std::string> one_word(const std::string &name, const std::string &value) {
  const std::vector<std::string> words = parse::split(value);
  if (words.size() == 1 || (name == "window" && words.size() == 2 && words.back() == kVary))
    return value;
  return Error{fmt::format("{}: '{}' is not a value", name, value), kExample};
}

// Replaces the parameter, or adds it. A preset is the first one: it would replace the others.
void set_parameter(std::vector<std::string> &words, const std::string &name,
                   const std::string &value) {
  if (name == kFile) {
    if (words.size() > 1 && words[1].find('=') == std::string::npos && !is_keyword(words[1]))
      words.erase(words.begin() + 1);
    words.insert(words.begin() + 1, value);
    return;
  }
  if (!is_keyword(name)) {
    const auto same = [&name](const std::string &word) { return word.starts_with(name + "="); };
    const auto found = std::find_if(words.begin() + 1, words.end(), same);
    words.insert(found == words.end() ? found : words.erase(found), name + "=" + value);
    return;
  }
  if (const auto found = std::find(words.begin() + 1, words.end(), name); found != words.end()) {
    const auto next = words.erase(found, std::min(found + 2, words.end()));
    if (next != words.end() && *next == kVary)
      words.erase(next);
  }
  std::vector<std::string> added = parse::split(value);
  added.insert(added.begin(), name);
  const auto place = words.begin() + (name == "preset" ? 1 : static_cast<long>(words.size()));
  words.insert(place, added.begin(), added.end());
}

} // namespace

Result<std::string> congestion_words(const YAML::Node &node) {
  if (!node.IsMap())
    return parse::scalar(node);
  if (node.size() != 1)
    return Error{"one algorithm is needed", kExample};
  std::vector<std::string> words = parse::split(parse::scalar(node.begin()->first));
  const YAML::Node parameters = node.begin()->second;
  if (words.size() != 1)
    return Error{"the name of the algorithm is one word", kExample};
  if (parameters.IsScalar())
    words.push_back(parameters.Scalar()); // {fixed: 1gbit}
  else if (!parameters.IsMap() && !parameters.IsNull())
    return Error{fmt::format("{}: it is not a map of parameters", words.front()), kExample};
  if (parameters.IsMap())
    for (const auto &pair : parameters) {
      const std::string name = parse::scalar(pair.first);
      set_parameter(words, name, XR_TRY(one_word(name, parse::scalar(pair.second))));
    }
  return joined(words);
}

Result<std::string> with_parameter(const std::string &text, const std::vector<std::string> &path,
                                   const std::string &value) {
  std::vector<std::string> words = parse::split(text);
  if (words.empty() && path.size() == 2)
    words.push_back(path.front());
  if (words.empty())
    return Error{"there is no congestion control in the file",
                 fmt::format("congestion.ALGORITHM.{}", path.front())};
  if (path.size() > 2 || (path.size() == 2 && path.front() != words.front()))
    return Error{fmt::format("the congestion control is {}, not {}", words.front(), path.front()),
                 fmt::format("congestion.{}={}, or set congestion itself", path.back(), value)};
  set_parameter(words, path.back(), XR_TRY(one_word(path.back(), value)));
  return joined(words);
}

} // namespace xr::experiment
