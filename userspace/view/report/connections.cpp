// SPDX-License-Identifier: Apache-2.0
#include "report/connections.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "names/names.h"
#include "report/cells.h"

namespace xr::report {
namespace {

constexpr std::array<const char *, 6> kStates = {"requested", "accepted", "established",
                                                 "rejected",  "ending",   "ended"};
constexpr std::array<const char *, 4> kTransports = {"RC", "UC", "RD", "other"};
// The IP service of RDMA CM (annex A11): TCP port space.
constexpr uint64_t kTcpService = 0x0000000001060000, kPortMask = 0xffff;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

std::string service_text(const ConnectionRow &row) {
  if (!row.requested)
    return "-";
  if ((row.service_id & ~kPortMask) == kTcpService)
    return fmt::format("tcp/{}", row.service_id & kPortMask);
  return fmt::format("{:#018x}", row.service_id);
}

// From the RTU, or else the first message, to the end of the capture or of the connection.
Value age_of(const ConnectionRow &row, uint64_t end_ns) {
  const bool over =
      row.state == ConnectionRow::State::Ended || row.state == ConnectionRow::State::Rejected;
  const uint64_t from = row.established_ns ? row.established_ns : row.first_ns;
  const uint64_t to = over ? row.last_ns : end_ns;
  return to >= from ? Value{std::round(static_cast<double>(to - from) / 1e6) / 1e3} : Value{};
}

std::vector<Value> cells_of(const ConnectionRow &row, uint64_t end_ns) {
  const auto of_req = [&](uint64_t value) { return row.requested ? Value{value} : Value{}; };
  const std::string state = kStates[static_cast<size_t>(row.state)];
  return {names::address(row.active.address.data()),
          known(row.active.qp),
          names::address(row.passive.address.data()),
          known(row.passive.qp),
          row.requested ? Value{uint64_t{row.service_id}} : Value{},
          service_text(row),
          row.requested ? Value{std::string(kTransports[row.transport & 3])} : Value{},
          row.requested ? known(row.pmtu) : Value{},
          of_req(row.retries),
          of_req(row.rnr_retries),
          of_req(row.cm_retries),
          state,
          row.reason ? Value{names::cm_reason_name(row.reason)} : Value{},
          age_of(row, end_ns),
          row.messages,
          row.again,
          row.mras,
          row.laps,
          row.active.qp ? Value{uint64_t{row.active.psn}} : Value{},
          row.passive.qp ? Value{uint64_t{row.passive.psn}} : Value{},
          known(row.active.id),
          known(row.passive.id),
          std::string(row.v1 ? "v1" : "v2")};
}

std::vector<Column> columns() {
  const auto json = [](const char *key, Format format = Format::Count) {
    return Column{key, "", format, Hide::Never, Tone::Plain, Where::Json};
  };
  return {{"active", "ACTIVE"},
          {"active_qp", "QP", Format::Qpn},
          {"passive", "PASSIVE"},
          {"passive_qp", "QP", Format::Qpn},
          json("service_id"),
          {"service", "SERVICE", Format::Text, Hide::Never, Tone::Plain, Where::Text},
          {"transport", "TRANSPORT"},
          {"pmtu", "PMTU", Format::Number},
          {"retries", "RETRIES", Format::Number},
          {"rnr_retries", "RNR", Format::Number},
          json("cm_retries"),
          {"state", "STATE"},
          {"reason", "REASON", Format::Text, Hide::Zero},
          {"age_s", "AGE s", Format::Number},
          {"mads", "MADS", Format::Count},
          {"mads_again", "AGAIN", Format::Count, Hide::Zero, Tone::Alarm},
          {"mras", "MRA", Format::Count, Hide::Zero},
          {"laps", "LAP", Format::Count, Hide::Zero},
          json("active_psn"),
          json("passive_psn"),
          json("active_id"),
          json("passive_id"),
          {"version", "ROCE"}};
}

} // namespace

void add_connections(Document &document, const Connections &c) {
  std::vector<std::vector<Value>> rows;
  for (const ConnectionRow &row : c.rows)
    rows.push_back(cells_of(row, c.end_ns));
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (unsigned kind = 0; kind < Connections::kKinds; kind++)
      names.push_back(names::cm_message_name(Connections::kFirstKind + kind));
    return names;
  }();
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> keys;
    for (const std::string &name : kNames)
      keys.push_back(lower(name));
    return keys;
  }();
  Group group;
  for (size_t kind = 0; kind < Connections::kKinds; kind++)
    group.push_back(count(kKeys[kind].c_str(), kNames[kind].c_str(), c.messages[kind]));
  group.push_back(lost("again", "of them seen before", c.again));
  group.push_back(lost("sidr_refused", "SIDR_REP with a status", c.sidr_refused));
  group.push_back(count("unmatched", "of connections that began before", c.unmatched));
  group.push_back(lost("rows_full", "of connections without a row: too many", c.rows_full));
  group.push_back(lost("cut", "cut by the capture", c.cut));
  document.sections.push_back({"connections", "", make_table(columns(), std::move(rows))});
  Section messages{"cm_messages", "RDMA CM MESSAGES", std::move(group)};
  messages.hide = Hide::Zero;
  document.sections.push_back(std::move(messages));
}

Document connections_report(const std::vector<std::string> &ports, double seconds,
                            const Connections &connections) {
  Document document;
  std::string names;
  for (const std::string &port : ports)
    names += " " + port;
  document.title = fmt::format("connections{}  {:.2f} s", names, seconds);
  auto &s = document.sections;
  s.push_back({"schema", "", Value{uint64_t{1}}, Where::Json});
  s.push_back({"source", "",
               Group{{{"kind", ""}, std::string("interface")}, {{"name", ""}, names.substr(1)}},
               Where::Json});
  s.push_back({"seconds", "", Value{std::round(seconds * 1000) / 1000}, Where::Json});
  add_connections(document, connections);
  return document;
}

} // namespace xr::report
