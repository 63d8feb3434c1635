// SPDX-License-Identifier: Apache-2.0
// Parses a flow: calls the function of each word, then derives values that depend on several words.
#include "flow/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "packet/bytes.h"
#include "packet/frame.h"
#include "parse/value.h"

namespace xr::flow {

using namespace parse;

Status FlowDraft::claim(Slot slot, const std::string &word) {
  if (slot == Slot::Many)
    return {};
  const auto [place, free] = taken.emplace(slot, word);
  if (free)
    return {};
  if (place->second == word)
    return Error{"is given twice", "remove one of them"};
  return Error{fmt::format("there is {} already", place->second), "leave one of them away"};
}

namespace {

// Words that are valid only after another word.
struct Follower {
  std::string_view word, leader;
};
constexpr Follower kFollowers[] = {
    {"l1", "rate R"},        {"l2", "rate R"},
    {"gap", "burst N"},      {"count", "burst N gap T"},
    {"from", "ramp T"},      {"at", "fault KIND"},
    {"every", "fault KIND"}, {"probability", "fault KIND"},
};

Error unknown(const std::string &word) {
  for (const Follower &follower : kFollowers)
    if (follower.word == word)
      return {fmt::format("'{}' is only valid after {}", word, follower.leader),
              fmt::format("write {} {}", follower.leader, word)};
  const std::string near = nearest(word, flow_words());
  return {fmt::format("'{}' is not a word of a flow", word),
          near.empty() ? "a flow is like: dst 192.0.2.2 qp 0x11 write size 64k rate 10gbit"
                       : fmt::format("did you mean {}?", near)};
}

// Adds the keyword to an error of its function.
Error at(const FlowKeyword &keyword, const Error &error) {
  return {fmt::format("{}: {}", keyword.name, error.message),
          error.hint.empty() ? keyword.usage : error.hint};
}

// The name of a verb is a keyword by itself.
Status parse_verb_alone(FlowDraft &draft, const std::string &word, size_t verb) {
  XR_TRY(draft.claim(Slot::Verb, word).in(word));
  draft.flow.verb = static_cast<packet::Verb>(verb);
  return {};
}

Status parse_one(FlowDraft &draft, WordReader &words) {
  const std::string word = words.take();
  const auto &verbs = verb_names();
  if (const auto verb = std::find(verbs.begin(), verbs.end(), word); verb != verbs.end())
    return parse_verb_alone(draft, word, static_cast<size_t>(verb - verbs.begin()));
  if (word == "preset")
    return Error{"preset: it is not the first word", "the others change what it says"};
  const FlowKeyword *keyword = find_flow_word(word);
  if (!keyword)
    return unknown(word);
  if (Status s = draft.claim(keyword->slot, word); !s)
    return at(*keyword, s.error());
  if (Status s = keyword->parse(draft, words); !s)
    return at(*keyword, s.error());
  return {};
}

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
  Flow &flow = draft.flow;
  if (flow.path.network != packet::Network::V1 && (flow.src_given || flow.dst_given)) {
    const packet::Address &known = flow.src_given ? flow.path.src : flow.path.dst;
    flow.path.network = packet::is_mapped(known) ? packet::Network::Ipv4 : packet::Network::Ipv6;
  }
  XR_TRY(fit_frame_size(flow));
  if (!draft.has(Slot::Size))
    default_size(flow);
  if (draft.has(Slot::Rkey) || draft.has(Slot::Va))
    flow.memory_given = true;
  XR_TRY(fit_sequences(flow));
  return std::move(flow);
}

Result<Flow> parse_all(FlowDraft draft, WordReader &words) {
  while (!words.done())
    XR_TRY(parse_one(draft, words));
  return finish(draft);
}

} // namespace

const FlowKeyword *find_flow_word(const std::string &word) {
  for (const auto keywords : {path_words(), message_words(), header_words(), pace_words()})
    for (const FlowKeyword &keyword : keywords)
      if (keyword.name == word)
        return &keyword;
  return nullptr;
}

std::vector<std::string_view> flow_words() {
  std::vector<std::string_view> names = verb_names();
  names.emplace_back("preset");
  for (const auto keywords : {path_words(), message_words(), header_words(), pace_words()})
    for (const FlowKeyword &keyword : keywords)
      names.emplace_back(keyword.name);
  return names;
}

Result<uint8_t> named(const std::string &word, std::span<const Named> names,
                      std::string_view wanted) {
  std::vector<std::string_view> all;
  for (const Named &item : names)
    all.push_back(item.name);
  const auto at = XR_TRY(choice(word, all, wanted));
  return names[at].value;
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
  draft.flow = base;
  if (words.take_if("preset")) {
    draft = XR_TRY(preset_draft(words.take()));
  }
  return parse_all(std::move(draft), words);
}

Result<Flow> parse_flow(const std::vector<std::string> &words) { return parse_flow(words, Flow()); }

} // namespace xr::flow
