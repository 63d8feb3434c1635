// SPDX-License-Identifier: Apache-2.0
// Words for the contents of a flow: transport, verb, QPs, messages and segmentation.
#include "flow/words.h"

#include <fmt/format.h>

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr uint32_t kMost24 = 0xffffff;
constexpr uint32_t kMostQps = 1 << 20;
constexpr uint32_t kShortestFrame = 64, kLongestFrame = 9618;
constexpr uint64_t kMostWeight = 1'000'000'000;

Status parse_transport(FlowDraft &draft, WordReader &words) {
  draft.flow.transport = XR_TRY(named(words.take(), kTransports, "a transport"));
  return {};
}

Status parse_verb(FlowDraft &draft, WordReader &words) {
  const auto verb = XR_TRY(choice(words.take(), verb_names(), "a verb"));
  draft.flow.verb = static_cast<packet::Verb>(verb);
  return {};
}

Status parse_qp(FlowDraft &draft, WordReader &words) {
  const std::string word = words.take();
  auto qps = XR_TRY(range(word, 0, kMost24, "a QPN"));
  draft.flow.qp = qps.from;
  if (word.find('-') == std::string::npos)
    return {};
  if (qps.to - qps.from >= kMostQps)
    return wrong(word, "a range of QPNs", fmt::format("at most {}", kMostQps));
  draft.flow.qps = qps.to - qps.from + 1;
  return draft.claim(Slot::Qps, "qp N-M");
}

Status parse_qps(FlowDraft &draft, WordReader &words) {
  const auto qps = XR_TRY(integer(words.take(), 1, kMostQps));
  draft.flow.qps = static_cast<uint32_t>(qps);
  return {};
}

Status parse_src_qp(FlowDraft &draft, WordReader &words) {
  const auto qp = XR_TRY(integer(words.take(), 0, kMost24, "a QPN"));
  draft.flow.src_qp = static_cast<uint32_t>(qp);
  return {};
}

Status parse_by(FlowDraft &draft, WordReader &words) {
  const auto at = XR_TRY(choice(words.take(), {"packet", "message"}, "packet or message"));
  draft.flow.interleave = at == 0;
  return {};
}

Result<Sizes> parse_uniform(const std::string &word, size_t dash) {
  const auto from = XR_TRY(byte_count(word.substr(0, dash), 0));
  const auto to = XR_TRY(byte_count(word.substr(dash + 1), 0));
  if (from > to)
    return Error{fmt::format("'{}' goes backwards", word),
                 fmt::format("{}-{}", word.substr(dash + 1), word.substr(0, dash))};
  return Sizes{Sizes::Kind::Uniform, {{from, 1}, {to, 1}}};
}

// Parses BYTES, or BYTES:WEIGHT in a mix.
Result<Sizes::Part> parse_part(const std::string &word, bool mix) {
  const size_t colon = word.find(':');
  const auto bytes = XR_TRY(byte_count(word.substr(0, colon), 0));
  Sizes::Part part{bytes, 1};
  if (!mix)
    return part;
  const auto weight = colon == std::string::npos
                          ? wrong(word, "a size with its weight", "like 64:3")
                          : real(word.substr(colon + 1), 0, static_cast<double>(kMostWeight));
  if (!weight)
    return weight.error();
  if (!(weight.get() > 0))
    return wrong(word.substr(colon + 1), "a weight above 0", "leave the size away");
  part.weight = weight.get();
  return part;
}

Result<Sizes> parse_sizes(const std::string &word) {
  if (const size_t dash = word.find('-', 1); dash != std::string::npos)
    return parse_uniform(word, dash);
  const bool mix = word.find(':') != std::string::npos;
  Sizes sizes{mix ? Sizes::Kind::Mix : Sizes::Kind::List, {}};
  for (const std::string &text : parts(word)) {
    sizes.parts.push_back(XR_TRY(parse_part(text, mix)));
  }
  return sizes;
}

Status parse_size(FlowDraft &draft, WordReader &words) {
  draft.flow.size = XR_TRY(parse_sizes(words.take()));
  return {};
}

Status parse_pmtu(FlowDraft &draft, WordReader &words) {
  const auto at = XR_TRY(choice(words.take(), {"256", "512", "1024", "2048", "4096"}, "a PMTU"));
  draft.flow.pmtu = 256U << at;
  draft.flow.extra_pad = draft.flow.frame_size = 0;
  return {};
}

Status parse_frame_size(FlowDraft &draft, WordReader &words) {
  const auto size =
      XR_TRY(integer(words.take(), kShortestFrame, kLongestFrame, "a frame's length"));
  draft.flow.frame_size = static_cast<uint32_t>(size);
  return {};
}

Status parse_messages(FlowDraft &draft, WordReader &words) {
  draft.flow.messages = XR_TRY(integer(words.take(), 1, UINT64_MAX));
  draft.flow.repeat.reset();
  return {};
}

Status parse_frames(FlowDraft &draft, WordReader &words) {
  draft.flow.frames = XR_TRY(integer(words.take(), 1, UINT32_MAX, "a number of frames"));
  return {};
}

Status parse_repeat(FlowDraft &draft, WordReader &words) {
  draft.flow.repeat = XR_TRY(integer(words.take(), 0, UINT32_MAX, "a number of sequences"));
  draft.flow.messages = 0;
  return {};
}

Status parse_opcode(FlowDraft &draft, WordReader &words) {
  constexpr size_t kMost = 256;
  std::vector<uint8_t> opcodes;
  for (const std::string &part : parts(words.take())) {
    opcodes.push_back(XR_TRY(opcode_named(part)));
  }
  if (opcodes.size() > kMost)
    return Error{fmt::format("these are {} opcodes", opcodes.size()),
                 fmt::format("at most {}", kMost)};
  draft.flow.transport = opcodes.front() & ROCE_TRANSPORT_MASK;
  draft.flow.opcodes = std::move(opcodes);
  return draft.claim(Slot::Transport, "opcode");
}

Status parse_psn(FlowDraft &draft, WordReader &words) {
  const auto psn = XR_TRY(integer(words.take(), 0, kMost24, "a PSN"));
  draft.flow.psn = static_cast<uint32_t>(psn);
  return {};
}

Status parse_ack_every(FlowDraft &draft, WordReader &words) {
  const auto every = XR_TRY(integer(words.take(), 1, UINT32_MAX));
  draft.flow.ack_every = static_cast<uint32_t>(every);
  return {};
}

Status parse_stamp(FlowDraft &draft, WordReader &) {
  draft.flow.stamp = true;
  return {};
}

constexpr FlowKeyword kMessageWords[] = {
    {"transport", Slot::Transport, parse_transport, "transport rc, uc, ud or xrc"},
    {"verb", Slot::Verb, parse_verb, "verb write"},
    {"qp", Slot::Qp, parse_qp, "qp 0x11 or qp 0x11-0x1f"},
    {"qps", Slot::Qps, parse_qps, "qps 100"},
    {"src-qp", Slot::SrcQp, parse_src_qp, "src-qp 0x11"},
    {"by", Slot::By, parse_by, "by packet or by message"},
    {"size", Slot::Size, parse_size, "size 64k, size 64,4k, size 64-9000 or size 64:9,64k:1"},
    {"pmtu", Slot::Pmtu, parse_pmtu, "pmtu 1024"},
    {"frame-size", Slot::Pmtu, parse_frame_size, "frame-size 1518"},
    {"messages", Slot::Messages, parse_messages, "messages 1000"},
    {"frames", Slot::Frames, parse_frames, "frames 1000"},
    {"repeat", Slot::Messages, parse_repeat, "repeat 5, or repeat 0: no end"},
    {"opcode", Slot::Verb, parse_opcode, "opcode RC_SEND_ONLY,RC_ACKNOWLEDGE,CNP,0x18"},
    {"psn", Slot::Psn, parse_psn, "psn 0"},
    {"ack-every", Slot::AckEvery, parse_ack_every, "ack-every 16"},
    {"stamp", Slot::Stamp, parse_stamp, "stamp"},
};

} // namespace

const std::vector<std::string_view> &verb_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (unsigned i = 0; i < packet::kVerbs; i++)
      names.push_back(packet::verb_name(static_cast<packet::Verb>(i)));
    return names;
  }();
  return kNames;
}

std::span<const FlowKeyword> message_words() { return kMessageWords; }

} // namespace xr::flow
