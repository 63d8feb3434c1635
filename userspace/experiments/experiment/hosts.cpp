// SPDX-License-Identifier: Apache-2.0
// What senders and receivers do: `reliability:` and `cnp:`.
#include <string_view>
#include <vector>

#include "experiment/read.h"
#include "parse/words.h"

namespace xr::experiment {

namespace {

// One of `names`; `value` is its index.
template <typename Value>
YamlReader::Read one_of(const YamlReader &reader, std::string key,
                        std::vector<std::string_view> names, std::string_view what, Value &value) {
  return [&reader, key = std::move(key), names = std::move(names), what,
          &value](const YAML::Node &node) -> Status {
    const auto index = parse::choice(parse::scalar(node), names, what);
    if (!index)
      return reader.in(node, key, index.error());
    value = static_cast<Value>(index.get());
    return {};
  };
}

} // namespace

Status read_reliability(const YamlReader &reader, const YAML::Node &node,
                        simulate::Scenario &scenario) {
  requester::Reliability &r = scenario.reliability;
  unsigned window = r.window, timeout = r.timeout_code, retries = r.retries, rnr = r.rnr_retries;
  Status done = reader.map(node, "a key of reliability",
                           {{"window", reader.number("window", 1, 1U << 20, window)},
                            {"timeout", reader.number("timeout", 0, 31, timeout)},
                            {"retries", reader.number("retries", 0, 255, retries)},
                            {"rnr-retries", reader.number("rnr-retries", 0, 7, rnr)},
                            {"reorder", one_of(reader, "reorder", {"refuse", "accept"},
                                               "what receivers do", scenario.reorder)},
                            {"retransmit", one_of(reader, "retransmit", {"go-back-n", "selective"},
                                                  "a way to retransmit", r.selective)}});
  r.window = window;
  r.timeout_code = static_cast<uint8_t>(timeout);
  r.retries = static_cast<uint8_t>(retries);
  r.rnr_retries = static_cast<uint8_t>(rnr);
  return done;
}

Status read_cnp(const YamlReader &reader, const YAML::Node &node, congestion::CnpPacing &cnp) {
  return reader.map(
      node, "a key of cnp",
      {{"mode", one_of(reader, "mode", {"hold-off", "window", "grid", "echo"},
                       "a mode of the notification point", cnp.mode)},
       {"interval", reader.duration("interval", cnp.interval_ns)},
       {"scope", one_of(reader, "scope", {"stream", "pair", "port"}, "a scope", cnp.scope)}});
}

} // namespace xr::experiment
