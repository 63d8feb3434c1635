// SPDX-License-Identifier: Apache-2.0
#include "datapath/wire_ports.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/bridge.h"
#include "datapath/exchange.h"
#include "datapath/log.h"
#include "datapath/map_names.h"
#include "host/privilege.h"
#include "parse/words.h"

namespace xr::datapath {

namespace {

// The port, if it is one of a bridge that is attached. The caller holds the lock.
struct Found {
  Place place;
  PortStatus port;
};
Result<Found> find_bridge_port(const PortName &port) {
  auto place = XR_TRY(find_place(port, find_bpffs()));
  auto seen = inspect(port.ifname, place.namespace_or_null(), place.ifindex, place.best_pins());
  if (!seen)
    return seen.error();
  if (seen->port.state != AttachState::Attached || !(seen->port.features & ROCE_FEATURE_FORWARD) ||
      !place.pins)
    return no_bridge(seen->port);
  return Found{std::move(place), std::move(seen->port)};
}

// Waits until the kernel has put on the sockets' rings what programs that run now hand over:
// membarrier waits for RCU. With nohz_full there is none: waits for longer than a poll of NAPI.
void wait_for_programs() {
  if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// The program of the port hands frames over. Its `sockets` map then has an entry for each queue.
Status enable_hold(Found &found) {
  if (found.port.features & ROCE_FEATURE_HOLD)
    return {};
  const uint32_t features = found.port.features | ROCE_FEATURE_HOLD;
  if (auto done = exchange(found.place, found.port, {features, found.port.uses}); !done)
    return done;
  found.port.features = features;
  return {};
}

} // namespace

MapMemory::MapMemory(MapMemory &&other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MapMemory &MapMemory::operator=(MapMemory &&other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MapMemory::~MapMemory() {
  if (!bytes_.empty())
    munmap(bytes_.data(), bytes_.size());
}

Result<MapMemory> MapMemory::map(int fd, size_t bytes, bool writable) {
  void *at = mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    return errno_error(errno, "cannot map the wire's memory");
  MapMemory memory;
  memory.bytes_ = {static_cast<uint8_t *>(at), bytes};
  return memory;
}

Status WirePorts::join(const std::string &netns) {
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  for (unsigned i = 0; i < kPorts; i++) {
    OpenPort &port = ports_[i];
    auto bridge_port = XR_TRY(find_bridge_port({port.status.ifname, netns}));
    auto lock =
        Lock::take_port(bridge_port.port.netns_inode, bridge_port.port.ifindex, Lock::Use::Wire);
    if (!lock)
      return lock.error().in(bridge_port.port.ifname);
    locks_[i] = std::move(*lock);
    if (auto done = enable_hold(bridge_port); !done)
      return done;
    port.pins = bridge_port.place.pins;
    const Pins &pins = *port.pins;
    port.sockets = pins.open(map_names::sockets);
    port.rules = pins.open(map_names::rules);
    port.link = pins.open(map_names::link);
    port.totals = pins.open(map_names::totals);
    Fd counts = pins.open(map_names::wire);
    port.memory = XR_TRY(MapMemory::map(counts.get(), ROCE_WIRE_MEMORY, true));
    port.link_note = XR_TRY(MapMemory::map(port.link.get(), sizeof(roce_link_note), false));
    WirePortCounts former;
    memcpy(static_cast<void *>(&former), port.memory.bytes().data(), sizeof(former));
    if (former.version == WirePortCounts::kVersion)
      port.former = former.in;
    std::ranges::fill(port.memory.bytes(), uint8_t{});
    auto after = inspect(port.status.ifname, bridge_port.place.namespace_or_null(),
                         bridge_port.place.ifindex, bridge_port.place.best_pins());
    if (!after)
      return after.error();
    port.status = std::move(after->port);
  }
  open_ = true;
  return {};
}

Result<WirePorts> WirePorts::open(const std::string &a, const std::string &b,
                                  const std::string &netns, const AttachOptions &options,
                                  bool fix) {
  XR_TRY(begin_call(host::Privilege::Load));
  if (a == b)
    return Error{"a wire needs two ports"};
  WirePorts self;
  self.netns_ = netns;
  const auto first = XR_TRY(status_of({a, netns}).in(a)),
             second = XR_TRY(status_of({b, netns}).in(b));
  bool bridged = first.state == AttachState::Attached && first.peer == b;
  // What removed the bridge was killed between its ports.
  if (bridged && second.state != AttachState::Attached) {
    XR_TRY(detach({a, netns}));
    bridged = false;
  } else if (!bridged && first.state != AttachState::Attached &&
             second.state == AttachState::Attached && second.peer == a) {
    XR_TRY(detach({b, netns}));
  }
  if (bridged)
    self.notes_.emplace_back("joins the bridge that is there, and leaves it there at the end");
  if (!bridged || fix) {
    AttachOptions with = options;
    with.features |= ROCE_FEATURE_HOLD;
    auto made = bridge(a, b, netns, with, fix);
    if (!made)
      return made.error();
    self.made_bridge_ = !bridged;
    self.troubles_ = std::move(made->troubles);
    std::ranges::move(made->notes, std::back_inserter(self.notes_));
  }
  self.ports_[0].status.ifname = a;
  self.ports_[1].status.ifname = b;
  if (auto done = self.join(netns); !done) {
    if (self.made_bridge_)
      (void)detach({a, netns});
    return done.error();
  }
  self.mode_ = self.ports_[0].status.mode;
  return self;
}

Status WirePorts::add(unsigned port, uint32_t queue, int socket) {
  if (bpf_map_update_elem(ports_[port].sockets.get(), &queue, &socket, 0) < 0)
    return errno_error(errno, fmt::format("cannot redirect frames of queue {} of {} to a socket",
                                          queue, ports_[port].status.ifname));
  ports_[port].queues.push_back(queue);
  return {};
}

Result<uint64_t> WirePorts::handed_over(unsigned port) const {
  return read_handed_over(ports_[port].totals.get());
}

uint64_t WirePorts::lost_by_former(unsigned port, uint64_t handed_over) const {
  const auto &former = ports_[port].former;
  return former ? former->lost_when_killed + former->unaccounted(handed_over) : 0;
}

bool WirePorts::alive() const {
  const auto lock = Lock::take(Lock::Kind::Shared, std::chrono::milliseconds(0));
  return !lock || attached();
}

bool WirePorts::attached() const {
  return std::all_of(ports_.begin(), ports_.end(), [](const OpenPort &port) {
    // A change of rules exchanges the program: what counts is that one of ours is on the hook.
    auto now = status_of({port.status.ifname, port.status.netns});
    return now && now->state == AttachState::Attached && now->since_ns == port.status.since_ns;
  });
}

namespace {

// Why the rule cannot be read; "": `to` has it.
std::string read_rule(const roce_rule_note &note, impair::Rule &to) {
  const std::string text(note.text, strnlen(note.text, sizeof(note.text)));
  auto rule = impair::parse(parse::split(text));
  if (!rule)
    return "it was written by another version: " + rule.error().message;
  to = std::move(*rule);
  return {};
}

} // namespace

// A slot that a set uses keeps its text: only one that the kernel did not give is read again.
RulesInForce rules_in_force(std::shared_ptr<const roce_ruleset> set,
                            const std::function<const roce_rule_note *(uint32_t slot)> &note_of) {
  RulesInForce to{.generation = static_cast<uint16_t>(set->generation), .set = set};
  for (uint32_t i = 0; i < std::min<uint32_t>(set->count, ROCE_RULES); i++) {
    RuleInForce in_force{set->rule[i].id, set->rule[i].slot, {}};
    const roce_rule_note *note = note_of(in_force.slot);
    const bool known = note && note->id == in_force.id;
    const std::string why =
        known ? read_rule(*note, in_force.rule) : "the kernel does not give its text";
    if (!why.empty() && set->rule[i].action.act & ROCE_ACTS_HOLD) {
      to.unread |= uint64_t{1} << i;
      to.again |= !known;
      to.why = fmt::format("rule {} holds no frames: {}", in_force.id, why);
    }
    in_force.words = in_force.rule.text();
    to.rules.push_back(std::move(in_force));
  }
  return to;
}

Result<std::optional<RulesInForce>> WirePorts::new_rules(unsigned port) {
  OpenPort &entry = ports_[port];
  uint32_t id = 0; // of the inner map; 0: no rules
  if (bpf_map_lookup_elem(entry.rules.get(), &kOnlyKey, &id) < 0)
    id = 0;
  if (entry.rules_seen == id)
    return std::optional<RulesInForce>();
  RulesInForce rules;
  if (id) {
    Fd set_fd(bpf_map_get_fd_by_id(id));
    if (!set_fd && errno == ENOENT)
      return std::optional<RulesInForce>(); // replaced in the meantime: the next call sees it
    auto set = std::make_shared<roce_ruleset>();
    if (!set_fd || bpf_map_lookup_elem(set_fd.get(), &kOnlyKey, set.get()) < 0)
      return errno_error(errno, "cannot read the rules");
    // This map is replaced by a larger one when the first rule is added.
    const Fd notes = entry.pins->open(map_names::rule_notes);
    if (!notes)
      return std::optional<RulesInForce>(); // the program is being exchanged
    auto note = std::make_unique<roce_rule_note>();
    rules = rules_in_force(std::move(set), [&](uint32_t slot) {
      return bpf_map_lookup_elem(notes.get(), &slot, note.get()) == 0 ? note.get() : nullptr;
    });
  }
  if (!rules.again)
    entry.rules_seen = id;
  return std::optional(std::move(rules));
}

uint64_t WirePorts::link_changes(unsigned port) const {
  const auto *note =
      reinterpret_cast<const roce_link_note *>(ports_[port].link_note.bytes().data());
  return __atomic_load_n(&note->changes, __ATOMIC_ACQUIRE);
}

LinkWords WirePorts::link(unsigned port) const { return link_words_in(ports_[port].link.get()); }

void WirePorts::release() {
  bool any = false;
  for (OpenPort &port : ports_)
    for (const uint32_t queue : std::exchange(port.queues, {}))
      any |= bpf_map_delete_elem(port.sockets.get(), &queue) == 0;
  if (any)
    wait_for_programs();
}

Status WirePorts::close() {
  if (!std::exchange(open_, false))
    return {};
  release();
  for (OpenPort &port : ports_) {
    port.sockets.reset();
    port.rules.reset();
    port.link.reset();
    port.totals.reset();
    port.memory = {};
    port.link_note = {};
  }
  for (auto &lock : locks_)
    lock.reset();
  if (!made_bridge_ || !attached())
    return {};
  auto done = detach({ports_[0].status.ifname, netns_});
  return done ? Status() : Status(done.error());
}

WirePorts::~WirePorts() {
  try {
    (void)close();
  } catch (...) { // out of memory for the error; a destructor cannot report it anyway
  }
}

Status set_link_words(const PortName &name, const std::string &words) {
  XR_TRY(begin_call(host::Privilege::Load));
  if (words.size() >= ROCE_LINK_TEXT)
    return Error{fmt::format("the link has {} characters, {} are possible", words.size(),
                             ROCE_LINK_TEXT - 1)};
  const auto lock = XR_TRY(Lock::take(Lock::Kind::Exclusive));
  auto found = XR_TRY(find_bridge_port(name));
  // The program of the other port hands over what leaves by this one.
  auto other = XR_TRY(find_bridge_port({found.port.peer, name.netns}));
  if (!words.empty())
    if (auto done = enable_hold(other); !done)
      return done;
  Fd notes = found.place.pins->open(map_names::link),
     hold = other.place.pins->open(map_names::hold);
  auto note = std::make_unique<roce_link_note>();
  note->changes = link_words_in(notes.get()).changes + 1;
  note->since_ns = monotonic_ns();
  words.copy(note->text, sizeof(note->text) - 1);
  const roce_hold held{.link = !words.empty(), .reserved = 0};
  if (bpf_map_update_elem(notes.get(), &kOnlyKey, note.get(), 0) < 0 ||
      bpf_map_update_elem(hold.get(), &kOnlyKey, &held, 0) < 0)
    return errno_error(errno, "cannot write the link");
  return {};
}

} // namespace xr::datapath
