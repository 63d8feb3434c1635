// SPDX-License-Identifier: Apache-2.0
// To add a key of the file: here, or in topology.cpp, flows.cpp, hosts.cpp, rules.cpp or
// schedule.cpp; docs/experiments.md; experiment_file_test.
#include "experiment/experiment.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "experiment/read.h"
#include "experiment/settled_file.h"
#include "experiment/sweep.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/job_connections.h"
#include "simulate/topology.h"

namespace xr::experiment {

namespace {

constexpr uint64_t kLeastSample = 1000;    // ns
constexpr uint32_t kWindow = 1U << 16;     // packets: no limit to most flows, as in an RNIC
constexpr size_t kMostSamples = 1'000'000; // a series is a row a sample and column

class ExperimentReader {
public:
  ExperimentReader(const ValueOrigins &origins, std::string directory, bool fluid)
      : reader_(origins), fluid_(fluid) {
    defaults_.directory = std::move(directory);
    scenario().reliability.window = kWindow;
  }

  std::vector<std::string_view> parts() {
    std::vector<std::string_view> names;
    for (const YamlReader::Key &key : keys())
      names.push_back(key.name);
    return names;
  }

  Result<Experiment> read(const YAML::Node &root) {
    if (!root.IsMap())
      return parse::at_line(root, {"it is not an experiment", "experiment: NAME, topology: ..."});
    root_ = root;
    XR_TRY(reader_.map(root, "a part of an experiment", keys()));
    XR_TRY(complete(root));
    return std::move(experiment_);
  }

private:
  simulate::Scenario &scenario() { return experiment_.scenario; }

  // In the order in which they depend on each other.
  std::vector<YamlReader::Key> keys() {
    const auto later = [](const YAML::Node &) { return Status(); };
    return {
        {"experiment", reader_.text("experiment", experiment_.name)},
        {"vars", later}, // settle()
        {"seed", reader_.integer("seed", 0, UINT64_MAX, scenario().seed)},
        {"duration", reader_.duration("duration", scenario().duration_ns)},
        {"fidelity",
         [this](const YAML::Node &node) -> Status {
           const auto word = parse::choice(parse::scalar(node), {"packet", "flow"}, "a fidelity");
           if (!word)
             return reader_.in(node, "fidelity", word.error());
           scenario().fluid = word.get() == 1;
           return {};
         }},
        {"until", [this](const YAML::Node &node) { return until(node); }},
        {"sample", reader_.duration("sample", scenario().sample_ns)},
        {"sample-flows", [this](const YAML::Node &node) { return sample_flows(node); }},
        {"measure",
         [this](const YAML::Node &node) {
           measure_given_ = true;
           return reader_.map(node, "a key of measure",
                              {{"from", reader_.duration("from", scenario().measure_from_ns)}});
         }},
        {"topology",
         [this](const YAML::Node &node) {
           return read_topology(reader_, node, scenario().topology);
         }},
        {"routing",
         [this](const YAML::Node &node) {
           return read_routing(reader_, node, scenario().routing);
         }},
        {"reroute", reader_.duration("reroute", scenario().routing.reroute_ns)},
        {"queue", [this](const YAML::Node &node) { return after_topology(node, read_queues); }},
        {"congestion", [this](const YAML::Node &node) { return congestion(node); }},
        {"reliability",
         [this](const YAML::Node &node) { return read_reliability(reader_, node, scenario()); }},
        {"cnp", later}, // after the flows, whose DCQCN describes it
        {"flows",
         [this](const YAML::Node &node) -> Status {
           XR_TRY(times());
           return after_topology(node, [this](const YamlReader &reader, const YAML::Node &list,
                                              simulate::Scenario &scenario) {
             return read_flows(reader, list, defaults_, scenario);
           });
         }},
        {"collective",
         [this](const YAML::Node &node) -> Status {
           XR_TRY(times());
           return after_topology(node, [this](const YamlReader &reader, const YAML::Node &value,
                                              simulate::Scenario &scenario) {
             return read_collective(reader, value, defaults_, scenario);
           });
         }},
        {"jobs",
         [this](const YAML::Node &node) -> Status {
           XR_TRY(times());
           return after_topology(node, [this](const YamlReader &reader, const YAML::Node &list,
                                              simulate::Scenario &scenario) {
             return read_jobs(reader, list, defaults_, scenario);
           });
         }},
        {"rules",
         [this](const YAML::Node &node) {
           return after_topology(node, [this](const YamlReader &reader, const YAML::Node &list,
                                              const simulate::Scenario &scenario) {
             return read_rules(reader, list, scenario, experiment_.rules);
           });
         }},
        {"capture",
         [this](const YAML::Node &node) {
           return read_captures(reader_, node, experiment_.captures);
         }},
        {"analyze",
         [this](const YAML::Node &node) { return read_analyze(reader_, node, analyze_); }},
        {"schedule",
         [this](const YAML::Node &node) {
           return read_schedule(reader_, node, scenario(), experiment_.rules);
         }},
        {"expect", later}, // needs all of the others
        {"find", later},
        {"sweep", later}, // ExperimentFile::points()
    };
  }

  template <typename Read> Status after_topology(const YAML::Node &node, Read read) {
    if (!scenario().topology.rate)
      return reader_.at(node, {"there is no topology",
                               "topology: {star: {senders: 4, rate: 40gbit, delay: 1us}}"});
    return read(reader_, node, scenario());
  }

  // The value of a part, or the whole file where it is not given.
  YAML::Node part(const char *name) const {
    for (const auto &pair : root_)
      if (parse::scalar(pair.first) == name)
        return pair.second;
    return root_;
  }

  // The queue, or the entry of the schedule, that names the trace.
  YAML::Node naming(const std::string &trace) const {
    const auto names = [&](const YAML::Node &node) {
      const std::vector<std::string> words = parse::split(parse::scalar(node));
      return std::ranges::find(words, trace) != words.end();
    };
    if (const YAML::Node queues = part("queue"); queues.IsMap())
      for (const auto &pair : queues)
        if (names(pair.second))
          return pair.second;
    if (const YAML::Node schedule = part("schedule"); schedule.IsSequence())
      for (const YAML::Node &entry : schedule)
        if (names(entry["do"]))
          return entry;
    return root_;
  }

  Status until(const YAML::Node &node) {
    if (parse::scalar(node) != "done")
      return reader_.in(node, "until", parse::wrong(parse::scalar(node), "an end", "until: done"));
    scenario().until_done = true;
    return {};
  }

  Status sample_flows(const YAML::Node &node) {
    constexpr uint64_t kMost = 1'000'000;
    if (parse::scalar(node) == "all") {
      experiment_.sample_flows = kSampleAllFlows;
      return {};
    }
    const auto number =
        parse::integer(parse::scalar(node), 0, kMost, "a number of flows, or the word all");
    if (!number)
      return reader_.in(node, "sample-flows", number.error());
    experiment_.sample_flows = number.get();
    return {};
  }

  Status times() {
    if (scenario().until_done && !scenario().duration_ns) {
      if (scenario().sample_ns)
        return reader_.at(part("sample"), {"samples need a limit of the run", "duration: 10s"});
      scenario().duration_ns = kLongestRun;
    }
    if (scenario().until_done && !measure_given_)
      return {}; // all of it is measured
    if (!scenario().duration_ns)
      return reader_.at(part("duration"), {"there is no duration", "duration: 400ms"});
    if (!measure_given_)
      scenario().measure_from_ns = scenario().duration_ns / 2;
    if (scenario().measure_from_ns >= scenario().duration_ns)
      return reader_.at(
          measure_given_ ? part("measure")["from"] : part("duration"),
          {"measure: from is not before the end of the run",
           fmt::format("the run takes {}", parse::duration_text(scenario().duration_ns))});
    const uint64_t sample = scenario().sample_ns;
    if (sample && (sample < kLeastSample || scenario().duration_ns / sample > kMostSamples))
      return reader_.at(part("sample"),
                        {fmt::format("sample: {} is too short", parse::duration_text(sample)),
                         fmt::format("at least 1us, and at most {} samples", kMostSamples)});
    return {};
  }

  Status congestion(const YAML::Node &node) {
    auto control = read_congestion(parse::scalar(node));
    if (!control)
      return reader_.in(node, "congestion", control.error());
    defaults_.flow.control = std::move(control).get();
    return {};
  }

  Status complete(const YAML::Node &root) {
    if (experiment_.name.empty())
      return reader_.at(root, {"the experiment has no name", "experiment: incast of four"});
    if (scenario().flows.empty() && scenario().jobs.empty())
      return reader_.at(root, {"there are no flows",
                               R"(flows: [{from: all, to: receiver, words: "write size 1M"}])"});
    std::string trace;
    if (Status s = read_traces(defaults_.directory, scenario(), trace); !s) {
      Error wrong_file = reader_.at(naming(trace), s.error());
      wrong_file.kind = Error::Kind::Other;
      return wrong_file;
    }
    XR_TRY(notification_point(root));
    experiment_.prediction = experiment_.rules.all.empty()
                                 ? predict(scenario(), fluid_)
                                 : ExperimentPrediction{.why = "rules change the traffic"};
    XR_TRY(describe());
    for (const auto &pair : root)
      if (parse::scalar(pair.first) == "expect")
        XR_TRY(expectations(pair.second));
    if (const YAML::Node find = part("find"); !find.is(root_))
      experiment_.finds =
          XR_TRY(read_find(reader_, find, experiment_.subject, !experiment_.expectations.empty()));
    analyze();
    return {};
  }

  // The notification point of the flows' DCQCN; what `cnp` gives replaces it.
  Status notification_point(const YAML::Node &root) {
    YAML::Node given;
    for (const auto &pair : root)
      if (parse::scalar(pair.first) == "cnp")
        given.reset(pair.second);
    const auto has = [&given](const char *key) { return given.IsMap() && given[key].IsDefined(); };
    if (Status s = derive_cnp_pacing(scenario(), !has("mode"), !has("interval")); !s)
      return reader_.at(part("flows"), s.error());
    return given.IsNull() ? Status() : read_cnp(reader_, given, scenario().cnp);
  }

  // Expectations over the answers bring the analysis with them.
  void analyze() {
    bool needed = std::ranges::any_of(experiment_.expectations, &Expectation::needs_answers);
    for (const Find &find : experiment_.finds)
      for (const FindGoal &goal : find.goals)
        needed |= std::ranges::any_of(goal.expectations, &Expectation::needs_answers);
    experiment_.analyze = analyze_.value_or(needed);
    if (!experiment_.analyze)
      return;
    experiment_.only_for_answers = experiment_.captures.empty();
    add_captures(experiment_.captures);
  }

  Status describe() {
    Subject &subject = experiment_.subject;
    for (const simulate::FlowSetup &flow : scenario().flows)
      subject.flows.push_back(flow.name);
    for (const RuleSetup &rule : experiment_.rules.all)
      subject.rules.push_back(rule.name);
    for (const simulate::JobSetup &setup : scenario().jobs)
      subject.jobs.push_back(setup.job.name);
    for (const simulate::JobSetup &setup : scenario().jobs)
      for (size_t rank = 0; rank < setup.job.hosts.size(); rank++)
        subject.ranks.push_back(fmt::format("{}:{}", setup.job.name, rank));
    for (const simulate::JobSetup &setup : scenario().jobs)
      for (const simulate::JobConnection &connection :
           XR_TRY(simulate::connections_of(setup.job)).all)
        subject.flows.push_back(connection.name);
    subject.queues = simulate::queue_names(scenario().topology);
    if (const auto name = simulate::bottleneck(scenario().topology))
      subject.aliases["bottleneck"] = *name;
    using enum RowKind;
    subject.sampled = {{Flow, "goodput_bps"}, {Flow, "wire_bps"},    {Queue, "backlog_bytes"},
                       {Queue, "marked"},     {Queue, "dropped"},    {Queue, "paused_ns"},
                       {Total, "jain"},       {Flow, "control_bps"}, {Flow, "target_bps"},
                       {Flow, "alpha"},       {Flow, "cnps"}};
    if (experiment_.prediction.applies == "none")
      subject.no_prediction = experiment_.prediction.why;
    subject.absent[{Queue, "pfc_sent"}] = "--on ports; elsewhere queue('HOST:SWITCH').pauses";
    if (!analyze_.value_or(true))
      subject.no_answers = {"the captures are not analyzed", "analyze: episodes"};
    else if (!subject.aliases.contains("bottleneck"))
      subject.no_answers = {"this topology has no ports to capture at", "a star or a dumbbell"};
    subject.duration_ns = scenario().duration_ns;
    subject.measure_from_ns = scenario().measure_from_ns;
    subject.samples = scenario().sample_ns != 0;
    return {};
  }

  // Text: a condition. {fail: TEXT}: a condition that no flow may meet.
  Status expectations(const YAML::Node &list) {
    if (list.IsNull())
      return {};
    if (!list.IsSequence())
      return reader_.in(list, "expect", {"it is not a list", R"(- "sum(flows.drops) == 0")"});
    for (const YAML::Node &node : list) {
      std::string text = parse::scalar(node);
      if (node.IsMap()) {
        if (Status s = reader_.map(node, "a key of an expectation",
                                   {{"fail", reader_.text("fail", text)}});
            !s)
          return s;
        text = fmt::format("none(flows, {})", text);
      }
      auto expectation = Expectation::parse(text);
      if (!expectation)
        return reader_.in(node, "expect", expectation.error());
      if (Status s = expectation->check(experiment_.subject); !s)
        return reader_.in(node, "expect", s.error());
      experiment_.expectations.push_back(std::move(expectation).get());
    }
    return {};
  }

  YamlReader reader_;
  YAML::Node root_;
  Experiment experiment_;
  FlowDefaults defaults_;
  bool measure_given_ = false;
  bool fluid_ = true;
  std::optional<bool> analyze_; // if it is given
};

// The keys of a file.
std::vector<std::string_view> parts() {
  return ExperimentReader(ValueOrigins{}, "", false).parts();
}

// A variable without effect is a typing error somewhere.
Status check_used(const YamlReader &reader, const YAML::Node &root, const SettledFile &file) {
  for (const std::string_view name : file.variables.names())
    if (!file.used.contains(std::string(name)))
      return reader.in(root["vars"][std::string(name)], "vars",
                       {fmt::format("{} is not used", name),
                        fmt::format("{{{}}} in a value of the file, or leave it out", name)});
  return {};
}

// Lines keep their numbers. A sweep that shares a line or an anchor with other keys stays.
std::string without_sweep(const std::string &text) {
  int first = -1, next = -1;
  try {
    for (const auto &pair : YAML::Load(text)) {
      const int line = pair.first.Mark().line;
      if (parse::scalar(pair.first) == "sweep")
        first = line;
      else if (first >= 0 && next < 0)
        next = line;
    }
  } catch (const YAML::Exception &) {
    return text; // read() says what is wrong
  }
  if (first < 0 || first == next)
    return text;
  std::string out, sweep;
  int line = 0;
  for (size_t from = 0; from < text.size(); line++) {
    const size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
    const std::string_view word(text.data() + from, end - from);
    if (word.starts_with("---") || word.starts_with("..."))
      next = line;
    const bool of_sweep = line >= first && (next < first || line < next);
    (of_sweep ? sweep : out) += word;
    if (of_sweep)
      out += '\n';
    from = end;
  }
  const bool alone = sweep.starts_with("sweep") && sweep.find('&') == std::string::npos;
  return alone ? out : text;
}

bool is_of_sweep(const std::string &key) { return key == "sweep" || key.starts_with("sweep."); }

} // namespace

ExperimentFile::ExperimentFile(std::string text, std::string name, std::string directory)
    : text_(std::move(text)), name_(std::move(name)), directory_(std::move(directory)),
      point_text_(without_sweep(text_)) {}

Result<ExperimentFile> ExperimentFile::load(const std::string &path) {
  auto text = XR_TRY(parse::read_file(path));
  return ExperimentFile(std::move(text), parse::file_name(path),
                        std::filesystem::path(path).parent_path().string());
}

Result<std::vector<Settings>> ExperimentFile::points(const Settings &settings) const {
  return parse::with_yaml(text_, name_,
                          [&](const YAML::Node &root) -> Result<std::vector<Settings>> {
                            SettledFile file;
                            if (!root.IsMap())
                              return std::vector<Settings>{{}};
                            if (Status s = settle(root, settings, parts(), file); !s)
                              return of_settings(s.error(), settings);
                            XR_TRY(check_used(YamlReader(file.origins), root, file));
                            return sweep_points(root["sweep"], settings, file);
                          });
}

Result<ExperimentFile::Checked> ExperimentFile::check(const Settings &settings) const {
  auto read_in = XR_TRY(read(settings, false));
  return Checked{std::move(read_in.name), !read_in.finds.empty()};
}

Result<Experiment> ExperimentFile::read(const Settings &settings, bool fluid) const {
  Settings own = settings;
  std::erase_if(own, [](const auto &setting) { return is_of_sweep(setting.first); });
  return parse::with_yaml(point_text_, name_, [&](const YAML::Node &root) -> Result<Experiment> {
    SettledFile file;
    if (root.IsMap())
      if (Status s = settle(root, own, parts(), file); !s)
        return of_settings(s.error(), own);
    auto experiment = ExperimentReader(file.origins, directory_, fluid).read(root);
    if (!experiment)
      return of_settings(experiment.error(), own);
    experiment->text = text_;
    return experiment;
  });
}

Error ExperimentFile::of_settings(Error error, const Settings &settings) const {
  if (!error.context.starts_with(kOfSetting) && !settings.empty() && read({}, false))
    error.kind = Error::Kind::Usage;
  return error;
}

} // namespace xr::experiment
