// SPDX-License-Identifier: Apache-2.0
#include "datapath/live_program.h"

#include <cerrno>
#include <cstring>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <xdp_roce_live.skel.h>

#include <fmt/format.h>

#include "datapath/log.h"
#include "host/privilege.h"

namespace xr::datapath {

namespace {

constexpr uint32_t kLiveFrames = 1U << 1; // BPF_F_TEST_XDP_LIVE_FRAMES, which 5.15's headers lack
constexpr size_t kLongest = 3300;         // bytes that every kernel takes; about 3,400 are most

Error refused(int error, size_t length) {
  if (error == E2BIG || error == ENOTSUP)
    return {"this kernel has no live frames", "5.18 or later has; --engine afxdp"};
  if (error == EINVAL && length > kLongest)
    return {fmt::format("frames of {} bytes are too long for live frames", length),
            "about 3,400 bytes is most; --engine afxdp"};
  if (error == EINVAL)
    return {"this kernel has no live frames", "5.18 or later has; --engine afxdp"};
  return errno_error(error, "the kernel refused live frames", "--engine afxdp");
}

} // namespace

void LiveProgram::Close::operator()(xdp_roce_live *object) const { xdp_roce_live::destroy(object); }

int LiveProgram::fd() const { return bpf_program__fd(object_->progs.xdp_roce_live); }

Result<LiveProgram> LiveProgram::load(const roce_live_plan &plan, std::span<const roce_live_qp> qps,
                                      std::span<const uint8_t> frame, unsigned port) {
  XR_TRY(begin_call(host::Privilege::Load));
  LiveProgram self;
  self.object_.reset(xdp_roce_live::open());
  if (!self.object_)
    return errno_error(errno, "cannot open the BPF program that is built in");
  auto &maps = self.object_->maps;
  bpf_map__set_max_entries(maps.live_qps, static_cast<uint32_t>(qps.size()));
  memcpy(const_cast<roce_live_plan *>(&self.object_->rodata->plan), &plan, sizeof(plan));
  LogCapture log;
  if (const int error = xdp_roce_live::load(self.object_.get()); error < 0)
    return errno_error(-error, "the kernel refused the program of live frames",
                       log.verifier_message());
  for (uint32_t i = 0; i < qps.size(); i++)
    if (bpf_map__update_elem(maps.live_qps, &i, sizeof(i), &qps[i], sizeof(qps[i]), 0) < 0)
      return errno_error(errno, "cannot write the QPs of live frames");
  const uint32_t first = 0;
  const bpf_devmap_val out{port, {}};
  if (bpf_map__update_elem(maps.live_port, &first, sizeof(first), &out, sizeof(out), 0) < 0)
    return errno_error(errno, "cannot send live frames out of the port");
  self.state_ = &self.object_->bss->state;
  self.frame_.assign(frame.begin(), frame.end());
  if (auto able = self.run(1, 1); !able) // nothing is sent: the limit is 0
    return able.error();
  if (auto kept = KeptProgram::keep(self.fd()))
    self.kept_ = std::move(*kept);
  else
    self.why_slow_ = kept.error().message;
  return self;
}

Status LiveProgram::run(uint32_t times, uint32_t batch) {
  LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame_.data(),
              .data_size_in = static_cast<__u32>(frame_.size()), .repeat = static_cast<int>(times),
              .flags = kLiveFrames, .batch_size = batch);
  const int error = -bpf_prog_test_run_opts(fd(), &options);
  if (error <= 0 || error == EINTR)
    return {};
  return refused(error, frame_.size());
}

Result<std::vector<uint8_t>> LiveProgram::try_on(std::span<const uint8_t> frame) {
  std::vector<uint8_t> made(4096);
  LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(), .data_out = made.data(),
              .data_size_in = static_cast<__u32>(frame.size()),
              .data_size_out = static_cast<__u32>(made.size()), .repeat = 1);
  if (const int error = -bpf_prog_test_run_opts(fd(), &options); error > 0)
    return errno_error(error, "cannot run the program");
  if (options.retval != XDP_REDIRECT)
    return Error{fmt::format("the program returned {}", options.retval)};
  made.resize(options.data_size_out);
  return made;
}

} // namespace xr::datapath
