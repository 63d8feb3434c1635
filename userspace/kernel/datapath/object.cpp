// SPDX-License-Identifier: Apache-2.0
#include "datapath/object.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <type_traits>
#include <utility>

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include "base/random_seed.h"
#include "roce/capture.h"
#include "roce/config.h"
#include "roce/counters.h"
#include "roce/found.h" // for the sizes
#include "roce/job_record.h"
#include "roce/table.h"
#include "roce/times.h"
#include <xdp_roce.skel.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/helper_calls.h"
#include "datapath/map_names.h"
#include "datapath/maps.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

using Skeleton = struct ::xdp_roce;
using Rodata = std::remove_pointer_t<decltype(Skeleton::rodata)>;

constexpr const char *kSection = "xdp.frags", *kEgressSection = "xdp.frags/devmap";
constexpr uint32_t kRuleFeatures = ROCE_FEATURES_OF_RULES & ~ROCE_FEATURES_OF_BRIDGES;

// libbpf sets BPF_F_XDP_HAS_FRAGS for every program of these sections; kernels before 5.18 refuse
// this flag. These handlers leave a program's own flags as they are. They are never unregistered:
// before 1.3 libbpf uses its table of handlers again after it freed it with the last one, and a
// program refers to its handler until it is loaded.
Status register_sections() {
  static const std::array handlers = {
      libbpf_register_prog_handler(kSection, BPF_PROG_TYPE_XDP, BPF_XDP, nullptr),
      libbpf_register_prog_handler(kEgressSection, BPF_PROG_TYPE_XDP, BPF_XDP_DEVMAP, nullptr)};
  for (const int handler : handlers)
    if (handler < 0)
      return errno_error(-handler, "libbpf takes no handler for the sections of the BPF program");
  return {};
}

} // namespace

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
  // Not sizeof(Rodata): .rodata also contains constants without a name.
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
    return Error{fmt::format("this kernel ({}) is too old", release),
                 "kernel 5.15 or later is needed"};
  if (error == ENOMEM || error == E2BIG)
    return Error{fmt::format("not enough kernel memory for {} streams (250 bytes each)", streams),
                 "--streams with a smaller number, or --no-track"};
  if (error == EPERM)
    return Error{"the kernel does not let this process load the program",
                 reason.empty() ? "run it as root, outside any user namespace" : reason};
  return errno_error(error, "the kernel refused the program", reason);
}

uint32_t quantum_of(uint64_t speed) {
  constexpr uint64_t kPicoseconds = 512ull * 1'000'000'000'000;
  return speed < kPicoseconds / UINT32_MAX ? 0 : static_cast<uint32_t>(kPicoseconds / speed);
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
  config.uses = options.rules ? ~0u : options.uses;
  config.decap = options.decap;
  if (options.decap)
    config.features |= ROCE_FEATURE_DECAP;
  if (options.follow)
    config.features |= ROCE_FEATURE_FOLLOW;
  if (options.latency)
    config.features |= ROCE_FEATURE_TIME;
  if (options.follow || options.latency) {
    config.features |= ROCE_FEATURE_SKIP;
    config.pairs = options.pairs;
  }
  if (options.classes)
    config.features |= ROCE_FEATURE_CLASSES;
  if (options.job)
    config.features |= ROCE_FEATURE_JOB;
  // A secret seed: a sender cannot choose addresses that share a bucket.
  const auto seed = random_seed();
  config.hash_seed =
      seed ? static_cast<decltype(config.hash_seed)>(seed.get()) : config.attached_ns;
  return config;
}

// The kernel gives times of a NIC to a program that is loaded for it alone.
void Object::bind_to(unsigned ifindex) {
  constexpr uint32_t kDeviceBoundOnly = 1 << 6; // of <linux/bpf.h> since 6.3
  bpf_program *program = object_->progs.xdp_roce;
  bpf_program__set_ifindex(program, ifindex);
  bpf_program__set_flags(program, bpf_program__flags(program) | kDeviceBoundOnly);
}

void Object::configure(const roce_config &config, uint32_t ring_bytes) {
  auto &maps = object_->maps;

  object_->rodata->config = config;
  for (bpf_program *program : {object_->progs.xdp_roce, object_->progs.cnp_egress})
    bpf_program__set_flags(program, config.frags ? BPF_F_XDP_HAS_FRAGS : 0);
  bpf_map__set_max_entries(maps.streams, config.streams);
  bpf_map__set_max_entries(maps.buckets, config.buckets);
  // Maps of features that are off get the smallest possible size.
  uint32_t page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  bpf_map__set_max_entries(maps.events,
                           config.track ? std::bit_ceil(std::max(ring_bytes, page)) : page);
  if (!config.track)
    for (bpf_map *map : {maps.hints, maps.asides})
      bpf_map__set_max_entries(map, 1);
  if (config.features & ROCE_FEATURE_CLASSES)
    bpf_map__set_max_entries(maps.classes, ROCE_CLASS_COUNTS);
  if (config.features & ROCE_FEATURE_DECAP) {
    bpf_map__set_max_entries(maps.mirrors, ROCE_MIRRORS);
    bpf_map__set_max_entries(maps.mirrored, config.streams);
  }
  if (config.features & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME)) {
    bpf_map__set_max_entries(maps.pairs, config.streams);
    bpf_map__set_max_entries(maps.pair_hints, ROCE_PAIR_HINTS);
  }
  if (config.features & ROCE_FEATURE_FOLLOW) {
    bpf_map__set_max_entries(maps.follows, config.pairs);
    bpf_map__set_max_entries(maps.episodes, ROCE_FOUND_KEPT);
    bpf_map__set_max_entries(maps.findings, ROCE_FOUND_KEPT);
  }
  if (config.features & ROCE_FEATURE_TIME) {
    bpf_map__set_max_entries(maps.timings, config.pairs);
    bpf_map__set_max_entries(maps.pair_times, config.pairs * ROCE_TIME_SERIES);
    bpf_map__set_max_entries(maps.port_times, ROCE_TIME_SERIES);
  }
  if (config.features & ROCE_FEATURE_JOB) {
    bpf_map__set_max_entries(maps.job_of, config.streams);
    bpf_map__set_max_entries(maps.job_pairs, ROCE_JOB_PAIRS);
  }
  if (!(config.features & ROCE_FEATURE_RULES))
    for (bpf_map *map : {maps.rule_states, maps.rule_counts, maps.rule_points, maps.rule_notes,
                         maps.paces, maps.peers})
      bpf_map__set_max_entries(map, 1);
  if (!(config.features & ROCE_FEATURE_SOCKETS))
    bpf_map__set_max_entries(maps.endpoints, 1);
  if (!(config.features & (ROCE_FEATURE_SOCKETS | ROCE_FEATURE_HOLD)))
    bpf_map__set_max_entries(maps.sockets, 1);
  if (!(config.features & ROCE_FEATURE_HOLD))
    bpf_map__set_value_size(maps.wire, page);
  bpf_map__set_max_entries(maps.capture_ring,
                           config.features & ROCE_FEATURE_CAPTURE
                               ? static_cast<uint32_t>(libbpf_num_possible_cpus())
                               : 1);
  if (!(config.features & ROCE_FEATURE_CLONE))
    bpf_program__set_autoload(object_->progs.cnp_egress, false);
}

namespace {

// An existing map can be reused if type and sizes are equal; an event ring may have any size.
bool reusable(const bpf_map *map, int fd) {
  bpf_map_info info{};
  __u32 size = sizeof(info);
  return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
         info.type == bpf_map__type(map) && info.value_size == bpf_map__value_size(map) &&
         (info.max_entries == bpf_map__max_entries(map) || info.type == BPF_MAP_TYPE_RINGBUF);
}

} // namespace

Status Object::place_maps(const Pins &pins, const std::string &suffix) {
  // The kernel allows a devmap only for programs of the same kind as its first user, and a program
  // under a dispatcher is of another kind. A bridge's program never runs under one, so its devmaps
  // can be reused; those of other programs are empty and are created again.
  const bool bridged = object_->rodata->config.features & ROCE_FEATURE_FORWARD;
  bpf_map *map = nullptr;
  bpf_object__for_each_map(map, object_->obj) {
    std::string name = pin_name(bpf_map__name(map));
    const bool create =
        map == object_->maps.rodata || (bpf_map__type(map) == BPF_MAP_TYPE_DEVMAP && !bridged);
    Fd former = create ? Fd() : pins.open(name);
    int error = reusable(map, former.get())
                    ? bpf_map__reuse_fd(map, former.get())
                    : bpf_map__set_pin_path(map, pins.path(name + suffix).c_str());
    if (error < 0)
      return errno_error(-error, fmt::format("cannot pin in {}", pins.directory()));
  }
  return {};
}

Status Object::share(const Pins &other) {
  auto &maps = object_->maps;
  return share_maps(other, {maps.buckets, maps.streams, maps.shared, maps.hints, maps.asides,
                            maps.pairs, maps.pair_hints, maps.follows, maps.episodes, maps.findings,
                            maps.timings, maps.pair_times, maps.port_times});
}

Status Object::share_all(const Pins &other) {
  auto &maps = object_->maps;
  if (auto done = share(other); !done)
    return done;
  return share_maps(other, {maps.opcodes, maps.totals, maps.events, maps.mirrors, maps.mirrored,
                            maps.classes, maps.pfc, maps.job_of, maps.job_pairs});
}

Status Object::share_maps(const Pins &other, std::initializer_list<bpf_map *> maps) {
  for (bpf_map *map : maps) {
    std::string name = bpf_map__name(map);
    Fd theirs = other.open(name);
    if (!reusable(map, theirs.get()))
      return Error{fmt::format("the ports cannot share the map {}", name)};
    if (int error = bpf_map__reuse_fd(map, theirs.get()); error < 0)
      return errno_error(-error, fmt::format("the ports cannot share the map {}", name));
  }
  return {};
}

// Only CNPs, which are shorter than the packet they are made from, change the length of a frame,
// and only held frames get metadata. Without these features, the calls of the helpers are removed.
Result<int32_t> nic_time_function() {
  std::unique_ptr<btf, decltype(&btf__free)> kernel(btf__load_vmlinux_btf(), btf__free);
  const int32_t id =
      kernel ? btf__find_by_name_kind(kernel.get(), "bpf_xdp_metadata_rx_timestamp", BTF_KIND_FUNC)
             : -1;
  if (id < 0)
    return Error{"this kernel gives XDP no times of the NIC", "kernel 6.3 and later do"};
  return id;
}

std::unique_ptr<Skeleton, Object::Close> Object::open_skeleton(uint32_t features,
                                                               int32_t nic_time) {
  std::unique_ptr<Skeleton, Close> object(
      static_cast<Skeleton *>(calloc(1, sizeof(Skeleton)))); // freed by Skeleton::destroy
  if (!object || xdp_roce__create_skeleton(object.get()) < 0)
    return nullptr;
  bpf_object_skeleton &skeleton = *object->skeleton;
  std::vector<uint8_t> patched;
  for (const auto &[feature, helper] : {std::pair(ROCE_FEATURE_CNP, BPF_FUNC_xdp_adjust_tail),
                                        {ROCE_FEATURE_HOLD, BPF_FUNC_xdp_adjust_meta}}) {
    if (features & feature)
      continue;
    patched =
        without_calls({static_cast<const uint8_t *>(skeleton.data), skeleton.data_sz}, helper);
    skeleton.data = patched.data(); // needed only until bpf_object__open_skeleton() returns
  }
  const std::span code(static_cast<const uint8_t *>(skeleton.data), skeleton.data_sz);
  patched = nic_time ? replace_calls(code, ROCE_NIC_TIME_CALL,
                                     {BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_KFUNC_CALL, 0, nic_time})
                     : without_calls(code, ROCE_NIC_TIME_CALL);
  skeleton.data = patched.data();
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
    XR_TRY(register_sections());
  int32_t nic_time = 0;
  if (config.features & ROCE_FEATURE_NIC_TIME)
    nic_time = XR_TRY(nic_time_function());
  self.object_ = open_skeleton(config.features, nic_time);
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
  if (config.features & ROCE_FEATURE_NIC_TIME)
    self->bind_to(pins.ifindex());
  XR_TRY(self->place_maps(pins, suffix));
  return self;
}

Result<xdp_program *> Object::handle(unsigned priority) {
  xdp_program *handle = xdp_program__from_bpf_obj(object_->obj, kSection);
  if (auto failed = libxdp_get_error(handle))
    return errno_error(static_cast<int>(-failed), "libxdp refuses the built-in BPF program");
  handle_.reset(handle);
  xdp_program__set_run_prio(handle, priority);
  xdp_program__set_chain_call_enabled(handle, XDP_PASS, true);
  // libbpf derives this from the section's name at load time, too late for the dispatcher.
  xdp_program__set_xdp_frags_support(handle, object_->rodata->config.frags);
  return handle;
}

Status Object::load() {
  LogCapture log;
  if (int error = xdp_roce__load(object_.get()); error < 0)
    return object_->rodata->config.features & ROCE_FEATURE_NIC_TIME && error == -EINVAL
               ? errno_error(EINVAL, "this kernel does not load the program for one device alone",
                             "6.12 and later do")
               : load_error(-error, object_->rodata->config.streams, log);
  return {};
}

} // namespace xr::datapath
