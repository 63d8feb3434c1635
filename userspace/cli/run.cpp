// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/commands.h"
#include "cli/experiments.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_compare.h"
#include "cli/run_import.h"
#include "cli/run_options.h"
#include "cli/run_ports.h"
#include "experiment/experiment.h"
#include "find/found.h"
#include "importers/hpcc.h"
#include "importers/otg_export.h"
#include "parse/words.h"
#include "parse/yaml.h"
#include "places/namespaces.h"
#include "places/run.h"
#include "record/find.h"
#include "record/run_files.h"
#include "record/run_plots.h"
#include "record/run_tables.h"
#include "record/sweep.h"
#include "report/experiment.h"
#include "results/files.h"
#include "results/provenance.h"
#include "sweep/merge.h"
#include "sweep/point.h"

namespace xr::cli {

namespace run_command {
namespace {

constexpr const char *kMerge = "merge", *kCompare = "compare"; // instead of FILE

int status_of(Verdict verdict) {
  return verdict == Verdict::Pass ? 0 : verdict == Verdict::Fail ? kVerdictFailed : 1;
}

bool runs_with_frames(const std::string &path) {
  const auto file = experiment::ExperimentFile::load(path);
  const auto read = file ? file.get().read({}) : Result<experiment::Experiment>(file.error());
  return read && places::runs_in_namespaces(read.get());
}

int list(const Globals &globals) {
  auto entries = installed_experiments();
  if (!entries)
    return fail("run --list", entries.error());
  for (report::ExperimentEntry &entry : entries.get())
    if (runs_with_frames(entry.path))
      entry.on.emplace_back("namespaces");
  Output output(globals.json);
  output.print(report::experiment_list(entries.get()));
  return output.finish();
}

int finish(const RunArgs &args, const Globals &globals, const report::Document &document,
           const std::vector<const ExperimentResult *> &results, int status) {
  if (!args.junit.empty())
    if (Status s = record::write_whole(args.junit, report::junit_xml(results)); !s)
      return fail("run", s.error());
  Output output(globals.json);
  if (args.tap) {
    std::string text = report::tap(results);
    text.pop_back();
    output.print_line(text);
  } else {
    output.print(document);
  }
  if (!args.out.empty())
    note("run", fmt::format("the page is {}/report.html", args.out));
  return output.finish(status);
}

// Simulated time, how much slower than real time, and when it will be over.
void show_progress(Progress &progress, const places::RunProgress &at) {
  const double seconds = progress.seconds();
  const double simulated = static_cast<double>(at.now_ns) / 1e9;
  progress.update(at.now_ns, at.duration_ns,
                  fmt::format("{:.1f} ms, {:.1f} M packet-hops/s, 1/{:.0f} of real time",
                              simulated * 1e3,
                              seconds > 0 ? static_cast<double>(at.packet_hops) / seconds / 1e6 : 0,
                              simulated > 0 ? seconds / simulated : 0));
}

// Writes further files of a run into --out.
using WriteMore = std::function<Status(const ExperimentResult &)>;

int run_one(const RunArgs &args, const Globals &globals, const experiment::ExperimentFile &file,
            const experiment::Settings &settings, const WriteMore &write_more = {}) {
  auto experiment = file.read(settings);
  if (!experiment)
    return fail("run", experiment.error());
  if (!args.out.empty() || !args.plots.empty())
    record::sample_for_plots(experiment.get());
  const Interrupt interrupt;
  auto result = [&] {
    Progress progress(experiment->name);
    return record::run_experiment(
        experiment.get(), {args.out, args.plots},
        [&](const places::RunProgress &at) {
          show_progress(progress, at);
          return !interrupt.asked();
        },
        place_of(args));
  }();
  if (!result)
    return fail("run", result.error());
  if (write_more && !args.out.empty())
    if (Status s = write_more(result.get()); !s)
      return fail("run", s.error());
  return finish(args, globals, report::experiment_report(result.get()), {&result.get()},
                status_of(result->verdict));
}

// Writes and prints the report of points that ran here or were merged.
int finish_sweep(const RunArgs &args, const Globals &globals, const std::string &name,
                 const std::vector<sweep::SweepPoint> &points,
                 const std::vector<uint64_t> &missing) {
  std::vector<const ExperimentResult *> results;
  Verdict worst = missing.empty() ? Verdict::Pass : Verdict::Void;
  for (const sweep::SweepPoint &point : points) {
    if (!point.failure.empty())
      worst = Verdict::Void;
    worst = std::max(worst, point.result.verdict);
    results.push_back(&point.result);
  }
  const report::Document document = sweep::sweep_report(name, points, missing);
  if (!args.out.empty()) {
    if (Status s = record::make_directory(args.out); !s)
      return fail("run", s.error());
    if (Status s = record::write_whole(args.out + "/sweep.json", record::json_file(document)); !s)
      return fail("run", s.error());
    if (Status s = record::write_sweep_table(args.out, points); !s)
      return fail("run", s.error());
    if (Status s = record::write_sweep_page(args.out, name, worst, points); !s)
      return fail("run", s.error());
  }
  if (!args.plots.empty())
    if (Status s = record::write_sweep_plots(args.plots, points); !s)
      return fail("run --plots", s.error());
  return finish(args, globals, document, results, status_of(worst));
}

int merge(const RunArgs &args, const Globals &globals) {
  if (args.files.size() < 2)
    return refuse("run merge",
                  {"DIR is required", "directories of `run FILE --share I/N --out DIR`"});
  auto merged = sweep::merge_sweep({args.files.begin() + 1, args.files.end()});
  if (!merged)
    return fail("run merge", merged.error());
  if (merged->twice)
    note("run merge",
         fmt::format("{} {} there twice: the first is taken", counted(merged->twice, "point"),
                     verb(merged->twice, "is", "are")));
  return finish_sweep(args, globals, merged->name, merged->points, merged->missing);
}

// The values of a point are the file's, unless the command line sets the sweep or the search.
Error error_of_point(Error error, const experiment::ExperimentFile &file,
                     const experiment::Settings &settings) {
  if (file.read(settings))
    error.kind = std::ranges::any_of(settings,
                                     [](const auto &item) {
                                       return item.first.starts_with("sweep") ||
                                              item.first.starts_with("find");
                                     })
                     ? Error::Kind::Usage
                     : Error::Kind::Other;
  return error;
}

int run_sweep(const RunArgs &args, const Globals &globals, const experiment::ExperimentFile &file,
              const experiment::Settings &settings,
              const std::vector<experiment::Settings> &points) {
  // All points are checked before the first runs: an error in the last one should not cost the
  // others.
  std::string name;
  for (const experiment::Settings &point : points) {
    auto checked = file.check(record::joined(settings, point));
    if (!checked)
      return fail("run", error_of_point(checked.error(), file, settings));
    name = std::move(checked).get().name;
  }
  record::SweepOptions options{.out = args.out, .jobs = jobs_of(args)};
  if (!args.share.empty()) {
    const auto share = record::parse_share(args.share);
    if (!share)
      return refuse("run --share", share.error());
    options.share = share.get();
    if (options.share.index >= points.size())
      note("run", fmt::format("no point is left for this share: the sweep has {}, of {} shares",
                              points.size(), options.share.count));
  }
  Fd owner;
  if (!args.out.empty()) {
    auto owned = record::own_directory(args.out, !args.share.empty());
    if (!owned)
      return fail("run", owned.error());
    owner = std::move(owned).get();
  }
  options.place = place_of(args, options.jobs);
  record::record_clock(in_namespaces(args) ? "realtime" : "virtual");
  options.on_found = [&](size_t found) {
    note("run", fmt::format("{} {} in {} already, and {} not run again", counted(found, "point"),
                            verb(found, "is", "are"), args.out, verb(found, "is", "are")));
  };
  const auto rows = [&] {
    const Interrupt interrupt;
    Progress progress("sweep");
    options.stop = &interrupt.flag();
    options.progress = [&progress](uint64_t done, uint64_t total, const std::string &text) {
      progress.update(done, total, text);
    };
    return record::sweep(file, settings, points, options);
  }();
  if (!rows)
    return fail("run", rows.error());
  return finish_sweep(args, globals, name, rows.get(), {});
}

// The searches of each point.
int run_find(const RunArgs &args, const Globals &globals, const experiment::ExperimentFile &file,
             const experiment::Settings &settings, const std::vector<experiment::Settings> &points,
             const std::string &name) {
  if (!args.share.empty())
    return refuse("run", {"--share is for a sweep without a search", "--set find={}"});
  if (!args.role.empty() || !args.at.empty())
    return refuse("run", {"a search runs all roles in one process", "without --role and --at"});
  const bool frames = in_namespaces(args) || on_ports(args);
  record::FindOptions options{.jobs = frames ? 1 : jobs_of(args), .frames = frames};
  options.place = place_of(args, options.jobs);
  RunArgs quiet = args;
  quiet.quiet = true;
  options.again = place_of(quiet, options.jobs);
  record::record_clock(frames ? "realtime" : "virtual");
  const auto found = [&] {
    const Interrupt interrupt;
    Progress progress(name);
    options.stop = &interrupt.flag();
    options.progress = [&progress](uint64_t done, uint64_t most, const std::string &text) {
      progress.update(done, most, text);
    };
    return record::find_all(file, settings, points, options);
  }();
  if (!found)
    return fail("run", error_of_point(found.error(), file, settings));
  const std::vector<ExperimentResult> results = find::as_results(name, found.get());
  std::vector<const ExperimentResult *> pointers;
  pointers.reserve(results.size());
  for (const ExperimentResult &result : results)
    pointers.push_back(&result);
  if (!args.out.empty())
    if (Status s = record::write_find(args.out, name, file.text(), found.get(), pointers); !s)
      return fail("run", s.error());
  if (!args.plots.empty())
    if (Status s = record::write_find_plots(args.plots, found.get()); !s)
      return fail("run --plots", s.error());
  return finish(args, globals, find::document(name, found.get()), pointers,
                status_of(find::verdict_of(found.get())));
}

// --set, where --on and --scale are right too.
Result<experiment::Settings> checked_settings(const RunArgs &args) {
  for (const Status &checked : {check_place(args), check_scale(args)})
    if (!checked)
      return checked.error();
  return settings_of(args);
}

int print_exported(const RunArgs &args, const experiment::ExperimentFile &file,
                   const experiment::Settings &settings) {
  const auto experiment = file.read(settings);
  if (!experiment)
    return fail("run", experiment.error());
  auto exported = importers::export_otg(experiment.get());
  if (!exported)
    return fail("run --export " + args.export_format,
                exported.error().in(parse::file_name(args.files.front())));
  tell_notes("run --export", exported->notes);
  Output output(false);
  output.print_text(exported->json);
  return output.finish();
}

// Each file as an experiment; with several, each has a directory below --out.
int run_imported(const RunArgs &args, const Globals &globals) {
  const auto settings = checked_settings(args);
  if (!settings)
    return refuse("run", settings.error());
  int worst = 0;
  const auto groups = files_of_experiments(args.import, args.files);
  for (const auto &files : groups) {
    const std::string &path = files.front();
    auto imported = import_experiment(args.import, files);
    if (!imported)
      return fail("run --import " + args.import, imported.error());
    tell_notes("run --import", imported->notes);
    RunArgs run_args = args;
    if (!args.out.empty() && groups.size() > 1)
      run_args.out += "/" + std::filesystem::path(path).stem().string();
    const experiment::ExperimentFile file(imported->yaml, parse::file_name(path), "");
    const auto write_fct = [&](const ExperimentResult &result) -> Status {
      if (imported->fct_flows.empty())
        return {};
      return record::write_whole(run_args.out + "/fct.txt",
                                 XR_TRY(importers::fct_text(imported.get(), result.measured)));
    };
    const int status = run_one(run_args, globals, file, settings.get(), write_fct);
    worst = worst == 1 ? worst : status ? status : worst;
  }
  return worst;
}

Error too_many_files(const std::vector<std::string> &files) {
  const std::string near = parse::nearest(files.front(), {kMerge, kCompare});
  if (!near.empty() && !find_experiment(files.front()))
    return {fmt::format("what is '{}'?", files.front()), fmt::format("did you mean {}?", near)};
  return {fmt::format("unexpected '{}'", files[1]), "one experiment a run"};
}

} // namespace
} // namespace run_command

int run_files(RunArgs args, const Globals &globals) {
  using namespace run_command;
  args.netns = globals.netns;
  if (Status s = read_ports(args); !s)
    return refuse("run", s.error());
  if (args.list)
    return list(globals);
  if (args.files.empty())
    return refuse("run",
                  {"FILE is required", "xdp-roce run --list shows those that are installed"});
  const bool only_prints = args.place.empty() && args.out.empty();
  if (!args.import.empty() && (only_prints || !imports_experiments(args.import)))
    return print_imported(args.import, args.files, globals);
  if (!args.import.empty())
    return run_imported(args, globals);
  if (!args.export_format.empty() &&
      (args.files.front() == kMerge || args.files.front() == kCompare))
    return refuse("run --export",
                  {fmt::format("{} has no configuration", args.files.front()), "one experiment"});
  if (args.files.front() == kMerge)
    return merge(args, globals);
  if (args.files.front() == kCompare)
    return compare_stored_runs({args.files.begin() + 1, args.files.end()}, args.out, args.plots,
                               globals);
  if (args.files.size() > 1)
    return refuse("run", too_many_files(args.files));
  const auto settings = checked_settings(args);
  if (!settings)
    return refuse("run", settings.error());
  const auto path = find_experiment(args.files.front());
  if (!path)
    return fail("run", path.error());
  record::record_file(path.get());
  const auto file = experiment::ExperimentFile::load(path.get());
  if (!file)
    return fail("run", file.error());
  if (!args.export_format.empty())
    return print_exported(args, file.get(), settings.get());
  const auto points = file.get().points(settings.get());
  if (!points)
    return fail("run", points.error());
  if (const auto first = file.get().check(record::joined(settings.get(), points.get().front()));
      first && first.get().searches)
    return run_find(args, globals, file.get(), settings.get(), points.get(), first.get().name);
  if (points.get().size() == 1 && points.get().front().empty()) {
    if (!args.share.empty())
      return refuse("run",
                    {"--share is for a sweep, and the file has none", "--set sweep.KEY=[...]"});
    return run_one(args, globals, file.get(), settings.get());
  }
  if (on_ports(args))
    return refuse("run", {"a sweep is not possible on ports", "a run for each point, by --set"});
  if (in_namespaces(args) && args.jobs > 1)
    return refuse("run", {"--jobs: points in namespaces run one after another", "--jobs 1"});
  return run_sweep(args, globals, file.get(), settings.get(), points.get());
}

void add_run(Command program, Run &chosen) {
  using namespace run_command;
  add_command<RunArgs>(program, chosen, "run", "An experiment, with its verdicts", describe_run,
                       run_files);
}

} // namespace xr::cli
