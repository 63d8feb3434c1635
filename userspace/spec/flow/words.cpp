// SPDX-License-Identifier: Apache-2.0
// Parses a flow: calls the function of each word, then derives values that depend on several words.
#include "flow/words.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "packet/bytes.h"
#include "packet/frame.h"
#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

bool is_default(const Sizes &sizes) {
  return sizes.kind == Sizes::Kind::List && sizes.parts.size() == 1 &&
         sizes.parts[0].bytes == Sizes::Part().bytes;
}

bool is_one_packet(const Flow &flow) { return flow.transport == ROCE_UD || !flow.opcodes.empty(); }

// Default size: one message per sequence, or one packet per message if messages are single packets.
void default_size(Flow &flow) {
  const bool is_cut = packet::verb_properties(flow.verb) & (ROCE_OP_SEND | ROCE_OP_WRITE);
  if (is_one_packet(flow) && (flow.frames || is_default(flow.size)))
    flow.size = {Sizes::Kind::List, {{flow.pmtu, 1}}};
  else if (flow.frames && is_cut)
    flow.size = {Sizes::Kind::List, {{flow.frames * flow.pmtu, 1}}};
}

// The number of frames and of messages after which the list of sizes repeats; 0: random sizes that
// differ in packets.
std::pair<uint64_t, uint64_t> round_of(const Flow &flow) {
  uint64_t frames = 0;
  const uint64_t first = flow.packets_of(flow.size.parts.front().bytes);
  bool same = true;
  for (const Sizes::Part &part : flow.size.parts) {
    const uint64_t packets = flow.packets_of(part.bytes);
    same = same && packets == first;
    frames += packets;
  }
  if (same)
    return {first, 1};
  return {flow.size.kind == Sizes::Kind::List ? frames : 0, flow.size.parts.size()};
}

// Derives `messages` from `frames` and `repeat`.
Status fit_sequences(Flow &flow) {
  if (!flow.frames) {
    if (flow.repeat)
      return Error{"repeat: there is no number of frames to repeat", "frames 1000 repeat 5"};
    return {};
  }
  if (!flow.messages && !flow.repeat)
    flow.repeat = 1;
  if (!flow.repeat || !*flow.repeat)
    return {};
  const auto [frames, messages] = round_of(flow);
  if (!frames)
    return Error{"frames: messages drawn from these sizes have different numbers of packets",
                 "one size, or messages N"};
  if (flow.frames % frames)
    return Error{fmt::format("frames: {} is not a multiple of the {} packets of {}", flow.frames,
                             frames, messages == 1 ? "a message" : "the messages in turn"),
                 "another size, or no size: then a sequence is one message"};
  flow.messages = flow.frames / frames * messages * *flow.repeat;
  return {};
}

// Derives values that depend on several words.
Result<Flow> finish(FlowDraft &draft) {
  Flow &flow = draft.spec;
  if (flow.path.network != packet::Network::V1 && (flow.src_given || flow.dst_given)) {
    const packet::Address &known = flow.src_given ? flow.path.src : flow.path.dst;
    flow.path.network = packet::is_mapped(known) ? packet::Network::Ipv4 : packet::Network::Ipv6;
  }
  XR_TRY(fit_frame_size(flow));
  if (!draft.taken.has("size"))
    default_size(flow);
  if (draft.taken.has("rkey") || draft.taken.has("va"))
    flow.memory_given = true;
  XR_TRY(fit_sequences(flow));
  return std::move(flow);
}

// A verb's name is a word by itself.
template <size_t verb> Status parse_verb_alone(FlowDraft &draft, WordReader &) {
  draft.spec.verb = static_cast<packet::Verb>(verb);
  return {};
}
template <size_t... verbs> std::vector<FlowWord> rows_of_verbs(std::index_sequence<verbs...>) {
  return {FlowWord{{verb_names()[verbs], "verb"}, parse_verb_alone<verbs>}...};
}

constexpr FlowWord kPreset[] = {
    {{"preset", "", "", "NAME", "the words after it change it"},
     [](FlowDraft &, WordReader &) -> Status {
       return Error{"it is not the first word", "the others change what it says"};
     }},
};

Result<Flow> parse_all(FlowDraft draft, WordReader &words) {
  XR_TRY(flow_language().read(draft, words));
  return finish(draft);
}

} // namespace

const FlowLanguage &flow_language() {
  static const std::vector<FlowWord> kVerbs =
      rows_of_verbs(std::make_index_sequence<packet::kVerbs>());
  static const FlowLanguage kLanguage(
      {.thing = "a flow",
       .example = "a flow is like: dst 192.0.2.2 qp 0x11 write size 64k rate 10gbit",
       .yaml_example = "like `- dst 192.0.2.2 qp 0x11` or `- {dst: 192.0.2.2, qp: 0x11}`",
       .list_example = "[64, 4096]",
       .first = "preset"},
      {{"a verb, alone", kVerbs},
       {"a flow of others' scripts", kPreset},
       {"addresses", path_words()},
       {"operation, QPs, how much", message_words()},
       {"fields of IP and UDP", field_words()},
       {"fields of the BTH, in every packet", bth_words()},
       {"how fast", pace_words()},
       {"congestion control", control_words()},
       {"other headers, if the opcode has them; seeds, stamps", key_words()},
       {"faults", fault_words()}},
      {{"l1", "rate R"},
       {"l2", "rate R"},
       {"gap", "burst N"},
       {"count", "burst N gap T"},
       {"from", "ramp T"},
       {"at", "fault KIND"},
       {"every", "fault KIND"},
       {"probability", "fault KIND"}});
  return kLanguage;
}

std::string Flow::text() const { return flow_language().text(*this); }

const Flow &plain_flow() {
  static const Flow kPlain;
  return kPlain;
}

Result<uint8_t> named(const std::string &word, std::span<const Named> names,
                      std::string_view wanted) {
  std::vector<std::string_view> all;
  for (const Named &item : names)
    all.push_back(item.name);
  const auto at = XR_TRY(choice(word, all, wanted));
  return names[at].value;
}

std::string_view name_of(std::span<const Named> names, uint8_t value) {
  const auto found = std::ranges::find(names, value, &Named::value);
  return found == names.end() ? "?" : found->name;
}

Status fit_frame_size(Flow &flow) {
  constexpr uint32_t kFcs = 4, kWord = 4;
  if (!flow.frame_size)
    return {};
  const uint8_t opcode = !flow.opcodes.empty() ? flow.opcodes.front()
                         : flow.transport == ROCE_UD
                             ? static_cast<uint8_t>(ROCE_UD_SEND_ONLY)
                             : static_cast<uint8_t>(flow.transport | unsigned{ROCE_RC_SEND_MIDDLE});
  const uint32_t others = packet::overhead(flow.path, opcode) + kFcs;
  if (flow.frame_size < others + kWord)
    return Error{fmt::format("frame-size: {} bytes have no room for payload", flow.frame_size),
                 fmt::format("the smallest here is {}", others + kWord)};
  flow.extra_pad = flow.bth.pad.value_or((flow.frame_size - others) % kWord);
  flow.pmtu = flow.frame_size - others - flow.extra_pad;
  return {};
}

Result<Flow> parse_flow(const std::vector<std::string> &list, const Flow &base) {
  WordReader words(list);
  FlowDraft draft;
  draft.spec = base;
  if (words.take_if("preset")) {
    draft = XR_TRY(preset_draft(words.take()));
  }
  return parse_all(std::move(draft), words);
}

Result<Flow> parse_flow(const std::vector<std::string> &words) { return parse_flow(words, Flow()); }

} // namespace xr::flow
