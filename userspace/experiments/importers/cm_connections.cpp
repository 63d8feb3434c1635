// SPDX-License-Identifier: Apache-2.0
#include "importers/cm_connections.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include <fmt/format.h>

#include "base/counted.h"
#include "importers/cm_lines.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

constexpr uint64_t kMostConnectedNodes = 100'000, kMostConnections = 1'000'000;
constexpr uint64_t kMostFlowBytes = INT32_MAX; // its size is an int
constexpr float kMostStart = 1e18F;            // ps: 1,000,000 s

struct Trigger {
  enum class Kind : uint8_t { None, OneShot, MultiShot, Barrier };
  Kind kind = Kind::None;
  uint64_t count = 0;
  const CmLine *line = nullptr;    // that defines it, or first names it
  std::vector<size_t> connections; // that it starts
  std::vector<CmConnection::Activator> activators;
};

class MatrixReader {
public:
  MatrixReader(std::string_view text, const std::string &name)
      : name_(name), lines_(cm_lines(text, name)) {}

  Result<CmMatrix> read() {
    size_t at = 0;
    for (; at < lines_.size() && !is_body(lines_[at]); at++)
      XR_TRY(header(lines_[at]));
    if (!out_.nodes)
      return Error{fmt::format("{}: Nodes is missing", name_), "Nodes 16 in the first lines"};
    for (; at < lines_.size(); at++)
      XR_TRY(body(lines_[at]));
    XR_TRY(same("Connections", connections_, read_));
    XR_TRY(same("Triggers", triggers_given_, defined_));
    if (out_.connections.empty())
      return Error{fmt::format("{}: there is no connection", name_),
                   "0->1 start 0 size 1000000 below Connections 1"};
    for (auto &[id, trigger] : triggers_)
      XR_TRY(resolve(id, trigger));
    XR_TRY(sort());
    if (undefined_)
      out_.notes.push_back(
          fmt::format("{} {} no line of {} own, which the header promises: oneshot",
                      counted(undefined_, "trigger"), verb(undefined_, "has", "have"),
                      verb(undefined_, "its", "their")));
    if (rounded_)
      out_.notes.push_back(fmt::format("start of {}: rounded to whole nanoseconds",
                                       counted(rounded_, "connection")));
    if (beside_)
      out_.notes.push_back(fmt::format("{} of connections with a size, start or trigger of {} own: "
                                       "{} beside one another",
                                       counted(beside_, "more message"),
                                       verb(beside_, "its", "their"),
                                       verb(beside_, "a flow", "flows")));
    if (priorities_)
      out_.notes.push_back(fmt::format("prio of {}: without an effect here (it orders the pulls of "
                                       "NDP's receivers, and is no class of traffic)",
                                       counted(priorities_, "connection")));
    return std::move(out_);
  }

private:
  static bool is_body(const CmLine &line) {
    const std::string &word = line.words[0];
    return word.find("->") != std::string::npos || word == "trigger" || word == "failure";
  }

  Status header(const CmLine &line) {
    const std::string &key = line.words[0];
    if (key[0] == '#')
      return {};
    uint64_t *value = nullptr;
    uint64_t nodes = 0, failures = 0;
    if (key == "Nodes")
      value = &nodes;
    else if (key == "Connections")
      value = &connections_;
    else if (key == "Triggers")
      value = &triggers_given_;
    else if (key == "Failures")
      value = &failures;
    else
      return line.wrong(fmt::format("'{}' is not a key of a connection matrix", key),
                        parse::hint_from(key, {"Nodes", "Connections", "Triggers", "Failures"}));
    if (!seen_.insert(key).second)
      return line.wrong(fmt::format("{} is there twice", key), "once");
    *value = XR_TRY(line.whole(1, key, key == "Nodes" ? 2 : 0,
                               key == "Nodes" ? kMostConnectedNodes : kMostConnections));
    XR_TRY(ends(line, 2));
    if (value == &nodes)
      out_.nodes = static_cast<uint32_t>(nodes);
    return {};
  }

  Status ends(const CmLine &line, size_t count) const {
    if (line.words.size() <= count)
      return {};
    return line.wrong(fmt::format("unexpected '{}'", line.words[count]), "remove it");
  }

  Status body(const CmLine &line) {
    const std::string &word = line.words[0];
    if (word.find("->") != std::string::npos)
      return connection(line);
    if (word == "trigger")
      return trigger(line);
    if (word == "failure")
      return line.wrong("failure: a link that fails is not read",
                        "leave it out, and add schedule: [{at: 0s, do: \"link A-B down\"}] to "
                        "the experiment");
    if (word[0] == '#')
      return line.wrong("a comment below the first connection",
                        "htsim reads comments in the first lines only");
    return line.wrong(fmt::format("'{}' is not a connection", word),
                      "SRC->DST start PS size BYTES, or trigger id ID oneshot");
  }

  Result<uint32_t> host(const CmLine &line, const std::string &word, std::string_view what) const {
    const CmLine one{line.file, line.number, {word}};
    return static_cast<uint32_t>(XR_TRY(one.whole(0, what, 0, out_.nodes - 1)));
  }

  Status connection(const CmLine &line) {
    const std::string &pair = line.words[0];
    const size_t arrow = pair.find("->");
    CmConnection made;
    made.src = XR_TRY(host(line, pair.substr(0, arrow), "the source"));
    made.dst = XR_TRY(host(line, pair.substr(arrow + 2), "the destination"));
    if (made.src == made.dst)
      return line.wrong(fmt::format("a connection from host {} to itself", made.src),
                        "two different hosts");
    const size_t number = out_.connections.size();
    uint64_t waits_for = 0, id = 0;
    bool message = false;
    read_++;
    std::set<std::string> seen;
    for (size_t i = 1; i < line.words.size(); i++) {
      const std::string &key = line.words[i];
      if (!seen.insert(key).second)
        return line.wrong(fmt::format("{} is there twice", key), "once");
      if (key == "start") {
        made.start_ns = XR_TRY(start(line, ++i));
      } else if (key == "size") {
        made.bytes = XR_TRY(line.whole(++i, key, 0, kMostFlowBytes));
      } else if (key == "id") {
        id = XR_TRY(line.whole(++i, key, 1, UINT32_MAX));
      } else if (key == "trigger") {
        waits_for = XR_TRY(line.whole(++i, key, 1, UINT32_MAX));
      } else if (key == "send_done_trigger" || key == "recv_done_trigger") {
        // 0 is none there.
        if (const uint64_t of = XR_TRY(line.whole(++i, key, 0, UINT32_MAX)))
          named(of, line).activators.push_back({number, key == "recv_done_trigger"});
      } else if (key == "prio") {
        XR_TRY(line.whole(++i, key, 0, UINT32_MAX));
        priorities_++;
      } else if (key == "msg") {
        message = true;
        if (i + 1 < line.words.size() && parse::integer(line.words[i + 1], 1, UINT32_MAX))
          i++; // its number, which has no effect
      } else if (key == "addon") {
        return line.wrong("addon: a flow that a trigger makes longer is not here",
                          "a connection of its own, with `trigger ID`");
      } else {
        return line.wrong(fmt::format("'{}' is not a word of a connection", key),
                          parse::hint_from(key, {"start", "size", "id", "trigger", "prio",
                                                 "send_done_trigger", "recv_done_trigger"}));
      }
    }
    if (seen.contains("start") == seen.contains("trigger"))
      return line.wrong(seen.contains("start") ? "both start and trigger are given"
                                               : "neither start nor trigger is given",
                        "start 0, or trigger ID");
    if (!seen.contains("size"))
      return line.wrong("size is missing", "size BYTES; 0: it never ends");
    if (waits_for && !id)
      return line.wrong("a connection with a trigger has no id", "id N, from 1 on");
    if (message && !id)
      return line.wrong("a message has no id of its connection", "id N, from 1 on");
    made.name = id ? fmt::format("id-{}", id) : "";
    const auto known = ids_.find(id);
    if (id && known != ids_.end()) {
      CmConnection &before = out_.connections[known->second.connection];
      if (!message || !known->second.messages)
        return line.wrong(fmt::format("there are two connections with id {}", id),
                          "each has an id of its own; messages of one have `msg`");
      if (before.src != made.src || before.dst != made.dst)
        return line.wrong(fmt::format("the messages of connection {} are of two pairs", id),
                          "one source and one destination");
      known->second.messages++;
      if (seen == known->second.keys && before.bytes == made.bytes &&
          before.start_ns == made.start_ns && !seen.contains("trigger") &&
          !seen.contains("send_done_trigger") && !seen.contains("recv_done_trigger")) {
        before.messages++;
        return {};
      }
      beside_++;
      made.name += fmt::format(".{}", known->second.messages);
    } else if (id) {
      ids_[id] = {number, message ? 1U : 0U, {seen.begin(), seen.end()}};
    }
    if (waits_for)
      named(waits_for, line).connections.push_back(number);
    out_.connections.push_back(std::move(made));
    return {};
  }

  // It reads them as float too.
  Result<uint64_t> start(const CmLine &line, size_t index) {
    const std::string word = index < line.words.size() ? line.words[index] : "";
    float ps = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), ps);
    if (wrong != std::errc() || end != word.data() + word.size() || !(ps >= 0 && ps <= kMostStart))
      return line.wrong(fmt::format("start: '{}' is not a time in picoseconds", word),
                        "like 1000000, which is a microsecond");
    const double ns = static_cast<double>(ps) / 1000;
    rounded_ += ns != std::floor(ns);
    return static_cast<uint64_t>(std::llround(ns));
  }

  Status trigger(const CmLine &line) {
    Trigger made;
    uint64_t id = 0;
    bool counted = false;
    const std::map<std::string_view, Trigger::Kind> kinds = {
        {"oneshot", Trigger::Kind::OneShot},
        {"multishot", Trigger::Kind::MultiShot},
        {"barrier", Trigger::Kind::Barrier}};
    for (size_t i = 1; i < line.words.size(); i++) {
      const std::string &key = line.words[i];
      if (key == "id" && !id) {
        id = XR_TRY(line.whole(++i, key, 1, UINT32_MAX));
      } else if (key == "count" && !counted) {
        made.count = XR_TRY(line.whole(++i, key, 0, kMostConnections));
        counted = true;
      } else if (kinds.contains(key) && made.kind == Trigger::Kind::None) {
        made.kind = kinds.at(key);
      } else {
        return line.wrong(fmt::format("unexpected '{}'", key), "like trigger id 1 oneshot");
      }
    }
    if (!id || made.kind == Trigger::Kind::None)
      return line.wrong(id ? "the trigger has no kind" : "the trigger has no id",
                        "like trigger id 1 oneshot");
    if (made.kind == Trigger::Kind::Barrier && !made.count)
      return line.wrong("a barrier has no count", "count N, from 1 on");
    Trigger &known = named(id, line);
    if (known.kind != Trigger::Kind::None)
      return line.wrong(fmt::format("trigger {} is there twice", id), "each has an id of its own");
    known.kind = made.kind;
    known.count = made.count;
    known.line = &line;
    defined_++;
    return {};
  }

  Trigger &named(uint64_t id, const CmLine &line) {
    Trigger &trigger = triggers_[id];
    if (!trigger.line)
      trigger.line = &line;
    return trigger;
  }

  // Some of its simulators read a file with fewer than its header says.
  Status same(const char *key, uint64_t given, size_t count) {
    const std::string text =
        fmt::format("{}: {} is {}, and there are {}", name_, key, given, count);
    if (given < count)
      return Error{text, fmt::format("{} {}", key, count)};
    if (given > count)
      out_.notes.push_back(text);
    return {};
  }

  // What its connections wait for. The n-th shot of a multishot starts the n-th of them.
  Status resolve(uint64_t id, Trigger &trigger) {
    const CmLine &line = *trigger.line;
    if (trigger.kind == Trigger::Kind::None && triggers_given_ <= defined_)
      return line.wrong(fmt::format("there is no trigger {}", id),
                        fmt::format("trigger id {} oneshot, and one more in Triggers", id));
    undefined_ += trigger.kind == Trigger::Kind::None;
    if (trigger.connections.empty()) {
      out_.notes.push_back(
          fmt::format("trigger {} starts no connection: without an effect here", id));
      return {};
    }
    const size_t times = trigger.activators.size();
    if (trigger.kind == Trigger::Kind::OneShot && times > 1)
      out_.notes.push_back(fmt::format(
          "trigger {}: the first of its {} activators starts its connections; htsim stops at the "
          "second one",
          id, times));
    uint64_t shot = 0;
    for (const size_t number : trigger.connections) {
      CmConnection &waits = out_.connections[number];
      shot++;
      waits.fewest = trigger.kind == Trigger::Kind::Barrier     ? trigger.count
                     : trigger.kind == Trigger::Kind::MultiShot ? shot
                                                                : 1;
      if (waits.fewest > times)
        return line.wrong(fmt::format("trigger {} happens {} times, and {} waits for {}", id, times,
                                      waits.name, waits.fewest),
                          "more connections with send_done_trigger or recv_done_trigger of it");
      waits.after = trigger.activators;
    }
    for (const CmConnection::Activator &activator : trigger.activators)
      if (!out_.connections[activator.connection].bytes)
        return line.wrong(fmt::format("trigger {} waits for a connection of size 0, which never "
                                      "ends",
                                      id),
                          "a size from 1 on");
    for (const CmConnection::Activator &activator : trigger.activators)
      out_.connections[activator.connection].activates = true;
    return {};
  }

  Status sort() {
    const size_t count = out_.connections.size();
    std::vector<size_t> missing(count), order;
    std::vector<std::vector<size_t>> followers(count);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < count; i++) {
      missing[i] = out_.connections[i].after.size();
      for (const CmConnection::Activator &activator : out_.connections[i].after)
        followers[activator.connection].push_back(i);
      if (!missing[i])
        ready.push(i);
    }
    std::vector<size_t> place(count);
    while (!ready.empty()) {
      const size_t next = ready.top();
      ready.pop();
      place[next] = order.size();
      order.push_back(next);
      for (const size_t follower : followers[next])
        if (--missing[follower] == 0)
          ready.push(follower);
    }
    if (order.size() < count)
      return Error{
          fmt::format("{}: {} connections wait for one another", name_, count - order.size()),
          "one of them needs a start"};
    std::vector<CmConnection> sorted;
    for (const size_t number : order) {
      sorted.push_back(std::move(out_.connections[number]));
      for (CmConnection::Activator &activator : sorted.back().after)
        activator.connection = place[activator.connection];
      if (sorted.back().name.empty())
        sorted.back().name = fmt::format("flow-{}", sorted.size());
    }
    out_.connections = std::move(sorted);
    return {};
  }

  std::string name_;
  std::vector<CmLine> lines_;
  CmMatrix out_;
  std::map<uint64_t, Trigger> triggers_; // by id
  std::set<std::string> seen_;           // keys of the header
  struct Known {
    size_t connection = 0;      // index of the first
    unsigned messages = 0;      // 0: it is without `msg`
    std::set<std::string> keys; // of the first
  };
  std::map<uint64_t, Known> ids_;
  uint64_t connections_ = 0, triggers_given_ = 0;
  size_t read_ = 0, defined_ = 0, rounded_ = 0, priorities_ = 0;
  size_t undefined_ = 0; // triggers
  size_t beside_ = 0;    // messages that are flows of their own
};

} // namespace

Result<CmMatrix> read_cm_matrix(std::string_view text, const std::string &name) {
  return MatrixReader(text, name).read();
}

} // namespace xr::importers
