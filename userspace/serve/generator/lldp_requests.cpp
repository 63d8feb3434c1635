// SPDX-License-Identifier: Apache-2.0
// LLDP of the ports of a configuration, and what requests ask of it.
#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "generator/generator.h"
#include "packet/frame.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

constexpr uint64_t kShutdownPatienceNs = 200'000'000, kShutdownPollNs = 5'000'000;
constexpr uint8_t kIpv4Family = 1, kIpv6Family = 2; // IANA's address family numbers

std::vector<uint8_t> bytes_of_text(const std::string &text) { return {text.begin(), text.end()}; }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && *name ? name : "xdp-roce";
}

station::LldpId lldp_id(const otg::LldpId &given, bool chassis,
                        const std::vector<uint8_t> &automatic) {
  constexpr uint8_t kChassis[] = {station::kLldpChassisMac, station::kLldpChassisInterfaceName,
                                  station::kLldpChassisLocal},
                    kPort[] = {station::kLldpPortMac, station::kLldpPortInterfaceName,
                               station::kLldpPortLocal};
  return {(chassis ? kChassis : kPort)[static_cast<size_t>(given.kind)],
          given.value.value_or(automatic)};
}

std::string digits_of(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

// An address of a family, or its digits.
std::string address_of(uint8_t family, std::span<const uint8_t> bytes) {
  Address address{};
  auto *const to = reinterpret_cast<uint8_t *>(address.data());
  if (family == kIpv4Family && bytes.size() == 4) {
    address[2] = ROCE_MAPPED_PREFIX;
    std::ranges::copy(bytes, to + 12);
    return parse::address_text(address);
  }
  if (family == kIpv6Family && bytes.size() == 16) {
    std::ranges::copy(bytes, to);
    return parse::address_text(address);
  }
  return digits_of(bytes);
}

// Bytes that are no text are shown as hexadecimal digits.
std::string id_text(const station::LldpId &id, uint8_t mac, uint8_t network) {
  packet::Mac address{};
  if (id.subtype == mac && id.value.size() == address.size()) {
    std::ranges::copy(id.value, address.begin());
    return packet::mac_text(address);
  }
  if (id.subtype == network)
    return address_of(id.value[0], std::span(id.value).subspan(1));
  const bool text =
      std::ranges::all_of(id.value, [](uint8_t byte) { return byte >= ' ' && byte < 127; });
  return text ? std::string(id.value.begin(), id.value.end()) : digits_of(id.value);
}

// By the subtypes of the TLVs, from 1.
constexpr const char *kChassisTypes[] = {
    "chassis_component", "interface_alias", "port_component", "mac_address",
    "network_address",   "interface_name",  "local"};
constexpr const char *kPortTypes[] = {
    "interface_alias", "port_component",   "mac_address", "network_address",
    "interface_name",  "agent_circuit_id", "local"};
constexpr uint8_t kChassisNetwork = 5, kPortNetwork = 4;
// By bit.
constexpr const char *kCapabilityNames[] = {
    "other",  "repeater",  "mac_bridge",          "wlan_access_point",
    "router", "telephone", "docsis_cable_device", "station_only",
    "c_vlan", "s_vlan",    "two_port_mac_relay"};

Json capability_rows(const station::LldpCapabilities &capabilities) {
  Json rows = Json::array();
  for (size_t bit = 0; bit < std::size(kCapabilityNames); bit++)
    if (capabilities.has >> bit & 1)
      rows.push_back({{"capability_name", kCapabilityNames[bit]},
                      {"capability_enabled", (capabilities.enabled >> bit & 1) != 0}});
  return rows;
}

Json custom_rows(const std::vector<station::LldpOrganisation> &organisations) {
  Json rows = Json::array();
  for (const station::LldpOrganisation &each : organisations)
    rows.push_back({{"custom_type", 127},
                    {"oui", digits_of(each.oui)},
                    {"oui_subtype", each.subtype},
                    {"information", digits_of(each.information)}});
  return rows;
}

Json neighbour_row(const station::LldpNeighbour &neighbour, uint64_t now) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const station::LldpInformation &from = neighbour.information;
  Json row = {{"neighbor_id", std::to_string(neighbour.number)},
              {"chassis_id", id_text(from.chassis, station::kLldpChassisMac, kChassisNetwork)},
              {"port_id", id_text(from.port, station::kLldpPortMac, kPortNetwork)},
              {"ttl", from.ttl_s},
              {"age", now > neighbour.since_ns ? (now - neighbour.since_ns) / kSecond : 0},
              {"last_update", now > neighbour.at_ns ? (now - neighbour.at_ns) / kSecond : 0}};
  if (from.chassis.subtype && from.chassis.subtype <= std::size(kChassisTypes))
    row["chassis_id_type"] = kChassisTypes[from.chassis.subtype - 1];
  if (from.port.subtype && from.port.subtype <= std::size(kPortTypes))
    row["port_id_type"] = kPortTypes[from.port.subtype - 1];
  if (from.system_name)
    row["system_name"] = *from.system_name;
  if (from.system_description)
    row["system_description"] = *from.system_description;
  if (from.port_description)
    row["port_description"] = *from.port_description;
  if (!from.management.empty()) {
    const station::LldpManagement &first = from.management.front();
    row["management_address"] = address_of(first.family, first.address);
    row["management_address_type"] = first.family == kIpv4Family   ? "ipv4"
                                     : first.family == kIpv6Family ? "ipv6"
                                                                   : std::to_string(first.family);
  }
  if (from.capabilities)
    row["capabilities"] = capability_rows(*from.capabilities);
  if (!from.organisations.empty())
    row["custom_tlvs"] = custom_rows(from.organisations);
  return row;
}

} // namespace

// What the port gives a name is shown in the configuration.
void Generator::make_lldp() {
  for (size_t i = 0; i < setup_->config.lldp.size(); i++) {
    const otg::Lldp &given = setup_->config.lldp[i];
    Json &shown = setup_->json["lldp"][i];
    Unit &unit = *setup_->units[given.port];
    station::LldpOptions options;
    options.mac = unit.run().port().mac;
    options.chassis = lldp_id(given.chassis, true, {options.mac.begin(), options.mac.end()});
    if (!given.chassis.value)
      shown["chassis_id"]["mac_address_subtype"]["auto"] = packet::mac_text(options.mac);
    options.port = lldp_id(given.port_id, false, bytes_of_text(unit.ifname()));
    if (!given.port_id.value)
      shown["port_id"]["interface_name_subtype"]["auto"] = unit.ifname();
    options.system_name = given.system_name;
    if (options.system_name && options.system_name->empty())
      shown["system_name"]["auto"] = *(options.system_name = host_name());
    for (const otg::LldpOrgInfo &each : given.org_infos)
      options.organisations.push_back({each.oui, each.subtype, each.information});
    options.hold_s = given.hold_s;
    options.interval_ns = given.interval_s * uint64_t{1'000'000'000};
    const auto &made = setup_->lldp.emplace_back(std::make_shared<station::Lldp>(options));
    unit.run().call(
        [&](station::Station &station, const EngineCounts &) { station.set_lldp(made); });
  }
}

// At a stop, waits until the shutdown LLDPDUs have left.
void Generator::set_lldp(bool on) {
  const auto &all = setup_->lldp;
  const uint64_t now = options_.now(), until = now + kShutdownPatienceNs;
  for (const auto &each : all)
    each->enable(now, on);
  const auto is_quiet = [&] {
    return std::ranges::all_of(all, [](const auto &each) { return each->is_quiet(); });
  };
  while (!on && !is_quiet() && options_.now() < until)
    options_.wait_until(options_.now() + kShutdownPollNs);
}

std::vector<size_t> Generator::choose_lldp(Object &request) const {
  const auto names = request.texts("lldp_names");
  const auto &all = setup_->config.lldp;
  std::vector<std::string_view> known;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < all.size(); i++) {
    known.emplace_back(all[i].name);
    if (names.empty() || std::ranges::find(names, all[i].name) != names.end())
      chosen.push_back(i);
  }
  for (const std::string &name : names)
    if (std::ranges::find(known, name) == known.end())
      request.error("lldp_names",
                    {fmt::format("there is no LLDP '{}'", name), parse::hint_from(name, known)});
  return chosen;
}

std::string Generator::lldp_metrics(Object &request) {
  const auto columns = request.texts("column_names");
  Json rows = Json::array();
  for (const size_t i : choose_lldp(request)) {
    const station::LldpCounts counts = setup_->lldp[i]->counts();
    const std::pair<const char *, uint64_t> values[] = {
        {"frames_rx", counts.received},          {"frames_tx", counts.sent},
        {"frames_error_rx", counts.errors},      {"frames_discard", counts.discarded},
        {"tlvs_discard", counts.tlvs_discarded}, {"tlvs_unknown", counts.tlvs_unknown}};
    Json row = {{"name", setup_->config.lldp[i].name}};
    for (const auto &[column, value] : values)
      if (columns.empty() || std::ranges::find(columns, column) != columns.end())
        row[column] = value;
    rows.push_back(std::move(row));
  }
  return rows_text(rows);
}

Json Generator::lldp_neighbours(Object &request) const {
  const auto numbers = request.texts("neighbor_id_filters");
  const uint64_t now = options_.now();
  Json rows = Json::array();
  for (const size_t i : choose_lldp(request))
    for (const station::LldpNeighbour &each : setup_->lldp[i]->neighbours(now)) {
      Json row = neighbour_row(each, now);
      row["lldp_name"] = setup_->config.lldp[i].name;
      if (numbers.empty() ||
          std::ranges::find(numbers, std::to_string(each.number)) != numbers.end())
        rows.push_back(std::move(row));
    }
  return rows;
}

} // namespace xr::generator
