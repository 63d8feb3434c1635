// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "datapath/wire_ports.h"
#include "parse/words.h"
#include "report/wire.h"
#include "wire/delivery_trace.h"
#include "wire/link_words.h"

namespace xr::cli {

namespace link_command {
namespace {

struct Args {
  std::string ifname;
  std::vector<std::string> words;
  std::optional<LinkSpec> spec; // none: `show` or `off`

  bool shows() const { return words.empty() || (words.size() == 1 && words[0] == "show"); }
  bool removes() const { return words.size() == 1 && words[0] == "off"; }
  std::string context() const { return "link " + ifname; }
};

void describe(Command command, Args &args) {
  add_interface(command, args.ifname, "A port of a wire");
  command.add_option("WORDS", args.words, "show | off | the link's words").value_name("");
  std::vector<std::string> words = {"show", "off"};
  for (const std::string_view word : wire::link_language().names())
    words.emplace_back(word);
  command.set_completions({{.after = "", .words = words}, {"trace", true, {}, true}});
  std::string forms;
  for (const parse::WordInfo &word : wire::link_language().words())
    forms += fmt::format("  {} {}\n", word.name, word.syntax);
  command.set_footer(
      "What leaves by the port goes through its link, while xdp-roce wire runs:\n" + forms +
      "The words replace the link that is there; what is queued stays queued. `off` removes it.\n"
      "A flap sets the port down where its peer then loses carrier; with `drop`, or where that is\n"
      "not possible, it drops frames. `carrier`: also if the port has IP addresses.");
}

Status check_trace(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    return Error{fmt::format("cannot read {}", path)};
  std::stringstream text;
  text << file.rdbuf();
  auto trace = wire::parse_trace(text.str());
  return trace ? Status() : trace.error().in(path);
}

int show(const Args &args, const Globals &globals, const std::string &context) {
  auto words = datapath::read_link_words({args.ifname, globals.netns});
  if (!words)
    return fail(context, words.error());
  auto status = datapath::status_of({args.ifname, globals.netns});
  if (!status)
    return fail(context, status.error());
  auto reading = datapath::read_wire({args.ifname, globals.netns});
  if (!reading)
    return fail(context, reading.error());
  const WirePortReport port{.ifname = args.ifname,
                            .peer = status->peer,
                            .xdp_mode = mode_name(status->mode),
                            .link = words->text,
                            .running = reading->running,
                            .counts = reading->counts};
  Output output(globals.json);
  output.print(report::link_document(port));
  return output.finish();
}

Status read(Args &args) {
  if (args.shows() || args.removes())
    return {};
  auto spec = wire::parse_link(args.words);
  if (!spec) {
    const std::string near =
        args.words.size() == 1 ? parse::nearest(args.words.front(), {"show", "off"}) : "";
    return near.empty() ? spec.error()
                        : Error{spec.error().message, fmt::format("did you mean {}?", near)};
  }
  args.spec = std::move(spec).get();
  return {};
}

int link(const Args &args, const Globals &globals) {
  const std::string context = args.context();
  if (args.shows())
    return show(args, globals, context);
  if (args.spec && !args.spec->trace.empty())
    if (auto sound = check_trace(args.spec->trace); !sound)
      return fail(context, sound.error());
  const std::string text = args.spec ? wire::link_text(*args.spec) : "";
  if (auto done = datapath::set_link_words({args.ifname, globals.netns}, text); !done)
    return fail(context, done.error());
  return show(args, globals, context);
}

} // namespace
} // namespace link_command

void add_link(Command program, Run &chosen) {
  using namespace link_command;
  add_command<Args>(program, chosen, "link",
                    "What leaves by a wire's port: rate, delay, queue, AQM, PFC", describe, read,
                    link);
}

} // namespace xr::cli
