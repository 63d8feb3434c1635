// SPDX-License-Identifier: Apache-2.0
#include "datapath/rates_file.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "datapath/lock.h"

namespace xr::datapath {

namespace {

constexpr uint64_t kMagic = 0x3153455441525258; // "XRRATES1"

// The file: this, the sum of the others, and `rows` QPs.
struct Header {
  uint64_t magic = kMagic;
  uint64_t row_size = sizeof(QpRate); // of another version: not read
  uint64_t rows = 0;
  uint64_t responder = 0;
  uint64_t time_ns = 0;
  double jain = 0;
};
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<QpRate>);

std::string path_of(uint64_t netns, unsigned ifindex) {
  return fmt::format("{}/rates-{}-{}", Lock::kDirectory, netns, ifindex);
}

template <class T> void put(std::ofstream &file, const T &value) {
  file.write(reinterpret_cast<const char *>(&value), sizeof(value));
}

template <class T> bool get(std::ifstream &file, T &value) {
  return bool(file.read(reinterpret_cast<char *>(&value), sizeof(value)));
}

} // namespace

RatesFile::RatesFile(uint64_t netns, unsigned ifindex) : path_(path_of(netns, ifindex)) {
  unlink(path_.c_str());
}

RatesFile::RatesFile(RatesFile &&other) noexcept : path_(std::exchange(other.path_, "")) {}

RatesFile::~RatesFile() {
  if (!path_.empty())
    unlink(path_.c_str());
}

Status RatesFile::write(const EndpointRates &rates) const {
  const std::string part = path_ + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  put(file, Header{.rows = rates.qps.size(),
                   .responder = rates.responder,
                   .time_ns = rates.time_ns,
                   .jain = rates.jain});
  put(file, rates.other_qps);
  for (const QpRate &qp : rates.qps)
    put(file, qp);
  file.close();
  if (!file || rename(part.c_str(), path_.c_str()) < 0)
    return errno_error(errno, fmt::format("cannot write {}", path_));
  return {};
}

std::shared_ptr<const EndpointRates> read_rates(uint64_t netns, unsigned ifindex) {
  if (!Lock::port_is_taken(netns, ifindex, Lock::Use::Endpoint))
    return nullptr; // a file that is there is a killed process's
  std::ifstream file(path_of(netns, ifindex), std::ios::binary);
  Header header{.magic = 0};
  if (!get(file, header) || header.magic != kMagic || header.row_size != sizeof(QpRate))
    return nullptr;
  auto rates = std::make_shared<EndpointRates>();
  rates->responder = header.responder;
  rates->time_ns = header.time_ns;
  rates->jain = header.jain;
  bool whole = get(file, rates->other_qps);
  for (uint64_t i = 0; whole && i < header.rows; i++)
    whole = get(file, rates->qps.emplace_back());
  return whole ? rates : nullptr;
}

} // namespace xr::datapath
