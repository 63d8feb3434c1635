// SPDX-License-Identifier: Apache-2.0
// The start of `wire`: ports, memory, sockets, directions.
#include <algorithm>
#include <bit>
#include <new>

#include <arpa/inet.h>
#include <unistd.h>

#include <fmt/format.h>

#include "afxdp/zero_copy.h"
#include "base/clock.h"
#include "base/random_seed.h"
#include "endpoint/wire_state.h"
#include "host/link.h"
#include "host/netns.h"
#include "parse/value.h"
#include "parse/words.h"
#include "wire/link_words.h"

namespace xr::endpoint {

namespace {

constexpr uint64_t kLeastMemory = 64 << 20; // bytes, of both directions
constexpr uint64_t kRing = 4096;            // frames in a ring of a queue

std::vector<afxdp::ForwardSocket *>
pointers(const std::vector<std::unique_ptr<afxdp::ForwardSocket>> &sockets) {
  std::vector<afxdp::ForwardSocket *> all;
  all.reserve(sockets.size());
  for (const auto &socket : sockets)
    all.push_back(socket.get());
  return all;
}

wire::HoldingPath holding_path(const std::optional<LinkSpec> &link,
                               const datapath::RulesInForce &rules, const PortFacts &in,
                               const PortFacts &out) {
  wire::HoldingPath path{.link = link ? &*link : nullptr,
                         .ingress_rate = in.line_bits,
                         .egress_rate = out.line_bits,
                         .ports = kPorts};
  for (const datapath::RuleInForce &in_force : rules.rules)
    path.rules.push_back(in_force.rule.hold);
  return path;
}

// A process that was killed during a flap by carrier left the port down: sets it up. What to say.
std::optional<std::string> end_flap(const PortName &port) {
  auto reading = datapath::read_wire(port);
  if (!reading || reading->running || !reading->counts || !reading->counts->out.held_down)
    return {};
  auto inside = host::enter_netns(port.netns);
  if (!inside)
    return {};
  auto facts = host::read_link({port.ifname});
  if (!facts || facts->up || !host::set_up(port.ifname, true))
    return {};
  return fmt::format("{} was down by a flap of a wire process that was killed; it is up again",
                     port.ifname);
}

// Rounded up to what is easily read, and can be given as --memory.
std::string memory_text(uint64_t bytes) {
  constexpr uint64_t kMega = 1'000'000;
  return parse::byte_text((bytes + kMega - 1) / kMega * kMega);
}

// Like "`delay 20ms` of the link of ens2".
std::string setting_text(const wire::LargestFit &fit,
                         const std::array<datapath::RulesInForce, kPorts> &rules,
                         const std::array<PortFacts, kPorts> &ports) {
  using Of = wire::LargestFit::Of;
  const auto of_link = [&](const std::string &words) {
    return fmt::format("`{}` of the link of {}", words, ports[1 - fit.path].ifname);
  };
  const auto of_rule = [&](const std::string &words) {
    return fmt::format("{} of rule {} of {}", words, rules[fit.path].rules[fit.rule].id,
                       ports[fit.path].ifname);
  };
  switch (fit.of) {
  case Of::LinkDelay:
    return of_link("delay " + parse::duration_text(fit.most));
  case Of::LinkBuffer:
    return of_link("buffer " + parse::byte_text(fit.most));
  case Of::LinkHeadroom:
    return of_link("headroom " + parse::byte_text(fit.most));
  case Of::RuleDelay:
    return of_rule("a delay of " + parse::duration_text(fit.most));
  case Of::RuleTimeout:
    return of_rule("a timeout of " + parse::duration_text(fit.most));
  case Of::RuleQueue:
    break;
  }
  return of_rule("a queue of " + parse::byte_text(fit.most));
}

uint64_t free_memory() {
  return static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

} // namespace

std::optional<LinkSpec> link_of(const std::string &words) {
  if (words.empty())
    return {};
  auto spec = wire::parse_link(parse::split(words));
  return spec ? std::optional(std::move(*spec)) : std::nullopt;
}

Status WireRun::State::read_ports() {
  const std::string names[kPorts] = {request.first, request.second};
  for (unsigned i = 0; i < kPorts; i++) {
    if (auto said = end_flap({names[i], request.netns}))
      notes.push_back(std::move(*said));
    auto read = read_port_facts({names[i], request.netns});
    if (!read)
      return read.error().in(names[i]);
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
  const auto layout = afxdp::ChunkLayout::of(longest(), kilobytes());
  wire::MemoryLimits limits{.buffer = layout.chunk,
                            .given = request.memory,
                            .smallest = kLeastMemory,
                            .free = free_memory()};
  std::array<std::optional<LinkSpec>, kPorts> links;
  std::array<wire::HoldingPath, kPorts> paths;
  std::array<wire::HeldMost, kPorts> held;
  for (unsigned in = 0; in < kPorts; in++) {
    rules[in] = read_rules(in).value_or(datapath::RulesInForce{});
    links[in] = link_of(ports->link(1 - in).text);
    paths[in] = holding_path(links[in], rules[in], facts[in], facts[1 - in]);
    held[in] = wire::held_most(paths[in]);
    const uint32_t queues = request.queues ? request.queues : facts[in].queues;
    limits.rings[in] = kRing * (queues + 1) * layout.received;
  }
  memory = wire::plan_memory(held, limits);
  std::string fits;
  if (!memory.fits || memory.bytes > limits.free)
    if (const auto fit = wire::largest_fit(paths, limits))
      fits = "the largest that fits: " + setting_text(*fit, rules, facts);
  if (!memory.fits)
    return Error{fmt::format("--memory {}: rules and links hold up to {} and {}, in frames of {} "
                             "bytes",
                             memory_text(memory.bytes), memory_text(held[0].bytes),
                             memory_text(held[1].bytes), wire::kMeanFrame),
                 fmt::format("--memory {}, for frames of any length; at least {}{}{}",
                             memory_text(memory.needed), memory_text(memory.least),
                             fits.empty() ? "" : "; or ", fits)};
  if (memory.bytes > limits.free)
    return Error{
        fmt::format("{} are needed for frames, and {} are free", memory_text(memory.bytes),
                    memory_text(limits.free)),
        limits.given && memory.least <= limits.free
            ? fmt::format("--memory {}", parse::byte_text(limits.free / 1'000'000 * 1'000'000))
        : fits.empty() ? "lower rates of links, less delay or smaller buffers"
                       : fits};
  if (!memory.any_length)
    notes.push_back(fmt::format("memory of {} for held frames: enough for frames of {} bytes on "
                                "average at full rate; for frames of any length: --memory {}",
                                memory_text(memory.bytes), memory.mean_frame,
                                memory_text(memory.needed)));
  return {};
}

// The sockets of a UMEM are all in one mode: zero-copy only where both ports have it. A driver may
// have it and refuse it on a device: then the kernel copies for the UMEM's first socket without a
// word, and refuses a later one. So each port is tried alone, unless what it reports decides.
Result<bool> WireRun::State::must_copy() {
  if (request.copy || ports->mode() == Mode::Skb)
    return true;
  for (const bool by_trial : {false, true})
    for (const PortFacts &port : facts) {
      const afxdp::ZeroCopyPort alone{port.ifname, port.driver, port.mtu, port.longest()};
      const auto xdp = host::read_xdp_features(port.ifindex);
      std::optional<Error> why;
      if (!by_trial)
        why = afxdp::known_to_copy(alone, xdp);
      else if (auto trial = afxdp::try_zero_copy(alone, xdp); trial && !trial->zero_copy)
        why = trial->why;
      if (!why)
        continue;
      if (request.zero_copy)
        return Error{fmt::format("zero-copy is not possible: {}: {}", port.ifname, why->message),
                     why->hint.empty() ? "without --zero-copy frames are copied" : why->hint};
      notes.push_back(fmt::format("frames are copied: {}: {}", port.ifname, why->message));
      return true;
    }
  return false;
}

Status WireRun::State::open_sockets() {
  const auto inside = XR_TRY(host::enter_netns(request.netns));
  umem = XR_TRY(afxdp::SharedUmem::make(
      longest(), static_cast<uint32_t>(memory.buffers[0] + memory.buffers[1]), kilobytes()));
  auto copies = XR_TRY(must_copy());
  for (unsigned i = 0; i < kPorts; i++) {
    const uint32_t queues = request.queues ? request.queues : facts[i].queues;
    for (uint32_t queue = 0; queue < queues; queue++) {
      afxdp::ForwardOptions options{.ifname = facts[i].ifname, .queue = queue, .copy = copies};
      auto socket = XR_TRY(afxdp::ForwardSocket::open(*umem, options).in(facts[i].ifname));
      zero_copy = (socket)->zero_copy();
      sockets[i].push_back(std::move(socket));
    }
    if (request.steer) {
      flow_rules.push_back(XR_TRY(host::FlowRules::make(
          {{facts[i].ifname, request.netns}, facts[i].driver, request.attach.udp_port, 0})));
      const auto &said = flow_rules.back().notes();
      notes.insert(notes.end(), said.begin(), said.end());
    } else if (queues < facts[i].queues)
      notes.push_back(
          fmt::format("{}: frames on queues from {} on are not held", facts[i].ifname, queues));
  }
  return {};
}

Status WireRun::State::make_directions() {
  const auto drawn = random_seed();
  const uint64_t seed = drawn ? drawn.get() : monotonic_ns();
  begun_ns = monotonic_ns();
  for (unsigned i = 0; i < kPorts; i++) {
    counts[i] = new (ports->memory(i).bytes().data()) WirePortCounts;
    counts[i]->version = WirePortCounts::kVersion;
    counts[i]->zero_copy = zero_copy;
    counts[i]->pid = static_cast<uint64_t>(getpid());
    counts[i]->in.rules_unread = static_cast<uint64_t>(std::popcount(rules[i].unread));
    counts[i]->started_ns = begun_ns;
  }
  auto netns = XR_TRY(host::Netns::open(request.netns));
  carrier.emplace(std::move(netns), std::array{facts[0].ifname, facts[1].ifname}, counts);
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

// The sockets of a previous process are closed: no other could be opened on their queues.
Status WireRun::State::account_for_former() {
  for (unsigned i = 0; i < kPorts; i++) {
    auto handed_over = XR_TRY(ports->handed_over(i));
    counts[i]->in.handed_before = handed_over;
    counts[i]->in.lost_when_killed = ports->lost_by_former(i, handed_over);
  }
  return {};
}

Result<WireRun> WireRun::prepare(WireRequest request) {
  auto state = std::make_unique<State>();
  state->request = std::move(request);
  if (state->request.steer)
    state->request.queues = 1;
  const WireRequest &asked = state->request;
  XR_TRY(host::check_processors(asked.cpus));
  state->placement = host::Placement(asked.cpus);
  XR_TRY(state->read_ports());
  auto ports =
      datapath::WirePorts::open(asked.first, asked.second, asked.netns, asked.attach, asked.fix);
  if (!ports)
    return ports.error();
  state->ports.emplace(std::move(*ports));
  const auto &more = state->ports->notes();
  state->notes.insert(state->notes.end(), more.begin(), more.end());
  XR_TRY(state->size_memory());
  XR_TRY(state->open_sockets());
  XR_TRY(state->make_directions());
  XR_TRY(state->account_for_former());
  for (unsigned i = 0; i < kPorts; i++)
    state->take_link(i);
  for (unsigned i = 0; i < kPorts; i++)
    for (uint32_t queue = 0; queue < state->sockets[i].size(); queue++)
      XR_TRY(state->ports->add(i, queue, state->sockets[i][queue]->fd()));
  for (WirePortCounts *counts : state->counts)
    counts->ready = 1;
  return WireRun(std::move(state));
}

} // namespace xr::endpoint
