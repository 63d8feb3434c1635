// SPDX-License-Identifier: Apache-2.0
// The program under test: the built-in object, or the object file in XR_BPF_OBJECT, which another
// clang compiled from the same source.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <linux/bpf.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include "roce/config.h"
#include "xdp_roce.skel.h"

namespace xr::test {

// Whether the kernel has XDP on frames in several buffers (5.18).
inline bool kernel_has_frags() {
  static const bool has = [] {
    // r0 = XDP_PASS; exit
    const bpf_insn program[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                                {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_XDP_HAS_FRAGS);
    const int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "test_frags", "GPL", program,
                                 std::size(program), &options);
    if (fd >= 0)
      close(fd);
    return fd >= 0;
  }();
  return has;
}

// Without frags: libbpf's own handlers for these sections set a flag that the kernel refuses.
inline void register_sections() {
  static const bool done = [] {
    return libbpf_register_prog_handler("xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, nullptr) > 0 &&
           libbpf_register_prog_handler("xdp.frags/devmap", BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP,
                                        nullptr) > 0;
  }();
  EXPECT_TRUE(done);
}

inline roce_config &config_of(xdp_roce &object);

inline xdp_roce *open_as_compiled() {
  const char *path = std::getenv("XR_BPF_OBJECT");
  if (!path)
    return xdp_roce__open();
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(bytes.empty()) << "cannot read " << path;
  auto *object = static_cast<xdp_roce *>(std::calloc(1, sizeof(xdp_roce)));
  if (!object || xdp_roce__create_skeleton(object)) {
    xdp_roce__destroy(object);
    return nullptr;
  }
  object->skeleton->data = bytes.data(); // libbpf copies what it keeps
  object->skeleton->data_sz = bytes.size();
  if (bpf_object__open_skeleton(object->skeleton, nullptr)) {
    ADD_FAILURE() << "cannot open " << path << ": " << std::strerror(errno);
    xdp_roce__destroy(object);
    return nullptr;
  }
  return object;
}

// For this kernel; nullptr when it cannot be opened.
inline xdp_roce *open_program() {
  if (!kernel_has_frags())
    register_sections();
  xdp_roce *object = open_as_compiled();
  if (object)
    config_of(*object).frags = kernel_has_frags();
  return object;
}

// Its configuration, until it is loaded. Where that is in .rodata differs from clang to clang.
inline roce_config &config_of(xdp_roce &object) {
  const btf *types = bpf_object__btf(object.obj);
  const btf_type *section = btf__type_by_id(
      types, static_cast<__u32>(btf__find_by_name_kind(types, ".rodata", BTF_KIND_DATASEC)));
  for (__u32 i = 0; section && i < btf_vlen(section); i++) {
    const btf_var_secinfo &one = btf_var_secinfos(section)[i];
    const btf_type *variable = btf__type_by_id(types, one.type);
    if (std::strcmp(btf__name_by_offset(types, variable->name_off), "config") == 0)
      return *reinterpret_cast<roce_config *>(reinterpret_cast<char *>(object.rodata) + one.offset);
  }
  ADD_FAILURE() << "the object has no 'config'";
  return object.rodata->config;
}

// Loads like datapath/object.cpp. Returns errno, or 0.
inline int load_program(xdp_roce &object) {
  if (!(config_of(object).features & ROCE_FEATURE_CLONE))
    bpf_program__set_autoload(object.progs.cnp_egress, false);
  return -xdp_roce__load(&object);
}

// Instructions that the kernel's verifier went through, of the 1,000,000 that it allows; 0 before
// kernel 5.16.
inline uint32_t verified(const bpf_program *program) {
  bpf_prog_info info{};
  __u32 size = sizeof(info);
  return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ? 0 : info.verified_insns;
}

} // namespace xr::test
