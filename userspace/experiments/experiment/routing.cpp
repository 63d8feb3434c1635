// SPDX-License-Identifier: Apache-2.0
// `routing:`, which of several equally short paths packets take.
#include <fmt/format.h>

#include "experiment/read.h"
#include "parse/value.h"

namespace xr::experiment {

namespace {

using parse::WordReader;
using simulate::Routing;

Status take_fields(WordReader &words, Routing &routing) {
  if (words.done() || words.peek() == "seed")
    return {};
  const size_t fields = XR_TRY(
      parse::choice(words.take(), {"5-tuple", "5-tuple+qpn", "5-tuple+flow-label"}, "hash fields"));
  routing.fields = static_cast<Routing::Fields>(fields);
  return {};
}

Status parse_routing(const std::vector<std::string> &text, Routing &routing) {
  WordReader words(text);
  switch (XR_TRY(parse::choice(words.take(), {"ecmp", "spray", "flowlet"}, "a routing"))) {
  case 0:
    routing.kind = Routing::Kind::Ecmp;
    XR_TRY(take_fields(words, routing));
    break;
  case 1:
    routing.kind = XR_TRY(parse::choice(words.take(), {"random", "round-robin"}, "a spray"))
                       ? Routing::Kind::SprayRoundRobin
                       : Routing::Kind::SprayRandom;
    break;
  default:
    routing.kind = Routing::Kind::Flowlet;
    routing.gap_ns = XR_TRY(parse::duration(words.take()));
  }
  if (words.take_if("seed"))
    routing.seed = XR_TRY(parse::integer(words.take(), 0, UINT64_MAX));
  if (!words.done())
    return parse::wrong(words.peek(), "seed N or the end", "like routing: ecmp 5-tuple+qpn seed 7");
  return {};
}

} // namespace

// A map is read as its words: {ecmp: {fields: 5-tuple+qpn, seed: 7}}, {spray: random}.
Status read_routing(const YamlReader &reader, const YAML::Node &node, Routing &routing) {
  std::string words;
  if (!node.IsMap()) {
    words = parse::scalar(node);
  } else {
    const auto named = [&words](const char *name) {
      return [&words, name](const YAML::Node &value) -> Status {
        words += fmt::format("{}{} {}", words.empty() ? "" : " ", name, parse::scalar(value));
        return {};
      };
    };
    const auto ecmp = [&](const YAML::Node &inner) -> Status {
      std::string fields = "5-tuple", seed;
      XR_TRY(reader.map(
          inner, "a key of ecmp",
          {{"fields", reader.text("fields", fields)}, {"seed", reader.text("seed", seed)}}));
      words += "ecmp " + fields + (seed.empty() ? "" : " seed " + seed);
      return {};
    };
    XR_TRY(reader.map(node, "a routing",
                      {{"ecmp", ecmp}, {"spray", named("spray")}, {"flowlet", named("flowlet")}}));
  }
  if (Status s = parse_routing(parse::split(words), routing); !s)
    return reader.in(node, "routing", s.error());
  return {};
}

} // namespace xr::experiment
