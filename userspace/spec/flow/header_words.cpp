// SPDX-License-Identifier: Apache-2.0
// Words that set fields of the BTH and of the headers after it, in every packet.
#include "flow/words.h"

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

// `member`: an integer or an optional one, of Flow or of its BTH.
template <auto member> auto &member_of(Flow &flow) {
  if constexpr (requires { flow.*member; })
    return flow.*member;
  else
    return flow.bth.*member;
}
template <auto member> const auto &member_of(const Flow &flow) {
  return member_of<member>(const_cast<Flow &>(flow));
}

template <auto member, uint64_t most> Status parse_number(FlowDraft &draft, WordReader &words) {
  auto &value = member_of<member>(draft.spec);
  const auto number = XR_TRY(integer(words.take(), 0, most));
  if constexpr (requires { value.value(); })
    value = static_cast<std::remove_reference_t<decltype(*value)>>(number);
  else
    value = static_cast<std::remove_reference_t<decltype(value)>>(number);
  return {};
}

template <auto member> Said say_hex(const Flow &flow) {
  const auto &value = member_of<member>(flow);
  return say_if(value != member_of<member>(plain_flow()), "{:#x}", value);
}
template <auto member> Said say_decimal(const Flow &flow) {
  const auto &value = member_of<member>(flow);
  if constexpr (requires { value.value(); })
    return value ? Said{fmt::format("{}", *value)} : Said();
  else
    return say_if(value != member_of<member>(plain_flow()), "{}", value);
}

// The word alone sets the bit; followed by 0, it clears the bit.
template <auto member> Status parse_bit(FlowDraft &draft, WordReader &words) {
  const bool set = !words.take_if("0");
  if (set)
    words.take_if("1");
  draft.spec.bth.*member = set;
  return {};
}
template <auto member> Said say_bit(const Flow &flow) {
  const auto &bit = flow.bth.*member;
  if constexpr (requires { bit.value(); })
    return bit ? Said{*bit ? "1" : "0"} : Said();
  else
    return say_if(bit, "1");
}

template <auto member> constexpr FlowWord bit_word(const WordInfo &info) {
  return {info, parse_bit<member>, say_bit<member>};
}
template <auto member, uint64_t most> constexpr FlowWord hex_word(const WordInfo &info) {
  return {info, parse_number<member, most>, say_hex<member>};
}
template <auto member, uint64_t most> constexpr FlowWord decimal_word(const WordInfo &info) {
  return {info, parse_number<member, most>, say_decimal<member>};
}

constexpr FlowWord kBthWords[] = {
    bit_word<&BthBits::solicited>({"se", "", "se 1", "0|1"}),
    bit_word<&BthBits::mig_req>({"migreq", "", "migreq 1", "0|1"}),
    decimal_word<&BthBits::pad, 3>(
        {"padcnt", "", "padcnt 2", "0-3", "with that number of pad bytes"}),
    decimal_word<&BthBits::tver, 15>({"tver", "", "tver 1", "N"}),
    hex_word<&BthBits::pkey, 0xffff>({"pkey", "", "pkey 0x8001", "N"}),
    bit_word<&BthBits::fecn>({"fecn", "", "fecn 1", "0|1"}),
    bit_word<&BthBits::becn>({"becn", "", "becn 1", "0|1"}),
    hex_word<&BthBits::resv6, 63>({"resv6", "", "resv6 0x10", "N"}),
    bit_word<&BthBits::ack_req>({"ack-req", "ack-every", "ack-req 1", "0|1"}),
    hex_word<&BthBits::resv7, 127>({"resv7", "", "resv7 1", "N"}),
};

// In the headers that the opcode has.
constexpr FlowWord kKeyWords[] = {
    hex_word<&Flow::qkey, UINT32_MAX>({"qkey", "", "qkey 0x11111111", "N"}),
    hex_word<&Flow::rkey, UINT32_MAX>({"rkey", "", "rkey 0x1234", "N"}),
    hex_word<&Flow::va, UINT64_MAX>({"va", "", "va 0x10000", "N"}),
    hex_word<&Flow::immediate, UINT32_MAX>({"imm", "", "imm 1", "N"}),
    hex_word<&Flow::srq, 0xffffff>({"srq", "", "srq 5", "N"}),
    hex_word<&Flow::ee_context, 0xffffff>({"ee-context", "", "ee-context 5", "N"}),
    hex_word<&Flow::syndrome, 255>({"syndrome", "", "syndrome 0x60", "N"}),
    decimal_word<&Flow::seed, UINT64_MAX>(
        {"seed", "", "seed 7", "N",
         "determines all random choices; `--json` shows the seed of a run"}),
    {{"stamp", "", "stamp", "",
      "the payload of each packet begins with 32 bytes: magic, run, sequence number of the QP, "
      "CLOCK_TAI in ns, each 64 bits in network order"},
     [](FlowDraft &draft, WordReader &) -> Status {
       draft.spec.stamp = true;
       return {};
     },
     [](const Flow &flow) { return say_if(flow.stamp, ""); }},
};

} // namespace

std::span<const FlowWord> bth_words() { return kBthWords; }
std::span<const FlowWord> key_words() { return kKeyWords; }

} // namespace xr::flow
