// SPDX-License-Identifier: Apache-2.0
#include "cli/run_import.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/output.h"
#include "importers/cm.h"
#include "importers/hpcc.h"
#include "importers/job_file.h"
#include "importers/netem.h"
#include "importers/otg.h"
#include "parse/yaml.h"
#include "wire/delivery_trace.h"

namespace xr::cli {

namespace {

// The link that Mahimahi's mm-link makes of the trace.
Result<importers::Imported> mahimahi(const std::string &path) {
  auto text = XR_TRY(parse::read_file(path));
  XR_TRY(wire::parse_trace(text).in(path));
  return importers::Imported{
      .rules = {}, .link = "trace " + std::filesystem::absolute(path).string(), .notes = {}};
}

Result<importers::Imported> import(const std::string &kind, const std::string &from) {
  if (kind == "netem")
    return importers::netem(from);
  if (kind == "mahimahi")
    return mahimahi(from);
  return Error{"it is not a format", "lumina, otg, hpcc, cm, goal, chakra, simai, netem, mahimahi"};
}

int print_words(const std::string &kind, const std::string &from, const Globals &globals) {
  auto imported = import(kind, from);
  if (!imported)
    return kind == "mahimahi" ? fail("run --import " + kind, imported.error())
                              : refuse("run --import " + kind, imported.error());
  tell_notes("run --import", imported->notes);
  Output output(globals.json);
  if (globals.json) {
    output.print({.title = {},
                  .sections = {{"schema", "", report::Value{uint64_t{1}}},
                               {"rules", "", report::Value{report::StringList(imported->rules)}},
                               {"link", "", report::Value{imported->link}},
                               {"notes", "", report::Value{report::StringList(imported->notes)}}}});
    return output.finish();
  }
  for (const std::string &rule : imported->rules)
    output.print_line("impair IF add " + rule);
  if (!imported->link.empty())
    output.print_line("link IF " + imported->link);
  return output.finish();
}

int print_experiments(const std::string &kind, const std::vector<std::string> &paths,
                      const Globals &globals) {
  std::vector<importers::ImportedExperiment> experiments;
  const auto groups = files_of_experiments(kind, paths);
  for (const auto &files : groups) {
    auto imported = import_experiment(kind, files);
    if (!imported)
      return fail("run --import " + kind, imported.error());
    tell_notes("run --import", imported->notes);
    experiments.push_back(std::move(imported).get());
  }
  Output output(globals.json);
  std::vector<std::vector<report::Value>> rows;
  for (size_t i = 0; i < experiments.size(); i++)
    if (globals.json)
      rows.push_back(
          {groups[i].front(), experiments[i].yaml, report::StringList(experiments[i].notes)});
    else
      output.print_line((i ? "---\n" : "") +
                        experiments[i].yaml.substr(0, experiments[i].yaml.size() - 1));
  if (globals.json)
    output.print({.title = {},
                  .sections = {{"schema", "", report::Value{uint64_t{1}}},
                               {"experiments", "",
                                report::make_table({{"file", ""}, {"yaml", ""}, {"notes", ""}},
                                                   std::move(rows))}}});
  return output.finish();
}

} // namespace

bool imports_experiments(const std::string &kind) {
  return kind == "lumina" || kind == "otg" || kind == "hpcc" || kind == "cm" ||
         importers::is_job_file(kind);
}

std::vector<std::vector<std::string>> files_of_experiments(const std::string &kind,
                                                           const std::vector<std::string> &paths) {
  const auto is_topology = [&kind](const std::string &path) {
    if (kind == "cm")
      return path.ends_with(".topo");
    const auto text = parse::read_file(path);
    return (kind == "hpcc" || importers::is_job_file(kind)) && text &&
           importers::is_hpcc_topology(text.get());
  };
  std::vector<std::vector<std::string>> experiments;
  for (const std::string &path : paths)
    if (!experiments.empty() && experiments.back().size() == 1 && is_topology(path))
      experiments.back().push_back(path);
    else
      experiments.push_back({path});
  return experiments;
}

Result<importers::ImportedExperiment> import_experiment(const std::string &kind,
                                                        const std::vector<std::string> &files) {
  const std::string &path = files.front(), topology = files.size() > 1 ? files[1] : "";
  if (kind == "hpcc")
    return importers::hpcc(path, topology);
  if (importers::is_job_file(kind))
    return importers::job_file(kind, path, topology);
  auto text = XR_TRY(parse::read_file(path));
  const std::string name = parse::file_name(path);
  if (kind == "cm") {
    importers::CmTexts texts{
        .matrix = text, .matrix_name = name, .topology = {}, .topology_name = {}};
    if (!topology.empty()) {
      texts.topology = XR_TRY(parse::read_file(topology));
      texts.topology_name = parse::file_name(topology);
    }
    return importers::cm(texts);
  }
  return kind == "lumina" ? importers::lumina(text, name) : importers::otg(text, name);
}

int print_imported(const std::string &kind, const std::vector<std::string> &from,
                   const Globals &globals) {
  if (imports_experiments(kind))
    return print_experiments(kind, from, globals);
  return print_words(kind, from.front(), globals);
}

} // namespace xr::cli
