// SPDX-License-Identifier: Apache-2.0
#include "datapath/helper_calls.h"

#include <cerrno>
#include <cstring>

#include <elf.h>

namespace xr::datapath {

namespace {

template <typename T> T read_at(std::span<const uint8_t> bytes, size_t offset) {
  T value{};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
    memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

void patch(std::span<uint8_t> code, int32_t helper, const bpf_insn &instead) {
  constexpr uint8_t kCall = BPF_JMP | BPF_CALL;
  constexpr uint8_t kWide = BPF_LD | BPF_IMM | BPF_DW; // two slots; the second has no opcode
  for (size_t at = 0; at + sizeof(bpf_insn) <= code.size(); at += sizeof(bpf_insn)) {
    const auto insn = read_at<bpf_insn>(code, at);
    if (insn.code == kWide)
      at += sizeof(bpf_insn);
    else if (insn.code == kCall && insn.src_reg == 0 && insn.imm == helper)
      memcpy(code.data() + at, &instead, sizeof(instead));
  }
}

} // namespace

std::vector<uint8_t> without_calls(std::span<const uint8_t> object, int32_t helper) {
  return replace_calls(object, helper, {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, -EOPNOTSUPP});
}

std::vector<uint8_t> replace_calls(std::span<const uint8_t> object, int32_t helper,
                                   const bpf_insn &instead) {
  std::vector<uint8_t> copy(object.begin(), object.end());
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  for (size_t i = 0; i < header.e_shnum; i++) {
    const auto section = read_at<Elf64_Shdr>(object, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type == SHT_PROGBITS && section.sh_flags & SHF_EXECINSTR &&
        section.sh_offset <= copy.size() && section.sh_size <= copy.size() - section.sh_offset)
      patch(std::span(copy).subspan(section.sh_offset, section.sh_size), helper, instead);
  }
  return copy;
}

} // namespace xr::datapath
