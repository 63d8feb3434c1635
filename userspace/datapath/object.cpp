// SPDX-License-Identifier: Apache-2.0
#include "datapath/object.h"

#include <bit>
#include <ctime>

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "roce/config.h"
// For the sizes alone: what it declares for its includer to define is not needed here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "roce/table.h"
#pragma GCC diagnostic pop
#include <xdp_roce.skel.h>

#include "datapath/log.h"

namespace xr::datapath {

namespace {

using Skeleton = struct ::xdp_roce;
using Rodata = std::remove_pointer_t<decltype(Skeleton::rodata)>;

constexpr const char *kSection = "xdp.frags";

uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

} // namespace

// libbpf sets the flag that old kernels refuse for every program of this section. A handler of our
// own for the section does not. The opened object points to it until it is loaded.
struct Object::WithoutFrags {
  int id = libbpf_register_prog_handler(kSection, BPF_PROG_TYPE_XDP, BPF_XDP, nullptr);
};

void Object::Close::operator()(WithoutFrags *handler) const {
  libbpf_unregister_prog_handler(handler->id);
  delete handler;
}

size_t object_config_offset() { return offsetof(Rodata, config); }

size_t object_rodata_size() {
  // More than the skeleton's struct tells: constants without a name are in it too.
  std::unique_ptr<Skeleton, decltype(&Skeleton::destroy)> object(Skeleton::open(),
                                                                 Skeleton::destroy);
  return object ? bpf_map__value_size(object->maps.rodata) : 0;
}

bool kernel_has_frags() {
  // r0 = XDP_PASS; exit
  const bpf_insn program[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                              {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = BPF_F_XDP_HAS_FRAGS);
  Fd fd(
      bpf_prog_load(BPF_PROG_TYPE_XDP, "roce_frags", "GPL", program, std::size(program), &options));
  return static_cast<bool>(fd);
}

void Object::Close::operator()(Skeleton *object) const { Skeleton::destroy(object); }
void Object::Close::operator()(xdp_program *program) const { xdp_program__close(program); }

int Object::program_fd() const { return bpf_program__fd(object_->progs.xdp_roce); }

void Object::configure(const AttachOptions &options, bool frags) {
  roce_config &config = object_->rodata->config;
  auto &maps = object_->maps;

  config.abi = ROCE_ABI;
  config.udp_port_be = htons(options.udp_port);
  config.track = options.track;
  config.frags = frags;
  config.streams = options.track ? options.streams : 1;
  config.buckets = options.track ? ROCE_BUCKETS_FOR(options.streams) : 1;
  config.attached_ns = realtime_ns();
  // Against somebody who picks addresses that share a bucket; without it all still works.
  if (getrandom(&config.hash_seed, sizeof(config.hash_seed), GRND_NONBLOCK) < 0)
    config.hash_seed = config.attached_ns;

  bpf_map__set_max_entries(maps.streams, config.streams);
  bpf_map__set_max_entries(maps.buckets, config.buckets);
  // What only tracking uses is as small as the kernel lets it be.
  uint32_t page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  bpf_map__set_max_entries(
      maps.events, options.track ? std::bit_ceil(std::max(options.ring_bytes, page)) : page);
  if (!options.track)
    bpf_map__set_max_entries(maps.hints, 1);
}

Status Object::pin_maps(const Pins &pins) {
  bpf_map *map = nullptr;
  bpf_object__for_each_map(map, object_->obj) {
    std::string path = pins.path(pin_name(bpf_map__name(map)));
    if (int error = bpf_map__set_pin_path(map, path.c_str()); error < 0)
      return errno_error(-error, fmt::format("cannot pin at {}", path));
  }
  return {};
}

Result<Object> Object::open(const AttachOptions &options, bool frags, const Pins &pins) {
  Object self;

  if (!frags)
    self.handler_.reset(new WithoutFrags);
  self.object_.reset(Skeleton::open());
  if (!self.object_)
    return errno_error(errno, "cannot open the BPF program that is built in");
  self.configure(options, frags);
  if (auto done = self.pin_maps(pins); !done)
    return done.error();
  xdp_program *handle = xdp_program__from_bpf_obj(self.object_->obj, kSection);
  if (auto failed = libxdp_get_error(handle))
    return errno_error(static_cast<int>(-failed), "libxdp does not take the built-in BPF program");
  self.handle_.reset(handle);
  xdp_program__set_run_prio(handle, options.priority);
  xdp_program__set_chain_call_enabled(handle, XDP_PASS, true);
  // libbpf knows it from the section's name only when it loads, too late for the dispatcher.
  xdp_program__set_xdp_frags_support(handle, frags);
  return self;
}

} // namespace xr::datapath
