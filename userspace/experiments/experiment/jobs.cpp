// SPDX-License-Identifier: Apache-2.0
// Jobs: collectives, by keys; files of others.
#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "experiment/read.h"
#include "job/collective.h"
#include "job/files.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/topology.h"

namespace xr::experiment {

namespace {

using job::Collective;

constexpr const char *kLike = "{kind: all_reduce, ranks: 8, size: 1M, iterations: 10}";
constexpr const char *kFileLike = "[{goal: program.goal, placement: linear}]";

class JobReader {
public:
  JobReader(const YamlReader &reader, const FlowDefaults &defaults, simulate::Scenario &scenario)
      : reader_(reader), defaults_(defaults), scenario_(scenario),
        hosts_(simulate::host_names(scenario.topology)) {}

  Status read(const YAML::Node &node) {
    if (node.IsMap())
      return collective(node);
    if (!node.IsSequence())
      return reader_.in(node, "collective", {"it is not a map or a list of maps", kLike});
    for (const YAML::Node &one : node)
      XR_TRY(collective(one));
    return {};
  }

  Status read_files(const YAML::Node &node) {
    if (!node.IsSequence())
      return reader_.in(node, "jobs", {"it is not a list of maps", kFileLike});
    for (const YAML::Node &one : node)
      XR_TRY(file(one));
    return {};
  }

private:
  // How a matrix of all_to_all is made, once the ranks are known.
  struct Skew {
    YAML::Node matrix;
    std::optional<double> exponent;
    std::optional<uint64_t> seed;
  };

  // A number, or a list of hosts.
  Status ranks(const YAML::Node &node, Collective &c, unsigned &count) const {
    if (!node.IsSequence())
      return reader_.number("ranks", 2, UINT32_MAX, count)(node);
    for (const YAML::Node &name : node) {
      c.hosts.push_back(parse::scalar(name));
      if (std::ranges::find(hosts_, c.hosts.back()) == hosts_.end())
        return reader_.in(name, "ranks",
                          {fmt::format("there is no host '{}'", c.hosts.back()),
                           fmt::format("{} ... {}", hosts_.front(), hosts_.back())});
    }
    return {};
  }

  Status late(const YAML::Node &list, Collective &c) const {
    if (!list.IsSequence())
      return reader_.in(list, "late", {"it is not a list", "[{rank: 3, by: 200us, from: 5}]"});
    for (const YAML::Node &node : list) {
      Collective::Late &late = c.late.emplace_back();
      uint64_t rank = 0;
      XR_TRY(reader_.map(node, "a key of late",
                         {{"rank", reader_.integer("rank", 0, UINT32_MAX, rank)},
                          {"by", reader_.duration("by", late.by_ns)},
                          {"from", reader_.number("from", 1, UINT32_MAX, late.from)}}));
      late.rank = static_cast<uint32_t>(rank);
      if (!late.by_ns)
        return reader_.in(node, "late", {"by how much is missing", "by: 200us"});
    }
    return {};
  }

  // true, false, or {size, slots}.
  Status cts(const YAML::Node &node, Collective &c) const {
    if (!node.IsMap())
      return reader_.truth("cts", c.cts)(node);
    c.cts = true;
    return reader_.map(node, "a key of cts",
                       {{"size", reader_.bytes("size", c.cts_size)},
                        {"slots", reader_.number("slots", 1, UINT32_MAX, c.cts_slots)}});
  }

  // "zipf 1.2", "zipf 1.2 seed 7", or rows of sizes.
  Status skew(const YAML::Node &node, Skew &skew) const {
    if (node.IsSequence()) {
      skew.matrix.reset(node);
      return {};
    }
    parse::WordReader words(parse::split(parse::scalar(node)));
    if (!words.take_if("zipf"))
      return reader_.in(node, "skew",
                        parse::wrong(words.peek(), "a skew", "zipf 1.2, or a list of rows"));
    const auto exponent = parse::real(words.take(), 0, 100);
    if (!exponent)
      return reader_.in(node, "skew", exponent.error());
    skew.exponent = exponent.get();
    if (words.take_if("seed")) {
      const auto seed = parse::integer(words.take(), 0, UINT64_MAX);
      if (!seed)
        return reader_.in(node, "skew", seed.error());
      skew.seed = seed.get();
    }
    return words.done()
               ? Status()
               : reader_.in(node, "skew",
                            parse::wrong(words.peek(), "a word of zipf", "zipf 1.2 seed 7"));
  }

  Status rows(const YAML::Node &matrix, Collective &c) const {
    for (const YAML::Node &row : matrix) {
      std::vector<uint64_t> &sizes = c.matrix.emplace_back();
      for (const YAML::Node &cell : row) {
        const auto count = parse::byte_count(parse::scalar(cell), 0);
        if (!count)
          return reader_.in(cell, "skew", count.error());
        sizes.push_back(count.get());
      }
    }
    return {};
  }

  Status apply(const Skew &skew, Collective &c) const {
    if (skew.exponent)
      c.matrix = job::zipf_matrix(static_cast<uint32_t>(c.hosts.size()), c.size, *skew.exponent,
                                  skew.seed.value_or(scenario_.seed));
    return skew.matrix.IsSequence() ? rows(skew.matrix, c) : Status();
  }

  Status words(const YAML::Node &node, simulate::FlowSetup &like) const {
    auto flow = flow::parse_flow(parse::split(parse::scalar(node)), like.flow);
    if (!flow)
      return reader_.in(node, "words", flow.error());
    like.flow = std::move(flow).get();
    return {};
  }

  // `word`: a job without a name has it, and the second one the number 2.
  Status settle_name(const YAML::Node &node, std::string_view word, std::string &name) const {
    if (name.empty())
      name = scenario_.jobs.empty() ? std::string(word)
                                    : fmt::format("{}-{}", word, scenario_.jobs.size() + 1);
    if (const auto checked = parse::name(name); !checked)
      return reader_.in(node, "name", checked.error());
    for (const simulate::JobSetup &other : scenario_.jobs)
      if (other.job.name == name)
        return reader_.at(
            node, {fmt::format("there are two jobs '{}'", name), "each has a name of its own"});
    return {};
  }

  simulate::FlowSetup like_default() const {
    simulate::FlowSetup like;
    like.flow = defaults_.flow;
    like.flow.verb = packet::Verb::WriteImmediate;
    return like;
  }

  // "FIRST-LAST".
  Status layers(const YAML::Node &node, job::JobFileOptions &options) const {
    const std::string text = parse::scalar(node);
    const size_t dash = text.find('-');
    const auto first = parse::integer(text.substr(0, dash), 1, 1'000'000),
               last = parse::integer(dash == std::string::npos ? text : text.substr(dash + 1), 1,
                                     1'000'000);
    if (!first || !last || first.get() > last.get())
      return reader_.in(node, "layers", parse::wrong(text, "a range of layers", "like 1-20"));
    options.first_layer = static_cast<unsigned>(first.get());
    options.last_layer = static_cast<unsigned>(last.get());
    return {};
  }

  // A file of another format.
  Status file(const YAML::Node &node) {
    simulate::FlowSetup like = like_default();
    std::string name, placement = "linear", format, path;
    uint64_t start_ns = 0;
    job::JobFileOptions options{.hosts = static_cast<uint32_t>(hosts_.size())};
    std::vector<YamlReader::Key> keys = {
        {"name", reader_.text("name", name)},
        {"placement", reader_.text("placement", placement)},
        {"start", reader_.duration("start", start_ns)},
        {"layers", [&](const YAML::Node &value) { return layers(value, options); }},
        {"words", [&](const YAML::Node &value) { return words(value, like); }}};
    for (const std::string_view key : job::file_formats())
      keys.push_back(
          {key, [&, key](const YAML::Node &value) -> Status {
             if (!format.empty())
               return reader_.at(value, {"a job is of one file", "an entry of jobs for each file"});
             format = key;
             path = parse::scalar(value);
             return {};
           }});
    XR_TRY(reader_.map(node, "a key of jobs", keys));
    if (format.empty())
      return reader_.in(node, "jobs", {"the file of a job is missing", kFileLike});
    XR_TRY(settle_name(node, format, name));
    auto job =
        job::read_job(format, std::filesystem::path(defaults_.directory) / path, name, options);
    if (!job)
      return reader_.in(node, format, job.error());
    auto placed =
        job::place(placement, static_cast<uint32_t>(job->hosts.size()), hosts_, scenario_.seed);
    if (!placed)
      return reader_.in(node, "jobs", placed.error());
    job->hosts = std::move(placed).get();
    job->start_ns = start_ns;
    scenario_.jobs.push_back({std::move(job).get(), std::move(like)});
    return {};
  }

  Status collective(const YAML::Node &node) {
    Collective c;
    simulate::FlowSetup like = like_default();
    unsigned count = 0;
    std::string placement = "linear";
    Skew skewed;
    XR_TRY(
        reader_.map(node, "a key of collective",
                    {{"name", reader_.text("name", c.name)},
                     {"kind", reader_.text("kind", c.kind)},
                     {"algorithm", reader_.text("algorithm", c.algorithm)},
                     {"ranks", [&](const YAML::Node &value) { return ranks(value, c, count); }},
                     {"placement", reader_.text("placement", placement)},
                     {"size", reader_.bytes("size", c.size)},
                     {"channels", reader_.number("channels", 1, 1024, c.channels)},
                     {"qps", reader_.number("qps", 1, 1024, c.qps)},
                     {"split", reader_.truth("split", c.split)},
                     {"chunk", reader_.bytes("chunk", c.chunk)},
                     {"iterations", reader_.number("iterations", 1, 1'000'000, c.iterations)},
                     {"compute", reader_.duration("compute", c.compute_ns)},
                     {"start", reader_.duration("start", c.start_ns)},
                     {"late", [&](const YAML::Node &value) { return late(value, c); }},
                     {"cts", [&](const YAML::Node &value) { return cts(value, c); }},
                     {"root", [&](const YAML::Node &value) { return root(value, c); }},
                     {"node", reader_.number("node", 1, UINT32_MAX, c.node)},
                     {"local-rate", [&](const YAML::Node &value) { return local_rate(value, c); }},
                     {"skew", [&](const YAML::Node &value) { return skew(value, skewed); }},
                     {"words", [&](const YAML::Node &value) { return words(value, like); }}}));
    XR_TRY(settle_name(node, "collective", c.name));
    if (c.hosts.empty()) {
      auto placed = job::place(placement, count ? count : static_cast<uint32_t>(hosts_.size()),
                               hosts_, scenario_.seed);
      if (!placed)
        return reader_.in(node, "ranks", placed.error());
      c.hosts = std::move(placed).get();
    }
    XR_TRY(apply(skewed, c));
    auto job = job::expand(c);
    if (!job)
      return reader_.in(node, "collective", job.error());
    scenario_.jobs.push_back({std::move(job).get(), std::move(like)});
    return {};
  }

  Status root(const YAML::Node &node, Collective &c) const {
    uint64_t rank = 0;
    XR_TRY(reader_.integer("root", 0, UINT32_MAX, rank)(node));
    c.root = static_cast<uint32_t>(rank);
    return {};
  }

  Status local_rate(const YAML::Node &node, Collective &c) const {
    const auto rate = parse::rate(parse::scalar(node));
    if (!rate)
      return reader_.in(node, "local-rate", rate.error());
    c.local_rate = rate.get();
    return {};
  }

  const YamlReader &reader_;
  const FlowDefaults &defaults_;
  simulate::Scenario &scenario_;
  std::vector<std::string> hosts_;
};

} // namespace

Status read_collective(const YamlReader &reader, const YAML::Node &node,
                       const FlowDefaults &defaults, simulate::Scenario &scenario) {
  return JobReader(reader, defaults, scenario).read(node);
}

Status read_jobs(const YamlReader &reader, const YAML::Node &node, const FlowDefaults &defaults,
                 simulate::Scenario &scenario) {
  return JobReader(reader, defaults, scenario).read_files(node);
}

} // namespace xr::experiment
