// SPDX-License-Identifier: Apache-2.0
#include "station/lldp.h"

#include <algorithm>

namespace xr::station {

namespace {

// The nearest bridge's, to which it sends; the nearest non-TPMR and customer bridge's.
constexpr packet::Mac kLldpGroups[] = {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e},
                                       {0x01, 0x80, 0xc2, 0x00, 0x00, 0x03},
                                       {0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}};
constexpr size_t kLldpduAt = 14, kLeastFrame = 60;

enum Tlv : uint8_t {
  kEnd,
  kChassisId,
  kPortId,
  kTtl,
  kPortDescription,
  kSystemName,
  kSystemDescription,
  kCapabilities,
  kManagement,
  kOrganisation = 127,
};

using Bytes = std::span<const uint8_t>;

uint16_t number_at(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

void put_tlv(std::vector<uint8_t> &frame, Tlv type, std::initializer_list<uint8_t> front,
             Bytes rest = {}) {
  const size_t length = front.size() + rest.size();
  frame.push_back(static_cast<uint8_t>(type << 1 | (length >> 8)));
  frame.push_back(static_cast<uint8_t>(length));
  frame.insert(frame.end(), front);
  frame.insert(frame.end(), rest.begin(), rest.end());
}

LldpId id_of(Bytes value) { return {value[0], {value.begin() + 1, value.end()}}; }

// IEEE 802.1Q and 802.3 define it.
bool is_known(const LldpOrganisation &tlv) {
  constexpr std::array<uint8_t, 3> k8021 = {0x00, 0x80, 0xc2}, k8023 = {0x00, 0x12, 0x0f};
  return tlv.subtype &&
         ((tlv.oui == k8021 && tlv.subtype <= 14) || (tlv.oui == k8023 && tlv.subtype <= 8));
}

std::optional<LldpManagement> management_of(Bytes value) {
  constexpr size_t kInterface = 5; // the number's subtype and the number
  if (value.size() < 2)
    return {};
  const size_t address = value[0]; // with its family
  if (address < 2 || address > 32 || value.size() < 1 + address + kInterface + 1 ||
      value.size() < 1 + address + kInterface + 1 + value[1 + address + kInterface])
    return {};
  const Bytes bytes = value.subspan(2, address - 1);
  return LldpManagement{value[1], {bytes.begin(), bytes.end()}};
}

class Reader {
public:
  explicit Reader(Bytes rest) : rest_(rest) {}

  LldpRead read() {
    LldpInformation made;
    for (const Tlv type : {kChassisId, kPortId, kTtl})
      if (!take() || type_ != type || !mandatory(type, made))
        return std::move(read_);
    while (!rest_.empty()) {
      if (!take()) { // past the end
        read_.discarded++;
        break;
      }
      if (type_ == kEnd) {
        read_.discarded += !value_.empty();
        break;
      }
      if (type_ <= kTtl) // a second one
        return std::move(read_);
      optional(made);
    }
    read_.information = std::move(made);
    return std::move(read_);
  }

private:
  bool take() {
    if (rest_.size() < 2)
      return false;
    const size_t length = number_at(rest_, 0) & 0x1ff;
    type_ = rest_[0] >> 1;
    if (length > rest_.size() - 2)
      return false;
    value_ = rest_.subspan(2, length);
    rest_ = rest_.subspan(2 + length);
    return true;
  }

  bool mandatory(Tlv type, LldpInformation &made) const {
    if (type == kTtl) {
      if (value_.size() < 2)
        return false;
      made.ttl_s = number_at(value_, 0);
      return true;
    }
    if (value_.size() < 2 || value_.size() > 256)
      return false;
    (type == kChassisId ? made.chassis : made.port) = id_of(value_);
    return true;
  }

  void text(std::optional<std::string> &to) {
    if (to || value_.size() > 255)
      read_.discarded++;
    else
      to.emplace(value_.begin(), value_.end());
  }

  void optional(LldpInformation &made) {
    switch (type_) {
    case kPortDescription:
      return text(made.port_description);
    case kSystemName:
      return text(made.system_name);
    case kSystemDescription:
      return text(made.system_description);
    case kCapabilities:
      if (made.capabilities || value_.size() != 4)
        read_.discarded++;
      else
        made.capabilities = {number_at(value_, 0), number_at(value_, 2)};
      return;
    case kManagement:
      if (auto address = management_of(value_))
        made.management.push_back(std::move(*address));
      else
        read_.discarded++;
      return;
    case kOrganisation:
      return organisation(made);
    default: // reserved
      read_.unknown++;
    }
  }

  void organisation(LldpInformation &made) {
    if (value_.size() < 4) {
      read_.discarded++;
      return;
    }
    const auto &added = made.organisations.emplace_back(LldpOrganisation{
        {value_[0], value_[1], value_[2]}, value_[3], {value_.begin() + 4, value_.end()}});
    read_.unknown += !is_known(added);
  }

  LldpRead read_;
  Bytes rest_, value_;
  uint8_t type_ = 0;
};

} // namespace

std::vector<uint8_t> lldp_frame(const LldpOptions &options, uint16_t ttl_s) {
  std::vector<uint8_t> frame(kLldpGroups[0].begin(), kLldpGroups[0].end());
  frame.insert(frame.end(), options.mac.begin(), options.mac.end());
  frame.insert(frame.end(), {0x88, 0xcc});
  put_tlv(frame, kChassisId, {options.chassis.subtype}, options.chassis.value);
  put_tlv(frame, kPortId, {options.port.subtype}, options.port.value);
  put_tlv(frame, kTtl, {static_cast<uint8_t>(ttl_s >> 8), static_cast<uint8_t>(ttl_s)});
  if (ttl_s) {
    if (const auto &name = options.system_name)
      put_tlv(frame, kSystemName, {}, std::vector<uint8_t>(name->begin(), name->end()));
    for (const LldpOrganisation &each : options.organisations)
      put_tlv(frame, kOrganisation, {each.oui[0], each.oui[1], each.oui[2], each.subtype},
              each.information);
  }
  put_tlv(frame, kEnd, {});
  frame.resize(std::max(frame.size(), kLeastFrame));
  return frame;
}

bool is_lldp(Bytes frame) {
  return frame.size() >= kLldpduAt && number_at(frame, 12) == 0x88cc &&
         std::ranges::any_of(kLldpGroups, [&](const packet::Mac &group) {
           return std::equal(group.begin(), group.end(), frame.begin());
         });
}

LldpRead parse_lldp(Bytes frame) { return Reader(frame.subspan(kLldpduAt)).read(); }

void Lldp::enable(uint64_t now, bool on) {
  const std::lock_guard guard(mutex_);
  if (on == on_)
    return;
  on_ = on;
  shutdown_ = !on;
  due_ = now;
  neighbours_.clear();
}

bool Lldp::is_quiet() const {
  const std::lock_guard guard(mutex_);
  return !shutdown_;
}

bool Lldp::receive(uint64_t now, Bytes frame) {
  if (!is_lldp(frame))
    return false;
  LldpRead read = parse_lldp(frame);
  const std::lock_guard guard(mutex_);
  counts_.received++;
  counts_.received_bytes += frame.size();
  counts_.tlvs_discarded += read.discarded;
  counts_.tlvs_unknown += read.unknown;
  counts_.errors += !read.information || read.discarded;
  counts_.discarded += !read.information;
  if (read.information && on_)
    keep(now, std::move(*read.information));
  return true;
}

void Lldp::keep(uint64_t now, LldpInformation information) {
  std::erase_if(neighbours_, [&](const LldpNeighbour &each) { return now >= each.until_ns(); });
  const auto known = std::ranges::find_if(neighbours_, [&](const LldpNeighbour &each) {
    return each.information.chassis == information.chassis &&
           each.information.port == information.port;
  });
  if (!information.ttl_s) {
    if (known != neighbours_.end())
      neighbours_.erase(known);
    return;
  }
  if (known != neighbours_.end()) {
    known->information = std::move(information);
    known->at_ns = now;
  } else if (neighbours_.size() < kMostNeighbours) {
    neighbours_.push_back({std::move(information), ++numbers_, now, now});
  } else {
    counts_.discarded++;
  }
}

size_t Lldp::next(uint64_t now, std::span<packet::Outgoing> out) {
  const std::lock_guard guard(mutex_);
  if (out.empty() || now < due_)
    return 0;
  frame_ = lldp_frame(options_, on_ ? options_.hold_s : 0);
  out[0] = {};
  out[0].raw = frame_;
  due_ = on_ ? now + options_.interval_ns : kNever;
  shutdown_ = false;
  counts_.sent++;
  counts_.sent_bytes += frame_.size();
  return 1;
}

uint64_t Lldp::wake_at() const {
  const std::lock_guard guard(mutex_);
  return due_;
}

std::vector<LldpNeighbour> Lldp::neighbours(uint64_t now) const {
  const std::lock_guard guard(mutex_);
  std::vector<LldpNeighbour> made;
  for (const LldpNeighbour &each : neighbours_)
    if (now < each.until_ns())
      made.push_back(each);
  return made;
}

LldpCounts Lldp::counts() const {
  const std::lock_guard guard(mutex_);
  return counts_;
}

} // namespace xr::station
