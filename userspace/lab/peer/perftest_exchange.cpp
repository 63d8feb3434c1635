// SPDX-License-Identifier: Apache-2.0
#include "peer/perftest_exchange.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace xr::peer {

namespace {

constexpr size_t kNumbers = 5; // of a report: size, iterations, peak, average, message rate
constexpr uint8_t kDone[] = {'d', 'o', 'n', 'e', 0};
constexpr uint32_t kCycleBytes = 4096, kLineBytes = 64;

packet::Address address_of(std::span<const uint8_t> gid) {
  packet::Address address{};
  std::copy_n(gid.begin(), address.size() * sizeof(address[0]),
              reinterpret_cast<uint8_t *>(address.data()));
  return address;
}

std::span<const uint8_t> gid_of(const packet::Address &address) {
  return {reinterpret_cast<const uint8_t *>(address.data()), address.size() * sizeof(address[0])};
}

Bytes version_bytes() {
  Bytes bytes(kVersion.begin(), kVersion.end());
  bytes.resize(kVersionBytes);
  return bytes;
}

Bytes mtu_bytes(uint32_t pmtu) { return {static_cast<uint8_t>('0' + mtu_code(pmtu)), 0}; }

Result<std::string> read_version(std::span<const uint8_t> record) {
  const auto end = std::find(record.begin(), record.end(), 0);
  const std::string text(record.begin(), end);
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && rest == text.data() + text.size();
  if (!is_number)
    return Error{"it does not speak perftest: a version was to come, and not " +
                     fmt::format("{:02x}", fmt::join(record.first(8), " ")),
                 "an ib_..._bw or ib_..._lat, of version 5.70 to 6.27"};
  // 6.28 and later agree on their parameters before the keys.
  if (number < 5.70 || number >= 6.28)
    return Error{fmt::format("perftest says version {}", text),
                 "5.70 to 6.27 are known here (Debian 12 has 6.06)"};
  return text;
}

Result<uint32_t> read_mtu(std::span<const uint8_t> record, uint32_t own) {
  const uint32_t theirs = mtu_of(record[0] - uint32_t{'0'});
  if (!theirs || record[1])
    return Error{fmt::format("perftest says MTU {:02x}", record[0]), "1 to 5, as text"};
  return std::min(theirs, own);
}

void set_number(PerftestReport &report, size_t number, uint64_t value) {
  uint64_t *const counts[] = {&report.size, &report.iterations};
  double *const doubles[] = {&report.peak, &report.average, &report.message_rate};
  if (number < std::size(counts))
    *counts[number] = value;
  else
    *doubles[number - std::size(counts)] = std::bit_cast<double>(value);
}

uint64_t number_of(const PerftestReport &report, size_t number) {
  const uint64_t all[kNumbers] = {
      report.size, report.iterations, std::bit_cast<uint64_t>(report.peak),
      std::bit_cast<uint64_t>(report.average), std::bit_cast<uint64_t>(report.message_rate)};
  return all[number];
}

} // namespace

uint32_t mtu_code(uint32_t pmtu) { return static_cast<uint32_t>(std::countr_zero(pmtu)) - 7; }
uint32_t mtu_of(uint32_t code) { return code >= 1 && code <= 5 ? 128U << code : 0; }

Bytes key_bytes(const PerftestKey &key, bool cm) {
  const auto gid = gid_of(key.gid);
  if (!cm) {
    const std::string text =
        fmt::format("{:04x}:{:04x}:{:06x}:{:06x}:{:08x}:{:016x}:{:02x}:{:08x}:", key.lid,
                    key.out_reads, key.qp, key.psn, key.rkey, key.va, fmt::join(gid, ":"), key.srq);
    Bytes bytes(text.begin(), text.end());
    bytes.resize(kKeyBytes);
    return bytes;
  }
  // A C structure, with the room before the address that its alignment makes.
  Bytes bytes;
  for (const uint32_t word : {key.lid, key.out_reads, key.qp, key.psn, key.rkey, 0U})
    put(bytes, word, 4);
  put(bytes, key.va, 8);
  bytes.insert(bytes.end(), gid.begin(), gid.end());
  put(bytes, key.srq, 4);
  put(bytes, 0, 4); // the index of the GID
  return bytes;
}

Result<PerftestKey> parse_key(std::span<const uint8_t> bytes, bool cm) {
  PerftestKey key;
  if (cm) {
    if (bytes.size() != kCmKeyBytes)
      return Error{fmt::format("a key of perftest has {} bytes, not {}", kCmKeyBytes, bytes.size()),
                   "-R of perftest 5.70 to 6.27"};
    uint32_t *const words[] = {&key.lid, &key.out_reads, &key.qp, &key.psn, &key.rkey};
    for (size_t i = 0; i < std::size(words); i++)
      *words[i] = static_cast<uint32_t>(get(bytes, 4 * i, 4));
    key.va = get(bytes, 24, 8);
    key.gid = address_of(bytes.subspan(32, 16));
    key.srq = static_cast<uint32_t>(get(bytes, 48, 4));
    return key;
  }
  // Numbers of fixed widths in hexadecimal, each with a colon after it.
  size_t at = 0;
  bool sound = bytes.size() == kKeyBytes;
  const auto number = [&](size_t digits) {
    uint64_t value = 0;
    const auto *text = reinterpret_cast<const char *>(bytes.data());
    if (sound) {
      const auto [rest, error] = std::from_chars(text + at, text + at + digits, value, 16);
      sound = error == std::errc() && rest == text + at + digits && bytes[at + digits] == ':';
    }
    at += digits + 1;
    return value;
  };
  key.lid = static_cast<uint32_t>(number(4));
  key.out_reads = static_cast<uint32_t>(number(4));
  key.qp = static_cast<uint32_t>(number(6));
  key.psn = static_cast<uint32_t>(number(6));
  key.rkey = static_cast<uint32_t>(number(8));
  key.va = number(16);
  uint8_t gid[16] = {};
  for (uint8_t &byte : gid)
    byte = static_cast<uint8_t>(number(2));
  key.gid = address_of(gid);
  key.srq = static_cast<uint32_t>(number(8));
  if (!sound)
    return Error{
        "perftest's key is not one: " +
            fmt::format("{:02x}", fmt::join(bytes.first(std::min<size_t>(8, bytes.size())), " ")),
        "LID:reads:QPN:PSN:R_Key:address:GID:SRQN: in hexadecimal"};
  return key;
}

PerftestServer::PerftestServer(uint32_t pmtu, bool cm, Calls calls)
    : pmtu_(pmtu), cm_(cm), calls_(std::move(calls)) {}

size_t PerftestServer::record(std::span<const uint8_t> begin) const {
  switch (stage_) {
  case Stage::Version:
    return kVersionBytes;
  case Stage::Cycle:
  case Stage::Line:
    return 4;
  case Stage::Mtu:
    return 2;
  case Stage::Keys:
    break;
  }
  if (begin.size() < std::size(kDone))
    return 0;
  if (std::equal(std::begin(kDone), std::end(kDone), begin.begin()))
    return std::size(kDone);
  // A key begins with four hex digits, which make a double far from any number of a report.
  const bool digits = std::all_of(begin.begin(), begin.begin() + 4,
                                  [](uint8_t byte) { return isxdigit(byte) != 0; });
  return digits && begin[4] == ':' && !numbers_ ? kKeyBytes : 8;
}

Result<Bytes> PerftestServer::answer(std::span<const uint8_t> record) {
  switch (stage_) {
  case Stage::Version:
    return version(record);
  case Stage::Cycle:
  case Stage::Line: {
    Bytes own;
    put(own, stage_ == Stage::Cycle ? kCycleBytes : kLineBytes, 4);
    stage_ = stage_ == Stage::Cycle ? Stage::Line : Stage::Mtu;
    return own;
  }
  case Stage::Mtu:
    return mtu(record);
  case Stage::Keys:
    break;
  }
  if (!cm_ && record.size() == std::size(kDone)) {
    facts_.done = true;
    return Bytes(std::begin(kDone), std::end(kDone));
  }
  if (record.size() == 8)
    return number(record);
  return key(record);
}

Result<Bytes> PerftestServer::version(std::span<const uint8_t> record) {
  facts_.version = XR_TRY(read_version(record));
  stage_ = Stage::Cycle;
  return version_bytes();
}

Result<Bytes> PerftestServer::mtu(std::span<const uint8_t> record) {
  facts_.pmtu = XR_TRY(read_mtu(record, pmtu_));
  stage_ = Stage::Keys;
  return mtu_bytes(pmtu_);
}

// Each QP's key comes twice, the first QP's again as a barrier. A number that has come shows that
// all are known.
Result<Bytes> PerftestServer::key(std::span<const uint8_t> record) {
  const PerftestKey theirs = XR_TRY(parse_key(record, cm_));
  if (!theirs.qp) // RDMA CM has not connected it yet
    return key_bytes(facts_.own.empty() ? PerftestKey{} : facts_.own.front(), cm_);
  const auto known = std::ranges::find(facts_.theirs, theirs.qp, &PerftestKey::qp);
  auto number = static_cast<size_t>(known - facts_.theirs.begin());
  if (!known_ && known == facts_.theirs.end()) {
    facts_.theirs.push_back(theirs);
    facts_.own.push_back(calls_.make(static_cast<uint32_t>(number), theirs));
    return key_bytes(facts_.own.back(), cm_);
  }
  if (number == facts_.theirs.size())
    return Error{"perftest has more QPs than it said at first", "start it again"};
  if (!known_) {
    known_ = true;
    calls_.connect(facts_);
  }
  // Second keys, and the first barrier.
  if (const size_t before = facts_.theirs.size() + 1; ++keys_ >= before)
    calls_.run(static_cast<uint32_t>(keys_ - before));
  return key_bytes(facts_.own[number], cm_);
}

Bytes PerftestServer::number(std::span<const uint8_t> record) {
  if (!numbers_)
    own_ = calls_.report();
  if (!facts_.their_report || !numbers_)
    facts_.their_report = PerftestReport{};
  set_number(*facts_.their_report, numbers_, get(record, 0, 8));
  Bytes own;
  put(own, number_of(own_, numbers_), 8);
  numbers_ = (numbers_ + 1) % kNumbers;
  return own;
}

PerftestClient::PerftestClient(PerftestTest test, uint32_t qps, bool both_ways, uint32_t sizes,
                               uint32_t pmtu, bool cm, Calls calls)
    : pmtu_(pmtu), cm_(cm), calls_(std::move(calls)) {
  plan_all(test, qps, both_ways, sizes);
}

// Barriers and reports around the traffic of one size.
void PerftestClient::plan_size(PerftestTest test, bool both_ways, uint32_t size, bool several) {
  const bool sends = is_send(test);
  const bool latency = is_latency(test);
  if (sends || both_ways)
    plan(Part::Barrier);
  plan(Part::Run, size);
  if (both_ways && several && !sends)
    plan(Part::Barrier);
  for (uint32_t i = 0; both_ways && i < kNumbers; i++)
    plan(Part::Number, i);
  if (sends && !latency && several)
    plan(Part::Barrier);
}

void PerftestClient::plan_all(PerftestTest test, uint32_t qps, bool both_ways, uint32_t sizes) {
  for (const Part part : {Part::Version, Part::Cycle, Part::Line, Part::Mtu})
    plan(part);
  if (cm_) {
    plan(Part::Nothing);
    plan(Part::ConnectCm);
    plan(Part::Nothing);
  }
  const bool sends = is_send(test);
  if (is_latency(test) && !sends)
    plan(Part::Barrier);
  for (uint32_t i = 0; i < qps; i++)
    plan(Part::Key, i);
  plan(Part::Connect);
  if (sends)
    plan(Part::Barrier);
  for (uint32_t i = 0; i < qps; i++)
    plan(Part::KeyAgain, i);
  if (!sends)
    plan(Part::Barrier);
  for (uint32_t size = 0; size < sizes; size++)
    plan_size(test, both_ways, size, sizes > 1);
  if (!both_ways && !sends && !is_latency(test)) {
    plan(Part::Barrier);
    for (uint32_t i = 0; i < kNumbers; i++)
      plan(Part::Number, i);
  }
  if (test == PerftestTest::WriteLat)
    return;
  plan(Part::Barrier);
  if (!cm_)
    plan(Part::Done);
}

Result<std::optional<PerftestClient::Step>> PerftestClient::next() {
  for (; at_ < plan_.size(); at_++) {
    const Planned &now = plan_[at_];
    Step step;
    switch (now.part) {
    case Part::Version:
      step.say = version_bytes();
      break;
    case Part::Cycle:
    case Part::Line:
      put(step.say, now.part == Part::Cycle ? kCycleBytes : kLineBytes, 4);
      break;
    case Part::Mtu:
      step.say = mtu_bytes(pmtu_);
      break;
    case Part::Key:
      if (facts_.own.size() <= now.number)
        facts_.own.push_back(calls_.make(now.number));
      [[fallthrough]];
    case Part::KeyAgain:
      step.say = key_bytes(facts_.own[now.number], cm_);
      break;
    case Part::Nothing:
      step.say = key_bytes(PerftestKey{}, cm_);
      break;
    case Part::Barrier:
      // Before the first key: of a test of latency, the key that follows.
      if (facts_.own.empty())
        facts_.own.push_back(calls_.make(0));
      step.say = key_bytes(facts_.own.front(), cm_);
      break;
    case Part::Number:
      put(step.say, number_of(own_, now.number), 8);
      break;
    case Part::Done:
      at_++;
      return std::optional(Step{Bytes(std::begin(kDone), std::end(kDone)), 0});
    case Part::ConnectCm:
      XR_TRY(calls_.connect_cm());
      continue;
    case Part::Connect:
      calls_.connect(facts_);
      continue;
    case Part::Run:
      own_ = XR_TRY(calls_.run(now.number));
      continue;
    }
    step.await = step.say.size(); // the answer is as long
    return std::optional(step);
  }
  return std::optional<Step>();
}

Status PerftestClient::take(std::span<const uint8_t> answer) {
  const Planned &now = plan_[at_++];
  switch (now.part) {
  case Part::Version:
    facts_.version = XR_TRY(read_version(answer));
    return {};
  case Part::Mtu:
    facts_.pmtu = XR_TRY(read_mtu(answer, pmtu_));
    return {};
  case Part::Key:
    facts_.theirs.push_back(XR_TRY(parse_key(answer, cm_)));
    return {};
  case Part::KeyAgain:
  case Part::Nothing:
  case Part::Barrier: {
    const PerftestKey key = XR_TRY(parse_key(answer, cm_));
    if (now.part == Part::KeyAgain)
      facts_.theirs[now.number] = key;
    return {};
  }
  case Part::Number:
    set_number(theirs_, now.number, get(answer, 0, 8));
    if (now.number + 1 == kNumbers)
      facts_.their_report = theirs_;
    return {};
  default:
    return {};
  }
}

} // namespace xr::peer
