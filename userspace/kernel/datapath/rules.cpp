// SPDX-License-Identifier: Apache-2.0
#include "datapath/rules.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <set>

#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/counts.h"
#include "datapath/exchange.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/map_names.h"
#include "datapath/object.h"
#include "datapath/remedy.h"
#include "host/privilege.h"
#include "impair/action_table.h"
#include "impair/taken.h"
#include "parse/words.h"
#include "roce/stream.h"

namespace xr::datapath {

namespace {

constexpr const char *kRuleset = map_names::ruleset; // pin of the set in use
// Not with the suffix Pins::kNext: the next exchange would remove the pin, even if it is in use.
constexpr const char *kRulesetNext = "next_ruleset";

// A rule in the kernel, or one to be written there.
struct Entry {
  impair::Rule rule;
  uint32_t id = 0; // 0: new
  uint32_t slot = 0;
  uint64_t start_ns = 0;
  bool reset = false; // gets a new slot, so that state and counts begin at 0
};

// Error if this port cannot do what the rule needs.
Status check_rule(const impair::Rule &rule, const PortStatus &port) {
  uint32_t act = rule.compiled.action.act;
  bool bridged = port.features & ROCE_FEATURE_FORWARD;
  bool streams = rule.compiled.checks & ROCE_CHECK_EVENT;
  for (const impair::Action &action : impair::actions()) {
    if (!(act & action.bit))
      continue;
    streams |= action.streams;
    if (!*action.alone || act & ROCE_ACT_DROP)
      continue;
    if (!bridged)
      return Error{action.alone,
                   fmt::format("{}{}{}", action.instead, *action.instead ? "; or " : "",
                               make_bridge(port, action.place))};
    if (action.in_skb && port.mode == Mode::Skb)
      return Error{action.in_skb, action.skb_remedy};
  }
  if (!port.track && streams)
    return Error{"`qp` and `cnp` need the port's streams, and it was attached with --no-track",
                 attach_again(port, "", "--no-track")};
  return {};
}

template <typename T> Status write(const Fd &map, uint32_t key, const T &value) {
  if (bpf_map_update_elem(map.get(), &key, &value, 0) < 0)
    return errno_error(errno, "cannot write the rules");
  return {};
}

template <typename T>
Status write(const Pins &pins, const char *map, uint32_t key, const T &value) {
  return write(pins.open(map), key, value);
}

template <typename T> bool read_pinned(const Pins &pins, const char *map, uint32_t key, T &value) {
  Fd fd = pins.open(map);
  return bpf_map_lookup_elem(fd.get(), &key, &value) == 0;
}

// Per-CPU map: writes a zero for each CPU.
Status clear_count(const Pins &pins, uint32_t slot) {
  std::vector<roce_rule_count> each(static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  Fd fd = pins.open(map_names::rule_counts);
  if (bpf_map_update_elem(fd.get(), &slot, each.data(), 0) < 0)
    return errno_error(errno, "cannot write the rules");
  return {};
}

class RuleStore {
public:
  // The rules of an attached port; error if it is not attached. The caller holds the lock.
  static Result<RuleStore> open(const PortName &port);

  Result<std::vector<Entry>> entries() const;
  Status replace(std::vector<Entry> entries);
  Result<RuleList> list() const;
  Result<std::vector<std::string>> notes(const std::vector<Entry> &before, bool fresh) const;
  Status write_peers(const std::vector<impair::Peer> &peers, bool replace);
  Status restart_qp_numbers() const;
  Status restart_streams() const;
  std::vector<impair::Peer> peers() const;
  const PortStatus &port() const { return port_; }

private:
  bool has_rules() const;
  Status enable_features(const std::vector<Entry> &entries, uint32_t uses);
  Status assign_slots(std::vector<Entry> &entries) const;
  Fd current_set() const;
  Status publish(roce_ruleset &set) const;
  Status withdraw() const;
  const Pins &pins() const { return *place_.pins; }

  Place place_;
  PortStatus port_;
};

Result<RuleStore> RuleStore::open(const PortName &port) {
  RuleStore store;
  auto place = XR_TRY(find_place(port, find_bpffs()));
  auto found = inspect(port.ifname, place.namespace_or_null(), place.ifindex, place.best_pins());
  if (!found)
    return found.error();
  if (found->port.state != AttachState::Attached || !place.pins)
    return not_readable(found->port);
  store.place_ = std::move(place);
  store.port_ = std::move(found->port);
  return store;
}

// Without ROCE_FEATURE_RULES the maps of rules have one entry each.
bool RuleStore::has_rules() const { return port_.features & ROCE_FEATURE_RULES; }

// The map with the set in use; none: there are no rules.
Fd RuleStore::current_set() const {
  uint32_t in_use = 0;
  if (!has_rules() || !read_pinned(pins(), map_names::rules, 0, in_use))
    return {};
  // publish() may have been killed between the map update and the rename of the pin: the outer map
  // has the id of the set in use.
  Fd set = pins().open(kRuleset), next = pins().open(kRulesetNext);
  if (next && map_id(next.get()) == in_use)
    set = std::move(next);
  return set;
}

Result<std::vector<Entry>> RuleStore::entries() const {
  std::vector<Entry> entries;
  const Fd set_fd = current_set();
  if (!set_fd)
    return entries;
  auto set = std::make_unique<roce_ruleset>();
  uint32_t zero = 0;
  if (bpf_map_lookup_elem(set_fd.get(), &zero, set.get()) < 0)
    return errno_error(errno, "cannot read the rules");
  for (uint32_t i = 0; i < std::min<uint32_t>(set->count, ROCE_RULES); i++) {
    auto note = std::make_unique<roce_rule_note>();
    uint32_t slot = set->rule[i].slot;
    if (!read_pinned(pins(), map_names::rule_notes, slot, *note))
      return errno_error(errno, "cannot read the rules");
    note->text[sizeof(note->text) - 1] = 0;
    auto rule = impair::parse(parse::split(note->text));
    if (!rule)
      return Error{fmt::format("rule {} was written by another version: {}", note->id,
                               rule.error().message)};
    // The set decides, not the text: it is exchanged in one step.
    rule->disable(set->rule[i].checks & ROCE_CHECK_DISABLED);
    entries.push_back({std::move(*rule), note->id, slot, note->start_ns});
  }
  return entries;
}

Status RuleStore::enable_features(const std::vector<Entry> &entries, uint32_t uses) {
  uint32_t needed = 0;
  bool bridged = port_.features & ROCE_FEATURE_FORWARD;
  for (const Entry &entry : entries)
    needed |= impair::needs(entry.rule, bridged);
  uint32_t has = port_.features & ROCE_FEATURES_OF_RULES, others = port_.features & ~has;
  // No rules: the program without rule features. With rules: features are only added, never
  // removed.
  if (needed ? (port_.features & needed) == needed && (port_.uses & uses) == uses : !has)
    return {};
  if (needed && port_.features & ROCE_FEATURE_DECAP)
    return Error{"it was attached with --decap: rules apply to frames as they arrive, not to those "
                 "inside tunnels",
                 attach_again(port_, "", "--decap")};
  if (port_.dispatcher && !needed)
    return {}; // keeps its features: a program under a dispatcher cannot be exchanged back
  if (auto possible =
          check_exchangeable(port_, has ? attach_again(port_) + ", while no other program is there"
                                        : attach_again(port_, "--rules"));
      !possible)
    return possible;
  ProgramFeatures program{others, 0};
  if (needed)
    program = {others | needed | has, uses | port_.uses};
  if (auto done = exchange(place_, port_, program); !done)
    return done;
  port_.features = program.features;
  port_.uses = program.uses;
  return {};
}

// Gives new rules an id, gives new and reset rules a free slot, and writes the slot's contents. No
// packet uses a free slot before publish().
Status RuleStore::assign_slots(std::vector<Entry> &entries) const {
  std::set<uint32_t> taken;
  uint32_t id = 0;
  auto current = XR_TRY(this->entries());
  for (const Entry &entry : current)
    taken.insert(entry.slot);
  for (const Entry &entry : entries)
    id = std::max(id, entry.id);
  for (Entry &entry : entries) {
    if (!entry.id || entry.reset) {
      entry.id = entry.id ? entry.id : ++id;
      for (entry.slot = 0; taken.count(entry.slot);)
        entry.slot++;
      taken.insert(entry.slot);
      entry.start_ns = monotonic_ns();
      roce_rule_note note{};
      note.id = entry.id;
      note.start_ns = entry.start_ns;
      std::string text = entry.rule.text();
      std::memcpy(note.text, text.c_str(), std::min(text.size(), sizeof(note.text) - 1));
      if (auto done = write(pins(), map_names::rule_notes, entry.slot, note); !done)
        return done;
      if (auto done = write(pins(), map_names::rule_states, entry.slot, roce_rule_state{}); !done)
        return done;
      if (auto done = clear_count(pins(), entry.slot); !done)
        return done;
      uint32_t point = entry.slot * ROCE_RULE_POINTS;
      Fd points = entry.rule.points.empty() ? Fd() : pins().open(map_names::rule_points);
      for (uint32_t value : entry.rule.points)
        if (auto done = write(points, point++, value); !done)
          return done;
    }
    entry.rule.compiled.id = entry.id;
    entry.rule.compiled.slot = entry.slot;
    entry.rule.compiled.select.start_ns = entry.start_ns;
  }
  return {};
}

// The map update returns only after no program reads the previous set.
Status RuleStore::publish(roce_ruleset &set) const {
  uint32_t zero = 0;
  Fd inner(bpf_map_create(BPF_MAP_TYPE_ARRAY, kRuleset, sizeof(zero), sizeof(set), 1, nullptr));
  set.generation = map_id(inner.get()); // which the kernel does not use again soon
  if (!inner || bpf_map_update_elem(inner.get(), &zero, &set, 0) < 0)
    return errno_error(errno, "cannot write the rules");
  std::string next = pins().path(kRulesetNext);
  unlink(next.c_str()); // left by a process that was killed
  if (bpf_obj_pin(inner.get(), next.c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins().directory()));
  int fd = inner.get();
  Fd outer = pins().open(map_names::rules);
  if (bpf_map_update_elem(outer.get(), &zero, &fd, 0) < 0)
    return errno_error(errno, "cannot activate the rules");
  if (rename(next.c_str(), pins().path(kRuleset).c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins().directory()));
  return {};
}

Status RuleStore::withdraw() const {
  uint32_t zero = 0;
  Fd outer = pins().open(map_names::rules);
  if (bpf_map_delete_elem(outer.get(), &zero) < 0 && errno != ENOENT)
    return errno_error(errno, "cannot remove the rules");
  for (const char *pin : {kRuleset, kRulesetNext})
    unlink(pins().path(pin).c_str());
  return {};
}

Status RuleStore::replace(std::vector<Entry> entries) {
  if (entries.size() > ROCE_RULES)
    return Error{
        fmt::format("{} rules are too many: a port has at most {}", entries.size(), ROCE_RULES)};
  for (const Entry &entry : entries)
    if (auto fine = check_rule(entry.rule, port_); !fine)
      return fine;
  if (entries.empty()) {
    if (auto done = withdraw(); !done)
      return done;
    if (!peers().empty()) // keep the maps: peers may be given before their rules
      return {};
    return enable_features(entries, 0);
  }
  auto rules_of = [&] {
    std::vector<impair::Rule> rules;
    rules.reserve(entries.size());
    for (const Entry &entry : entries)
      rules.push_back(entry.rule);
    return rules;
  };
  if (auto done = enable_features(entries, impair::make_ruleset(rules_of())->used); !done)
    return done;
  if (auto done = assign_slots(entries); !done)
    return done;
  return publish(*impair::make_ruleset(rules_of()));
}

// The program's QP counter only increases, and stream records are not changed here. So this stores
// the current number: QPs with numbers up to it get a new number with their next packet.
Status RuleStore::restart_qp_numbers() const {
  if (!port_.track)
    return {};
  roce_shared shared{};
  const bool second = port_.side != 0;
  if (!read_pinned(pins(), map_names::shared, 0, shared))
    return errno_error(errno, "cannot read the number of QPs");
  if (auto done = write(pins(), map_names::hints, ROCE_HINTS_NUMBERS + second,
                        uint64_t{shared.qps[second]});
      !done)
    return errno_error(errno, "cannot restart the QP numbers");
  return {};
}

// Each record of the port's side keeps its key. Its word without FAST sends packets to the lock,
// which the update holds.
Status RuleStore::restart_streams() const {
  roce_shared shared{};
  const Fd streams = pins().open(map_names::streams);
  if (!port_.track || !read_pinned(pins(), map_names::shared, 0, shared))
    return errno_error(errno, "cannot read the streams");
  for (uint32_t id = 0; id < std::min(shared.streams_used, port_.streams_capacity); id++) {
    roce_stream stream{}, begun{};
    if (bpf_map_lookup_elem_flags(streams.get(), &id, &stream, BPF_F_LOCK) < 0)
      return errno_error(errno, "cannot read the streams");
    begun.key = stream.key;
    const bool second = stream.key.qp_kind & ROCE_KEY_SIDE;
    if (stream.key.qp_kind == ROCE_KEY_NONE || second != (port_.side != 0))
      continue;
    if (bpf_map_update_elem(streams.get(), &id, &begun, BPF_F_LOCK) < 0)
      return errno_error(errno, "cannot begin the streams again");
  }
  return {};
}

std::vector<impair::Peer> RuleStore::peers() const {
  std::vector<impair::Peer> peers;
  Fd fd = pins().open(map_names::peers);
  roce_peer key{}, next{};
  for (void *from = nullptr; has_rules() && bpf_map_get_next_key(fd.get(), from, &next) == 0;
       from = &key) {
    key = next;
    impair::Peer peer{};
    if (bpf_map_lookup_elem(fd.get(), &key, &peer.src_qp) < 0)
      continue;
    std::copy(std::begin(key.src), std::end(key.src), peer.address.begin());
    peer.qp = key.dest_qp;
    peers.push_back(peer);
  }
  std::sort(peers.begin(), peers.end(), [](const impair::Peer &a, const impair::Peer &b) {
    return std::tie(a.address, a.qp) < std::tie(b.address, b.qp);
  });
  return peers;
}

Status RuleStore::write_peers(const std::vector<impair::Peer> &peers, bool replace) {
  Fd fd = pins().open(map_names::peers);
  auto key_of = [](const impair::Peer &peer) {
    roce_peer key{};
    std::copy(peer.address.begin(), peer.address.end(), std::begin(key.src));
    key.dest_qp = peer.qp;
    return key;
  };
  if (replace)
    for (const impair::Peer &peer : this->peers()) {
      roce_peer key = key_of(peer);
      bpf_map_delete_elem(fd.get(), &key);
    }
  for (const impair::Peer &peer : peers) {
    roce_peer key = key_of(peer);
    if (bpf_map_update_elem(fd.get(), &key, &peer.src_qp, 0) < 0)
      return errno_error(errno,
                         fmt::format("cannot write the peer (a port has at most {})", ROCE_PEERS));
  }
  return {};
}

Result<RuleList> RuleStore::list() const {
  RuleList list;
  auto all = XR_TRY(entries());
  if (all.empty()) { // the map of counts may have one entry only
    list.peers = peers();
    return list;
  }
  Fd fd = pins().open(map_names::rule_counts), states = pins().open(map_names::rule_states);
  auto counts = XR_TRY(sum_over_cpus<roce_rule_count>(fd.get(), ROCE_RULE_SLOTS));
  for (const Entry &entry : all) {
    const roce_rule_count &count = counts.at(entry.slot);
    roce_rule_state state{};
    if (bpf_map_lookup_elem(states.get(), &entry.slot, &state) < 0)
      return errno_error(errno, "cannot read the rules");
    list.rules.push_back({.id = entry.id,
                          .text = entry.rule.text(),
                          .name = entry.rule.name,
                          .matched = count.matched,
                          .acted = count.acted,
                          .enabled = !entry.rule.disabled,
                          .matched_bytes = count.matched_bytes,
                          .acted_bytes = count.acted_bytes,
                          .spared = count.spared,
                          .limited = count.limited,
                          .not_applicable = count.not_applicable,
                          .refused = count.refused,
                          .not_held = state.not_held});
  }
  list.peers = peers();
  return list;
}

// Whether the rule is new, began again, or was disabled.
bool in_effect_since(const std::vector<Entry> &before, const Entry &entry) {
  return std::none_of(before.begin(), before.end(), [&entry](const Entry &was) {
    return was.id == entry.id && was.start_ns == entry.start_ns &&
           was.rule.disabled == entry.rule.disabled;
  });
}

// A rule for one place in a stream drops each retransmission of it, until the QP fails.
bool drops_each_time(const impair::Rule &rule) {
  return rule.event && !rule.event->iteration &&
         !(rule.event->packet == impair::EventSpec::kAllPackets) &&
         std::holds_alternative<impair::Always>(rule.select) && !rule.limit.most &&
         rule.compiled.action.act & ROCE_ACT_DROP;
}

// Why rules that came into effect since then will not do all that they say. `fresh`: the streams
// began again with them.
Result<std::vector<std::string>> RuleStore::notes(const std::vector<Entry> &before,
                                                  bool fresh) const {
  std::vector<std::string> notes;
  roce_shared shared{};
  const bool seen = !fresh && port_.track && read_pinned(pins(), map_names::shared, 0, shared) &&
                    shared.qps[port_.side != 0];
  auto all = entries();
  if (!all)
    return all.error();
  std::vector<const impair::Rule *> rules;
  for (const Entry &entry : *all)
    rules.push_back(&entry.rule);
  const bool held = Lock::port_is_taken(port_.netns_inode, port_.ifindex, Lock::Use::Wire);
  for (size_t i = 0; i < all->size(); i++) {
    const Entry &entry = (*all)[i];
    if (entry.rule.disabled || !in_effect_since(before, entry))
      continue;
    if (const auto by = impair::taken_by(rules, i))
      notes.push_back(
          fmt::format("rule {} matches no frame, as rule {} takes all of them: end that "
                      "rule with `next`, or add it after this one",
                      entry.id, (*all)[*by].id));
    if (entry.rule.event && seen)
      notes.push_back(fmt::format(
          "rule {}: QPs that passed before are counted from their first packet then; `{}` begins "
          "again with the next one of each",
          entry.id, command_for(port_, fmt::format("impair {} zero --streams", port_.ifname))));
    if (drops_each_time(entry.rule))
      notes.push_back(fmt::format("rule {} drops the packet each time that it is sent again, until "
                                  "its QP fails: with `iter 1`, only the first time",
                                  entry.id));
    const uint32_t holds = entry.rule.compiled.action.act & ROCE_ACTS_HOLD;
    if (holds && !held)
      notes.push_back(fmt::format("rule {} does not {} frames until `xdp-roce wire {} {}` runs",
                                  entry.id, impair::action_name(holds), port_.ifname, port_.peer));
  }
  return notes;
}

using Change = std::function<Status(RuleStore &)>;

// The steps of every command: check the privilege, lock, open, change; then list the rules.
Result<RuleList> with_rules(const PortName &port, const Change &change,
                            std::chrono::milliseconds patience = Lock::patience(),
                            bool fresh = false) {
  XR_TRY(begin_call(change ? host::Privilege::Load : host::Privilege::Read));
  const auto lock =
      XR_TRY(Lock::take(change ? Lock::Kind::Exclusive : Lock::Kind::Shared, patience));
  auto store = XR_TRY(RuleStore::open(port));
  if (!change)
    return store.list();
  auto before = XR_TRY(store.entries());
  XR_TRY(change(store));
  auto list = store.list();
  if (!list)
    return list;
  list->notes = XR_TRY(store.notes(before, fresh));
  return list;
}

bool has_id_or_name(const Entry &entry, const std::string &which) {
  uint32_t id = 0;
  auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), id);
  if (error == std::errc() && end == which.data() + which.size())
    return entry.id == id;
  return entry.rule.name == which;
}

// The entry with this id or name; error if there is none.
Result<std::vector<Entry>::iterator> find_entry(std::vector<Entry> &entries,
                                                const std::string &which, const PortStatus &port) {
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const Entry &entry) { return has_id_or_name(entry, which); });
  if (found == entries.end())
    return Error{fmt::format("there is no rule {}", which),
                 command_for(port, fmt::format("impair {} list", port.ifname)) +
                     " shows ids and names"};
  return found;
}

} // namespace

Result<RuleList> list_rules(const PortName &port) { return with_rules(port, nullptr); }

Result<RuleList> list_rules_now(const PortName &port) {
  return with_rules(port, nullptr, std::chrono::milliseconds(0));
}

Result<RuleList> add_rule(const PortName &port, const impair::Rule &rule) {
  return with_rules(port, [&](RuleStore &store) -> Status {
    auto entries = XR_TRY(store.entries());
    for (const Entry &entry : entries)
      if (!rule.name.empty() && entry.rule.name == rule.name)
        return Error{
            fmt::format("there is a rule named {} already", rule.name),
            command_for(store.port(), fmt::format("impair {} del {}", port.ifname, rule.name)) +
                " first"};
    entries.push_back({rule, 0, 0, 0});
    return store.replace(std::move(entries));
  });
}

Result<RuleList> delete_rule(const PortName &port, const std::string &which) {
  return with_rules(port, [&](RuleStore &store) -> Status {
    auto entries = XR_TRY(store.entries());
    auto found = XR_TRY(find_entry(entries, which, store.port()));
    entries.erase(found);
    return store.replace(std::move(entries));
  });
}

Result<RuleList> enable_rule(const PortName &port, const std::string &which, bool enabled) {
  return with_rules(port, [&](RuleStore &store) -> Status {
    auto entries = XR_TRY(store.entries());
    auto found = XR_TRY(find_entry(entries, which, store.port()));
    impair::Rule &rule = (found)->rule;
    if (rule.disabled == !enabled)
      return {};
    rule.disable(!enabled);
    return store.replace(std::move(entries));
  });
}

Result<RuleList> clear_rules(const PortName &port) {
  return with_rules(port, [](RuleStore &store) -> Status {
    if (auto done = store.write_peers({}, true); !done)
      return done;
    return store.replace({});
  });
}

// QP numbers first: a packet must have its new number before a reset rule counts it.
Result<RuleList> zero_rules(const PortName &port, bool streams) {
  const Change zero = [streams](RuleStore &store) -> Status {
    auto entries = XR_TRY(store.entries());
    if (streams)
      XR_TRY(store.restart_streams());
    if (auto done = store.restart_qp_numbers(); !done)
      return done;
    for (Entry &entry : entries)
      entry.reset = true;
    return entries.empty() ? Status{} : store.replace(std::move(entries));
  };
  return with_rules(port, zero, Lock::patience(), streams);
}

Result<RuleList> apply_rules(const PortName &port, const impair::File &file) {
  return with_rules(port, [&](RuleStore &store) -> Status {
    std::vector<Entry> entries;
    for (const impair::Rule &rule : file.rules)
      entries.push_back({rule, 0, 0, 0});
    if (auto done = store.replace(std::move(entries)); !done)
      return done;
    return store.write_peers(file.peers, true);
  });
}

Result<RuleList> add_peer(const PortName &name, const impair::Peer &peer) {
  return with_rules(name, [&](RuleStore &store) -> Status {
    if (!(store.port().features & ROCE_FEATURE_RULES))
      return Error{"a peer is for `cnp`, and the port has no rules yet", "add the rule first"};
    return store.write_peers({peer}, false);
  });
}

} // namespace xr::datapath
