// SPDX-License-Identifier: Apache-2.0
// RFC 2544's throughput between two ports of this machine: `run rfc2544-throughput --on ports` with
// the usual options of such a test.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "endpoint/port_facts.h"
#include "parse/quantity.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::cli {

namespace find_command {
namespace {

constexpr const char *kExperiment = "rfc2544-throughput";
constexpr uint64_t kSmallest = 66, kLargest = 9216; // bytes of a frame with FCS

struct Args {
  std::vector<std::string> ports;
  std::string sizes, losses = "0", time = "1s", confirm, speed, resolution, out;
};

void describe(Command command, Args &args) {
  command
      .add_option(
          "PORTS", args.ports,
          "The port that sends and the port that receives, with a device between them; both "
          "in one network namespace")
      .value_name("IF1 IF2");
  command
      .add_option("--size", args.sizes,
                  "Sizes of frames with FCS, in bytes, like 66,512,1518 (default: ten from 66 to "
                  "9000)")
      .value_name("N,...");
  command
      .add_option(
          "--loss", args.losses,
          "What may be lost, like 0,1e-6,0.1% (default: 0): a rate is found for each, by the "
          "same trials")
      .value_name("RATIO,...");
  command.add_option("--for", args.time, "Duration of a trial (default: 1s)")
      .value_name("DURATION");
  command
      .add_option(
          "--confirm", args.confirm,
          "What is found has to hold in a trial of this duration, too; RFC 2544 asks for 60s")
      .value_name("DURATION");
  command
      .add_option("--speed", args.speed,
                  "Rate of the line, where the ports do not report theirs; or a lower one")
      .value_name("RATE");
  command
      .add_option("--resolution", args.resolution, "Largest step between two rates (default: 0.1%)")
      .value_name("R");
  command
      .add_option("--out", args.out,
                  "Write find.json, find.csv, trials.csv, junit.xml and report.html")
      .value_name("DIR");
  command.set_footer("The same as run rfc2544-throughput --on ports send=IF1,respond=IF2. Exit "
                     "status: 0 a rate was\nfound for each size, 3 even the lowest loses, 1 it "
                     "failed or could not measure, 2 the command line\nwas wrong. Needs root's "
                     "privileges.");
}

// Goals of a file: names and expectations.
Result<std::string> goals_of(const std::string &losses) {
  std::string goals;
  for (const std::string &word : parse::parts(losses)) {
    const auto share = parse::quantity(word);
    if (!share || share.get().value < 0 || share.get().value >= 1 ||
        (share.get().kind != parse::UnitKind::Share && share.get().kind != parse::UnitKind::None))
      return parse::wrong(word, "a ratio of loss", "like 0, 1e-6 or 0.1%");
    const double value = share.get().value;
    goals += goals.empty() ? "" : ", ";
    goals += value > 0
                 ? fmt::format(R"("with at most {} lost": "totals.drops <= {:g} * totals.packets")",
                               word, value)
                 : std::string(R"("without loss": "totals.drops == 0")");
  }
  return "{" + goals + "}";
}

Status read(const Args &args) {
  if (args.ports.size() != 2)
    return Error{fmt::format("two ports are needed, not {}", args.ports.size()), "find IF1 IF2"};
  if (args.ports[0] == args.ports[1])
    return Error{fmt::format("{} cannot be both ends", args.ports[0]), "two ports"};
  if (!args.sizes.empty())
    for (const std::string &size : parse::parts(args.sizes))
      if (const auto bytes = parse::integer(size, kSmallest, kLargest); !bytes)
        return bytes.error().in("--size");
  if (const auto goals = goals_of(args.losses); !goals)
    return goals.error().in("--loss");
  for (const auto &[option, value] : {std::pair{"--for", &args.time}, {"--confirm", &args.confirm}})
    if (const auto time = parse::duration(*value); !value->empty() && !time)
      return time.error().in(option);
  if (const auto speed = parse::rate(args.speed); !args.speed.empty() && !speed)
    return speed.error().in("--speed");
  return {};
}

int run(const Args &args, const Globals &globals) {
  std::string line = args.speed;
  if (line.empty()) {
    uint64_t slowest = UINT64_MAX;
    for (const std::string &port : args.ports) {
      const auto facts = endpoint::read_port_facts({port, globals.netns});
      if (!facts)
        return fail("find " + port, facts.error());
      if (!facts.get().line_bits)
        return fail("find " + port, {"its driver does not report a speed", "--speed 10gbit"});
      slowest = std::min(slowest, facts.get().line_bits);
    }
    line = parse::rate_text(slowest);
  }
  RunArgs all;
  all.files = {kExperiment};
  all.place = {"ports",
               fmt::format("send={},respond={},speed={}", args.ports[0], args.ports[1], line)};
  all.settings = {"line=" + line, "time=" + args.time, "find.goals=" + goals_of(args.losses).get()};
  if (!args.sizes.empty())
    all.settings.push_back(fmt::format("sweep.size=[{}]", args.sizes));
  all.find.confirm = args.confirm;
  all.find.resolution = args.resolution;
  all.out = args.out;
  return run_files(std::move(all), globals);
}

} // namespace
} // namespace find_command

void add_find(Command program, Run &chosen) {
  using namespace find_command;
  add_command<Args>(program, chosen, "find",
                    "The largest rate that a device between two ports forwards", describe, read,
                    run);
}

} // namespace xr::cli
