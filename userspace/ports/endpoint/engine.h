// SPDX-License-Identifier: Apache-2.0
// Sends a source's packets through an AF_XDP socket and passes received frames to the source: one
// thread, one queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/socket.h"
#include "base/result.h"
#include "endpoint/system_clock.h"
#include "endpoint/worker.h"
#include "model/run_reports.h"
#include "packet/pauses.h"
#include "packet/source.h"

namespace xr::endpoint {

// `Socket` is afxdp::Socket, `Clock` SystemClock, but for tests: what a frame passes is not
// virtual.
template <typename Socket, typename Clock> class BasicEngine : public Worker {
public:
  // `udp_port`: of RoCEv2, in host byte order.
  BasicEngine(std::unique_ptr<Socket> socket, std::unique_ptr<packet::Source> source,
              uint16_t udp_port, Clock clock = {});

  // Answers ARP and neighbour discovery for these addresses, for a source that does not do so.
  void answer_for(std::vector<packet::Address> addresses, const packet::Mac &mac);

  // After the source is done, continues to receive until nothing arrives for `ns`.
  void linger(uint64_t ns) { linger_ns_ = ns; }

  // The clock whose time Source::receive() gets, read after the frames are taken from the ring.
  // Default: the time at which the round began, CLOCK_MONOTONIC. With that clock the rest of the
  // round has the later time, too.
  void receive_clock(clockid_t clock) { receive_clock_ = clock; }

  // Passes PFC and PAUSE frames to `pauses`, which the source obeys.
  void obey(packet::Pauses &pauses) { pauses_ = &pauses; }

  // Calls Source::flushed() each time after packets were given to the kernel.
  void report_flushes() { report_flushes_ = true; }

  // Runs until the source is done or `stop` is set. Error: the port is gone.
  Status run(const std::atomic<bool> &stop) override;

  bool zero_copy() const override { return socket_->zero_copy(); }

  // Calls `use` in the engine's thread between two rounds of its loop, or, if the engine is not
  // running, in this thread. The source's counts may be read in `use`.
  void read_counts(const std::function<void(const EngineCounts &)> &use) override;

private:
  uint64_t receive(uint64_t now); // the time from here on
  void neighbour(std::span<const uint8_t> frame);
  size_t send(uint64_t now);
  void write(const packet::Outgoing &packet);
  void count_lateness(const packet::Outgoing &packet, uint64_t now);
  Status idle(uint64_t now);
  void call_reader();
  void set_running(bool running);
  void send_last();
  void finish(const std::atomic<bool> &stop);
  void drain();
  void await_answers(const std::atomic<bool> &stop);
  void answer_reader();

  [[no_unique_address]] Clock clock_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<packet::Source> source_;
  uint16_t udp_port_be_;
  std::vector<const packet::Template *> holds_; // by slot: the template whose bytes it contains
  std::vector<packet::Outgoing> batch_;
  std::vector<afxdp::Received> frames_;
  std::vector<packet::Address> addresses_; // ascending
  packet::Mac mac_{};
  EngineCounts counts_;
  uint64_t last_sent_ = 0, last_due_ = 0;
  uint64_t quiet_since_ = 0;
  uint64_t linger_ns_ = 0;
  std::optional<clockid_t> receive_clock_;
  packet::Pauses *pauses_ = nullptr;
  bool report_flushes_ = false;
  uint64_t checked_ = 0;             // time of the last check that the port exists (ns)
  bool ended_ = false;               // now_ns is final
  std::atomic<bool> running_{false}; // changes with `reading_` locked
  std::atomic<bool> read_requested_{false};
  std::mutex reading_; // held while another thread reads the counts of an engine that does not run
  const std::function<void(const EngineCounts &)> *reader_ = nullptr;
};

using Engine = BasicEngine<afxdp::Socket, SystemClock>;
extern template class BasicEngine<afxdp::Socket, SystemClock>;

} // namespace xr::endpoint
