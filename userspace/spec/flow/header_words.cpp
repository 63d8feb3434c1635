// SPDX-License-Identifier: Apache-2.0
// Words that set fields of the BTH and of the headers after it, in every packet.
#include "flow/words.h"

#include "parse/value.h"

namespace xr::flow {

using namespace parse;

namespace {

template <typename T, T Flow::*member, uint64_t most>
Status parse_number(FlowDraft &draft, WordReader &words) {
  const auto number = XR_TRY(integer(words.take(), 0, most));
  draft.flow.*member = static_cast<T>(number);
  return {};
}

// `member`: an integer or an optional one.
template <auto member, uint64_t most> Status parse_bits(FlowDraft &draft, WordReader &words) {
  const auto number = XR_TRY(integer(words.take(), 0, most));
  draft.flow.bth.*member = static_cast<uint16_t>(number);
  return {};
}

// The word alone sets the bit; followed by 0, it clears the bit.
template <auto member> Status parse_bit(FlowDraft &draft, WordReader &words) {
  draft.flow.bth.*member = !words.take_if("0");
  if (draft.flow.bth.*member)
    words.take_if("1");
  return {};
}

constexpr FlowKeyword kHeaderWords[] = {
    {"se", Slot::Se, parse_bit<&BthBits::solicited>, "se 1"},
    {"migreq", Slot::MigReq, parse_bit<&BthBits::mig_req>, "migreq 1"},
    {"padcnt", Slot::PadCnt, parse_bits<&BthBits::pad, 3>, "padcnt 2"},
    {"tver", Slot::TVer, parse_bits<&BthBits::tver, 15>, "tver 1"},
    {"pkey", Slot::Pkey, parse_bits<&BthBits::pkey, 0xffff>, "pkey 0x8001"},
    {"fecn", Slot::Fecn, parse_bit<&BthBits::fecn>, "fecn 1"},
    {"becn", Slot::Becn, parse_bit<&BthBits::becn>, "becn 1"},
    {"resv6", Slot::Resv6, parse_bits<&BthBits::resv6, 63>, "resv6 0x10"},
    {"ack-req", Slot::AckEvery, parse_bit<&BthBits::ack_req>, "ack-req 1"},
    {"resv7", Slot::Resv7, parse_bits<&BthBits::resv7, 127>, "resv7 1"},
    {"ee-context", Slot::EeContext, parse_number<uint32_t, &Flow::ee_context, 0xffffff>,
     "ee-context 5"},
    {"qkey", Slot::Qkey, parse_number<uint32_t, &Flow::qkey, UINT32_MAX>, "qkey 0x11111111"},
    {"srq", Slot::Srq, parse_number<uint32_t, &Flow::srq, 0xffffff>, "srq 5"},
    {"rkey", Slot::Rkey, parse_number<uint32_t, &Flow::rkey, UINT32_MAX>, "rkey 0x1234"},
    {"va", Slot::Va, parse_number<uint64_t, &Flow::va, UINT64_MAX>, "va 0x10000"},
    {"syndrome", Slot::Syndrome, parse_number<uint8_t, &Flow::syndrome, 255>, "syndrome 0x60"},
    {"imm", Slot::Imm, parse_number<uint32_t, &Flow::immediate, UINT32_MAX>, "imm 1"},
};

} // namespace

std::span<const FlowKeyword> header_words() { return kHeaderWords; }

} // namespace xr::flow
