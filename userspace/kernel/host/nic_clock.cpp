// SPDX-License-Identifier: Apache-2.0
#include "host/nic_clock.h"

#include <cerrno>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/fd.h"
#include "host/ethtool.h"

namespace xr::host {

namespace {

constexpr unsigned kReadings = 9;

int stamping(int socket, const std::string &ifname, unsigned long command,
             hwtstamp_config &config) {
  ifreq request{};
  ifname.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char *>(&config);
  return ioctl(socket, command, &request) < 0 ? errno : 0;
}

int64_t ns_of(const ptp_clock_time &time) { return time.sec * 1'000'000'000 + time.nsec; }
int64_t ns_of(const timespec &time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// CLOCK_TAI is ahead by whole seconds, or by none where nobody has set them.
int64_t tai_ahead() {
  timespec tai{}, real{};
  clock_gettime(CLOCK_TAI, &tai);
  clock_gettime(CLOCK_REALTIME, &real);
  constexpr int64_t kSecond = 1'000'000'000;
  return (ns_of(tai) - ns_of(real) + kSecond / 2) / kSecond * kSecond;
}

} // namespace

Result<NicClock> read_nic_clock(const std::string &ifname) {
  ethtool_ts_info info{};
  info.cmd = ETHTOOL_GET_TS_INFO;
  if (const int error = -ethtool(ifname, &info); error > 0)
    return errno_error(error, "the driver does not say what it stamps");
  NicClock clock;
  clock.index = info.phc_index;
  clock.stamps_received = info.so_timestamping & SOF_TIMESTAMPING_RX_HARDWARE &&
                          info.rx_filters & 1 << HWTSTAMP_FILTER_ALL;
  return clock;
}

Result<ReceiveStamps> ReceiveStamps::begin(const std::string &ifname) {
  Fd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd)
    return errno_error(errno, "cannot ask the driver for times");
  hwtstamp_config before{};
  if (const int error = stamping(fd.get(), ifname, SIOCGHWTSTAMP, before))
    return errno_error(error, "the driver cannot be asked to stamp received frames");
  hwtstamp_config wanted = before;
  wanted.rx_filter = HWTSTAMP_FILTER_ALL;
  if (const int error = stamping(fd.get(), ifname, SIOCSHWTSTAMP, wanted))
    return errno_error(error, "the NIC does not stamp all received frames");
  return ReceiveStamps(fd.release(), ifname, before.tx_type, before.rx_filter);
}

ReceiveStamps::ReceiveStamps(ReceiveStamps &&other) noexcept
    : socket_(std::exchange(other.socket_, -1)), ifname_(std::move(other.ifname_)),
      tx_type_(other.tx_type_), rx_filter_(other.rx_filter_) {}

ReceiveStamps::~ReceiveStamps() {
  if (socket_ < 0)
    return;
  hwtstamp_config before{};
  before.tx_type = tx_type_;
  before.rx_filter = rx_filter_;
  (void)stamping(socket_, ifname_, SIOCSHWTSTAMP, before);
  close(socket_);
}

Result<ClockOffset> read_clock_offset(int index) {
  const std::string path = fmt::format("/dev/ptp{}", index);
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return errno_error(errno, "cannot open " + path);
  ptp_sys_offset_extended readings{};
  readings.n_samples = kReadings;
  if (ioctl(fd.get(), PTP_SYS_OFFSET_EXTENDED, &readings) < 0)
    return errno_error(errno, "cannot read " + path);
  ClockOffset best;
  best.within_ns = UINT64_MAX;
  for (unsigned i = 0; i < kReadings; i++) {
    const auto &[before, nic, after] = readings.ts[i];
    const auto window = static_cast<uint64_t>(ns_of(after) - ns_of(before));
    if (window >= best.within_ns)
      continue;
    best.within_ns = window;
    best.realtime_ns = ns_of(nic) - ns_of(before) - static_cast<int64_t>(window / 2);
  }
  best.tai_ns = best.realtime_ns - tai_ahead();
  return best;
}

} // namespace xr::host
