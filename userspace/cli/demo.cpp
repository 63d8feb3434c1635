// SPDX-License-Identifier: Apache-2.0
// The program at work, by itself: namespaces in a row, a bridge that loses and marks, a requester
// and a responder. Each command is printed as one would type it, and runs as a process of its own.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/demo_experiment.h"
#include "cli/experiments.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "datapath/attach.h"
#include "host/named_netns.h"
#include "host/privilege.h"
#include "host/veth.h"

namespace xr::cli {

namespace demo_command {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLeft = "xr-demo-a", *kBox = "xr-demo-box", *kRight = "xr-demo-b";
constexpr std::initializer_list<const char *> kNamespaces = {kLeft, kBox, kRight};
constexpr const char *kLock = "/run/xdp-roce-demo.lock";
constexpr const char *kExperiment = "dcqcn-eight";
constexpr uint32_t kMtu = 1500;
constexpr auto kResponderPatience = std::chrono::seconds(10); // until the responder answers

struct Args {
  std::string out = "xdp-roce-demo";
  bool quick = false, remove = false;
};

void describe(Command command, Args &args) {
  command.add_option("--out", args.out, "Directory of the experiment (default: xdp-roce-demo)")
      .value_name("DIR");
  command.add_flag("--quick", args.quick, "Without the experiment").excludes("--out");
  command.add_flag("--remove", args.remove, "Only remove what a demo that was killed left")
      .excludes("--out")
      .excludes("--quick");
  command.set_footer(
      "Makes the network namespaces xr-demo-a, xr-demo-box and xr-demo-b in a row, sends RoCEv2 "
      "through a bridge\nthat loses and marks some of it, shows what each place counted, and "
      "removes all of it. Then DCQCN among\neight flows, with a page of plots. Needs root, and no "
      "other program. Nothing outside the namespaces changes.");
}

Status check_words(const Args &args) {
  if (args.out.empty())
    return Error{"--out needs a directory", "--out xdp-roce-demo"};
  return {};
}

// Held while a demo runs. Its file stays.
Result<Fd> lock() {
  mkdir("/run", 0755); // a container may have none
  Fd file(::open(kLock, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file)
    return errno_error(errno, fmt::format("cannot open {}", kLock), "run it as root");
  if (flock(file.get(), LOCK_EX | LOCK_NB) < 0)
    return Error{"another demo is running", "wait until it ends, or end it by Ctrl-C"};
  return file;
}

std::vector<std::string> existing() {
  std::vector<std::string> names = host::netns_names();
  std::erase_if(names, [](const std::string &name) {
    return std::find(kNamespaces.begin(), kNamespaces.end(), name) == kNamespaces.end();
  });
  return names;
}

// The program goes off the ports first: its pins stay when a namespace goes.
Status remove_namespaces(const std::vector<std::string> &names) {
  Status status;
  for (const std::string &name : names) {
    if (const auto detached = datapath::detach_all(name); !detached && status)
      status = detached.error().in(name);
    if (Status removed = host::remove_netns(name); !removed && status)
      status = removed;
  }
  return status;
}

std::vector<std::string> words_of(const std::string &line) {
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;)
    words.push_back(word);
  return words;
}

std::string without_end(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

class Demo {
public:
  explicit Demo(const Args &args) : args_(args) {}
  ~Demo() {
    try {
      responder_.reset();
      if (Status removed = remove_namespaces(made_); !removed)
        warn("demo", removed.error().message);
    } catch (...) { // out of memory; demo --remove removes them
    }
  }
  Demo(const Demo &) = delete;
  Demo &operator=(const Demo &) = delete;

  Status run();
  // Whether the reader of the output is gone, or a signal asked for the end.
  bool ended() const { return reader_gone_ || interrupt_.asked(); }
  bool reader_gone() const { return reader_gone_; }
  int finish(int status) const { return output_.finish(status); }

private:
  enum class Shown { Yes, No };

  Status make_namespaces();
  Status bridge_and_rules();
  Status start_responder();
  Status end_responder();
  Status remove();
  Status experiment();

  Status line(const std::string &text);
  Status heading(const std::string &text);
  Status command(const std::string &text, Shown shown = Shown::Yes);
  Status command(const std::vector<std::string> &words, Shown shown);
  Result<int> status_of(const std::vector<std::string> &words, Child::Prints prints);
  Status check_end() const;

  const Args &args_;
  const Interrupt interrupt_;
  Output output_{false};
  bool reader_gone_ = false;
  std::vector<std::string> made_;
  std::optional<Child> responder_;
};

Status Demo::check_end() const {
  if (ended())
    return Error{"interrupted; what it made is removed"};
  return {};
}

Status Demo::line(const std::string &text) {
  reader_gone_ = !output_.print_line(text);
  return check_end();
}

Status Demo::heading(const std::string &text) {
  const bool bold = isatty(1) && colour_wanted();
  return line(fmt::format("\n{}{}{}", bold ? "\033[1m" : "", text, bold ? "\033[0m" : ""));
}

Result<int> Demo::status_of(const std::vector<std::string> &words, Child::Prints prints) {
  std::vector<std::string> typed;
  typed.reserve(words.size());
  for (const std::string &word : words)
    typed.push_back(shell_word(word));
  XR_TRY(line(fmt::format("$ xdp-roce {}", fmt::join(typed, " "))));
  Child child = XR_TRY(Child::start(words, prints));
  const int status = child.wait(interrupt_);
  XR_TRY(check_end());
  if (status && prints == Child::Prints::Kept)
    warn("demo", without_end(child.err()));
  return status;
}

Status Demo::command(const std::vector<std::string> &words, Shown shown) {
  const int status =
      XR_TRY(status_of(words, shown == Shown::Yes ? Child::Prints::Here : Child::Prints::Kept));
  if (status)
    return Error{
        fmt::format("that command failed with exit status {}; what was made is removed", status),
        "xdp-roce doctor"};
  return {};
}

Status Demo::command(const std::string &text, Shown shown) {
  return command(words_of(text), shown);
}

Status Demo::make_namespaces() {
  XR_TRY(heading(fmt::format("Three namespaces in a row:  {} wire -- left {} right -- wire {}",
                             kLeft, kBox, kRight)));
  XR_TRY(line("(made by the program itself; in the words of ip:)"));
  for (const char *name : kNamespaces) {
    XR_TRY(line(fmt::format("  ip netns add {}", name)));
    XR_TRY(host::make_netns(name));
    made_.emplace_back(name);
  }
  for (const auto &[port, netns] : {std::pair{"left", kLeft}, std::pair{"right", kRight}}) {
    XR_TRY(line(fmt::format("  ip -n {} link add {} type veth peer name wire netns {}", kBox, port,
                            netns)));
    XR_TRY(host::make_veth({port, kBox}, {"wire", netns}, kMtu));
  }
  return {};
}

Status Demo::bridge_and_rules() {
  XR_TRY(heading("In the middle: a bridge that loses 0.1 % towards four QPs, and marks as a "
                 "switch's queue does for the others"));
  const std::string box = fmt::format("--netns {} ", kBox);
  XR_TRY(command(box + "bridge left right --fix"));
  XR_TRY(command(box + "impair left add opcode data dest-qp 0x11-0x14 probability 0.1% drop",
                 Shown::No));
  return command(box + "impair left add ecn ect red 20k 150k 20% rate 300mbit", Shown::No);
}

Status Demo::start_responder() {
  XR_TRY(heading("On the right: a responder, which needs no RNIC, and no IP configuration either"));
  const std::string text = fmt::format("--netns {} respond wire --address 192.0.2.2", kRight);
  XR_TRY(line(fmt::format("$ xdp-roce {} &", text)));
  responder_.emplace(XR_TRY(Child::start(words_of(text), Child::Prints::Kept)));
  const auto until = Interrupt::Clock::now() + kResponderPatience;
  while (responder_->err().find("answers for") == std::string::npos) {
    if (!responder_->running())
      return Error{fmt::format("the responder ended: {}", without_end(responder_->err())),
                   "xdp-roce doctor"};
    if (Interrupt::Clock::now() > until)
      return Error{"the responder does not answer within 10 seconds"};
    interrupt_.sleep_until(Interrupt::Clock::now() + std::chrono::milliseconds(20));
    XR_TRY(check_end());
  }
  return {};
}

Status Demo::end_responder() {
  XR_TRY(heading("What the responder has to say"));
  responder_->interrupt();
  const int status = responder_->wait(interrupt_);
  XR_TRY(check_end());
  if (status)
    return Error{fmt::format("the responder failed: {}", without_end(responder_->err()))};
  const std::string said = without_end(responder_->out());
  responder_.reset();
  return line(said);
}

Status Demo::remove() {
  XR_TRY(heading("And away again"));
  XR_TRY(command(fmt::format("--netns {} detach left", kBox)));
  for (const std::string &name : made_)
    XR_TRY(line(fmt::format("  ip netns del {}", name)));
  Status removed = remove_namespaces(made_);
  made_.clear();
  return removed;
}

Status Demo::experiment() {
  XR_TRY(heading("An experiment: eight flows with DCQCN through a wire, in namespaces of its own, "
                 "for 8 seconds"));
  std::string name = kExperiment;
  if (!find_experiment(name)) { // the program is alone
    name = (fs::path(args_.out) / (name + ".yaml")).string();
    if (!(std::ofstream(name) << kDemoExperiment << std::flush))
      return Error{fmt::format("cannot write {}", name)};
  }
  const fs::path page = fs::path(args_.out) / "report.html";
  std::error_code missing;
  const auto before = fs::last_write_time(page, missing);
  const bool old = !missing;
  const int status = XR_TRY(
      status_of({"run", name, "--on", "namespaces", "--out", args_.out}, Child::Prints::Here));
  const auto after = fs::last_write_time(page, missing);
  if (missing || (old && after == before))
    return Error{fmt::format("the experiment failed with exit status {}", status)};
  if (status)
    XR_TRY(line("This machine was too busy for what the experiment expects; the report shows what "
                "happened."));
  XR_TRY(heading("Rates, queue, marks and CNPs over time, to look at in a browser:"));
  return line(fs::absolute(page).lexically_normal().string());
}

Status Demo::run() {
  XR_TRY(make_namespaces());
  XR_TRY(bridge_and_rules());
  XR_TRY(start_responder());
  XR_TRY(
      heading("On the left: 64 MB in messages of 64 KiB over eight connections, in bursts; every "
              "message is completed"));
  XR_TRY(command(fmt::format("--netns {} send wire src 192.0.2.1 dst 192.0.2.2 qp 0x11-0x18 write "
                             "size 64KiB messages 122 burst 100 gap 4ms --reliable",
                             kLeft)));
  XR_TRY(heading("What the rules did on the way"));
  XR_TRY(command(fmt::format("--netns {} impair left list", kBox)));
  XR_TRY(heading("What entered the bridge: a go-back-N round (rewind) for each loss to come"));
  XR_TRY(command(fmt::format("--netns {} streams left", kBox)));
  XR_TRY(heading(
      "What came out of the bridge: the gaps, as the responder's port counted them before it "
      "answered"));
  XR_TRY(command(fmt::format("--netns {} streams wire", kRight)));
  XR_TRY(heading("And back from right to left: ACKs, NAKs, and CNPs for what was marked"));
  XR_TRY(command(fmt::format("--netns {} counters right", kBox)));
  XR_TRY(end_responder());
  XR_TRY(remove());
  return args_.quick ? Status() : experiment();
}

int remove_left() {
  const std::vector<std::string> names = existing();
  if (Status removed = remove_namespaces(names); !removed)
    return fail("demo", removed.error());
  Output output(false);
  output.print_line(names.empty() ? "there is nothing to remove"
                                  : fmt::format("removed {}", fmt::join(names, ", ")));
  return output.finish();
}

// Before anything is made.
Status prepare(const Args &args) {
  if (const std::vector<std::string> names = existing(); !names.empty())
    return Error{fmt::format("the network namespace {} exists already; a demo that was killed may "
                             "have left it",
                             names.front()),
                 "xdp-roce demo --remove"};
  std::error_code error;
  if (!args.quick)
    fs::create_directories(args.out, error);
  if (error)
    return errno_error(error.value(), fmt::format("cannot make the directory {}", args.out));
  return {};
}

int demo(const Args &args, const Globals &globals) {
  if (globals.json)
    return refuse("demo", {"the demo is text for a reader, not JSON",
                           "xdp-roce --json counters IF, or demo without --json"});
  if (!globals.netns.empty())
    return refuse("demo", {"the demo makes network namespaces of its own", "omit --netns"});
  for (const host::Privilege needed : {host::Privilege::Load, host::Privilege::Sockets})
    if (Status allowed = host::check_privilege(needed); !allowed)
      return fail("demo", allowed.error());
  const auto held = lock();
  if (!held)
    return fail("demo", held.error());
  if (args.remove)
    return remove_left();
  if (Status ready = prepare(args); !ready)
    return fail("demo", ready.error());
  std::optional<Demo> story(std::in_place, args);
  const Status done = story->run();
  const bool reader_gone = story->reader_gone();
  const int status = story->finish(0);
  story.reset(); // removed before that is said
  if (done || reader_gone)
    return status;
  return fail("demo", done.error());
}

} // namespace
} // namespace demo_command

void add_demo(Command program, Run &chosen) {
  using namespace demo_command;
  add_command<Args>(program, chosen, "demo", "Shows the program at work, in namespaces of its own",
                    describe, check_words, demo);
}

} // namespace xr::cli
