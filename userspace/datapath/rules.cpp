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

#include "base/clock.h"
#include "datapath/counts.h"
#include "datapath/exchange.h"
#include "datapath/lock.h"
#include "datapath/log.h"
#include "datapath/map_names.h"
#include "datapath/object.h"
#include "host/privilege.h"
#include "impair/action_table.h"
#include "parse/words.h"

namespace xr::datapath {

namespace {

constexpr const char *kRuleset = map_names::ruleset; // pin of the set in use
// Not a name that ends in Pins::kNext: the next exchange would take it away, in use or not.
constexpr const char *kRulesetNext = "next_ruleset";

// A rule as it stands in the kernel, or is about to.
struct Entry {
  impair::Rule rule;
  uint32_t id = 0; // 0: new
  uint32_t slot = 0;
  uint64_t start_ns = 0;
  bool anew = false; // nothing of what it remembers and has counted stays
};

// What this port cannot do for a rule, in words.
Status check(const impair::Rule &rule, const PortStatus &port) {
  uint32_t act = rule.compiled.action.act;
  bool bridged = port.features & ROCE_FEATURE_FORWARD;
  bool streams = rule.compiled.checks & ROCE_CHECK_EVENT;
  for (const impair::Action &action : impair::actions()) {
    if (!(act & action.bit))
      continue;
    streams |= action.streams;
    if (!action.copies || act & ROCE_ACT_DROP)
      continue;
    if (!bridged)
      return Error{action.alone, fmt::format(fmt::runtime(action.remedy), port.ifname)};
    if (action.in_skb && port.mode == Mode::Skb)
      return Error{action.in_skb, action.skb_remedy};
  }
  if (!port.track && streams)
    return Error{"`qp` and `cnp` need the port's streams, and it was attached with --no-track"};
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

template <typename T> bool read(const Pins &pins, const char *map, uint32_t key, T &value) {
  Fd fd = pins.open(map);
  return bpf_map_lookup_elem(fd.get(), &key, &value) == 0;
}

// Each CPU has its own.
Status clear_count(const Pins &pins, uint32_t slot) {
  std::vector<roce_rule_count> each(static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  Fd fd = pins.open(map_names::rule_counts);
  if (bpf_map_update_elem(fd.get(), &slot, each.data(), 0) < 0)
    return errno_error(errno, "cannot write the rules");
  return {};
}

class Store {
public:
  // The port's, which is attached, with the lock held.
  static Result<Store> open(const std::string &ifname, const std::string &netns);

  Result<std::vector<Entry>> entries() const;
  Status put(std::vector<Entry> entries);
  Result<RuleList> list() const;
  Status put_peers(const std::vector<impair::Peer> &peers, bool replace);
  Status number_qps_anew() const;
  std::vector<impair::Peer> peers() const;
  const PortStatus &port() const { return port_; }

private:
  bool has_rules() const;
  Status be_able(const std::vector<Entry> &entries, uint32_t uses);
  Status place(std::vector<Entry> &entries) const;
  Status publish(const roce_ruleset &set) const;
  Status withdraw() const;
  const Pins &pins() const { return *place_.pins; }

  Place place_;
  PortStatus port_;
};

Result<Store> Store::open(const std::string &ifname, const std::string &netns) {
  Store store;
  auto place = find_place(ifname, netns, find_bpffs());
  if (!place)
    return place.error();
  auto found = inspect(ifname, place->namespace_or_null(), place->ifindex, place->best_pins());
  if (!found)
    return found.error();
  if (found->port.state != AttachState::Attached || !place->pins)
    return not_readable(found->port);
  store.place_ = std::move(*place);
  store.port_ = std::move(found->port);
  return store;
}

// Only then are their maps there in full.
bool Store::has_rules() const { return port_.features & ROCE_FEATURE_RULES; }

Result<std::vector<Entry>> Store::entries() const {
  std::vector<Entry> entries;
  uint32_t in_use = 0;
  if (!has_rules() || !read(pins(), map_names::rules, 0, in_use))
    return entries;
  // Killed between the exchange of sets and that of their pins: the kernel knows which it is.
  Fd set_fd = pins().open(kRuleset), next = pins().open(kRulesetNext);
  if (next && map_id(next.get()) == in_use)
    set_fd = std::move(next);
  auto set = std::make_unique<roce_ruleset>();
  uint32_t zero = 0;
  if (bpf_map_lookup_elem(set_fd.get(), &zero, set.get()) < 0)
    return errno_error(errno, "cannot read the rules");
  for (uint32_t i = 0; i < std::min<uint32_t>(set->count, ROCE_RULES); i++) {
    auto note = std::make_unique<roce_rule_note>();
    uint32_t slot = set->rule[i].slot;
    if (!read(pins(), map_names::rule_notes, slot, *note))
      return errno_error(errno, "cannot read the rules");
    note->text[sizeof(note->text) - 1] = 0;
    auto rule = impair::parse(parse::split(note->text));
    if (!rule)
      return Error{fmt::format("rule {} was written by another version: {}", note->id,
                               rule.error().message)};
    entries.push_back({std::move(*rule), note->id, slot, note->start_ns});
  }
  return entries;
}

Status Store::be_able(const std::vector<Entry> &entries, uint32_t uses) {
  uint32_t needed = 0;
  bool bridged = port_.features & ROCE_FEATURE_FORWARD;
  for (const Entry &entry : entries)
    needed |= impair::needs(entry.rule, bridged);
  uint32_t has = port_.features & ROCE_FEATURES_OF_RULES, others = port_.features & ~has;
  // Without rules the program is the one that counts; with some it only grows.
  if (needed ? (has & needed) == needed && (port_.uses & uses) == uses : !has)
    return {};
  if (port_.dispatcher && !needed)
    return {}; // it was attached ready for rules
  if (auto possible = check_exchangeable(
          port_, fmt::format("xdp-roce detach {0}, then xdp-roce attach {1}{0}", port_.ifname,
                             has ? "while no other program is on " : "--rules "));
      !possible)
    return possible;
  Abilities abilities{others, 0};
  if (needed)
    abilities = {others | needed | has, uses | port_.uses};
  if (auto done = exchange(place_, port_, abilities); !done)
    return done;
  port_.features = abilities.features;
  port_.uses = abilities.uses;
  return {};
}

// Gives new rules their ids, and those and the ones that begin anew their slots, and writes down
// what goes into these: nobody looks there yet.
Status Store::place(std::vector<Entry> &entries) const {
  std::set<uint32_t> taken;
  uint32_t id = 0;
  auto current = this->entries();
  if (!current)
    return current.error();
  for (const Entry &entry : *current)
    taken.insert(entry.slot);
  for (const Entry &entry : entries)
    id = std::max(id, entry.id);
  for (Entry &entry : entries) {
    if (!entry.id || entry.anew) {
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

// The kernel returns once no program reads the former set any more.
Status Store::publish(const roce_ruleset &set) const {
  uint32_t zero = 0;
  Fd inner(bpf_map_create(BPF_MAP_TYPE_ARRAY, kRuleset, sizeof(zero), sizeof(set), 1, nullptr));
  if (!inner || bpf_map_update_elem(inner.get(), &zero, &set, 0) < 0)
    return errno_error(errno, "cannot write the rules");
  std::string next = pins().path(kRulesetNext);
  unlink(next.c_str()); // of one that was killed
  if (bpf_obj_pin(inner.get(), next.c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins().directory()));
  int fd = inner.get();
  Fd outer = pins().open(map_names::rules);
  if (bpf_map_update_elem(outer.get(), &zero, &fd, 0) < 0)
    return errno_error(errno, "cannot put the rules in place");
  if (rename(next.c_str(), pins().path(kRuleset).c_str()) < 0)
    return errno_error(errno, fmt::format("cannot pin in {}", pins().directory()));
  return {};
}

Status Store::withdraw() const {
  uint32_t zero = 0;
  Fd outer = pins().open(map_names::rules);
  if (bpf_map_delete_elem(outer.get(), &zero) < 0 && errno != ENOENT)
    return errno_error(errno, "cannot take the rules away");
  for (const char *pin : {kRuleset, kRulesetNext})
    unlink(pins().path(pin).c_str());
  return {};
}

Status Store::put(std::vector<Entry> entries) {
  if (entries.size() > ROCE_RULES)
    return Error{
        fmt::format("{} rules are too many: a port has {} at most", entries.size(), ROCE_RULES)};
  for (const Entry &entry : entries)
    if (auto fine = check(entry.rule, port_); !fine)
      return fine;
  if (entries.empty()) {
    if (auto done = withdraw(); !done)
      return done;
    if (!peers().empty()) // given for rules to come
      return {};
    return be_able(entries, 0);
  }
  auto rules_of = [&] {
    std::vector<impair::Rule> rules;
    rules.reserve(entries.size());
    for (const Entry &entry : entries)
      rules.push_back(entry.rule);
    return rules;
  };
  if (auto done = be_able(entries, impair::make_ruleset(rules_of())->used); !done)
    return done;
  if (auto done = place(entries); !done)
    return done;
  return publish(*impair::make_ruleset(rules_of()));
}

// Programs number QPs on and on, and no stream is touched here: those with numbers up to this one
// get theirs anew when they are seen again.
Status Store::number_qps_anew() const {
  if (!port_.track)
    return {};
  roce_shared shared{};
  const bool second = port_.side != 0;
  if (!read(pins(), map_names::shared, 0, shared))
    return errno_error(errno, "cannot read how many QPs were seen");
  if (auto done = write(pins(), map_names::hints, ROCE_HINTS_NUMBERS + second,
                        uint64_t{shared.qps[second]});
      !done)
    return errno_error(errno, "cannot number the QPs anew");
  return {};
}

std::vector<impair::Peer> Store::peers() const {
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

Status Store::put_peers(const std::vector<impair::Peer> &peers, bool replace) {
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
                         fmt::format("cannot write the peer (a port has {} at most)", ROCE_PEERS));
  }
  return {};
}

Result<RuleList> Store::list() const {
  RuleList list;
  auto all = entries();
  if (!all)
    return all.error();
  if (all->empty()) { // nor are there counts in full
    list.peers = peers();
    return list;
  }
  Fd fd = pins().open(map_names::rule_counts);
  auto counts = sum_over_cpus<roce_rule_count>(fd.get(), ROCE_RULE_SLOTS);
  if (!counts)
    return counts.error();
  for (const Entry &entry : *all) {
    const roce_rule_count &count = counts->at(entry.slot);
    list.rules.push_back(
        {entry.id, entry.rule.text(), entry.rule.name, count.matched, count.acted});
  }
  list.peers = peers();
  return list;
}

using Change = std::function<Status(Store &)>;

// Every command: the privilege, the lock, the port, the change; then the rules as they are.
Result<RuleList> with_store(const std::string &ifname, const std::string &netns,
                            const Change &change,
                            std::chrono::milliseconds patience = Lock::patience()) {
  if (auto allowed = begin_call(change ? host::Privilege::Load : host::Privilege::Read); !allowed)
    return allowed.error();
  auto lock = Lock::take(change ? Lock::Kind::Exclusive : Lock::Kind::Shared, patience);
  if (!lock)
    return lock.error();
  auto store = Store::open(ifname, netns);
  if (!store)
    return store.error();
  if (change)
    if (auto done = change(*store); !done)
      return done.error();
  return store->list();
}

bool is_called(const Entry &entry, const std::string &which) {
  uint32_t id = 0;
  auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), id);
  if (error == std::errc() && end == which.data() + which.size())
    return entry.id == id;
  return entry.rule.name == which;
}

} // namespace

Result<RuleList> list_rules(const std::string &ifname, const std::string &netns) {
  return with_store(ifname, netns, nullptr);
}

Result<RuleList> list_rules_now(const std::string &ifname, const std::string &netns) {
  return with_store(ifname, netns, nullptr, std::chrono::milliseconds(0));
}

Result<RuleList> add_rule(const std::string &ifname, const std::string &netns,
                          const impair::Rule &rule) {
  return with_store(ifname, netns, [&](Store &store) -> Status {
    auto entries = store.entries();
    if (!entries)
      return entries.error();
    for (const Entry &entry : *entries)
      if (!rule.name.empty() && entry.rule.name == rule.name)
        return Error{fmt::format("there is a rule named {} already", rule.name),
                     fmt::format("xdp-roce impair {} del {} first", ifname, rule.name)};
    entries->push_back({rule, 0, 0, 0});
    return store.put(std::move(*entries));
  });
}

Result<RuleList> delete_rule(const std::string &ifname, const std::string &netns,
                             const std::string &which) {
  return with_store(ifname, netns, [&](Store &store) -> Status {
    auto entries = store.entries();
    if (!entries)
      return entries.error();
    auto found = std::find_if(entries->begin(), entries->end(),
                              [&](const Entry &entry) { return is_called(entry, which); });
    if (found == entries->end())
      return Error{fmt::format("there is no rule {}", which),
                   fmt::format("xdp-roce impair {} list shows ids and names", ifname)};
    entries->erase(found);
    return store.put(std::move(*entries));
  });
}

Result<RuleList> clear_rules(const std::string &ifname, const std::string &netns) {
  return with_store(ifname, netns, [](Store &store) -> Status {
    if (auto done = store.put_peers({}, true); !done)
      return done;
    return store.put({});
  });
}

// The QPs first: what is seen from then on has its new number before a rule begins to count.
Result<RuleList> zero_rules(const std::string &ifname, const std::string &netns) {
  return with_store(ifname, netns, [](Store &store) -> Status {
    auto entries = store.entries();
    if (!entries)
      return entries.error();
    if (auto done = store.number_qps_anew(); !done)
      return done;
    for (Entry &entry : *entries)
      entry.anew = true;
    return entries->empty() ? Status{} : store.put(std::move(*entries));
  });
}

Result<RuleList> apply_rules(const std::string &ifname, const std::string &netns,
                             const impair::File &file) {
  return with_store(ifname, netns, [&](Store &store) -> Status {
    std::vector<Entry> entries;
    for (const impair::Rule &rule : file.rules)
      entries.push_back({rule, 0, 0, 0});
    if (auto done = store.put(std::move(entries)); !done)
      return done;
    return store.put_peers(file.peers, true);
  });
}

Result<RuleList> add_peer(const std::string &ifname, const std::string &netns,
                          const impair::Peer &peer) {
  return with_store(ifname, netns, [&](Store &store) -> Status {
    if (!(store.port().features & ROCE_FEATURE_RULES))
      return Error{"a peer is for `cnp`, and the port has no rules yet", "add the rule first"};
    return store.put_peers({peer}, false);
  });
}

} // namespace xr::datapath
