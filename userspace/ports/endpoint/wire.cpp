// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <sys/prctl.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "endpoint/wire_state.h"

namespace xr::endpoint {

namespace {

// ns between looks for new rules and links; of the thread that moves frames, for rules, which
// frames name anyway; at the ports.
constexpr uint64_t kLook = 1'000'000, kRulesLook = 8'000'000, kAliveLook = 500'000'000;
constexpr uint64_t kWireNap = 20'000'000; // ns: longest sleep, so that `stop` is noticed

wire::TracePointer read_trace(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto trace = wire::parse_trace(text.str());
  return trace ? std::make_shared<const wire::DeliveryTrace>(std::move(*trace)) : nullptr;
}

// The threads that move frames write the counts meanwhile, and other processes read them: each is
// read whole.
std::shared_ptr<const WirePortCounts> copy_of(const WirePortCounts &counts) {
  static_assert(sizeof(counts) % sizeof(uint64_t) == 0);
  auto copy = std::make_shared<WirePortCounts>();
  const auto *from = reinterpret_cast<const unsigned char *>(&counts);
  auto *to = reinterpret_cast<unsigned char *>(copy.get());
  for (size_t at = 0; at < sizeof(counts); at += sizeof(uint64_t)) {
    const uint64_t value =
        __atomic_load_n(reinterpret_cast<const uint64_t *>(from + at), __ATOMIC_RELAXED);
    std::memcpy(to + at, &value, sizeof(value));
  }
  return copy;
}

} // namespace

WireRun::WireRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
WireRun::WireRun(WireRun &&) noexcept = default;
WireRun::~WireRun() = default;

const std::vector<std::string> &WireRun::notes() const { return state_->notes; }
const std::vector<datapath::Trouble> &WireRun::troubles() const {
  return state_->ports->troubles();
}

// The rules of the port if they changed. What cannot be read is noted and counted.
std::optional<datapath::RulesInForce> WireRun::State::read_rules(unsigned port) {
  auto changed = ports->new_rules(port);
  if (changed && !*changed)
    return {};
  const std::string why = changed ? (*changed)->why : changed.error().message;
  if (!why.empty() && why != unread[port])
    notes.push_back(fmt::format("{}: {}", facts[port].ifname, why));
  unread[port] = why;
  if (!changed)
    return {};
  if (counts[port])
    counts[port]->in.rules_unread = static_cast<uint64_t>(std::popcount((*changed)->unread));
  return std::move(*changed);
}

void WireRun::State::look_for_rules(unsigned port) {
  if (auto changed = read_rules(port))
    directions[port]->post({.kind = WireMail::Kind::Rules, .rules = std::move(*changed)});
}

// The link of a port is the end of the other port's direction. A change is read at the next look
// after the one that sees it: the kernel may still be writing it.
void WireRun::State::look_for_links() {
  for (unsigned i = 0; i < kPorts; i++) {
    if (ports->link_changes(i) == link_changes[i])
      continue;
    if (std::exchange(link_changing[i], true))
      take_link(i);
  }
}

void WireRun::State::take_link(unsigned port) {
  const datapath::LinkWords words = ports->link(port);
  link_changing[port] = false;
  link_changes[port] = words.changes;
  links[port] = words.text;
  WireMail mail{.kind = WireMail::Kind::Link, .link = link_of(words.text)};
  if (mail.link && !mail.link->trace.empty())
    mail.trace = read_trace(mail.link->trace);
  const LinkFlap flap = mail.link ? mail.link->flap : LinkFlap();
  directions[1 - port]->post(std::move(mail));
  carrier->configure(port, flap);
}

// Error: the ports are no bridge any more.
Status WireRun::State::look_at_ports(uint64_t now) {
  if (now - alive_ns < kAliveLook)
    return {};
  alive_ns = now;
  return ports->alive() ? Status()
                        : Error{"the bridge was detached, or another program took its "
                                "place"};
}

Status WireRun::State::look(uint64_t now) {
  looked_ns = now;
  for (unsigned i = 0; i < kPorts; i++)
    look_for_rules(i);
  look_for_links();
  return look_at_ports(now);
}

// For the thread that moves frames, which wait while it calls the kernel: one port's rules.
Status WireRun::State::look_in_turn(uint64_t now) {
  looked_ns = now;
  if (now - rules_looked_ns >= kRulesLook) {
    rules_looked_ns = now;
    look_for_rules(look_turn++ % kPorts);
  }
  look_for_links();
  return look_at_ports(now);
}

// Frames that come with rules not seen yet do not wait for the next look.
Result<bool> WireRun::State::turn(uint64_t now) {
  Status looked;
  if (directions[0]->lacks_rules() || directions[1]->lacks_rules())
    looked = look(now);
  else if (now - looked_ns >= kLook)
    looked = look_in_turn(now);
  if (!looked)
    return looked.error();
  bool busy = false;
  for (const auto &direction : directions)
    busy |= XR_TRY(direction->turn(now));
  return busy;
}

// A direction's frames come from one port and leave by the other: near the first.
void WireRun::State::place_threads() {
  const size_t processors =
      request.cpus.empty() ? allowed_processors().size() : request.cpus.size();
  threads = processors > 1 ? kPorts : 1;
  places.clear();
  for (unsigned i = 0; i < threads; i++)
    places.push_back(
        threads > 1 || placement.is_asked()
            ? placement.place(host::Topology::read(host::Files(), facts[i].bus), {.queue = 0})
            : PlacedThread{{}, "one processor"});
}

Status WireRun::State::run_here(const std::atomic<bool> &stop, const std::function<bool()> &go_on) {
  prctl(PR_SET_TIMERSLACK, 1); // default: sleeps end up to 50 us late
  if (places[0].processor)
    XR_TRY(stay_on(*places[0].processor));
  const std::array<WireDirection *, kPorts> all = {directions[0].get(), directions[1].get()};
  Status status;
  uint64_t asked_ns = 0;
  while (!stop) {
    const uint64_t now = monotonic_ns();
    auto busy = turn(now);
    if (!busy.ok()) {
      status = busy.error();
      break;
    }
    if (now - asked_ns >= kLook) {
      asked_ns = now;
      if (!go_on())
        break;
    }
    if (!*busy)
      WireDirection::wait(all, now, looked_ns + kLook - now);
  }
  return status;
}

Status WireRun::State::run_threads(const std::atomic<bool> &stop,
                                   const std::function<bool()> &go_on) {
  std::atomic<bool> end = false;
  std::array<Status, kPorts> results;
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < kPorts; i++)
    workers.emplace_back([&, i] {
      prctl(PR_SET_TIMERSLACK, 1);
      if (places[i].processor)
        results[i] = stay_on(*places[i].processor);
      WireDirection *const direction = directions[i].get();
      while (results[i] && !end) {
        const uint64_t now = monotonic_ns();
        auto busy = direction->turn(now);
        if (!busy.ok())
          results[i] = busy.error();
        else if (!*busy)
          WireDirection::wait({&direction, 1}, now, kWireNap);
      }
      end = true;
    });
  Status status;
  while (!stop && !end && status && go_on()) {
    status = look(monotonic_ns());
    std::this_thread::sleep_for(std::chrono::nanoseconds(kLook));
  }
  end = true;
  for (std::thread &worker : workers)
    worker.join();
  for (Status &item : results)
    if (!item)
      return item;
  return status;
}

Status WireRun::run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
                    const std::function<bool(const WireReport &)> &on_report) {
  State &state = *state_;
  const uint64_t last =
      state.request.duration_ns ? monotonic_ns() + state.request.duration_ns : UINT64_MAX;
  auto next = std::chrono::steady_clock::now() + interval;
  const auto go_on = [&] {
    if (interval.count() && std::chrono::steady_clock::now() >= next) {
      next += interval;
      if (!on_report(report()))
        return false;
    }
    return monotonic_ns() < last;
  };
  state.place_threads();
  Status status = state.threads > 1 ? state.run_threads(stop, go_on) : state.run_here(stop, go_on);
  state.carrier->stop();
  state.ports->release(); // so that the counts at the end include all that was handed over
  for (const auto &direction : state.directions)
    direction->end();
  return status;
}

Result<bool> WireRun::turn() {
  state_->threads = 1;
  return state_->turn(monotonic_ns());
}

WireReport WireRun::report() const {
  const State &state = *state_;
  WireReport report;
  report.seconds = static_cast<double>(monotonic_ns() - state.begun_ns) / 1e9;
  report.zero_copy = state.zero_copy;
  report.threads = state.threads;
  report.processors = state.places;
  report.memory_bytes = state.memory.bytes;
  for (unsigned i = 0; i < kPorts; i++)
    report.ports[i] = {.ifname = state.facts[i].ifname,
                       .peer = state.facts[1 - i].ifname,
                       .xdp_mode = mode_name(state.ports->mode()),
                       .queues = static_cast<uint32_t>(state.sockets[i].size()),
                       .link = state.links[i],
                       .counts = copy_of(*state.counts[i])};
  return report;
}

Status WireRun::close() {
  state_->carrier->stop(); // it counts in the ports' memory
  Status first;
  for (host::FlowRules &rules : state_->flow_rules)
    if (Status done = rules.remove(); !done && first)
      first = done;
  Status closed = state_->ports->close();
  return closed ? first : closed;
}

} // namespace xr::endpoint
