// SPDX-License-Identifier: Apache-2.0
#include "importers/otg_export_flow.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "otg/config.h"
#include "otg/dcqcn.h"
#include "otg/words.h"
#include "parse/value.h"

namespace xr::importers {

namespace {

using congestion::Control;
using congestion::DcqcnParameters;
using congestion::Rate;
using otg::Json;

constexpr double kFraming = 24; // FCS, preamble and gap
// Of a full packet that is neither the first nor the last: Ethernet, IPv4, UDP, BTH, iCRC.
constexpr double kFlowHeaders = 14 + 20 + 8 + 12 + 4;
constexpr uint32_t kPmtus[] = {256, 512, 1024, 2048, 4096};

Error no(const std::string &what, const std::string &hint = {}) {
  return {fmt::format("OTG has no {}", what), hint};
}

// Words that OTG has, or that were refused or noted, are taken out: what is left has no equivalent.
std::string words_without_equivalent(flow::Flow flow) {
  const flow::Flow plain;
  flow.name.clear();
  flow.path.tos = plain.path.tos;
  if (flow.port == flow::PortChoice::Fixed)
    flow.port = plain.port;
  flow.verb = plain.verb;
  flow.qp = plain.qp;
  flow.src_qp.reset();
  flow.qps = plain.qps;
  flow.size = plain.size;
  flow.pmtu = plain.pmtu;
  flow.frame_size = flow.extra_pad = 0;
  flow.messages = plain.messages;
  flow.duration_ns = 0;
  flow.psn.reset();
  flow.ack_every = 0;
  flow.pacing.rate = {};
  flow.control = {};
  flow.va = plain.va;
  flow.rkey = plain.rkey;
  flow.immediate = plain.immediate;
  flow.seed = plain.seed;
  return flow.text();
}

Status possible(const simulate::FlowSetup &setup) {
  const flow::Flow &flow = setup.flow;
  if (!setup.reliable)
    return no("flows without a reliable connection", "reliable: true");
  if (!setup.after.empty())
    return no("flows that start after others", "a flow without after");
  if (flow.messages)
    return Error{fmt::format("OTG's flows do not end: messages {}", flow.messages),
                 "a flow without messages, which ends when it is stopped"};
  if (const std::string words = words_without_equivalent(flow); !words.empty())
    return no(fmt::format("'{}'", words), "a flow without these words");
  return {};
}

Result<Json> verb_of(const flow::Flow &flow) {
  using packet::Verb;
  constexpr Verb kOurs[] = {Verb::Write, Verb::WriteImmediate, Verb::Send, Verb::SendImmediate,
                            Verb::Read}; // in the order of otg::Verb
  const auto at = std::ranges::find(kOurs, flow.verb);
  if (at == std::end(kOurs))
    return no(std::string(packet::verb_name(flow.verb)), "write, write-imm, send, send-imm, read");
  const auto verb = static_cast<otg::Verb>(at - std::begin(kOurs));
  const std::string word(otg::kVerbs[static_cast<size_t>(verb)]);
  Json made = {{"choice", word}};
  if (verb == otg::Verb::WriteImmediate || verb == otg::Verb::SendImmediate)
    made[word] = {{"immediate_data", fmt::format("{:08x}", flow.immediate)}};
  return made;
}

Status size_of(const flow::Flow &flow, OtgFlow &made) {
  if (flow.size.kind != flow::Sizes::Kind::List || flow.size.parts.size() != 1)
    return no("messages of several sizes", "size with one number");
  const uint64_t bytes = flow.size.parts.front().bytes;
  for (const otg::SizeUnit &unit : otg::kSizeUnits) {
    made.unit = unit.word;
    made.size = bytes / unit.bytes;
    if (bytes % unit.bytes == 0 && made.size <= otg::kMostUnits)
      return {};
    if (bytes % unit.bytes || made.size <= otg::kMostUnits)
      break;
  }
  return no(fmt::format("messages of {} bytes", bytes),
            fmt::format("size up to {}, or whole thousands, like {}", otg::kMostUnits,
                        parse::byte_text((bytes + 500) / 1000 * 1000)));
}

void pmtu_of(const flow::Flow &flow, OtgFlow &made) {
  made.pmtu = *std::ranges::min_element(kPmtus, {}, [&](uint32_t pmtu) {
    return std::abs(std::log(static_cast<double>(pmtu) / flow.pmtu));
  });
  if (made.pmtu != flow.pmtu)
    made.notes.push_back(fmt::format("packets of {} bytes: ib_mtu {}, the nearest of InfiniBand",
                                     flow.pmtu, made.pmtu));
}

// The part of the line, in the bytes that the line counts.
double percent_of(const Rate &rate, uint32_t pmtu, const OtgLine &whole) {
  const double frame = kFlowHeaders + pmtu;
  const double counted = whole.layer1 ? frame + kFraming : frame; // bytes of a packet
  const auto line = static_cast<double>(whole.rate);
  switch (rate.kind) {
  case Rate::Kind::Top:
    return 100;
  case Rate::Kind::Percent:
    return rate.value;
  case Rate::Kind::Packets:
    return rate.value * counted * 8 / line * 100;
  case Rate::Kind::BitsL1:
    return rate.value * counted / (frame + kFraming) / line * 100;
  case Rate::Kind::BitsL2:
    return rate.value * counted / frame / line * 100;
  }
  return 100;
}

// What differs from our preset `otg` and is not in `known`. The marking is the network's, and when
// a CNP goes is `cnp`.
std::string other_parameters(const DcqcnParameters &parameters, const DcqcnParameters &otg,
                             std::set<std::string_view> known) {
  known.insert({"byte-unit", "mss", "np", "cnp-interval", "marking", "kmin", "kmax", "pmax"});
  std::vector<std::string> words;
  const auto rows = congestion::dcqcn_rows();
  for (size_t i = 0; i < rows.size(); i++)
    if (!known.contains(rows[i].name) && parameters.values[i] != otg.values[i])
      words.push_back(fmt::format("{}={}", rows[i].name,
                                  congestion::quantity_word(rows[i], parameters.values[i])));
  return fmt::format("{}", fmt::join(words, " "));
}

Result<Json> dcqcn_of(const DcqcnParameters &parameters, uint64_t line,
                      std::vector<std::string> &notes) {
  using enum congestion::DcqcnParameter;
  const auto otg = XR_TRY(congestion::dcqcn_preset("otg"));
  const auto line_bits = static_cast<double>(line);
  const congestion::DcqcnSettings settings = congestion::resolve(parameters, line_bits);
  std::set<std::string_view> known;
  const auto value = [&](std::string_view name) -> double {
    known.insert(name);
    const auto rows = congestion::dcqcn_rows();
    const auto row = std::ranges::find(rows, name, &congestion::ParameterRow::name) - rows.begin();
    const auto p = static_cast<congestion::DcqcnParameter>(row);
    switch (p) {
    case MinRate:
      return settings.min_rate / line_bits * 100;
    case Rai:
      return settings.rai / line_bits * 100;
    case Rhai:
      return settings.rhai / line_bits * 100;
    case ByteCounter:
      if (settings.bytes)
        return static_cast<double>(settings.bytes) / otg.at(ByteUnit).value;
      notes.push_back(fmt::format("byte-counter 0, which is none: rate_increment_byte_counter {}",
                                  otg.at(ByteCounter).value));
      return otg.at(ByteCounter).value;
    case FirstCnp:
      if (settings.first_rate <= 0)
        return settings.first_part * 100;
      notes.push_back(fmt::format(
          "first-cnp {:.6g} Mbit/s: initial_rate_after_first_cnp is a part of the rate before, "
          "here of the line's",
          settings.first_rate / 1e6));
      return settings.first_rate / line_bits * 100;
    default:
      return parameters.at(p).value;
    }
  };
  Json made = otg::dcqcn_settings(value, notes);
  if (const std::string others = other_parameters(parameters, otg, known); !others.empty())
    notes.push_back(fmt::format("parameters that OTG does not have: {}", others));
  return made;
}

Status pace_of(const flow::Flow &flow, const OtgLine &line, OtgFlow &made) {
  const Control &control = flow.control;
  const bool own = control.kind != Control::Kind::None;
  if (own && flow.pacing.rate.kind != Rate::Kind::Top)
    return no(fmt::format("rate {} beside cc {}", flow.pacing.rate.text, control.word()),
              "one of both");
  if (own && control.kind != Control::Kind::Fixed && control.kind != Control::Kind::Dcqcn)
    return no(fmt::format("cc {}", control.word()), "cc dcqcn, cc fixed, or none");
  if (control.window.kind != congestion::Window::Kind::None)
    return no("window", "a flow without it");
  if (control.burst != 1)
    return no(fmt::format("bursts of a QP: burst={}", control.burst), "burst=1");
  const Rate &rate = own ? control.rate : flow.pacing.rate;
  made.top = rate.kind == Rate::Kind::Top;
  made.percent = percent_of(rate, flow.pmtu, line);
  if (own && !made.top)
    made.percent *= flow.qps;
  made.dcqcn = {{"enable_dcqcn", false}};
  if (control.kind == Control::Kind::Dcqcn)
    made.dcqcn = XR_TRY(dcqcn_of(control.dcqcn, line.rate, made.notes));
  return {};
}

} // namespace

Result<OtgFlow> otg_flow(const simulate::FlowSetup &setup, const OtgLine &line) {
  const flow::Flow &flow = setup.flow;
  XR_TRY(possible(setup));
  OtgFlow made;
  made.verb = XR_TRY(verb_of(flow));
  XR_TRY(size_of(flow, made));
  XR_TRY(pace_of(flow, line, made));
  pmtu_of(flow, made);
  if (flow.ack_every)
    made.notes.push_back(
        fmt::format("ack-every {}: OTG's ports ask for ACKs as they like", flow.ack_every));
  if (setup.start_ns || setup.stop_ns || !setup.started || flow.duration_ns)
    made.notes.emplace_back("when it starts and stops: traffic.flow_transmit takes its name");
  return made;
}

Json otg_connection(const flow::Flow &flow, uint32_t index) {
  Json made = {{"dscp", flow.path.tos >> 2}, {"ecn", otg::kEcn[flow.path.tos & 3]}};
  if (flow.psn)
    made["initial_psn"] = flow.first_psn(index);
  if (flow.port == flow::PortChoice::Fixed)
    made["udp_source_port"] = flow.path.src_port;
  if (flow.memory_given) {
    made["virtual_address"] = fmt::format("{:016x}", flow.va);
    made["remote_key"] = fmt::format("{:08x}", flow.rkey);
  }
  return made;
}

} // namespace xr::importers
