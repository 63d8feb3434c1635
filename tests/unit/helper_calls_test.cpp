// SPDX-License-Identifier: Apache-2.0
// Removal of calls of a helper, in the built-in object and in objects made for the test.
#include "datapath/helper_calls.h"

#include <cstring>

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "roce/capture.h"
#include "roce/config.h"
#include <xdp_roce.skel.h>

namespace xr::datapath::helper_calls_test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes builtin() {
  size_t size = 0;
  const auto *bytes = static_cast<const uint8_t *>(xdp_roce::elf_bytes(&size));
  return {bytes, bytes + size};
}

bpf_insn call(int32_t helper) { return {BPF_JMP | BPF_CALL, 0, 0, 0, helper}; }

// Where these eight bytes are, whatever they are part of.
std::vector<size_t> places(const Bytes &in, const bpf_insn &insn) {
  std::vector<size_t> found;
  for (size_t at = 0; at + sizeof(insn) <= in.size(); at += sizeof(insn))
    if (memcmp(in.data() + at, &insn, sizeof(insn)) == 0)
      found.push_back(at);
  return found;
}

// A file with one section of these instructions.
Bytes object(const std::vector<bpf_insn> &code, uint64_t flags = SHF_ALLOC | SHF_EXECINSTR) {
  Elf64_Ehdr header{};
  header.e_shoff = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = flags;
  section.sh_offset = sizeof(header) + sizeof(section);
  section.sh_size = code.size() * sizeof(bpf_insn);
  Bytes out(section.sh_offset + section.sh_size);
  memcpy(out.data(), &header, sizeof(header));
  memcpy(out.data() + sizeof(header), &section, sizeof(section));
  memcpy(out.data() + section.sh_offset, code.data(), section.sh_size);
  return out;
}

} // namespace

TEST(HelperCalls, TheBuiltInObjectLosesThoseAndNothingElse) {
  const Bytes before = builtin(), after = without_calls(before, BPF_FUNC_xdp_adjust_tail);
  const auto calls = places(before, call(BPF_FUNC_xdp_adjust_tail));
  ASSERT_FALSE(calls.empty()); // CNPs are made with it
  EXPECT_TRUE(places(after, call(BPF_FUNC_xdp_adjust_tail)).empty());
  EXPECT_EQ(places(after, call(BPF_FUNC_map_lookup_elem)),
            places(before, call(BPF_FUNC_map_lookup_elem)));
  Bytes mended = after;
  const bpf_insn insn = call(BPF_FUNC_xdp_adjust_tail);
  for (const size_t at : calls)
    memcpy(mended.data() + at, &insn, sizeof(insn));
  EXPECT_EQ(mended, before);
}

// The call for the NIC's time is there once, and becomes one of a kernel function.
TEST(HelperCalls, TheNicsTimeIsACallOfAKernelFunction) {
  const Bytes before = builtin();
  const bpf_insn function = {BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, 4711};
  const Bytes after = replace_calls(before, ROCE_NIC_TIME_CALL, function);
  const auto calls = places(before, call(ROCE_NIC_TIME_CALL));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(places(after, function), calls);
  EXPECT_TRUE(places(after, call(ROCE_NIC_TIME_CALL)).empty());
}

// Nothing else of the program changes packet data, as kernels since 6.13 see it.
TEST(HelperCalls, TheRestChangesNoPacketData) {
  const Bytes rest =
      without_calls(without_calls(builtin(), BPF_FUNC_xdp_adjust_tail), BPF_FUNC_xdp_adjust_meta);
  for (const int32_t helper : {BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_meta,
                               BPF_FUNC_xdp_adjust_tail, BPF_FUNC_tail_call})
    EXPECT_TRUE(places(rest, call(helper)).empty()) << helper;
}

TEST(HelperCalls, OnlyCallsOfHelpers) {
  const bpf_insn target = call(BPF_FUNC_xdp_adjust_tail);
  bpf_insn local = target; // of a function at that distance
  local.src_reg = BPF_PSEUDO_CALL;
  const bpf_insn wide = {BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, 0, 0, 0};
  const Bytes code = object({local, wide, target, target});
  const Bytes after = without_calls(code, BPF_FUNC_xdp_adjust_tail);
  EXPECT_EQ(places(after, target), std::vector<size_t>{code.size() - 2 * sizeof(target)});
  EXPECT_EQ(places(after, local), places(code, local));
  const Bytes data = object({target}, SHF_ALLOC);
  EXPECT_EQ(without_calls(data, BPF_FUNC_xdp_adjust_tail), data);
}

TEST(HelperCalls, CutFilesAreLeftAsTheyAre) {
  const Bytes whole = object({call(BPF_FUNC_xdp_adjust_tail)});
  for (size_t length = 0; length < whole.size(); length++) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(without_calls(cut, BPF_FUNC_xdp_adjust_tail), cut) << length;
  }
}

} // namespace xr::datapath::helper_calls_test
