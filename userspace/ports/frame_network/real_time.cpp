// SPDX-License-Identifier: Apache-2.0
#include "frame_network/real_time.h"

#include <algorithm>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/time.h"
#include "host/link.h"
#include "host/netns.h"

namespace xr::frame_network {

namespace {

constexpr uint64_t kShort = 50'000;      // ns; shorter times pass without sleep
constexpr uint64_t kLongest = 1'000'000; // ns, of one sleep, and between two
constexpr double kStall = 300'000;       // ns, some ten times what a frame takes

// Runs this thread before all work that is not urgent, where that is allowed: on a machine with
// other work it would be milliseconds late. It sleeps at least once a millisecond, so that the
// kernel's own threads run.
class Urgent {
public:
  Urgent() {
    const sched_param first{.sched_priority = 1};
    is_set_ = pthread_getschedparam(pthread_self(), &policy_, &before_) == 0 &&
              pthread_setschedparam(pthread_self(), SCHED_FIFO, &first) == 0;
  }
  Urgent(const Urgent &) = delete;
  Urgent &operator=(const Urgent &) = delete;
  ~Urgent() {
    if (is_set_)
      (void)pthread_setschedparam(pthread_self(), policy_, &before_);
  }

private:
  int policy_ = SCHED_OTHER;
  sched_param before_{};
  bool is_set_ = false;
};

} // namespace

Result<std::unique_ptr<RealTime>> RealTime::open(simulate::Simulation &simulation,
                                                 const std::vector<std::string> &netns,
                                                 const std::vector<LinkPorts> &links,
                                                 double scale) {
  std::unique_ptr<RealTime> made(new RealTime(simulation, scale));
  for (const std::string &name : netns)
    made->sockets_.push_back(XR_TRY(PacketSocket::open(name)));
  made->wires_.resize(netns.size());
  for (uint32_t i = 0; i < links.size(); i++) {
    XR_TRY(made->add(2 * i, links[i].a, links[i].b, netns));
    XR_TRY(made->add(2 * i + 1, links[i].b, links[i].a, netns));
  }
  simulation.use(*made);
  return made;
}

Status RealTime::add(uint32_t wire, const LinkEnd &from, const LinkEnd &to,
                     const std::vector<std::string> &netns) {
  const auto index_of = [&](const LinkEnd &end) -> Result<unsigned> {
    const auto inside = XR_TRY(host::enter_netns(netns[end.netns]));
    return XR_TRY(host::read_link({end.ifname, netns[end.netns]})).ifindex;
  };
  out_.push_back({from.netns, XR_TRY(index_of(from))});
  wires_[to.netns][XR_TRY(index_of(to))] = wire;
  return {};
}

uint64_t RealTime::now() const {
  return static_cast<uint64_t>(static_cast<double>(monotonic_ns() - *begun_) * scale_);
}

void RealTime::run_until(uint64_t ns) {
  if (!begun_) {
    prctl(PR_SET_TIMERSLACK, 1);
    begun_ = monotonic_ns();
  }
  const Urgent urgent;
  while (simulation_.now() < ns && !simulation_.done()) {
    simulation_.run_until(std::min(now(), ns));
    for (PacketSocket &socket : sockets_)
      socket.flush();
    if (!receive(ns) || monotonic_ns() - slept_ > kLongest)
      wait(ns);
  }
}

void RealTime::carry(uint32_t number, std::span<const uint8_t> frame) {
  sockets_[out_[number].socket].send(out_[number].ifindex, frame);
}

uint64_t RealTime::stall_ns() const { return static_cast<uint64_t>(kStall * scale_); }

// Events that are due happen before the frame arrives.
bool RealTime::receive(uint64_t until) {
  bool any = false;
  for (size_t i = 0; i < sockets_.size(); i++) {
    const auto frames = sockets_[i].receive();
    if (frames.empty())
      continue;
    any = true;
    simulation_.run_until(std::min(now(), until));
    for (const PacketSocket::Frame &frame : frames)
      if (const auto wire = wires_[i].find(frame.ifindex); wire != wires_[i].end())
        simulation_.arrived(wire->second, frame.bytes);
  }
  return any;
}

void RealTime::wait(uint64_t until) {
  const uint64_t next = std::min(simulation_.next_event(), until), at = now();
  const double left = next > at ? static_cast<double>(next - at) / scale_ : 0;
  if (left < kShort && monotonic_ns() - slept_ < kLongest)
    return;
  const auto ns =
      static_cast<int64_t>(std::clamp(left - kShort, 1.0, static_cast<double>(kLongest)));
  std::vector<pollfd> all;
  for (const PacketSocket &socket : sockets_)
    all.push_back({socket.fd(), POLLIN, 0});
  const timespec limit{0, ns};
  (void)ppoll(all.data(), all.size(), &limit, nullptr);
  slept_ = monotonic_ns();
}

uint64_t RealTime::kernel_lost() const {
  uint64_t lost = 0;
  for (const PacketSocket &socket : sockets_)
    lost += socket.refused() + socket.dropped();
  return lost;
}

} // namespace xr::frame_network
