// SPDX-License-Identifier: Apache-2.0
#include "report/attachments.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "base/enum_bits.h"
#include "names/names.h"
#include "report/cells.h"
#include "roce/config.h"

namespace xr::report {

namespace {

// The other port of a bridge, to which frames are forwarded.
Value peer(const PortStatus &port) {
  if (!port.peer_ifindex)
    return Value{};
  return port.peer.empty() ? Value{std::string("(gone)")} : Value{port.peer};
}

constexpr std::pair<uint32_t, const char *> kFeatures[] = {
    {ROCE_FEATURE_FORWARD, "forward"},  {ROCE_FEATURE_RULES, "rules"},
    {ROCE_FEATURE_EVENTS, "events"},    {ROCE_FEATURE_EDIT, "edit"},
    {ROCE_FEATURE_CNP, "cnp"},          {ROCE_FEATURE_CLONE, "clone"},
    {ROCE_FEATURE_SOCKETS, "sockets"},  {ROCE_FEATURE_CAPTURE, "capture"},
    {ROCE_FEATURE_PASSING, "passing"},  {ROCE_FEATURE_HOLD, "hold"},
    {ROCE_FEATURE_NEXT, "next"},        {ROCE_FEATURE_DECAP, "decap"},
    {ROCE_FEATURE_FOLLOW, "follow"},    {ROCE_FEATURE_TIME, "latency"},
    {ROCE_FEATURE_CLASSES, "classes"},  {ROCE_FEATURE_JOB, "job"},
    {ROCE_FEATURE_NIC_TIME, "nic_time"}};

// SKIP has no name: it is how FOLLOW and TIME are done, and nobody can ask for it.
constexpr bool has_all_features() {
  uint32_t bits = ROCE_FEATURE_SKIP;
  for (const auto &[bit, name] : kFeatures) {
    if (!std::has_single_bit(bit) || bits & bit)
      return false;
    bits |= bit;
  }
  return bits == named_bits<roce_feature>();
}
static_assert(has_all_features(), "every bit of enum roce_feature has one name");

// The enabled features of the program besides counting.
StringList features(const PortStatus &port) {
  StringList names;
  for (const auto &[bit, name] : kFeatures)
    if (port.features & bit)
      names.emplace_back(name);
  return names;
}

StringList tunnels(const PortStatus &port) {
  StringList names;
  for (size_t i = 0; i < names::tunnel_names().size(); i++)
    if (port.decap >> i & 1)
      names.push_back(names::tunnel_names()[i]);
  return names;
}

// Unknown if our program does not run there.
Value ours(const PortStatus &port, Value value) {
  return port.program_id ? std::move(value) : Value{};
}

// Unknown too if the maps have another layout.
Value readable(const PortStatus &port, Value value) {
  return port.state == AttachState::OtherAbi ? Value{} : ours(port, std::move(value));
}

StringList programs(const PortStatus &port) {
  StringList names;
  for (const HookProgram &program : port.programs)
    names.push_back(program.name.empty() ? "?" : program.name);
  return names;
}

Value attached_since(const PortStatus &port) {
  return port.since_ns ? Value{names::utc_time(port.since_ns)} : Value{};
}

Value mode(const PortStatus &port) {
  return port.programs.empty() ? Value{} : Value{std::string(mode_name(port.mode))};
}

struct PortColumn {
  Column column;
  Value (*value)(const PortStatus &);
};

const std::vector<PortColumn> &port_columns() {
  using P = const PortStatus &;
  static const std::vector<PortColumn> kColumns = {
      {{"interface", "INTERFACE"}, [](P p) -> Value { return p.ifname; }},
      {json_only("ifindex"), [](P p) -> Value { return uint64_t{p.ifindex}; }},
      {{"netns", "NETNS", Format::Text, Hide::Zero}, [](P p) -> Value { return known(p.netns); }},
      {json_only("netns_inode"), [](P p) -> Value { return p.netns_inode; }},
      {{"state", "STATE"}, [](P p) -> Value { return std::string(state_name(p.state)); }},
      {{"mode", "MODE"}, mode},
      {json_only("since"), attached_since},
      {{"since_local", "SINCE", Format::Text, Hide::Never, Tone::Plain, Where::Text},
       [](P p) -> Value { return p.since_ns ? Value{local_date_time(p.since_ns)} : Value{}; }},
      {{"program_id", "PROGRAM\nID", Format::Number},
       [](P p) -> Value { return ours(p, uint64_t{p.program_id}); }},
      {{"hook_programs", "PROGRAMS\nON HOOK", Format::Number},
       [](P p) -> Value { return uint64_t{p.programs.size()}; }},
      {json_only("hook_program_names"), [](P p) -> Value { return programs(p); }},
      {{"dispatcher", "DIS-\nPATCHER", Format::Text, Hide::Zero},
       [](P p) -> Value { return p.dispatcher; }},
      {json_only("alone_because"), [](P p) -> Value { return known(p.alone); }},
      {{"udp_port", "UDP\nPORT", Format::Number},
       [](P p) -> Value { return readable(p, uint64_t{p.udp_port}); }},
      {json_only("tracked"), [](P p) -> Value { return readable(p, p.track); }},
      {json_only("frags"), [](P p) -> Value { return readable(p, p.frags); }},
      {{"bridged_with", "BRIDGED\nWITH", Format::Text, Hide::Zero}, peer},
      {{"shared_with", "SHARED\nWITH", Format::Text, Hide::Zero},
       [](P p) -> Value { return StringList(p.shared_with); }},
      {json_only("link"), [](P p) -> Value { return std::string(p.running ? "up" : "down"); }},
      {{"link_down", "LINK", Format::Text, Hide::Zero, Tone::Alarm, Where::Text},
       [](P p) -> Value {
         return p.program_id && !p.running ? Value{std::string("down")} : Value{};
       }},
      {{"features", "FEATURES", Format::Text, Hide::Zero},
       [](P p) -> Value { return readable(p, features(p)); }},
      {{"decap", "TUNNELS\nTAKEN OFF", Format::Text, Hide::Zero},
       [](P p) -> Value { return readable(p, tunnels(p)); }},
      {{"streams", "STREAMS", Format::Count},
       [](P p) -> Value { return readable(p, uint64_t{p.streams_used}); }},
      {{"stream_capacity", "OF", Format::Count},
       [](P p) -> Value { return readable(p, uint64_t{p.streams_capacity}); }},
      {{"pairs", "QP\nPAIRS", Format::Count, Hide::Zero},
       [](P p) -> Value {
         return readable(p, uint64_t{std::max(p.follows_used, p.timings_used)});
       }},
      {{"pair_capacity", "OF", Format::Count, Hide::Zero},
       [](P p) -> Value { return readable(p, uint64_t{p.pairs_capacity}); }},
      {{"map_bytes", "MAP\nBYTES", Format::Scaled},
       [](P p) -> Value { return ours(p, uint64_t{p.map_bytes}); }},
      {{"abi", "ABI", Format::Number}, [](P p) -> Value { return ours(p, uint64_t{p.abi}); }},
  };
  return kColumns;
}

Document begin_attachments() {
  Document document;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  return document;
}

} // namespace

Document attachments_report(const std::vector<PortStatus> &ports) {
  std::vector<Column> columns;
  columns.reserve(port_columns().size());
  for (const PortColumn &column : port_columns())
    columns.push_back(column.column);
  std::vector<std::vector<Value>> rows;
  for (const PortStatus &port : ports) {
    rows.emplace_back();
    for (const PortColumn &column : port_columns())
      rows.back().push_back(column.value(port));
  }
  Document document = begin_attachments();
  document.sections.push_back({"attachments", "", make_table(std::move(columns), std::move(rows))});
  document.sections.back().note = "nothing is attached";
  return document;
}

Document detached_report(const std::vector<DetachReport> &reports) {
  std::vector<std::vector<Value>> rows;
  rows.reserve(reports.size());
  for (const DetachReport &detach_report : reports)
    rows.push_back({detach_report.ifname, known(detach_report.netns), detach_report.notes});
  Document document = begin_attachments();
  document.sections.push_back(
      {"detached", "",
       make_table({{"interface", "DETACHED"},
                   {"netns", "NETNS", Format::Text, Hide::Zero},
                   {"notes", "", Format::Text, Hide::Never, Tone::Plain, Where::Json}},
                  std::move(rows))});
  document.sections.back().note = "nothing was attached";
  return document;
}

} // namespace xr::report
