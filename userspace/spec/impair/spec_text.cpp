// SPDX-License-Identifier: Apache-2.0
// A rule in canonical words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/action_table.h"
#include "impair/ber.h"
#include "impair/fields.h"
#include "impair/mac.h"
#include "impair/spec.h"

namespace xr::impair {

using namespace parse;

namespace {

std::string joined(const Condition::Ranges &ranges, std::string (*text)(const roce_range &)) {
  std::vector<std::string> texts;
  for (const roce_range &range : ranges)
    texts.push_back(text(range));
  return fmt::format("{}", fmt::join(texts, ","));
}

// UINT32_MAX: no limit.
std::string size_text(const roce_range &range) {
  return range.to == UINT32_MAX ? fmt::format("{}-", range.from) : range_text(range);
}

std::string text_of(Field field, const Condition::Ranges &ranges) {
  switch (field) {
  case Field::DestQp:
  case Field::Pkey:
    return joined(ranges, hex_range_text);
  case Field::Size:
    return joined(ranges, size_text);
  default:
    return joined(ranges, range_text);
  }
}
std::string text_of(Field, const Condition::Names &names) {
  return fmt::format("{}", fmt::join(names, ","));
}
std::string text_of(Field, const Prefix &prefix) { return prefix.text(); }
std::string text_of(Field, const Mac &mac) { return mac_text(mac); }
std::string text_of(Field, const RawBytes &bytes) {
  const unsigned digits = 2 * bytes.length;
  const std::string text = fmt::format("{} {:0{}x}", bytes.offset, bytes.value, digits);
  return bytes.masked ? fmt::format("{}/{:0{}x}", text, bytes.mask, digits) : text;
}

std::string flag_text(Field field, bool is) {
  switch (field) {
  case Field::Vlan:
    return is ? "vlan any" : "vlan none";
  case Field::Roce:
    return is ? "roce" : "non-roce";
  default:
    return is ? "ipv4" : "ipv6";
  }
}

std::string text_of(Field field, const Condition &condition) {
  if (const bool *is = std::get_if<bool>(&condition.is))
    return flag_text(field, *is);
  const std::string value = std::visit(
      [field](const auto &is) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(is)>, bool>)
          return {};
        else
          return text_of(field, is);
      },
      condition.is);
  return fmt::format("{}{} {}", condition.negated ? "not " : "", field_name(field), value);
}

std::string text_of(const EventSpec &event) {
  std::string text;
  if (event.of_each_stream)
    text = "psn +" + range_text({event.packet.from - 1, event.packet.to - 1});
  else
    text = fmt::format("qp {} psn {}",
                       event.by_number ? std::to_string(event.qp) : fmt::format("{:#x}", event.qp),
                       event.packet == EventSpec::kAllPackets ? "all" : range_text(event.packet));
  return event.iteration ? fmt::format("{} iter {}", text, event.iteration) : text;
}

struct SelectText {
  std::string operator()(const Always &) const { return ""; }
  std::string operator()(const Every &every) const { return fmt::format("every {}", every.n); }
  std::string operator()(const Positions &positions) const {
    return fmt::format("positions {}", fmt::join(positions.places, ","));
  }
  std::string operator()(const Chance &chance) const { return "probability " + chance.p.text(); }
  std::string operator()(const Spaced &spaced) const {
    return fmt::format("ppm {}", spaced.parts / kPartsOfPpm);
  }
  std::string operator()(const Burst &burst) const {
    const auto *every = std::get_if<uint32_t>(&burst.begin);
    return fmt::format("burst {} {}", range_text(burst.length),
                       every ? fmt::format("every {}", *every)
                             : "probability " + std::get<Probability>(burst.begin).text());
  }
  std::string operator()(const Gilbert &gilbert) const {
    std::string text = "gilbert";
    for (const Probability &p : gilbert.p)
      text += " " + p.text();
    return text;
  }
  std::string operator()(const BitErrors &errors) const {
    return fmt::format("ber {} {}", errors.factor, errors.power);
  }
  std::string operator()(const Distance &distance) const {
    if (distance.parameters.empty())
      return fmt::format("distance table {}", fmt::join(distance.table, ","));
    return fmt::format("distance {} {}", distance.distribution,
                       fmt::join(distance.parameters, " "));
  }
};

std::string text_of(const Schedule &schedule) {
  switch (schedule.kind) {
  case ROCE_ONCE:
    return "for " + duration_text(schedule.on_ns);
  case ROCE_REPEAT:
    return fmt::format("repeat {} {}", duration_text(schedule.on_ns),
                       duration_text(schedule.period_ns));
  default:
    return "";
  }
}

std::string text_of(const Limit &limit) {
  if (!limit.most)
    return "";
  return limit.period_ns
             ? fmt::format("limit {} per {}", limit.most, duration_text(limit.period_ns))
             : fmt::format("limit {}", limit.most);
}

std::string text_of(const Red &red, bool force) {
  std::string text = fmt::format("red {} {} {} rate {}{}{}", byte_text(red.low),
                                 byte_text(red.high), red.probability.text(), rate_text(red.rate),
                                 force ? " force" : "", red.l1 ? " l1" : "");
  return red.most == kMaxOfKmax * red.high ? text : text + " max " + byte_text(red.most);
}

std::string text_of(const Cnp &cnp) {
  std::string text = "cnp";
  if (cnp.interval_ns != Cnp().interval_ns)
    text += " interval " + duration_text(cnp.interval_ns);
  if (cnp.scope != Cnp().scope)
    text += fmt::format(" scope {}", cnp_scopes()[cnp.scope]);
  return cnp.dscp == Cnp().dscp ? text : fmt::format("{} dscp {}", text, cnp.dscp);
}

std::string jitter_text(const Hold &hold) {
  std::vector<std::string> words = {std::string(jitter_name(hold.jitter))};
  switch (hold.jitter) {
  case Jitter::Poisson:
    words.push_back(duration_text(hold.a));
    break;
  case Jitter::Gamma:
    words.push_back(fmt::format("{} {}", hold.shape, duration_text(hold.b)));
    break;
  case Jitter::Table:
    for (size_t i = 0; i < hold.table.size(); i++)
      words.push_back(duration_text(hold.table[i]));
    words = {words[0], fmt::format("{}", fmt::join(words.begin() + 1, words.end(), ","))};
    break;
  default:
    words.insert(words.end(), {duration_text(hold.a), duration_text(hold.b)});
  }
  if (hold.jitter == Jitter::Step)
    words.push_back("every " + duration_text(hold.every_ns));
  if (hold.unordered)
    words.emplace_back("unordered");
  return fmt::format("{}", fmt::join(words, " "));
}

std::string delay_text(const Hold &hold) {
  if (hold.jitter == Jitter::None)
    return "delay " + duration_text(hold.delay_ns);
  if (!hold.delay_ns)
    return "delay " + jitter_text(hold);
  return fmt::format("delay {} jitter {}", duration_text(hold.delay_ns), jitter_text(hold));
}

std::string with_timeout(const Hold &hold, std::string text) {
  if (hold.timeout_ns != kDefaultHoldTimeout)
    text += " timeout " + duration_text(hold.timeout_ns);
  return text;
}

std::string text_of(const Hold &hold) {
  switch (hold.kind) {
  case Hold::Kind::Delay:
    return delay_text(hold);
  case Hold::Kind::Accumulate:
    return hold.frames ? with_timeout(hold, fmt::format("accumulate {}", hold.frames))
                       : "accumulate " + duration_text(hold.timeout_ns);
  case Hold::Kind::Reorder:
    return with_timeout(hold, hold.depth ? fmt::format("reorder depth {}", hold.depth)
                                         : fmt::format("reorder skip {} take {} hold {}", hold.skip,
                                                       hold.frames, hold.pass));
  default:
    return fmt::format("shape {}{} burst {} queue {}", rate_text(hold.rate),
                       hold.overhead ? " l1" : "", byte_text(hold.burst), byte_text(hold.queue));
  }
}

// `drop` and `ce` are a part of police where its syntax allows it.
std::string police_text(const Actions &actions) {
  const bool excess = actions.bits & ROCE_ACT_CE && !(actions.bits & ROCE_ACT_FORCE);
  return fmt::format("police {} burst {}{}{}", rate_text(actions.police.rate),
                     byte_text(actions.police.burst), actions.police.l1 ? " l1" : "",
                     excess ? " excess ce" : "");
}

std::string corrupt_text(const Action &action, const CorruptedBits &bits) {
  std::string text = fmt::format("{} {}", action.word, action.object);
  if (!bits.field.empty())
    text += fmt::format(" {}", bits.field);
  return bits.bit ? fmt::format("{} {}", text, *bits.bit) : text;
}

std::string text_of(const Action &action, const RuleSpec &spec) {
  const Actions &actions = spec.actions;
  const bool force = actions.bits & ROCE_ACT_FORCE, police = actions.bits & ROCE_ACT_POLICE;
  switch (action.bit) {
  case ROCE_ACT_DROP:
    return police ? "" : "drop";
  case ROCE_ACT_CE:
    return force ? "ce force" : police ? "" : "ce";
  case ROCE_ACT_RED:
    return text_of(actions.red, force);
  case ROCE_ACT_POLICE:
    return police_text(actions);
  case ROCE_ACT_CNP:
    return text_of(actions.cnp);
  case ROCE_ACT_SET_DSCP:
    return fmt::format("set dscp {}", actions.dscp);
  case ROCE_ACT_SET_ECN:
    return fmt::format("set ecn {}", ecn_values()[actions.ecn]);
  case ROCE_ACT_SET_FECN:
    return fmt::format("set fecn {}", actions.fecn);
  case ROCE_ACT_SET_BECN:
    return fmt::format("set becn {}", actions.becn);
  case ROCE_ACT_DUPLICATE:
    return "duplicate";
  case ROCE_ACT_FORCE:
    return "";
  default:
    return action.bit & ROCE_ACTS_HOLD ? text_of(spec.hold) : corrupt_text(action, actions.corrupt);
  }
}

} // namespace

std::vector<std::string> texts(const RuleSpec &spec) {
  std::vector<std::string> all;
  const auto say = [&all](std::string text) {
    if (!text.empty())
      all.push_back(std::move(text));
  };
  // A distance from a stream's first PSN takes the place of PSNs.
  bool event = !spec.event;
  const auto say_event = [&](bool here) {
    if (event || !here)
      return;
    event = true;
    say(text_of(*spec.event));
  };
  for (const auto &[field, condition] : spec.match) {
    say_event(spec.event && spec.event->of_each_stream && field > Field::Psn);
    say(text_of(field, condition));
  }
  say_event(true);
  say(std::visit(SelectText(), spec.select));
  say(text_of(spec.schedule));
  say(text_of(spec.limit));
  for (const Action &action : actions())
    if (spec.actions.bits & action.bit)
      say(text_of(action, spec));
  return all;
}

std::string RuleSpec::words() const { return fmt::format("{}", fmt::join(texts(*this), " ")); }

} // namespace xr::impair
