// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>

#include "cli/commands.h"
#include "cli/experiments.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_compare.h"
#include "cli/run_files.h"
#include "cli/run_import.h"
#include "cli/run_plots.h"
#include "cli/sweep.h"
#include "cli/sweep_merge.h"
#include "experiment/experiment.h"
#include "experiment/run.h"
#include "places/namespaces.h"
#include "places/scale.h"
#include "report/experiment.h"

namespace xr::cli {

namespace {

constexpr int kExpectationFailed = 3;

constexpr const char *kMerge = "merge", *kCompare = "compare"; // instead of FILE

struct Args {
  std::vector<std::string> files; // FILE; or `merge` or `compare` and directories
  std::vector<std::string> place = {"virtual"};
  std::string out, plots, junit, seed, scale, import, share;
  std::vector<std::string> settings;
  unsigned jobs = 1;
  bool list = false, tap = false;
};

void describe(CLI::App &command, Args &args) {
  CLI::Option *file = command
                          .add_option("FILE", args.files,
                                      "An experiment (YAML): a file, - for standard input, or the "
                                      "name of an installed one; or: merge DIR..., the shares of a "
                                      "sweep as one; compare A B, two runs over one another")
                          ->type_name("");
  command
      .add_option("--on", args.place,
                  "Where: virtual: in virtual time, in this process (default). namespaces: with "
                  "frames, between network namespaces of this machine. ports: not yet")
      ->type_name("PLACE");
  command
      .add_option(
          "--out", args.out,
          "Write result.json, series.csv, junit.xml and report.html into this directory; of "
          "a sweep: sweep.json, and a directory for each point")
      ->type_name("DIR");
  command
      .add_option("--plots", args.plots,
                  "Write the plots as SVG, and of one run a gnuplot script; of a sweep: what the "
                  "points measured, over the first key")
      ->type_name("DIR");
  command.add_option("--seed", args.seed, "Seed of all random choices, instead of the file's")
      ->type_name("N")
      ->check(whole_number(0, UINT64_MAX));
  command
      .add_option("--set", args.settings,
                  "Set a key of the file, like duration=10ms, topology.star.senders=8 or "
                  "flows.1.words=\"send size 4k\"; repeatable")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--jobs", args.jobs, "Processes that run points of a sweep (default: 1)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command
      .add_option(
          "--share", args.share,
          "Run a part of a sweep's points: I/N, the I-th of N parts; auto or auto/N: by the "
          "variables of Slurm, MPI or a Kubernetes indexed job")
      ->type_name("I/N");
  command.add_option("--junit", args.junit, "Write the verdicts as JUnit XML")->type_name("FILE");
  command
      .add_option("--scale", args.scale,
                  "With --on namespaces: a fraction of all rates, like 1/200; times become as much "
                  "longer, sizes in bytes stay")
      ->type_name("F");
  command
      .add_option(
          "--import", args.import,
          "Print the rules and the link that others' words are, and run nothing. netem: FILE "
          "is its options, like \"delay 10ms 2ms loss 1%\"; mahimahi: FILE is a trace")
      ->type_name("FORMAT");
  command.add_flag("--tap", args.tap, "Print the verdicts as TAP instead of the summary");
  command.add_flag("--list", args.list, "List the installed experiments");
  command.get_option("--list")->excludes(file);
  command.footer(
      "Exit status: 0 all expectations hold, 3 one does not, 1 it failed or could not measure,\n"
      "2 the command line was wrong. In virtual time it needs no privilege, in namespaces root's.\n"
      "Examples:\n"
      "  xdp-roce run --list\n"
      "  xdp-roce run incast --out /tmp/incast\n"
      "  xdp-roce run presets --jobs 4 --set duration=100ms\n"
      "  xdp-roce run compare /tmp/virtual /tmp/namespaces --out /tmp/both\n"
      "  xdp-roce run --import netem \"delay 10ms 2ms loss gemodel 1% 30%\"");
}

int status_of(Verdict verdict) {
  return verdict == Verdict::Pass ? 0 : verdict == Verdict::Fail ? kExpectationFailed : 1;
}

int list(const Globals &globals) {
  const auto entries = installed_experiments();
  if (!entries)
    return fail("run --list", entries.error());
  Output output(globals.json);
  output.print(report::experiment_list(entries.get()));
  return output.finish();
}

Status check_place(const std::vector<std::string> &place) {
  if (place.size() == 1 && (place.front() == "virtual" || place.front() == "namespaces"))
    return {};
  if (place.front() == "ports")
    return Error{fmt::format("--on {} is not possible yet", place.front()), "--on virtual"};
  return Error{fmt::format("--on: '{}' is not a place", place.front()),
               "--on virtual or --on namespaces"};
}

Result<experiment::Settings> settings_of(const Args &args) {
  experiment::Settings settings;
  for (const std::string &word : args.settings) {
    auto setting = experiment::parse_setting(word);
    if (!setting)
      return Error{"--set: " + setting.error().message, setting.error().hint};
    settings.push_back(std::move(setting).get());
  }
  if (!args.seed.empty())
    settings.emplace_back("seed", args.seed);
  return settings;
}

int finish(const Args &args, const Globals &globals, const report::Document &document,
           const std::vector<const ExperimentResult *> &results, int status) {
  if (!args.junit.empty())
    if (Status s = write_whole(args.junit, report::junit_xml(results)); !s)
      return fail("run", s.error());
  Output output(globals.json);
  if (args.tap) {
    std::string text = report::tap(results);
    text.pop_back();
    output.print_line(text);
  } else {
    output.print(document);
  }
  return output.finish(status);
}

bool in_namespaces(const Args &args) { return args.place.front() == "namespaces"; }

// --scale was checked.
RunPlace place_of(const Args &args) {
  if (!in_namespaces(args))
    return experiment::run_virtual;
  places::NamespacesOptions options;
  if (!args.scale.empty())
    options.scale = places::parse_scale(args.scale).get();
  options.note = [](const std::string &text) { note("run", text); };
  return [options](const experiment::Experiment &experiment, const experiment::RunHooks &hooks) {
    return places::run_in_namespaces(experiment, options, hooks);
  };
}

Status check_scale(const Args &args) {
  if (args.scale.empty())
    return {};
  if (!in_namespaces(args))
    return Error{"--scale: virtual time has no limit of rates", "--on namespaces"};
  if (const auto scale = places::parse_scale(args.scale); !scale)
    return Error{"--scale: " + scale.error().message, scale.error().hint};
  return {};
}

int run_one(const Args &args, const Globals &globals, const experiment::ExperimentFile &file,
            const experiment::Settings &settings) {
  auto experiment = file.read(settings);
  if (!experiment)
    return fail("run", experiment.error());
  const Interrupt interrupt;
  auto result = [&] {
    Progress progress(experiment->name);
    return run_experiment(
        experiment.get(), {args.out, args.plots},
        [&](const experiment::RunProgress &at) {
          show_progress(progress, at);
          return !interrupt.asked();
        },
        place_of(args));
  }();
  if (!result)
    return fail("run", result.error());
  return finish(args, globals, report::experiment_report(result.get()), {&result.get()},
                status_of(result->verdict));
}

// Writes and prints the report of points that ran here or were merged.
int finish_sweep(const Args &args, const Globals &globals, const std::string &name,
                 const std::vector<report::SweepPoint> &points,
                 const std::vector<uint64_t> &missing) {
  std::vector<const ExperimentResult *> results;
  Verdict worst = missing.empty() ? Verdict::Pass : Verdict::Void;
  for (const report::SweepPoint &point : points) {
    if (!point.failure.empty())
      worst = Verdict::Void;
    worst = std::max(worst, point.result.verdict);
    results.push_back(&point.result);
  }
  const report::Document document = report::sweep_report(name, points, missing);
  if (!args.out.empty()) {
    if (Status s = make_directory(args.out); !s)
      return fail("run", s.error());
    if (Status s = write_whole(args.out + "/sweep.json", report::to_json(document)); !s)
      return fail("run", s.error());
  }
  if (!args.plots.empty())
    if (Status s = write_sweep_plots(args.plots, points); !s)
      return fail("run --plots", s.error());
  return finish(args, globals, document, results, status_of(worst));
}

int merge(const Args &args, const Globals &globals) {
  if (args.files.size() < 2)
    return refuse("run merge",
                  {"DIR is required", "directories of `run FILE --share I/N --out DIR`"});
  auto merged = merge_sweep({args.files.begin() + 1, args.files.end()});
  if (!merged)
    return fail("run merge", merged.error());
  if (merged->twice)
    note("run merge", fmt::format("{} points are there twice: the first is taken", merged->twice));
  return finish_sweep(args, globals, merged->name, merged->points, merged->missing);
}

int run_sweep(const Args &args, const Globals &globals, const experiment::ExperimentFile &file,
              const experiment::Settings &settings,
              const std::vector<experiment::Settings> &points) {
  // Read all points before the first runs: an error in the last one should not cost the others.
  std::string name;
  for (const experiment::Settings &point : points) {
    const auto experiment = file.read(joined(settings, point));
    if (!experiment)
      return fail("run", experiment.error());
    name = experiment.get().name;
  }
  SweepOptions options{.out = args.out, .jobs = args.jobs};
  if (!args.share.empty()) {
    const auto share = parse_share(args.share);
    if (!share)
      return refuse("run --share", share.error());
    options.share = share.get();
  }
  options.on_found = [&](size_t found) {
    note("run", fmt::format("{} points are in {} already, and are not run again", found, args.out));
  };
  const auto rows = sweep(file, settings, points, options);
  if (!rows)
    return fail("run", rows.error());
  return finish_sweep(args, globals, name, rows.get(), {});
}

int run(const Args &args, const Globals &globals) {
  if (args.list)
    return list(globals);
  if (args.files.empty())
    return refuse("run",
                  {"FILE is required", "xdp-roce run --list shows those that are installed"});
  if (!args.import.empty())
    return import_words(args.import, args.files.front(), globals);
  if (args.files.front() == kMerge)
    return merge(args, globals);
  if (args.files.front() == kCompare)
    return compare_stored_runs({args.files.begin() + 1, args.files.end()}, args.out, args.plots,
                               globals);
  if (args.files.size() > 1)
    return refuse("run", {fmt::format("'{}' is too much", args.files[1]), "one experiment a run"});
  if (Status s = check_place(args.place); !s)
    return refuse("run", s.error());
  if (Status s = check_scale(args); !s)
    return refuse("run", s.error());
  const auto settings = settings_of(args);
  if (!settings)
    return refuse("run", settings.error());
  const auto path = find_experiment(args.files.front());
  if (!path)
    return fail("run", path.error());
  const auto file = experiment::ExperimentFile::load(path.get());
  if (!file)
    return fail("run", file.error());
  const auto points = file.get().points(settings.get());
  if (!points)
    return fail("run", points.error());
  if (points.get().size() == 1 && points.get().front().empty()) {
    if (!args.share.empty())
      return refuse("run",
                    {"--share is for a sweep, and the file has none", "--set sweep.KEY=[...]"});
    return run_one(args, globals, file.get(), settings.get());
  }
  if (in_namespaces(args))
    return fail("run", {"a sweep runs in virtual time only",
                        "one point by --set KEY=VALUE --set sweep={}, with --on namespaces"});
  return run_sweep(args, globals, file.get(), settings.get(), points.get());
}

} // namespace

void add_run(CLI::App &app, Run &chosen) {
  add_command<Args>(app, chosen, "run", "An experiment, with its verdicts", describe, run);
}

} // namespace xr::cli
