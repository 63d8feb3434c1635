// SPDX-License-Identifier: Apache-2.0
// The command line: accepted and rejected arguments with their error messages, and the help, manual
// and completion made from its table.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <regex>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/examples.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "directory.h"
#include "impair/rule.h"
#include "record/sweep.h"
#include "report/attachments.h"
#include "report/json.h"
#include "report/reports.h"
#include "report/text.h"
#include "sweep/merge.h"
#include "watch/pages.h"
#include "watch/stream_list.h"

namespace cli_test {
namespace {

using namespace xr::cli;

struct Outcome {
  int status = 0; // -1: --help or --version
  std::string error;
  Globals globals;
  std::string command;
};

Outcome parse(const std::string &line) {
  Program program;
  testing::internal::CaptureStderr();
  // Splits like a shell: CLI11's own splitting takes [::1] for a list since 2.4.
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> std::quoted(word);)
    words.push_back(word);
  const Parsed said = program.line.parse(words);
  Outcome parsed;
  if (said.kind == Parsed::Kind::Fault)
    parsed.status = usage_error(program.line, said);
  else if (said.kind != Parsed::Kind::Command)
    parsed.status = -1;
  else
    parsed.command = said.command->name();
  parsed.globals = program.globals;
  parsed.error = testing::internal::GetCapturedStderr();
  EXPECT_EQ(parsed.status == 0, static_cast<bool>(program.chosen)) << line;
  return parsed;
}

TEST(Cli, Understands) {
  for (const char *line :
       {"attach eth0",
        "attach eth0 eth1 --mode skb --priority 7 --udp-port 4792 --streams 1000000",
        "attach eth0 --no-track",
        "doctor eth0 --try",
        "doctor --set-roce-mode v2 --set-roce-tos 106 --rdma-dev mlx5_0 --rdma-port 1",
        "doctor --set-roce-tos 0 --rdma-dev mlx5_0 --rdma-port 1",
        "respond eth0 --zero-copy",
        "respond eth0 --sink --clock-offset -1500",
        "analyze f.pcap --clock-offset -1500 --tai-offset 37",
        "send eth0 pfc 3,4 quanta 100 storm line 100gbit",
        "doctor eth0 --pfc-from eth1",
        "respond eth0 --cnp-mode window",
        "respond eth0 --retransmit selective --cc dcqcn --top 4",
        "respond eth0 --ignore-pfc",
        "serve",
        "serve --listen [::1]:8443 --ports eth0,ns/eth1 --token f --latency",
        "serve --listen 0.0.0.0:8443 --tls cert.pem key.pem",
        "serve --listen [::]:8443 --web.config.file web.yml",
        "send eth0 dst 192.0.2.2 qp 1 --reliable --retransmit selective --no-cnp",
        "send eth0 dst 192.0.2.2 qp 1 --listen --pfc-line 10gbit",
        "cc list",
        "cc show paper nvidia",
        "cc show hpcc swift copa timely dctcp fixed",
        "cc show dcqcn preset hpcc hpcc",
        "cc predict flows 10 rate 40gbit kmin 5k g=1/16",
        "cc predict copa flows 10 rate 40gbit delta=0.25",
        "run --list",
        "run incast --export otg --set duration=1ms --seed 3",
        "run incast --out d --seed 3 --set duration=1ms --set seed=4 --jobs 2 --tap",
        "run x.yaml --on virtual --junit j.xml",
        "send eth0 dst 192.0.2.2 cc dcqcn rai=1mbit --series x.csv --sample 10ms --top 3",
        "send eth0 --copy dst 192.0.2.2 qp 17",
        "send eth0 --engine live --threads 2 --cpus 0 dst 192.0.2.2 qp 17",
        "detach eth0 eth1",
        "detach --all",
        "status",
        "status eth0",
        "counters eth0",
        "counters eth0 --interval 0.5 --count 3",
        "streams eth0 --sort missing",
        "streams eth0 --top 20 --interval 1",
        "events eth0 --count 1",
        "analyze -",
        "compare a.pcap b.pcap",
        "compare a.pcap b.pcap c.pcap --window 500ms --memory 1GiB --clock-offset -1500 --top 5 "
        "--udp-port 4792",
        "compare eth0 eth1 --for 10s --keep out",
        "check eth0",
        "check eth0 --for 1s",
        "analyze a.pcap --check --paths 8 --hash murmur --speed 100gbit",
        "analyze a.pcap --check --rows ndjson --table checks",
        "export",
        "export eth0 eth1 --once",
        "export --rows --once",
        "export eth0 --rows --interval 10s",
        "demo",
        "demo --out d",
        "demo --quick",
        "demo --remove",
        "export eth0 --listen [::1]:9479 --top-streams 0 --sort ce",
        "export --listen 0.0.0.0:9479 --web.config.file web.yml",
        "export --listen 0.0.0.0:9479 --tls cert.pem key.pem --token f",
        "export --listen 0.0.0.0:9479 --insecure",
        "analyze a.pcap --udp-port 4792 --drop-bad-icrc --sort ce --top 1 --episodes",
        "analyze a.pcap --latency --rows csv --table latency_histogram"})
    EXPECT_EQ(parse(line).status, 0) << line;
}

// Words that CLI11 takes as they are. Each is refused when the line is parsed, before a file, a
// port or a privilege matters. exit_status.py has the table of all commands.
TEST(Cli, RefusesWrongWords) {
  const std::pair<const char *, const char *> kLines[] = {
      {"attach eth0 --pairs 7", "add --follow, --latency or both"},
      {"bridge eth0 eth1 --pairs 7", "add --follow, --latency or both"},
      {"attach eth0 --follow --no-track", "omit --follow and --latency, or --no-track"},
      {"capture eth0 -w x --latency --no-track", "omit --follow and --latency, or --no-track"},
      {"attach eth0 --one", "xdp-roce attach eth0 IF2 --one"},
      {"attach eth0 --decap auto --rules", "omit --rules or --decap"},
      {"bridge eth0 eth0", "xdp-roce bridge eth0 IF2"},
      {"wire eth0 eth0", "xdp-roce wire eth0 IF2"},
      {"wire eth0 eth1 --memory lots", ""},
      {"capture eth0 -w x --around episod", "episode"},
      {"capture eth0 -w x --src 192.0.2", ""},
      {"analyze a.pcap --paths 8", "add --check"},
      {"analyze a.pcap --check --hash murmur", "add --paths N"},
      {"analyze a.pcap --check --paths 1", ""},
      {"analyze a.pcap --rows csv --table checks", ""},
      {"impair eth0 lst", "did you mean list?"},
      {"impair eth0 add roce delay 200", ""},
      {"impair eth0 add opcode data dorp", "did you mean drop?"},
      {"impair eth0 del", "add RULE, list"},
      {"impair eth0 peer 192.0.2.1 17", ""},
      {"link eth0 rate fast", ""},
      {"send eth0 dst 192.0.2.2 qp 17 wirte", "did you mean write?"},
      {"send eth0 write", "dst IP"},
      {"send eth0 dst 192.0.2.2 qp 17 write --cm --queues 2", "--cm with --queues 1"},
      {"send eth0 dst 192.0.2.2 qp 17 transport ud --reliable send size 10", ""},
      {"send eth0 pfc 3", ""},
      {"respond eth0 --peer-qp x", "same, 0x12, +1 or -1"},
      {"analyze f.pcap --split-by stream", "add --split-to DIR"},
      {"analyze f.pcap --tick 1ns", ""},
      {"compare a.pcap b.pcap --window 2m", "--window 60s"},
      {"compare - b.pcap", "write it into a file first"},
      {"connections a b c d e f g h i", "name fewer ports"},
      {"cc show papper", "did you mean paper?"},
      {"cc show hpcc swfit", "did you mean swift?"},
      {"cc show swift plugin", "name it, like plugin ./my.so"},
      {"cc show preset swift", "paper, ns3-rdma"},
      {"cc list all", "xdp-roce cc list"}};
  for (const auto &[line, hint] : kLines) {
    const Outcome parsed = parse(line);
    EXPECT_EQ(parsed.status, 2) << line << "\n" << parsed.error;
    EXPECT_NE(parsed.error.find(hint), std::string::npos) << line << "\n" << parsed.error;
    EXPECT_TRUE(parsed.error.starts_with("xdp-roce: ")) << line << "\n" << parsed.error;
  }
}

TEST(Cli, DidYouMean) {
  const std::pair<const char *, const char *> kLines[] = {
      {"atach eth0", "hint: did you mean attach?\n"},
      {"conters eth0", "hint: did you mean counters?\n"},
      {"xyzzy", "hint: commands are attach, detach, "},
      {"counters eth0 --intervall 1", "hint: did you mean --interval?\n"},
      {"counters eth0 --jsn", "hint: did you mean --json?\n"},
      {"counters eth0 --xyzzy", "hint: xdp-roce counters --help\n"}};
  for (const auto &[line, hint] : kLines) {
    const Outcome parsed = parse(line);
    EXPECT_EQ(parsed.status, 2) << line;
    EXPECT_NE(parsed.error.find(hint), std::string::npos) << line << "\n" << parsed.error;
  }
}

// The exit status of an error is in the error, also where a function above names its context.
TEST(Cli, StatusOfErrors) {
  const xr::Error failed{"cannot open x", "run as root"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail("run", failed), 1);
  EXPECT_EQ(fail("run", failed.in("x.yaml")), 1);
  EXPECT_EQ(fail("run", failed.as_usage()), 2);
  EXPECT_EQ(fail("run", failed.as_usage().in("--set x")), 2);
  EXPECT_EQ(refuse("run", failed), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("xdp-roce: run: --set x: cannot open x\n"),
            std::string::npos);
}

TEST(Cli, GlobalOptionsStandAnywhere) {
  for (const char *line :
       {"--json --netns blue -vv status eth0", "status --json eth0 -v -v --netns "
                                               "blue"}) {
    const Outcome parsed = parse(line);
    EXPECT_EQ(parsed.command, "status");
    EXPECT_TRUE(parsed.globals.json);
    EXPECT_EQ(parsed.globals.netns, "blue");
    EXPECT_EQ(parsed.globals.verbose, 2);
  }
}

struct Refusal {
  const char *line;
  const char *words;
};

TEST(Cli, RefusesInASentence) {
  for (const Refusal &one : std::initializer_list<Refusal>{
           {"", "a command is missing"},
           {"nonsense", "no such command: nonsense"},
           {"--bogus", "what is '--bogus'?"},
           {"--netns", "--netns needs NAME"},
           {"attach", "attach: IF is required"},
           {"attach eth0 --bogus", "attach: what is '--bogus'?"},
           {"attach eth0 --mode fast", "--mode: 'fast' is none of auto, native, skb"},
           {"attach eth0 --streams 0", "--streams: '0' is not a whole number from 1 to 16777214"},
           {"attach eth0 --streams 16777215", "'16777215' is not a whole number"},
           {"attach eth0 --streams -1", "'-1' is not a whole number"},
           {"attach eth0 --streams 1e3", "'1e3' is not a whole number"},
           {"attach eth0 --udp-port 70000", "'70000' is not a whole number from 1 to 65535"},
           {"attach eth0 --udp-port 0", "'0' is not a whole number from 1 to 65535"},
           {"attach eth0 --priority x", "'x' is not a whole number"},
           {"detach", "IF or --all is required"},
           {"detach eth0 --all", "exclude each other"},
           {"serve --listen 0.0.0.0:8443", "0.0.0.0:8443 is open to others"},
           {"serve --ports eth0,", "--ports has an empty location"},
           {"serve --listen 8443", "'8443' is not an address and port"},
           {"respond eth0 --copy --zero-copy", "exclude each other"},
           {"respond eth0 --clock-offset 5", "--clock-offset needs --sink"},
           {"analyze f.pcap --tai-offset 101", "101"},
           {"compare a.pcap b.pcap --keep out", "--for"},
           {"compare a.pcap b.pcap --window 500", "500"},
           {"compare a.pcap b.pcap --clock-offset x", "clock-offset"},
           {"doctor --pfc-from eth1", "--pfc-from needs IF"},
           {"doctor --try", "--try needs IF"},
           {"cc", "cc: WHAT is required"},
           {"cc guess", "WHAT: 'guess' is none of list, show, predict"},
           {"run incast --export csv", "'csv' is none of otg"},
           {"run incast --export otg --on virtual", "--on and --export exclude each other"},
           {"run incast --jobs 2 --export otg", "--jobs and --export exclude each other"},
           {"run incast --jobs 0", "'0' is not a whole number from 1 to 1024"},
           {"run incast --seed x", "'x' is not a whole number"},
           {"run incast --list", "exclude each other"},
           {"send eth0 --sample 1ms", "--sample needs --series"},
           {"respond eth0 --retransmit all", "'all' is none of go-back-n, selective"},
           {"respond eth0 --top 4", "--top needs --cc"},
           {"respond eth0 --pfc-line 1gbit --ignore-pfc", "exclude each other"},
           {"send eth0 --retransmit selective", "--retransmit needs --reliable"},
           {"send eth0 --no-cnp", "--no-cnp needs --reliable"},
           {"respond eth0 --cnp-mode soon", "'soon' is none of hold-off, window, grid, echo"},
           {"doctor --set-roce-mode v1 --rdma-port 1", "--set-roce-mode needs --rdma-dev"},
           {"doctor --set-roce-tos 106 --rdma-dev mlx5_0", "--set-roce-tos needs --rdma-port"},
           {"doctor --set-roce-tos 256 --rdma-dev mlx5_0 --rdma-port 1",
            "'256' is not a whole number from 0 to 255"},
           {"doctor eth0 --set-roce-tos 0 --rdma-dev mlx5_0 --rdma-port 1", "exclude each other"},
           {"doctor --rdma-dev mlx5_0", "--set-roce-mode or --set-roce-tos is required"},
           {"counters", "counters: IF is required"},
           {"counters eth0 eth1", "what is 'eth1'?"},
           {"counters eth0 --count 3", "--count needs --interval"},
           {"counters eth0 --interval 0", "'0' is not a number of seconds"},
           {"counters eth0 --interval nan", "'nan' is not a number of seconds"},
           {"streams eth0 --sort foo", "'foo' is none of trouble, dest_qp, "},
           {"streams eth0 --top 0", "'0' is not a whole number from 1"},
           {"events eth0 --count 0", "'0' is not a whole number from 1 on"},
           {"export eth0 --listen 9479", "'9479' is not an address and port"},
           {"export --listen [::]:9479", "[::]:9479 is open to others"},
           {"export --tls cert.pem", "--tls"},
           {"export --web.config.file f --token f",
            "--web.config.file and --token exclude each other"},
           {"serve --web.config.file f --tls c k",
            "--web.config.file and --tls exclude each other"},
           {"export eth0 --top-streams -1", "not a whole number"},
           {"analyze", "analyze: FILE is required"}}) {
    const Outcome parsed = parse(one.line);
    EXPECT_EQ(parsed.status, 2) << one.line;
    EXPECT_EQ(parsed.error.find("xdp-roce: "), 0u) << parsed.error;
    EXPECT_NE(parsed.error.find(one.words), std::string::npos) << parsed.error;
    EXPECT_NE(parsed.error.find("\nhint: "), std::string::npos) << parsed.error;
    EXPECT_EQ(std::count(parsed.error.begin(), parsed.error.end(), '\n'), 2) << parsed.error;
  }
}

TEST(Cli, HelpNeedsNothing) {
  for (const char *line : {"--help", "--version", "attach --help", "detach --help", "status --help",
                           "counters --help", "streams --help", "events --help", "analyze --help"})
    EXPECT_EQ(parse(line).status, -1) << line;
}

TEST(Cli, SortKeysAreTheNumericColumns) {
  for (const std::string &key : xr::report::stream_sort_keys())
    EXPECT_EQ(parse("streams eth0 --sort " + key).status, 0) << key;
}

std::string without(std::string text, char c) {
  text.erase(std::remove(text.begin(), text.end(), c), text.end());
  return text;
}

// Removes roff's escapes: \- \: \& \fB and so on.
std::string plain(std::string roff) {
  for (const char *mark : {"\\:", "\\&", "\\fB", "\\fI", "\\fR"})
    for (size_t at = 0; (at = roff.find(mark, at)) != std::string::npos;)
      roff.erase(at, strlen(mark));
  return without(roff, '\\');
}

// The manual and the completion have everything that --help has.
TEST(Cli, ManualAndCompletionHaveEverything) {
  const Program program;
  const Command root = program.line.root();
  const std::string all = plain(man_page(root));
  const std::string completion = bash_completion(root);
  EXPECT_GE(root.commands().size(), 23U);
  EXPECT_EQ(all.find("xdp-roce-help"), std::string::npos) << "help is hidden";
  for (const Command &command : root.commands()) {
    const std::string name = command.name(), man = plain(man_page(root, command));
    EXPECT_NE(all.find(".BR xdp-roce-" + name + " (8)\n" + command.description()),
              std::string::npos)
        << name;
    EXPECT_NE(man.find("xdp-roce-" + name + " - " + command.description()), std::string::npos);
    EXPECT_NE(completion.find(" " + name + ") words="), std::string::npos) << name;
    for (const Option &option : command.positionals())
      EXPECT_NE(man.find(option.description()), std::string::npos) << option.name();
    for (const Option &option : command.flags()) {
      EXPECT_FALSE(option.description().empty()) << name << " " << option.name();
      EXPECT_NE(man.find(option.description()), std::string::npos) << option.name();
      EXPECT_NE(completion.find(" " + option.name()), std::string::npos) << option.name();
    }
  }
}

// An example that is no longer understood is found here.
TEST(Cli, EveryCommandHasExamplesThatParse) {
  const Program program;
  const Command root = program.line.root();
  size_t examples = 0;
  for (const Command &command : root.commands()) {
    const std::string name = command.name(), man = plain(man_page(root, command));
    EXPECT_NE(man.find(".SH EXAMPLES"), std::string::npos) << name;
    EXPECT_FALSE(command.examples().empty()) << name;
    for (const Example &example : command.examples()) {
      const Outcome parsed = parse(example.line);
      EXPECT_EQ(parsed.status, 0) << example.line << "\n" << parsed.error;
      EXPECT_EQ(parsed.command, name) << example.line;
      EXPECT_TRUE(example.what.ends_with('.')) << example.line;
      EXPECT_NE(man.find("xdp-roce " + example.line + "\n" + example.what), std::string::npos)
          << man;
      examples++;
    }
    EXPECT_NE(command.help().find("  xdp-roce " + command.examples().front().line),
              std::string::npos);
  }
  EXPECT_EQ(examples, all_examples().size()) << "of a command that is not there";
}

// What bash offers for the last word of a line, by a bash that has read the script.
std::set<std::string> completions(const std::string &line) {
  const Program program;
  const xr::test::Directory directory;
  const std::string script = directory.file("xdp-roce.bash"), answer = directory.file("answer");
  std::ofstream(script) << bash_completion(program.line.root())
                        << "ip() { cat <<'END'\n"
                           "1: lo: <UP> mtu 65536 qdisc noqueue\n"
                           "2: ens1: <UP> mtu 1500 xdp qdisc mq\n"
                           "3: ens2@if4: <UP> mtu 1500 xdpgeneric/id:7 qdisc mq\n"
                           "END\n}\n"
                           "mapfile -t COMP_WORDS\n"
                           "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
                           "_xdp_roce\n"
                           "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  std::ofstream words(directory.file("words"));
  for (size_t from = 0; from <= line.size();) { // a word a line; the last may be empty
    const size_t end = std::min(line.find(' ', from), line.size());
    words << line.substr(from, end - from) << "\n";
    from = end + 1;
  }
  words.close();
  const std::string command =
      fmt::format("bash {} <{} >{}", script, directory.file("words"), answer);
  EXPECT_EQ(system(command.c_str()), 0) << line; // NOLINT(concurrency-mt-unsafe)
  std::ifstream file(answer);
  return {std::istream_iterator<std::string>(file), {}};
}

TEST(Cli, BashCompletesWords) {
  struct Case {
    const char *line;
    std::vector<const char *> offered, not_offered;
  };
  const xr::test::Directory installed;
  const std::string run = installed.file("sbin/xdp-roce") + " run ";
  for (const char *file : {"sbin/xdp-roce", "share/xdp-roce/experiments/incast.yaml"}) {
    std::filesystem::create_directories(std::filesystem::path(installed.file(file)).parent_path());
    std::ofstream(installed.file(file)) << "\n";
  }
  std::filesystem::permissions(installed.file("sbin/xdp-roce"), std::filesystem::perms::owner_all);
  const Case cases[] = {
      {"xdp-roce str", {"streams"}, {"status"}},
      {"xdp-roce attach ", {"lo", "ens1", "ens2"}, {"ens2@if4"}},
      {"xdp-roce streams ", {"ens1", "ens2"}, {"lo"}},
      {"xdp-roce streams ens1 --sort c", {"ce"}, {"gaps"}},
      {"xdp-roce impair ens1 ", {"add", "list", "apply"}, {"probability"}},
      {"xdp-roce impair ens1 add pro", {"probability"}, {"list"}},
      {"xdp-roce impair ens1 add opcode ", {"data", "RC_SEND_ONLY"}, {"probability"}},
      {"xdp-roce impair ens1 add opcode data ", {"drop", "every"}, {"RC_SEND_ONLY"}},
      {"xdp-roce link ens1 ", {"rate", "delay", "red", "show"}, {"qp"}},
      {"xdp-roce send ens1 dst 192.0.2.2 ", {"qp", "write", "size", "cc", "rate"}, {"drop"}},
      {"xdp-roce send ens1 dst 192.0.2.2 cc ", {"dcqcn", "timely"}, {"qp"}},
      {"xdp-roce send ens1 dst 192.0.2.2 cc dcqcn preset ", {"paper", "nvidia"}, {"qp"}},
      {"xdp-roce cc show ", {"paper", "hpcc", "swift", "fixed", "dcqcn"}, {"flows"}},
      {"xdp-roce cc predict ", {"flows", "kmin", "g="}, {"paper"}},
      {run.c_str(), {"incast", "merge", "compare"}, {"*"}},
  };
  for (const Case &one : cases) {
    const std::set<std::string> words = completions(one.line);
    for (const char *word : one.offered)
      EXPECT_TRUE(words.count(word)) << one.line << ": " << word;
    for (const char *word : one.not_offered)
      EXPECT_FALSE(words.count(word)) << one.line << ": " << word;
  }
}

// The keys of each command that sorts.
TEST(Cli, HelpAndManualListSortKeys) {
  const Program program;
  const Command root = program.line.root();
  for (const char *name : {"streams", "analyze", "export", "watch"}) {
    const Command command = *root.command(name);
    const std::string help = command.help(), man = plain(man_page(root, command));
    for (const std::string &key :
         name == std::string("watch") ? xr::watch::sort_keys() : xr::report::stream_sort_keys())
      for (const std::string *text : {&help, &man})
        EXPECT_TRUE(std::regex_search(*text, std::regex("[{,]\\s*" + key + "[},]")))
            << name << " " << key << "\n"
            << *text;
  }
}

// Every word that a rule of `impair` may have.
TEST(Cli, HelpAndManualListTheWordsOfRules) {
  const Program program;
  const Command root = program.line.root();
  const Command command = *root.command("impair");
  const std::string help = command.help(), man = plain(man_page(root, command));
  const auto words = xr::impair::rule_words().all_names();
  EXPECT_GT(words.size(), 80U);
  for (const std::string_view word : words)
    for (const std::string *text : {&help, &man})
      EXPECT_TRUE(
          std::regex_search(*text, std::regex("(^|[^-\\w])" + std::string(word) + "($|[^-\\w])")))
          << word << "\n"
          << *text;
  for (const std::string *text : {&help, &man})
    EXPECT_EQ(text->find("Only the first rule"), std::string::npos);
}

TEST(Cli, ManualOfWatchListsItsKeys) {
  const Program program;
  const Command root = program.line.root();
  const std::string man = plain(man_page(root, *root.command("watch")));
  const size_t keys = man.find(".SH KEYS\n");
  ASSERT_NE(keys, std::string::npos);
  for (const xr::watch::KeyHelp &one : xr::watch::key_help())
    EXPECT_NE(man.find(std::string(".TP\n") + one.keys + "\n" + one.what + "\n", keys),
              std::string::npos)
        << one.keys;
  EXPECT_EQ(plain(man_page(root, *root.command("streams"))).find("KEYS"), std::string::npos);
}

TEST(Cli, StatusTellsWhatIsAttached) {
  xr::PortStatus port;
  port.ifname = "eth1";
  port.netns = "blue";
  port.state = xr::AttachState::Attached;
  port.mode = xr::Mode::Native;
  port.programs = {{42, "xdp_roce"}};
  port.program_id = 42;
  port.abi = 1;
  port.since_ns = 1'700'000'000'123'456'789;
  port.track = true;
  port.udp_port = 4791;
  port.streams_capacity = 65536;
  const auto document = xr::report::attachments_report({port});
  const auto row = nlohmann::json::parse(xr::report::to_json(document))["attachments"][0];
  EXPECT_EQ(row["interface"], "eth1");
  EXPECT_EQ(row["netns"], "blue");
  EXPECT_EQ(row["mode"], "native");
  EXPECT_EQ(row["since"], "2023-11-14T22:13:20.123456789Z");
  EXPECT_EQ(row["hook_program_names"], nlohmann::json({"xdp_roce"}));
  EXPECT_EQ(row["stream_capacity"], 65536);
  const std::string text = xr::report::to_text(document);
  for (const char *word : {"eth1", "blue", "native", "42", "4791", "65,536"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_EQ(xr::report::to_text(xr::report::attachments_report({})), "nothing is attached\n");
}

// Shares of a sweep, by a word or by a scheduler's variables.
TEST(Cli, SharesOfASweep) {
  constexpr const char *kNames[] = {"SLURM_ARRAY_TASK_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                    "PMI_RANK", "JOB_COMPLETION_INDEX"};
  for (const char *name : kNames)
    unsetenv(name);
  const auto share = [](const std::string &word) {
    auto got = xr::record::parse_share(word);
    return got ? fmt::format("{} of {}", got->index, got->count) : got.error().message;
  };
  EXPECT_EQ(share("1/1"), "0 of 1");
  EXPECT_EQ(share("8/8"), "7 of 8");
  for (const char *word : {"0/8", "9/8", "1/0", "8", "a/b", ""})
    EXPECT_EQ(share(word), fmt::format("'{}' is not a share", word));
  EXPECT_EQ(share("auto"), "auto: no scheduler has set its variables");
  setenv("JOB_COMPLETION_INDEX", "2", 1);
  EXPECT_EQ(share("auto"), "auto: JOB_COMPLETION_INDEX is set, but not of how many");
  EXPECT_EQ(share("auto/3"), "2 of 3");
  EXPECT_EQ(share("auto/2"), "auto: JOB_COMPLETION_INDEX is 2, of 2");
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_EQ(share("auto"), "0 of 4");
  setenv("SLURM_ARRAY_TASK_ID", "12", 1); // an array from 10 on
  setenv("SLURM_ARRAY_TASK_MIN", "10", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "5", 1);
  EXPECT_EQ(share("auto"), "2 of 5");
  for (const char *name : kNames)
    unsetenv(name);
}

// More shares than points: the directories of the others have none.
TEST(Cli, MergesASharedSweepWithoutPoints) {
  xr::test::Directory with, without, empty;
  std::ofstream(without.file("sweep.json")) << "{}\n";
  xr::sweep::SweepPoint point{.number = 1, .run = "01", .host = "a", .settings = {{"seed", "1"}}};
  std::filesystem::create_directory(with.file("001-seed=1"));
  std::ofstream(with.file("001-seed=1/point.json"))
      << xr::sweep::stored_point(point, xr::sweep::pack_point({}), 1);
  const auto merged = xr::sweep::merge_sweep({without.path(), with.path()});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(merged.get().points.size(), 1U);
  EXPECT_TRUE(merged.get().missing.empty());
  EXPECT_FALSE(xr::sweep::merge_sweep({without.path()}).ok());
  EXPECT_FALSE(xr::sweep::merge_sweep({with.path(), empty.path()}).ok());
}

TEST(Cli, PlacesAreNamedAlone) {
  const auto refusal = [](const std::vector<std::string> &words) {
    RunArgs args;
    args.place = words;
    const xr::Status checked = check_place(args);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(refusal({"virtual"}), "");
  EXPECT_EQ(refusal({"mars"}), "--on: 'mars' is not a place");
  EXPECT_EQ(refusal({"virtual", "ports"}), "--on: unexpected 'ports'");
}

// Errors quote the contents of files, which must not control the terminal.
TEST(Cli, ErrorsArePrintable) {
  testing::internal::CaptureStderr();
  xr::cli::fail("run", {std::string("line 1 is '\x1b[31m\0\x7f'", 19), "a\thint"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "xdp-roce: run: line 1 is '?[31m?"
                                                    "?'\nhint: a?hint\n");
}

} // namespace
} // namespace cli_test
