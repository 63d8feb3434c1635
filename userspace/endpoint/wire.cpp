// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire.h"

#include <algorithm>
#include <fstream>
#include <new>
#include <sstream>
#include <thread>

#include <arpa/inet.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "afxdp/zero_copy.h"
#include "base/clock.h"
#include "endpoint/port_facts.h"
#include "endpoint/wire_direction.h"
#include "host/link.h"
#include "host/netns.h"
#include "parse/value.h"
#include "parse/words.h"
#include "wire/link_words.h"
#include "wire/memory_needs.h"

namespace xr::endpoint {

namespace {

constexpr unsigned kPorts = datapath::WirePorts::kPorts;
// ns between looks for new rules, for new links, and at the ports.
constexpr uint64_t kLook = 1'000'000, kLinkLook = 8'000'000, kAliveLook = 500'000'000;
constexpr uint64_t kNap = 20'000'000;       // ns: longest sleep, so that `stop` is noticed
constexpr uint64_t kLeastMemory = 64 << 20; // bytes, of both directions
constexpr uint64_t kRing = 4096;            // frames in a ring of a queue

} // namespace

// Members are destroyed from the last to the first: directions, sockets, their memory, the ports.
struct WireRun::State {
  WireRequest request;
  std::array<PortFacts, kPorts> facts;
  std::optional<datapath::WirePorts> ports;
  std::unique_ptr<afxdp::SharedUmem> umem;
  std::array<std::vector<std::unique_ptr<afxdp::ForwardSocket>>, kPorts> sockets;
  std::array<WirePortCounts *, kPorts> counts{};
  std::optional<PortCarrier> carrier;
  std::array<std::unique_ptr<WireDirection>, kPorts> directions; // by ingress port
  std::array<datapath::RulesInForce, kPorts> rules;              // until the directions have them
  std::array<uint64_t, kPorts> link_changes{};
  std::array<std::string, kPorts> links;
  wire::MemoryPlan memory;
  std::vector<std::string> notes;
  uint64_t begun_ns = 0;
  uint64_t looked_ns = 0, links_looked_ns = 0, alive_ns = 0; // for rules, for links, at the ports
  bool zero_copy = false;
  uint32_t threads = 0;

  Status read_ports();
  Status size_memory();
  Status open_sockets();
  Status make_directions();
  Status account_for_former();
  void look_for_rules();
  void look_for_links();
  Status look(uint64_t now);
  Result<bool> turn(uint64_t now);
  Status run_here(const std::atomic<bool> &stop, const std::function<bool()> &go_on);
  Status run_threads(const std::atomic<bool> &stop, const std::function<bool()> &go_on);
};

namespace {

std::vector<afxdp::ForwardSocket *>
pointers(const std::vector<std::unique_ptr<afxdp::ForwardSocket>> &sockets) {
  std::vector<afxdp::ForwardSocket *> all;
  for (const auto &socket : sockets)
    all.push_back(socket.get());
  return all;
}

std::optional<LinkSpec> spec_of(const std::string &words) {
  if (words.empty())
    return {};
  auto spec = wire::parse_link(parse::split(words));
  return spec ? std::optional(std::move(*spec)) : std::nullopt;
}

wire::TracePointer read_trace(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto trace = wire::parse_trace(text.str());
  return trace ? std::make_shared<const wire::DeliveryTrace>(std::move(*trace)) : nullptr;
}

wire::HeldMost most_held(const std::optional<LinkSpec> &link, const datapath::RulesInForce &rules,
                         const PortFacts &in, const PortFacts &out) {
  wire::HoldingPath path{.link = link ? &*link : nullptr,
                         .ingress_rate = in.line_bits,
                         .egress_rate = out.line_bits,
                         .ports = kPorts};
  for (const datapath::RuleInForce &one : rules.rules)
    path.rules.push_back(one.rule.hold);
  return wire::held_most(path);
}

// A process that was killed during a flap by carrier left the port down: sets it up. What to say.
std::optional<std::string> end_flap(const std::string &ifname, const std::string &netns) {
  auto reading = datapath::read_wire(ifname, netns);
  if (!reading || reading->running || !reading->counts || !reading->counts->out.held_down)
    return {};
  auto inside = host::enter_netns(netns);
  if (!inside)
    return {};
  auto facts = host::read_link(ifname);
  if (!facts || facts->up || !host::set_up(ifname, true))
    return {};
  return fmt::format("{} was down by a flap of a wire process that was killed; it is up again",
                     ifname);
}

// That this thread may use.
int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Rounded up to what is easily read, and can be given as --memory.
std::string memory_text(uint64_t bytes) {
  constexpr uint64_t kMega = 1'000'000;
  return parse::byte_text((bytes + kMega - 1) / kMega * kMega);
}

uint64_t free_memory() {
  return static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

Status WireRun::State::read_ports() {
  const std::string names[kPorts] = {request.first, request.second};
  for (unsigned i = 0; i < kPorts; i++) {
    if (auto said = end_flap(names[i], request.netns))
      notes.push_back(std::move(*said));
    auto read = read_port_facts(names[i], request.netns);
    if (!read)
      return Error{fmt::format("{}: {}", names[i], read.error().message), read.error().hint};
    facts[i] = std::move(*read);
    if (request.queues > facts[i].queues)
      return Error{
          fmt::format("{} has {} queues, not {}", names[i], facts[i].queues, request.queues),
          fmt::format("`ethtool -l {}` shows them", names[i])};
  }
  return {};
}

// What the rules and links that are there now hold at most, at the rates that are known. Error: not
// enough memory for it.
Status WireRun::State::size_memory() {
  const auto layout = afxdp::ChunkLayout::of(std::max(facts[0].longest(), facts[1].longest()));
  wire::MemoryLimits limits{.buffer = layout.chunk,
                            .given = request.memory,
                            .smallest = kLeastMemory,
                            .free = free_memory()};
  std::array<wire::HeldMost, kPorts> held;
  for (unsigned in = 0; in < kPorts; in++) {
    rules[in] = ports->new_rules(in).value_or(datapath::RulesInForce{});
    held[in] = most_held(spec_of(ports->link(1 - in).text), rules[in], facts[in], facts[1 - in]);
    const uint32_t queues = request.queues ? request.queues : facts[in].queues;
    limits.rings[in] = kRing * (queues + 1) * layout.received;
  }
  memory = wire::plan_memory(held, limits);
  if (!memory.fits)
    return Error{fmt::format("--memory {}: rules and links hold up to {} and {}, in frames of {} "
                             "bytes",
                             memory_text(memory.bytes), memory_text(held[0].bytes),
                             memory_text(held[1].bytes), wire::kMeanFrame),
                 fmt::format("--memory {}, for frames of any length; at least {}",
                             memory_text(memory.needed), memory_text(memory.least))};
  if (memory.bytes > limits.free)
    return Error{fmt::format("{} are needed for frames, and {} are free", memory_text(memory.bytes),
                             memory_text(limits.free)),
                 "less delay, a lower rate or a smaller buffer"};
  if (!memory.any_length)
    notes.push_back(fmt::format("memory of {} for held frames: enough for frames of {} bytes on "
                                "average at full rate; for frames of any length: --memory {}",
                                memory_text(memory.bytes), memory.mean_frame,
                                memory_text(memory.needed)));
  return {};
}

Status WireRun::State::open_sockets() {
  auto inside = host::enter_netns(request.netns);
  if (!inside)
    return inside.error();
  const uint32_t longest = std::max(facts[0].longest(), facts[1].longest());
  auto made = afxdp::SharedUmem::make(longest,
                                      static_cast<uint32_t>(memory.buffers[0] + memory.buffers[1]));
  if (!made)
    return made.error();
  umem = std::move(*made);
  // The sockets of a UMEM are all in one mode: zero-copy only where both ports have it.
  bool copies = request.copy || ports->mode() == Mode::Skb;
  for (const PortFacts &port : facts) {
    const afxdp::ZeroCopyPort facts_of{port.ifname, port.driver, port.mtu, port.longest()};
    const auto why = afxdp::known_to_copy(facts_of, host::read_xdp_features(port.ifindex));
    if (!why || copies)
      continue;
    if (request.zero_copy)
      return Error{fmt::format("zero-copy is not possible: {}: {}", port.ifname, why->message),
                   why->hint.empty() ? "without --zero-copy frames are copied" : why->hint};
    copies = true;
    notes.push_back(fmt::format("frames are copied: {}: {}", port.ifname, why->message));
  }
  for (unsigned i = 0; i < kPorts; i++) {
    const uint32_t queues = request.queues ? request.queues : facts[i].queues;
    for (uint32_t queue = 0; queue < queues; queue++) {
      afxdp::ForwardOptions options{.ifname = facts[i].ifname, .queue = queue, .copy = copies};
      auto socket = afxdp::ForwardSocket::open(*umem, options);
      if (!socket)
        return Error{fmt::format("{}: {}", facts[i].ifname, socket.error().message),
                     socket.error().hint};
      zero_copy = (*socket)->zero_copy();
      sockets[i].push_back(std::move(*socket));
    }
    if (queues < facts[i].queues)
      notes.push_back(
          fmt::format("{}: frames on queues from {} on are not held", facts[i].ifname, queues));
  }
  return {};
}

Status WireRun::State::make_directions() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
    seed = monotonic_ns();
  begun_ns = monotonic_ns();
  for (unsigned i = 0; i < kPorts; i++) {
    counts[i] = new (ports->memory(i).bytes().data()) WirePortCounts;
    counts[i]->version = WirePortCounts::kVersion;
    counts[i]->zero_copy = zero_copy;
    counts[i]->pid = static_cast<uint64_t>(getpid());
    counts[i]->started_ns = begun_ns;
  }
  auto netns = host::Netns::open(request.netns);
  if (!netns)
    return netns.error();
  carrier.emplace(std::move(*netns), std::array{facts[0].ifname, facts[1].ifname}, counts);
  for (unsigned in = 0; in < kPorts; in++) {
    const unsigned out = 1 - in;
    const WireDirectionSetup setup{.ingress = in,
                                   .port_be = htons(request.attach.udp_port),
                                   .line_rate = facts[out].line_bits,
                                   .egress_mac = facts[out].mac,
                                   .seed = seed + in,
                                   .first_chunk = static_cast<uint32_t>(in * memory.buffers[0]),
                                   .chunks = static_cast<uint32_t>(memory.buffers[in]),
                                   .carrier = &*carrier};
    directions[in] = std::make_unique<WireDirection>(
        setup, *umem, pointers(sockets[in]), pointers(sockets[out]), *counts[in], *counts[out]);
    directions[in]->post({.kind = WireMail::Kind::Rules, .rules = std::move(rules[in])});
  }
  directions[0]->set_opposite(*directions[1]);
  directions[1]->set_opposite(*directions[0]);
  return {};
}

// The sockets of a former process are closed: no other could be opened on their queues.
Status WireRun::State::account_for_former() {
  for (unsigned i = 0; i < kPorts; i++) {
    auto handed_over = ports->handed_over(i);
    if (!handed_over)
      return handed_over.error();
    counts[i]->in.handed_before = *handed_over;
    counts[i]->in.lost_when_killed = ports->lost_by_former(i, *handed_over);
  }
  return {};
}

Result<WireRun> WireRun::prepare(WireRequest request) {
  auto state = std::make_unique<State>();
  state->request = std::move(request);
  const WireRequest &asked = state->request;
  if (auto done = state->read_ports(); !done)
    return done.error();
  auto ports =
      datapath::WirePorts::open(asked.first, asked.second, asked.netns, asked.attach, asked.fix);
  if (!ports)
    return ports.error();
  state->ports.emplace(std::move(*ports));
  const auto &more = state->ports->notes();
  state->notes.insert(state->notes.end(), more.begin(), more.end());
  if (auto done = state->size_memory(); !done)
    return done.error();
  if (auto done = state->open_sockets(); !done)
    return done.error();
  if (auto done = state->make_directions(); !done)
    return done.error();
  if (auto done = state->account_for_former(); !done)
    return done.error();
  state->look_for_links();
  for (unsigned i = 0; i < kPorts; i++)
    for (uint32_t queue = 0; queue < state->sockets[i].size(); queue++)
      if (auto done = state->ports->add(i, queue, state->sockets[i][queue]->fd()); !done)
        return done.error();
  for (WirePortCounts *counts : state->counts)
    counts->ready = 1;
  return WireRun(std::move(state));
}

WireRun::WireRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
WireRun::WireRun(WireRun &&) noexcept = default;
WireRun::~WireRun() = default;

const std::vector<std::string> &WireRun::notes() const { return state_->notes; }
const std::vector<datapath::Trouble> &WireRun::troubles() const {
  return state_->ports->troubles();
}

void WireRun::State::look_for_rules() {
  for (unsigned i = 0; i < kPorts; i++)
    if (auto changed = ports->new_rules(i))
      directions[i]->post({.kind = WireMail::Kind::Rules, .rules = std::move(*changed)});
}

// The link of a port is the end of the other port's direction.
void WireRun::State::look_for_links() {
  for (unsigned i = 0; i < kPorts; i++) {
    const datapath::LinkWords words = ports->link(i);
    if (words.changes == link_changes[i])
      continue;
    link_changes[i] = words.changes;
    links[i] = words.text;
    WireMail mail{.kind = WireMail::Kind::Link, .link = spec_of(words.text)};
    if (mail.link && !mail.link->trace.empty())
      mail.trace = read_trace(mail.link->trace);
    const LinkFlap flap = mail.link ? mail.link->flap : LinkFlap();
    directions[1 - i]->post(std::move(mail));
    carrier->configure(i, flap);
  }
}

// Error: the ports are no bridge any more.
Status WireRun::State::look(uint64_t now) {
  looked_ns = now;
  look_for_rules();
  if (now - links_looked_ns >= kLinkLook) {
    links_looked_ns = now;
    look_for_links();
  }
  if (now - alive_ns < kAliveLook)
    return {};
  alive_ns = now;
  return ports->alive() ? Status()
                        : Error{"the bridge was detached, or another program took its "
                                "place"};
}

// New rules are needed when frames come that refer to them; to look for them takes system calls.
Result<bool> WireRun::State::turn(uint64_t now) {
  const bool lacking = directions[0]->lacks_rules() || directions[1]->lacks_rules();
  if (lacking || now - looked_ns >= kLinkLook)
    if (auto done = look(now); !done)
      return done.error();
  bool busy = false;
  for (const auto &direction : directions) {
    auto moved = direction->turn(now);
    if (!moved)
      return moved.error();
    busy |= *moved;
  }
  return busy;
}

Status WireRun::State::run_here(const std::atomic<bool> &stop, const std::function<bool()> &go_on) {
  prctl(PR_SET_TIMERSLACK, 1); // default: sleeps end up to 50 us late
  const std::array<WireDirection *, kPorts> all = {directions[0].get(), directions[1].get()};
  Status status;
  uint64_t asked_ns = 0;
  while (!stop) {
    const uint64_t now = monotonic_ns();
    auto busy = turn(now);
    if (!busy) {
      status = busy.error();
      break;
    }
    if (now - asked_ns >= kLook) {
      asked_ns = now;
      if (!go_on())
        break;
    }
    if (!*busy)
      WireDirection::wait(all, now, looked_ns + kLinkLook - now);
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
      WireDirection *const one = directions[i].get();
      while (results[i] && !end) {
        const uint64_t now = monotonic_ns();
        auto busy = one->turn(now);
        if (!busy)
          results[i] = busy.error();
        else if (!*busy)
          WireDirection::wait({&one, 1}, now, kNap);
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
  for (Status &one : results)
    if (!one)
      return one;
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
  state.threads = processors() > 1 ? kPorts : 1;
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
  report.memory_bytes = state.memory.bytes;
  for (unsigned i = 0; i < kPorts; i++)
    report.ports[i] = {.ifname = state.facts[i].ifname,
                       .peer = state.facts[1 - i].ifname,
                       .xdp_mode = mode_name(state.ports->mode()),
                       .queues = static_cast<uint32_t>(state.sockets[i].size()),
                       .link = state.links[i],
                       .counts = std::make_shared<WirePortCounts>(*state.counts[i])};
  return report;
}

Status WireRun::close() {
  state_->carrier->stop(); // it counts in the ports' memory
  return state_->ports->close();
}

} // namespace xr::endpoint
