// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_config.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "importers/hpcc_tokens.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

using enum HpccDialect;

// What follows a key. Map: a count, and as many pairs; Three: as many whole numbers.
enum class ConfigType : uint8_t { Flag, Whole, Real, Rate, Text, Map, Three };

struct ConfigKey {
  std::string_view name;
  ConfigType type;
  HpccDialect dialect = Hpcc; // another: only there
};

constexpr ConfigKey kKeys[] = {
    {"ENABLE_QCN", ConfigType::Flag},
    {"USE_DYNAMIC_PFC_THRESHOLD", ConfigType::Flag},
    {"PAUSE_TIME", ConfigType::Real},
    {"PACKET_PAYLOAD_SIZE", ConfigType::Whole},
    {"TOPOLOGY_FILE", ConfigType::Text},
    {"FLOW_FILE", ConfigType::Text},
    {"TRACE_FILE", ConfigType::Text},
    {"TRACE_OUTPUT_FILE", ConfigType::Text},
    {"FCT_OUTPUT_FILE", ConfigType::Text},
    {"PFC_OUTPUT_FILE", ConfigType::Text},
    {"QLEN_MON_FILE", ConfigType::Text},
    {"SIMULATOR_STOP_TIME", ConfigType::Real},
    {"CC_MODE", ConfigType::Whole},
    {"ALPHA_RESUME_INTERVAL", ConfigType::Real},
    {"RATE_DECREASE_INTERVAL", ConfigType::Real},
    {"CLAMP_TARGET_RATE", ConfigType::Flag},
    {"RP_TIMER", ConfigType::Real},
    {"EWMA_GAIN", ConfigType::Real},
    {"FAST_RECOVERY_TIMES", ConfigType::Whole},
    {"RATE_AI", ConfigType::Rate},
    {"RATE_HAI", ConfigType::Rate},
    {"MIN_RATE", ConfigType::Rate},
    {"DCTCP_RATE_AI", ConfigType::Rate},
    {"ERROR_RATE_PER_LINK", ConfigType::Real},
    {"L2_CHUNK_SIZE", ConfigType::Whole},
    {"L2_ACK_INTERVAL", ConfigType::Whole},
    {"L2_BACK_TO_ZERO", ConfigType::Flag},
    {"HAS_WIN", ConfigType::Flag},
    {"GLOBAL_T", ConfigType::Flag},
    {"VAR_WIN", ConfigType::Flag},
    {"FAST_REACT", ConfigType::Flag},
    {"RATE_BOUND", ConfigType::Flag},
    {"MULTI_RATE", ConfigType::Flag},
    {"SAMPLE_FEEDBACK", ConfigType::Flag},
    {"MI_THRESH", ConfigType::Whole},
    {"U_TARGET", ConfigType::Real},
    {"INT_MULTI", ConfigType::Whole},
    {"PINT_LOG_BASE", ConfigType::Real},
    {"PINT_PROB", ConfigType::Real},
    {"ACK_HIGH_PRIO", ConfigType::Flag},
    {"LINK_DOWN", ConfigType::Three},
    {"ENABLE_TRACE", ConfigType::Flag},
    {"KMAX_MAP", ConfigType::Map},
    {"KMIN_MAP", ConfigType::Map},
    {"PMAX_MAP", ConfigType::Map},
    {"BUFFER_SIZE", ConfigType::Whole},
    {"QLEN_MON_START", ConfigType::Real},
    {"QLEN_MON_END", ConfigType::Real},
    {"DATA_RATE", ConfigType::Text},
    {"LINK_DELAY", ConfigType::Text},
    {"FLOW_INPUT_FILE", ConfigType::Text, Conweave},
    {"CNP_OUTPUT_FILE", ConfigType::Text, Conweave},
    {"VOQ_MON_FILE", ConfigType::Text, Conweave},
    {"VOQ_MON_DETAIL_FILE", ConfigType::Text, Conweave},
    {"UPLINK_MON_FILE", ConfigType::Text, Conweave},
    {"CONN_MON_FILE", ConfigType::Text, Conweave},
    {"EST_ERROR_MON_FILE", ConfigType::Text, Conweave},
    {"SW_MONITORING_INTERVAL", ConfigType::Whole, Conweave},
    {"FLOWGEN_START_TIME", ConfigType::Real, Conweave},
    {"FLOWGEN_STOP_TIME", ConfigType::Real, Conweave},
    {"LB_MODE", ConfigType::Whole, Conweave},
    {"ENABLE_PFC", ConfigType::Flag, Conweave},
    {"ENABLE_IRN", ConfigType::Flag, Conweave},
    {"LOAD", ConfigType::Real, Conweave},
    {"RANDOM_SEED", ConfigType::Whole, Conweave},
    {"NIC_TOTAL_PAUSE_TIME", ConfigType::Real, SimAi},
    {"BW_MON_FILE", ConfigType::Text, SimAi},
    {"RATE_MON_FILE", ConfigType::Text, SimAi},
    {"CNP_MON_FILE", ConfigType::Text, SimAi},
    {"MON_START", ConfigType::Whole, SimAi},
    {"MON_END", ConfigType::Whole, SimAi},
    {"QP_MON_INTERVAL", ConfigType::Whole, SimAi},
    {"BW_MON_INTERVAL", ConfigType::Whole, SimAi},
    {"QLEN_MON_INTERVAL", ConfigType::Whole, SimAi},
    {"HEADROOM_FACTOR", ConfigType::Real, AstraSim},
};
constexpr std::string_view kConweavePrefix = "CONWEAVE_"; // its own values, one word each

constexpr uint64_t kMostPairs = 64;
constexpr double kMostNumber = 1e18;

const ConfigKey *find_key(std::string_view word) {
  static constexpr ConfigKey kConweaveKey{"", ConfigType::Text, Conweave};
  const auto found = std::ranges::find(kKeys, word, &ConfigKey::name);
  if (found != std::end(kKeys))
    return found;
  return word.starts_with(kConweavePrefix) ? &kConweaveKey : nullptr;
}

class ConfigReader {
public:
  ConfigReader(std::string_view text, const std::string &name) : tokens_(text, name) {
    config_.name = name;
  }

  Result<HpccConfig> read() {
    while (!tokens_.done())
      XR_TRY(next());
    XR_TRY(find_dialect());
    return std::move(config_);
  }

private:
  // Braces are words like others there: what is in them is skipped because no key has that name.
  Status next() {
    const auto token = XR_TRY(tokens_.take("a key"));
    const ConfigKey *key = find_key(token.text);
    const bool opens = token.text.find('{') != std::string::npos;
    const bool commented = comment_ || opens;
    comment_ = commented && token.text.find('}') == std::string::npos;
    if (!key && commented)
      return {};
    if (!key && parse::real(token.text, 0, kMostNumber)) { // a map with more pairs than it says
      config_.notes.push_back(fmt::format("{}:{}: {} belongs to no key: skipped, as there",
                                          config_.name, token.line, token.text));
      return {};
    }
    if (!key)
      return unknown(token.text);
    if (commented)
      config_.notes.push_back(
          fmt::format("{}:{}: {} is in a {{comment}}, and is read all the same, "
                      "as the simulator does",
                      config_.name, token.line, token.text));
    HpccConfig::Value value = XR_TRY(value_of(*key, token.text));
    value.line = token.line;
    if (const auto before = config_.values.find(token.text); before != config_.values.end())
      config_.notes.push_back(fmt::format("{}:{}: {} replaces the value of line {}", config_.name,
                                          token.line, token.text, before->second.line));
    config_.values[token.text] = std::move(value);
    return {};
  }

  Error unknown(const std::string &word) const {
    std::vector<std::string_view> names;
    for (const ConfigKey &key : kKeys)
      names.push_back(key.name);
    const std::string near = parse::nearest(word, names);
    return tokens_.wrong(fmt::format("'{}' is not a key", word),
                         near.empty() ? "remove it, or put it into {braces}"
                                      : fmt::format("did you mean {}?", near));
  }

  Result<HpccConfig::Value> value_of(const ConfigKey &key, const std::string &name) {
    HpccConfig::Value value;
    const auto whole = [&](uint64_t most) -> Status {
      value.numbers.push_back(static_cast<double>(XR_TRY(tokens_.whole(name, 0, most))));
      return {};
    };
    constexpr uint64_t kMostWhole = 1ULL << 53;
    switch (key.type) {
    case ConfigType::Flag:
      XR_TRY(whole(1));
      break;
    case ConfigType::Whole:
      XR_TRY(whole(kMostWhole));
      break;
    case ConfigType::Real:
      value.numbers.push_back(XR_TRY(tokens_.real(name, 0, kMostNumber)));
      break;
    case ConfigType::Rate:
      value.numbers.push_back(static_cast<double>(XR_TRY(tokens_.rate(name))));
      break;
    case ConfigType::Text:
      value.text = XR_TRY(tokens_.take(name)).text;
      break;
    case ConfigType::Map: {
      const auto count = XR_TRY(tokens_.whole(name, 0, kMostPairs));
      for (uint64_t i = 0; i < 2 * count; i++)
        value.numbers.push_back(XR_TRY(tokens_.real(name, 0, kMostNumber)));
      break;
    }
    case ConfigType::Three:
      for (unsigned i = 0; i < 3; i++)
        XR_TRY(whole(kMostWhole));
    }
    return value;
  }

  // By the keys that only one of them has.
  Status find_dialect() {
    std::string first;
    for (const auto &[name, value] : config_.values) {
      const HpccDialect dialect = find_key(name)->dialect;
      if (dialect == Hpcc || dialect == config_.dialect)
        continue;
      if (config_.dialect != Hpcc)
        return config_.wrong(name,
                             fmt::format("it is a key of {}, and {} is one of {}",
                                         hpcc_dialect_name(dialect), first,
                                         hpcc_dialect_name(config_.dialect)),
                             "remove the keys of one of them");
      config_.dialect = dialect;
      first = name;
    }
    if (config_.dialect == Hpcc && !config_.has("USE_DYNAMIC_PFC_THRESHOLD"))
      config_.dialect = InetTub;
    return {};
  }

  HpccTokens tokens_;
  HpccConfig config_;
  bool comment_ = false; // braces are open
};

} // namespace

const char *hpcc_dialect_name(HpccDialect dialect) {
  static constexpr const char *kNames[] = {"HPCC", "conweave-ns3", "inet-tub", "SimAI",
                                           "astra-sim"};
  return kNames[static_cast<size_t>(dialect)];
}

double HpccConfig::number(std::string_view key, double otherwise) {
  const std::vector<double> all = numbers(key);
  return all.empty() ? otherwise : all.front();
}

std::vector<double> HpccConfig::numbers(std::string_view key) {
  used.emplace(key);
  const auto found = values.find(key);
  return found == values.end() ? std::vector<double>() : found->second.numbers;
}

std::string HpccConfig::text(std::string_view key) {
  used.emplace(key);
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second.text;
}

Result<double> HpccConfig::needed(std::string_view key) {
  if (!has(key))
    return Error{fmt::format("{}: {} is missing", name, key), fmt::format("add {} VALUE", key)};
  return number(key, 0);
}

Error HpccConfig::wrong(std::string_view key, const std::string &what, std::string hint) const {
  const auto found = values.find(key);
  if (found == values.end())
    return {fmt::format("{}: {}: {}", name, key, what), std::move(hint)};
  return {fmt::format("{}:{}: {}: {}", name, found->second.line, key, what), std::move(hint)};
}

Result<HpccConfig> read_hpcc_config(std::string_view text, const std::string &name) {
  return ConfigReader(text, name).read();
}

} // namespace xr::importers
