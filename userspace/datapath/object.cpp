// SPDX-License-Identifier: Apache-2.0
#include "datapath/object.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

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

#include "base/clock.h"
#include "datapath/helper_calls.h"
#include "datapath/map_names.h"
#include "datapath/maps.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

using Skeleton = struct ::xdp_roce;
using Rodata = std::remove_pointer_t<decltype(Skeleton::rodata)>;

constexpr const char *kSection = "xdp.frags";
// CLONE is a bridge's.
constexpr uint32_t kRuleFeatures = ROCE_FEATURES_OF_RULES & ~ROCE_FEATURE_CLONE;

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

#define XR_IS_THERE_(name)                                                                         \
  static_assert(std::is_same_v<decltype(std::declval<Skeleton>().maps.name), bpf_map *>);
XR_MAP_NAMES(XR_IS_THERE_)
#undef XR_IS_THERE_

std::vector<std::string> object_map_names() {
  std::vector<std::string> names = {map_names::ruleset};
  std::unique_ptr<Skeleton, decltype(&Skeleton::destroy)> object(Skeleton::open(),
                                                                 Skeleton::destroy);
  bpf_map *map = nullptr;
  if (object)
    bpf_object__for_each_map(map, object->obj) names.emplace_back(bpf_map__name(map));
  return names;
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

int Object::cnp_fd() const { return bpf_program__fd(object_->progs.cnp_egress); }

Error load_error(int error, uint32_t streams, const LogCapture &log) {
  std::string release = host::kernel_release(), reason = log.verifier_message();
  if (host::kernel_too_old(release))
    return Error{fmt::format("this kernel ({}) is too old", release), "5.15 or later is needed"};
  if (error == ENOMEM || error == E2BIG)
    return Error{fmt::format("not enough kernel memory for {} streams (250 bytes each)", streams),
                 "--streams with a smaller number, or --no-track"};
  if (error == EPERM)
    return Error{"the kernel does not let this process load the program",
                 reason.empty() ? "run it as root, outside any user namespace" : reason};
  return errno_error(error, "the kernel refused the program", reason);
}

roce_config make_config(const AttachOptions &options, bool frags) {
  roce_config config{};
  config.abi = ROCE_ABI;
  config.udp_port_be = htons(options.udp_port);
  config.track = options.track;
  config.frags = frags;
  config.streams = options.track ? options.streams : 1;
  config.buckets = options.track ? ROCE_BUCKETS_FOR(options.streams) : 1;
  config.attached_ns = realtime_ns();
  config.cnp_window_ns = options.cnp_window_ns;
  config.features = options.features | (options.rules ? kRuleFeatures : 0);
  config.uses = options.rules ? ~0u : 0;
  // Against somebody who picks addresses that share a bucket; without it all still works.
  if (getrandom(&config.hash_seed, sizeof(config.hash_seed), GRND_NONBLOCK) < 0)
    config.hash_seed = config.attached_ns;
  return config;
}

void Object::configure(const roce_config &config, uint32_t ring_bytes) {
  auto &maps = object_->maps;

  object_->rodata->config = config;
  bpf_map__set_max_entries(maps.streams, config.streams);
  bpf_map__set_max_entries(maps.buckets, config.buckets);
  // What only tracking or rules use is as small as the kernel lets it be.
  uint32_t page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  bpf_map__set_max_entries(maps.events,
                           config.track ? std::bit_ceil(std::max(ring_bytes, page)) : page);
  if (!config.track)
    for (bpf_map *map : {maps.hints, maps.asides})
      bpf_map__set_max_entries(map, 1);
  if (!(config.features & ROCE_FEATURE_RULES))
    for (bpf_map *map : {maps.rule_states, maps.rule_counts, maps.rule_points, maps.rule_notes,
                         maps.paces, maps.peers})
      bpf_map__set_max_entries(map, 1);
  if (!(config.features & ROCE_FEATURE_SOCKETS))
    for (bpf_map *map : {maps.sockets, maps.endpoints})
      bpf_map__set_max_entries(map, 1);
  bpf_map__set_max_entries(maps.capture_ring,
                           config.features & ROCE_FEATURE_CAPTURE
                               ? static_cast<uint32_t>(libbpf_num_possible_cpus())
                               : 1);
  if (!(config.features & ROCE_FEATURE_CLONE))
    bpf_program__set_autoload(object_->progs.cnp_egress, false);
}

namespace {

// A former map of that size will do, and a ring of events of any.
bool fits(const bpf_map *map, int fd) {
  bpf_map_info info{};
  __u32 size = sizeof(info);
  return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
         info.type == bpf_map__type(map) && info.value_size == bpf_map__value_size(map) &&
         (info.max_entries == bpf_map__max_entries(map) || info.type == BPF_MAP_TYPE_RINGBUF);
}

} // namespace

Status Object::place_maps(const Pins &pins, const std::string &suffix) {
  // A devmap goes with programs like the first that used it only, behind a dispatcher or not. Those
  // of a bridge never are, and others have nothing in theirs.
  const bool bridged = object_->rodata->config.features & ROCE_FEATURE_FORWARD;
  bpf_map *map = nullptr;
  bpf_object__for_each_map(map, object_->obj) {
    std::string name = pin_name(bpf_map__name(map));
    const bool anew =
        map == object_->maps.rodata || (bpf_map__type(map) == BPF_MAP_TYPE_DEVMAP && !bridged);
    Fd former = anew ? Fd() : pins.open(name);
    int error = fits(map, former.get())
                    ? bpf_map__reuse_fd(map, former.get())
                    : bpf_map__set_pin_path(map, pins.path(name + suffix).c_str());
    if (error < 0)
      return errno_error(-error, fmt::format("cannot pin in {}", pins.directory()));
  }
  return {};
}

Status Object::share(const Pins &other) {
  auto &maps = object_->maps;
  for (bpf_map *map : {maps.buckets, maps.streams, maps.shared, maps.hints, maps.asides}) {
    std::string name = bpf_map__name(map);
    Fd theirs = other.open(name);
    if (!fits(map, theirs.get()))
      return Error{fmt::format("the ports cannot share the map {}", name)};
    if (int error = bpf_map__reuse_fd(map, theirs.get()); error < 0)
      return errno_error(-error, fmt::format("the ports cannot share the map {}", name));
  }
  return {};
}

// A CNP is shorter than the packet it is made of. Nothing else changes the length of a frame.
std::unique_ptr<Skeleton, Object::Close> Object::open_skeleton(bool resizes) {
  std::unique_ptr<Skeleton, Close> object(
      static_cast<Skeleton *>(calloc(1, sizeof(Skeleton)))); // freed by Skeleton::destroy
  if (!object || xdp_roce__create_skeleton(object.get()) < 0)
    return nullptr;
  bpf_object_skeleton &skeleton = *object->skeleton;
  std::vector<uint8_t> patched;
  if (!resizes) {
    patched = without_calls({static_cast<const uint8_t *>(skeleton.data), skeleton.data_sz},
                            BPF_FUNC_xdp_adjust_tail);
    skeleton.data = patched.data(); // read only while it is opened
  }
  const int error = bpf_object__open_skeleton(&skeleton, nullptr);
  skeleton.data = nullptr;
  if (!error)
    return object;
  errno = -error;
  return nullptr;
}

Result<Object> Object::open(const roce_config &config, uint32_t ring_bytes) {
  Object self;

  if (!config.frags)
    self.handler_.reset(new WithoutFrags);
  self.object_ = open_skeleton(config.features & ROCE_FEATURE_CNP);
  if (!self.object_)
    return errno_error(errno, "cannot open the BPF program that is built in");
  self.configure(config, ring_bytes);
  return self;
}

Result<Object> Object::open(const roce_config &config, uint32_t ring_bytes, const Pins &pins,
                            const std::string &suffix) {
  auto self = open(config, ring_bytes);
  if (!self)
    return self;
  if (auto done = self->place_maps(pins, suffix); !done)
    return done.error();
  return self;
}

Result<xdp_program *> Object::handle(unsigned priority) {
  xdp_program *handle = xdp_program__from_bpf_obj(object_->obj, kSection);
  if (auto failed = libxdp_get_error(handle))
    return errno_error(static_cast<int>(-failed), "libxdp does not take the built-in BPF program");
  handle_.reset(handle);
  xdp_program__set_run_prio(handle, priority);
  xdp_program__set_chain_call_enabled(handle, XDP_PASS, true);
  // libbpf knows it from the section's name only when it loads, too late for the dispatcher.
  xdp_program__set_xdp_frags_support(handle, object_->rodata->config.frags);
  return handle;
}

Status Object::load() {
  LogCapture log;
  if (int error = xdp_roce__load(object_.get()); error < 0)
    return load_error(-error, object_->rodata->config.streams, log);
  return {};
}

} // namespace xr::datapath
