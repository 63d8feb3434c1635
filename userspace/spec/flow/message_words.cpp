// SPDX-License-Identifier: Apache-2.0
// Words for the contents of a flow: transport, verb, QPs, messages and segmentation.
#include "flow/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

constexpr uint32_t kMost24 = 0xffffff;
constexpr uint32_t kMostQps = 1 << 20;
constexpr uint32_t kShortestFrame = 64, kLongestFrame = 9618;
constexpr uint64_t kMostWeight = 1'000'000'000;

Status parse_transport(FlowDraft &draft, WordReader &words) {
  draft.spec.transport = XR_TRY(named(words.take(), kTransports, "a transport"));
  return {};
}

Status parse_verb(FlowDraft &draft, WordReader &words) {
  const auto verb = XR_TRY(choice(words.take(), verb_names(), "a verb"));
  draft.spec.verb = static_cast<packet::Verb>(verb);
  return {};
}

Status parse_qp(FlowDraft &draft, WordReader &words) {
  const std::string word = words.take();
  auto qps = XR_TRY(range(word, 0, kMost24, "a QPN"));
  draft.spec.qp = qps.from;
  if (word.find('-') == std::string::npos)
    return {};
  if (qps.to - qps.from >= kMostQps)
    return wrong(word, "a range of QPNs", fmt::format("at most {}", kMostQps));
  draft.spec.qps = qps.to - qps.from + 1;
  return draft.taken.also("qps", "qp N-M", "leave one of them away");
}

Status parse_qps(FlowDraft &draft, WordReader &words) {
  const auto qps = XR_TRY(integer(words.take(), 1, kMostQps));
  draft.spec.qps = static_cast<uint32_t>(qps);
  return {};
}

Status parse_src_qp(FlowDraft &draft, WordReader &words) {
  const auto qp = XR_TRY(integer(words.take(), 0, kMost24, "a QPN"));
  draft.spec.src_qp = static_cast<uint32_t>(qp);
  return {};
}

Status parse_by(FlowDraft &draft, WordReader &words) {
  const auto at = XR_TRY(choice(words.take(), {"packet", "message"}, "packet or message"));
  draft.spec.interleave = at == 0;
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
  draft.spec.size = XR_TRY(parse_sizes(words.take()));
  return {};
}

Status parse_pmtu(FlowDraft &draft, WordReader &words) {
  const auto at = XR_TRY(choice(words.take(), {"256", "512", "1024", "2048", "4096"}, "a PMTU"));
  draft.spec.pmtu = 256U << at;
  draft.spec.extra_pad = draft.spec.frame_size = 0;
  return {};
}

Status parse_frame_size(FlowDraft &draft, WordReader &words) {
  const auto size =
      XR_TRY(integer(words.take(), kShortestFrame, kLongestFrame, "a frame's length"));
  draft.spec.frame_size = static_cast<uint32_t>(size);
  return {};
}

Status parse_messages(FlowDraft &draft, WordReader &words) {
  draft.spec.messages = XR_TRY(integer(words.take(), 1, UINT64_MAX));
  draft.spec.repeat.reset();
  return {};
}

Status parse_frames(FlowDraft &draft, WordReader &words) {
  draft.spec.frames = XR_TRY(integer(words.take(), 1, UINT32_MAX, "a number of frames"));
  return {};
}

Status parse_repeat(FlowDraft &draft, WordReader &words) {
  draft.spec.repeat = XR_TRY(integer(words.take(), 0, UINT32_MAX, "a number of sequences"));
  draft.spec.messages = 0;
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
  draft.spec.transport = opcodes.front() & ROCE_TRANSPORT_MASK;
  draft.spec.opcodes = std::move(opcodes);
  return draft.taken.also("transport", "opcode", "leave one of them away");
}

Status parse_psn(FlowDraft &draft, WordReader &words) {
  const auto psn = XR_TRY(integer(words.take(), 0, kMost24, "a PSN"));
  draft.spec.psn = static_cast<uint32_t>(psn);
  return {};
}

Status parse_ack_every(FlowDraft &draft, WordReader &words) {
  const auto every = XR_TRY(integer(words.take(), 1, UINT32_MAX));
  draft.spec.ack_every = static_cast<uint32_t>(every);
  return {};
}

Status parse_for(FlowDraft &draft, WordReader &words) {
  draft.spec.duration_ns = XR_TRY(duration_above_0(words.take()));
  return {};
}

Said say_opcodes(const Flow &flow) {
  std::vector<std::string> names;
  for (const uint8_t opcode : flow.opcodes)
    names.push_back(opcode_name(opcode));
  return say_if(!names.empty(), "{}", fmt::join(names, ","));
}

std::string sizes_text(const Sizes &sizes) {
  std::vector<std::string> texts;
  for (const Sizes::Part &part : sizes.parts)
    texts.push_back(sizes.kind == Sizes::Kind::Mix
                        ? fmt::format("{}:{}", parse::byte_text(part.bytes), part.weight)
                        : parse::byte_text(part.bytes));
  return fmt::format("{}", fmt::join(texts, sizes.kind == Sizes::Kind::Uniform ? "-" : ","));
}

// Without a word, the size follows from PMTU or `frames`.
Said say_size(const Flow &flow) {
  std::string sizes = sizes_text(flow.size);
  const bool differs = sizes != sizes_text(plain_flow().size) || flow.transport == ROCE_UD ||
                       flow.frames || !flow.opcodes.empty();
  return differs ? Said{std::move(sizes)} : Said();
}

// A number that is not the default.
template <auto member> Said say_number(const Flow &flow) {
  return say_if(flow.*member != plain_flow().*member, "{}", flow.*member);
}
template <auto member> Said say_given(const Flow &flow) {
  return flow.*member ? Said{fmt::format("{}", *(flow.*member))} : Said();
}

constexpr FlowWord kMessageWords[] = {
    {{"opcode", "verb", "opcode RC_SEND_ONLY,RC_ACKNOWLEDGE,CNP,0x18", "LIST",
      "instead of transport and verb, any: `RC_ACKNOWLEDGE,CNP,0x18`, a packet of each in turn, "
      "not "
      "with --reliable"},
     parse_opcode,
     say_opcodes},
    {{"transport", "", "transport rc, uc, ud or xrc", "rc|uc|rd|ud|xrc"},
     parse_transport,
     [](const Flow &flow) {
       return say_if(flow.opcodes.empty() && flow.transport != plain_flow().transport, "{}",
                     name_of(kTransports, flow.transport));
     }},
    {{"verb", "", "verb write", "VERB", "or the verb alone"},
     parse_verb,
     [](const Flow &flow) {
       return say_if(flow.opcodes.empty() && flow.verb != plain_flow().verb, "{}",
                     packet::verb_name(flow.verb));
     }},
    {{"qp", "", "qp 0x11 or qp 0x11-0x1f", "N[-M]"},
     parse_qp,
     [](const Flow &flow) { return say_if(flow.qp != plain_flow().qp, "{:#x}", flow.qp); }},
    {{"qps", "", "qps 100", "N"}, parse_qps, say_number<&Flow::qps>},
    {{"src-qp", "", "src-qp 0x11", "N"},
     parse_src_qp,
     [](const Flow &flow) {
       return say_if(flow.src_qp.has_value(), "{:#x}", flow.src_qp.value_or(0));
     }},
    {{"by", "", "by packet or by message", "packet|message", "how QPs take turns"},
     parse_by,
     [](const Flow &flow) { return say_if(!flow.interleave, "message"); }},
    {{"size", "", "size 64k, size 64,4k, size 64-9000 or size 64:9,64k:1",
      "64k|1k,4k|1k-64k|1k:80,64k:20",
      "of each, in turn, uniform, by weight; without it the sequence of `frames` is one message, "
      "and with `transport ud` or `opcode` a message is a packet"},
     parse_size,
     say_size},
    {{"frame-size", "pmtu", "frame-size 1518", "N", "instead of `pmtu`"},
     parse_frame_size,
     say_number<&Flow::frame_size>},
    {{"pmtu", "", "pmtu 1024", "N"},
     parse_pmtu,
     [](const Flow &flow) {
       return say_if(!flow.frame_size && flow.pmtu != plain_flow().pmtu, "{}", flow.pmtu);
     }},
    {{"frames", "", "frames 1000", "N", "each QP sends a sequence of N frames"},
     parse_frames,
     say_number<&Flow::frames>},
    {{"repeat", "messages", "repeat 5, or repeat 0: no end", "N",
      "so many sequences; 0: without end"},
     parse_repeat,
     say_given<&Flow::repeat>},
    {{"messages", "", "messages 1000", "N", "of each QP"},
     parse_messages,
     [](const Flow &flow) { return say_if(flow.messages && !flow.repeat, "{}", flow.messages); }},
    {{"for", "", "for 10s", "DURATION"},
     parse_for,
     [](const Flow &flow) {
       return say_if(flow.duration_ns, "{}", duration_text(flow.duration_ns));
     },
     [](Flow &flow, const Scale &scale) { scale.time(flow.duration_ns); }},
    {{"psn", "", "psn 0", "N", "the first one"}, parse_psn, say_given<&Flow::psn>},
    {{"ack-every", "", "ack-every 16", "N"}, parse_ack_every, say_number<&Flow::ack_every>},
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

std::span<const FlowWord> message_words() { return kMessageWords; }

} // namespace xr::flow
