// SPDX-License-Identifier: Apache-2.0
// Tunnels that were taken off, and the mirror sessions that sent their frames.
#include "report/tunnels.h"

#include <algorithm>
#include <array>

#include "names/names.h"
#include "report/sampled_mirrors.h"
#include "report/sections.h"
#include "report/stream_columns.h"

namespace xr::report {

namespace {

constexpr std::array<const char *, ROCE_TUNNELS> kHeadings = {
    "ERSPAN", "GRE", "VXLAN", "GENEVE", "MPLS", "IP in IP", "VLAN in VLAN"};
constexpr std::array<const char *, ROCE_TUNNELS> kKnownBy = {
    "GRE 0x88BE, 0x22EB",    "IP protocol 47",    "UDP 4789",    "UDP 6081",
    "EtherType 0x8847, ...", "IP protocol 4, 41", "several tags"};

Section frames_in_tunnels(const Snapshot &s) {
  Group group;
  for (size_t i = 0; i < kHeadings.size(); i++)
    group.push_back(count(names::tunnel_names()[i].c_str(), kHeadings[i], s.totals.tunnels[i]));
  group.push_back(lost("truncated", "cut by the mirror", s.totals.truncated));
  group.push_back(lost("not_ect_in_ce", "not ECT in CE: dropped where the tunnel ends",
                       s.totals.not_ect_in_ce));
  return {"tunnels", "FRAMES IN TUNNELS", std::move(group), Where::Both, Hide::Zero};
}

std::vector<Value> mirror_row(const roce_mirror &m, Value sampled) {
  const uint64_t skipped = m.skipped, late = m.late;
  return {names::tunnel_names()[m.tunnel % ROCE_TUNNELS],
          names::address(m.src),
          names::address(m.dst),
          uint64_t{m.id},
          uint64_t{roce_mirror_frames(&m)},
          m.next ? Value{skipped - late} : Value{},
          uint64_t{m.gaps},
          late,
          uint64_t{m.repeated},
          uint64_t{m.restarts},
          uint64_t{m.truncated},
          uint64_t{m.claimed},
          std::move(sampled)};
}

Section mirrors_of(const Snapshot &s) {
  const auto quiet = [](const char *key, const char *heading) {
    return Column{key, heading, Format::Count, Hide::Zero};
  };
  std::vector<Column> columns = {{"tunnel", "MIRROR"},
                                 {"src", "SOURCE"},
                                 {"dst", "DESTINATION"},
                                 {"session", "SESSION", Format::Number},
                                 {"frames", "FRAMES", Format::Count},
                                 {"lost", "LOST", Format::Count, Hide::Never, Tone::Alarm},
                                 quiet("gaps", "GAPS"),
                                 quiet("late", "LATE"),
                                 quiet("repeated", "REPEATED"),
                                 quiet("restarts", "RESTARTS"),
                                 quiet("truncated", "CUT"),
                                 quiet("missing_psns", "MISSING\nPSNS"),
                                 {"sampled", "LOOKS\nSAMPLED", Format::Text, Hide::Zero}};
  const std::vector<bool> sampled = sampled_mirrors(s);
  std::vector<std::vector<Value>> rows;
  rows.reserve(s.mirrors.size());
  for (size_t i = 0; i < s.mirrors.size(); i++) {
    const bool known = s.mirrors[i].next && !s.streams.empty();
    rows.push_back(mirror_row(s.mirrors[i], known ? Value{bool{sampled[i]}} : Value{}));
  }
  Section section{"mirrors", "", make_table(std::move(columns), std::move(rows))};
  section.note = "no mirror sessions";
  return section;
}

// For captures without --decap.
Section hidden_tunnels_of(const Snapshot &s) {
  std::vector<std::vector<Value>> rows;
  for (size_t i = 0; i < ROCE_TUNNELS; i++) {
    const HiddenTunnel &hidden = s.hidden_tunnels[i];
    if (!hidden.frames)
      continue;
    rows.push_back({names::tunnel_names()[i], std::string(kHeadings[i]), std::string(kKnownBy[i]),
                    hidden.frames, hidden.roce, hidden.unknown,
                    hidden.roce + hidden.unknown ? Value{std::string("--decap auto")} : Value{}});
  }
  const Where where = rows.empty() ? Where::Json : Where::Both;
  return {"hidden_tunnels", "TUNNELS THAT ARE NOT TAKEN OFF",
          make_table({{"tunnel", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                      {"name", "FRAMES ARE"},
                      {"known_by", "KNOWN BY"},
                      {"frames", "FRAMES", Format::Count},
                      {"roce", "ROCE\nINSIDE", Format::Count, Hide::Never, Tone::Alarm},
                      {"unknown", "INSIDE\nUNKNOWN", Format::Count, Hide::Zero},
                      {"option", "TO COUNT WHAT\nIS INSIDE"}},
                     std::move(rows)),
          where};
}

} // namespace

const std::vector<Column> &missing_columns() {
  static const std::vector<Column> kColumns = {
      {"missing_network", "MISSING:\nNETWORK", Format::Count, Hide::Never, Tone::Alarm},
      {"missing_mirror", "\nMIRROR", Format::Count, Hide::Zero},
      {"missing_unknown", "\nUNKNOWN", Format::Count, Hide::Zero}};
  return kColumns;
}

MissingPsns::MissingPsns(const Snapshot &snapshot)
    : snapshot_(snapshot), sampled_(sampled_streams(snapshot, sampled_mirrors(snapshot))) {}

Value MissingPsns::cell(uint32_t place, size_t column) const {
  const Snapshot &s = snapshot_;
  const uint64_t missing = missing_psns(s.streams[place]);
  const roce_mirrored none{}, &is = place < s.mirrored.size() ? s.mirrored[place] : none;
  const bool sampled = place < sampled_.size() && sampled_[place];
  const uint64_t mirror = std::min<uint64_t>(is.mirror, missing),
                 network = sampled ? 0 : std::min<uint64_t>(is.network, missing - mirror);
  return column == 0 ? network : column == 1 ? mirror : missing - mirror - network;
}

void add_tunnels(Document &document, const Snapshot &snapshot) {
  if (!snapshot.decap) {
    if (snapshot.source == Snapshot::Source::Capture)
      document.sections.push_back(hidden_tunnels_of(snapshot));
    return;
  }
  document.sections.push_back(frames_in_tunnels(snapshot));
  document.sections.push_back(mirrors_of(snapshot));
}

} // namespace xr::report
