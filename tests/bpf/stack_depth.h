// SPDX-License-Identifier: Apache-2.0
// The stack that a loaded program may need, as kernels before 6.2 compute it: the frame of each
// function is rounded up to 32 bytes, and calls in code that is never reached count too. Newer
// kernels round to 16 bytes or less, so a program that they accept may be refused there.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <linux/bpf.h>

#include <bpf/libbpf.h>
#include <fmt/format.h>

namespace xr::test {

class StackDepth {
public:
  explicit StackDepth(const bpf_program *program)
      : code_(bpf_program__insns(program)), count_(bpf_program__insn_cnt(program)) {
    functions_[0] = {};
    for (size_t at = 0; at < count_; at++)
      if (is_call(at))
        functions_[target(at)] = {};
    for (auto it = functions_.begin(); it != functions_.end(); ++it) {
      const auto next = std::next(it);
      read(it->first, next == functions_.end() ? count_ : next->first, it->second);
    }
  }

  // Bytes of the deepest chain of calls from the program's entry.
  int most() { return most_from(0).bytes; }
  // Its frames in bytes before rounding, as "104+256+128".
  std::string chain() { return most_from(0).chain; }

private:
  struct Deepest {
    int bytes = 0;
    std::string chain;
  };
  struct Function {
    int frame = 0; // bytes
    std::vector<size_t> calls;
  };

  bool is_call(size_t at) const {
    return code_[at].code == (BPF_JMP | BPF_CALL) && code_[at].src_reg == BPF_PSEUDO_CALL;
  }
  size_t target(size_t at) const {
    return static_cast<size_t>(static_cast<long>(at) + 1 + code_[at].imm);
  }

  void read(size_t from, size_t to, Function &function) const {
    bool points[16] = {}; // registers that are a copy of r10
    for (size_t at = from; at < to; at++) {
      const bpf_insn &insn = code_[at];
      const int kind = BPF_CLASS(insn.code);
      if (is_call(at))
        function.calls.push_back(target(at));
      const int memory = kind == BPF_LDX ? insn.src_reg : insn.dst_reg;
      if ((kind == BPF_LDX || kind == BPF_STX || kind == BPF_ST) && memory == BPF_REG_10)
        function.frame = std::max(function.frame, -insn.off);
      if (kind != BPF_ALU64)
        continue;
      if (insn.code == (BPF_ALU64 | BPF_ADD | BPF_K) && points[insn.dst_reg])
        function.frame = std::max(function.frame, -insn.imm);
      points[insn.dst_reg] =
          insn.code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn.src_reg == BPF_REG_10;
    }
  }

  Deepest most_from(size_t entry) {
    const Function &function = functions_.at(entry);
    Deepest below;
    for (const size_t callee : function.calls)
      if (Deepest one = most_from(callee); one.bytes > below.bytes)
        below = std::move(one);
    return {(std::max(function.frame, 1) + 31) / 32 * 32 + below.bytes,
            fmt::format("{}{}{}", function.frame, below.chain.empty() ? "" : "+", below.chain)};
  }

  const bpf_insn *code_;
  size_t count_;
  std::map<size_t, Function> functions_; // by the index of their first instruction
};

} // namespace xr::test
