// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <fmt/format.h>

#include "base/processors.h"
#include "cli/output.h"
#include "cli/run_ports.h"
#include "places/namespaces.h"
#include "places/run.h"
#include "places/scale.h"

namespace xr::cli {

void describe_run(Command command, RunArgs &args) {
  Option file = command
                    .add_option("FILE", args.files,
                                "An experiment (YAML): a file, - for standard input, or the "
                                "name of an installed one; or: merge DIR..., the shares of a "
                                "sweep as one; compare A B..., runs over one another")
                    .value_name("");
  command
      .add_option(
          "--on", args.place,
          "Where: virtual: in virtual time, in this process (default). namespaces: with "
          "frames, between network namespaces of this machine. ports "
          "left=IF,right=IF: in line between other hosts; and send=IF, respond=IF: where "
          "this tool is an end, with src=IP,dst=IP,dst-mac=MAC; speed=RATE of ports that do "
          "not report theirs")
      .value_name("PLACE");
  command
      .add_option("--role", args.role,
                  "With --on ports: run this one of the roles only; the others are processes of "
                  "their own, on any machine")
      .value_name("ROLE")
      .check(one_of({"wire", "send", "respond"}));
  command
      .add_option("--at", args.at,
                  "With --on ports: when the run begins, on all machines: 2026-11-23T12:00:30Z, or "
                  "+20s")
      .value_name("TIME");
  command
      .add_option("--out", args.out,
                  "Write result.json, series.csv, junit.xml, report.html, and tables (flows.csv, "
                  "queues.csv, samples.csv) into this directory; of "
                  "a sweep: sweep.json, sweep.csv, and a directory for each point")
      .value_name("DIR");
  command
      .add_option("--plots", args.plots,
                  "Write the plots as SVG, and of one run a gnuplot script; of a sweep: what the "
                  "points measured, over the first key")
      .value_name("DIR");
  command.add_option("--seed", args.seed, "Seed of all random choices, instead of the file's")
      .value_name("N")
      .check(whole_number(0, UINT64_MAX));
  command
      .add_option(
          "--set", args.settings,
          "Set a key or a variable of the file, like duration=10ms, topology.star.senders=8 or "
          "flows.1.words=\"send size 4k\"; repeatable")
      .value_name("KEY=VALUE")
      .repeatable();
  command
      .add_option("--find", args.find.range,
                  "Find the largest value of a key or variable for which all expectations hold, "
                  "like rate=1gbit..100gbit; replaces the file's `find`, except its goals")
      .value_name("KEY=LOW..HIGH");
  command.add_flag("--least", args.find.least, "Find the least value instead of the largest");
  command
      .add_option("--resolution", args.find.resolution,
                  "Largest step: a part of the value, or a quantity like 10mbit (default: 1%)")
      .value_name("R");
  command
      .add_option("--trials", args.find.trials,
                  "Trials of each value, of which more than half have to hold; or like '3 of 5'")
      .value_name("N");
  command
      .add_option("--confirm", args.find.confirm,
                  "What is found has to hold in a trial of this duration, too")
      .value_name("DURATION");
  command
      .add_option("--jobs", args.jobs,
                  "Processes that run points of a sweep or trials of a search (default: as many as "
                  "there are processors for this process; in namespaces 1)")
      .value_name("N")
      .check(whole_number(1, 1024));
  command
      .add_option("--threads", args.threads,
                  "Threads of a run in virtual time, with the same result; a network of more than "
                  "64 hosts has work for several (default: as many as there are processors, which "
                  "the points of a sweep share)")
      .value_name("N")
      .check(whole_number(1, 1024));
  command
      .add_option(
          "--share", args.share,
          "Run a part of a sweep's points: I/N, the I-th of N parts; auto or auto/N: by the "
          "variables of Slurm, MPI or a Kubernetes indexed job")
      .value_name("I/N");
  command.add_option("--junit", args.junit, "Write the verdicts as JUnit XML").value_name("FILE");
  command
      .add_option("--scale", args.scale,
                  "With --on namespaces or ports: a fraction of all rates, like 1/200; times "
                  "become as much longer, sizes in bytes stay")
      .value_name("F");
  command
      .add_option(
          "--import", args.import,
          "Print what others' files are here; with --on or --out run it. lumina, otg: FILE... "
          "become experiments; hpcc: FILE is config.txt of HPCC's simulator, and --out DIR has "
          "fct.txt too; cm: FILE is htsim's connection matrix, and its .topo may follow; goal: "
          "FILE is a text of GOAL; chakra: FILE is a directory of execution traces; simai: FILE is "
          "a workload of SimAI. A topology of HPCC or SimAI may follow hpcc, goal, chakra and "
          "simai. netem: FILE is its options, like \"delay 10ms 2ms loss 1%\"; "
          "mahimahi: "
          "FILE is a trace; they are rules and links")
      .value_name("FORMAT");
  command
      .add_option("--export", args.export_format,
                  "Print the experiment's hosts and flows for others' ports: otg, a configuration "
                  "of the Open Traffic Generator (JSON). What it does not have is refused, or a "
                  "note")
      .value_name("FORMAT")
      .check(one_of({"otg"}));
  for (const char *other : {"--on", "--role", "--at", "--out", "--plots", "--junit", "--import",
                            "--share", "--jobs", "--threads", "--scale"})
    command.option("--export").excludes(other);
  command.add_flag("--tap", args.tap, "Print the verdicts as TAP instead of the summary");
  command.add_flag("--list", args.list, "List the installed experiments");
  command.option("--list").excludes(file);
  command.option("--export").excludes("--tap").excludes("--list");
  command.set_completions(
      {{.after = "", .words = {"$(_xdp_roce_experiments)", "merge", "compare"}}});
  command.set_footer(
      "Exit status: 0 all expectations hold, 3 one does not, 1 it failed or could not measure,\n"
      "2 the command line was wrong. In virtual time it needs no privilege, elsewhere root's.");
}

Status check_place(const RunArgs &args) {
  const std::vector<std::string> &place = args.place;
  if (place.empty())
    return {};
  if (place.front() == "ports" ||
      (place.size() == 1 && (place.front() == "virtual" || place.front() == "namespaces")))
    return {};
  if (place.front() == "virtual" || place.front() == "namespaces")
    return Error{fmt::format("--on: unexpected '{}'", place[1]),
                 fmt::format("--on {}", place.front())};
  return Error{fmt::format("--on: '{}' is not a place", place.front()),
               "--on virtual, namespaces or ports"};
}

Result<experiment::Settings> settings_of(const RunArgs &args) {
  experiment::Settings settings;
  for (const std::string &word : args.settings) {
    settings.push_back(XR_TRY(experiment::parse_setting(word).in("--set")));
  }
  for (auto &setting : XR_TRY(experiment::find_settings(args.find).in("--find")))
    settings.push_back(std::move(setting));
  if (!args.seed.empty())
    settings.emplace_back("seed", args.seed);
  return settings;
}

bool in_namespaces(const RunArgs &args) {
  return !args.place.empty() && args.place.front() == "namespaces";
}

unsigned jobs_of(const RunArgs &args) {
  if (args.jobs)
    return args.jobs;
  return in_namespaces(args) ? 1 : processor_count();
}

record::RunPlace place_of(const RunArgs &args, unsigned at_once) {
  if (on_ports(args))
    return ports_place(args);
  const unsigned threads =
      args.threads ? args.threads : std::max(1U, processor_count() / std::max(1U, at_once));
  if (!in_namespaces(args))
    return [threads, asked = args.threads > 0](const experiment::Experiment &experiment,
                                               places::RunHooks hooks, const std::string &out) {
      hooks.threads = threads;
      if (asked)
        hooks.note = [](const std::string &text) { note("run", text); };
      return places::run_virtual(experiment, hooks, out);
    };
  places::NamespacesOptions options;
  if (!args.scale.empty())
    options.scale = places::parse_scale(args.scale).get();
  if (!args.quiet)
    options.note = [](const std::string &text) { note("run", text); };
  return [options](const experiment::Experiment &experiment, const places::RunHooks &hooks,
                   const std::string &out) mutable {
    options.out = out;
    return places::run_in_namespaces(experiment, options, hooks);
  };
}

Status check_scale(const RunArgs &args) {
  if (args.scale.empty())
    return {};
  if (!in_namespaces(args) && !on_ports(args))
    return Error{"--scale: virtual time has no limit of rates", "--on namespaces"};
  XR_TRY(places::parse_scale(args.scale).in("--scale"));
  return {};
}

} // namespace xr::cli
