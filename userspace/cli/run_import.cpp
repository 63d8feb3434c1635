// SPDX-License-Identifier: Apache-2.0
#include "cli/run_import.h"

#include <filesystem>

#include "cli/output.h"
#include "importers/netem.h"
#include "parse/yaml.h"
#include "wire/delivery_trace.h"

namespace xr::cli {

namespace {

// The link that Mahimahi's mm-link makes of the trace.
Result<importers::Imported> mahimahi(const std::string &path) {
  auto text = parse::read_file(path);
  if (!text)
    return text.error();
  if (const auto trace = wire::parse_trace(*text); !trace)
    return Error{fmt::format("{}: {}", path, trace.error().message), trace.error().hint};
  return importers::Imported{.rules = {},
                             .link = "trace " + std::filesystem::absolute(path).string()};
}

Result<importers::Imported> import(const std::string &kind, const std::string &from) {
  if (kind == "netem")
    return importers::netem(from);
  if (kind == "mahimahi")
    return mahimahi(from);
  if (kind == "lumina" || kind == "otg")
    return Error{"it is not possible yet", "netem, mahimahi"};
  return Error{"it is not a format", "netem, mahimahi"};
}

} // namespace

int import_words(const std::string &kind, const std::string &from, const Globals &globals) {
  auto imported = import(kind, from);
  if (!imported)
    return refuse("run --import " + kind, imported.error());
  Output output(globals.json);
  if (globals.json) {
    output.print({.title = {},
                  .sections = {{"schema", "", report::Value{uint64_t{1}}},
                               {"rules", "", report::Value{report::StringList(imported->rules)}},
                               {"link", "", report::Value{imported->link}}}});
    return output.finish();
  }
  for (const std::string &rule : imported->rules)
    output.print_line("impair IF add " + rule);
  if (!imported->link.empty())
    output.print_line("link IF " + imported->link);
  return output.finish();
}

} // namespace xr::cli
