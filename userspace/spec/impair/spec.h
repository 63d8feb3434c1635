// SPDX-License-Identifier: Apache-2.0
// What a rule asks for, as a value. Words become one by parse_spec(), and it becomes words by
// text(); compile() makes the datapath's form of it. To change a rule is to change its fields.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/hold.h"
#include "parse/address.h"
#include "parse/value.h"
#include "roce/rule.h"

inline bool operator==(const roce_range &a, const roce_range &b) {
  return a.from == b.from && a.to == b.to;
}

namespace xr::impair {

// What a packet is matched by, in the order of the canonical text.
enum class Field : uint8_t {
  Src,
  Dst,
  DestQp,
  Transport,
  Opcode,
  Psn,
  Ecn,
  Dscp,
  Vlan,
  Size,
  Roce,
  Family,
  Se,
  MigReq,
  PadCnt,
  TVer,
  Pkey,
  Fecn,
  Becn,
  Resv6,
  AckReq,
  Resv7,
  SrcMac,
  DstMac,
  Pcp,
  InnerVlan,
  Mpls,
  SrcPort,
  DstPort,
  RoceVersion,
  RawBytes,
};

struct Mac {
  uint64_t value = 0, mask = 0;
  bool operator==(const Mac &) const = default;
};

// Bytes of the frame from `offset` on; the last of them is the least significant.
struct RawBytes {
  uint32_t offset = 0, length = 0;
  uint64_t value = 0, mask = 0;
  bool masked = false; // the mask was given
  bool operator==(const RawBytes &) const = default;
};

struct Condition {
  using Ranges = std::vector<roce_range>; // one of these. PSNs wrap
  using Names = std::vector<std::string>; // one of these, canonical
  // bool: roce or not, IPv4 or IPv6, any VLAN or none.
  std::variant<Ranges, Names, parse::Prefix, Mac, RawBytes, bool> is;
  bool negated = false;
  bool operator==(const Condition &) const = default;
};

// A packet by its place in its stream.
struct EventSpec {
  static constexpr roce_range kAllPackets = {0, UINT32_MAX};

  bool of_each_stream = false; // psn +K: `qp` is not used
  bool by_number = true;       // the n-th QP that the port saw; else a QPN
  uint32_t qp = 0;
  roce_range packet = kAllPackets; // from 1
  uint32_t iteration = 0;          // 0: any
  bool operator==(const EventSpec &) const = default;
};

// Which of the matched packets are selected.
struct Always {
  bool operator==(const Always &) const = default;
};
struct Every {
  uint32_t n = 1;
  bool operator==(const Every &) const = default;
};
struct Positions {
  std::vector<uint32_t> places; // from 1, ascending
  bool operator==(const Positions &) const = default;
};
struct Chance {
  parse::Probability p;
  bool operator==(const Chance &) const = default;
};
struct Spaced {
  uint32_t parts = 0; // of ROCE_SPACED_WHOLE
  bool operator==(const Spaced &) const = default;
};
struct Burst {
  roce_range length{};
  std::variant<uint32_t, parse::Probability> begin; // every n packets, or at random
  bool operator==(const Burst &) const = default;
};
struct Gilbert {
  std::vector<parse::Probability> p; // p, r, 1-h, 1-k: as many as were given
  bool operator==(const Gilbert &) const = default;
};
struct BitErrors {
  double factor = 0, power = 0; // factor * 10^power
  bool operator==(const BitErrors &) const = default;
};
struct Distance {
  std::string_view distribution; // "table": the distances
  std::vector<double> parameters;
  std::vector<uint32_t> table;
  bool operator==(const Distance &) const = default;
};
using Select =
    std::variant<Always, Every, Positions, Chance, Spaced, Burst, Gilbert, BitErrors, Distance>;

struct Schedule {
  roce_schedule kind = ROCE_CONTINUOUS;
  uint64_t on_ns = 0, period_ns = 0;
  bool operator==(const Schedule &) const = default;
};

struct Limit {
  uint64_t most = 0;      // 0: none
  uint64_t period_ns = 0; // 0: in all
  bool operator==(const Limit &) const = default;
};

// `most` of RED, unless it is given: so many times KMAX.
inline constexpr uint64_t kMaxOfKmax = 8;

struct Red {
  uint64_t low = 0, high = 0, most = 0; // bytes
  uint64_t rate = 0;                    // bit/s
  parse::Probability probability;
  bool l1 = false;
  bool operator==(const Red &) const = default;
};

struct Police {
  uint64_t rate = 0, burst = 0; // bit/s, bytes
  bool l1 = false;
  bool operator==(const Police &) const = default;
};

struct Cnp {
  // The defaults, which the canonical text leaves out.
  uint64_t interval_ns = 50'000;
  uint8_t scope = ROCE_CNP_STREAM;
  uint8_t dscp = 48;
  bool operator==(const Cnp &) const = default;
};

// What follows `corrupt header` and `corrupt bit`.
struct CorruptedBits {
  std::string_view field = {};      // of a header; "": none
  std::optional<uint16_t> bit = {}; // from the BTH on
  bool operator==(const CorruptedBits &) const = default;
};

struct Actions {
  uint32_t bits = 0; // enum roce_action_bits; RED without the CE that it implies
  Red red;
  Police police;
  Cnp cnp;
  CorruptedBits corrupt;
  uint8_t dscp = 0, ecn = 0, fecn = 0, becn = 0; // of `set`; ECN as in the header
  bool operator==(const Actions &) const = default;
};

struct RuleSpec {
  std::map<Field, Condition> match;
  std::optional<EventSpec> event;
  Select select;
  Schedule schedule;
  Limit limit;
  Actions actions;
  Hold hold; // if `actions` has one of ROCE_ACTS_HOLD
  uint64_t seed = 0;
  bool seeded = false;   // the user gave the seed
  std::string name;      // "": none
  bool disabled = false; // keeps its place, id, state and counts, and matches nothing
  bool next = false;     // later rules apply too
  bool operator==(const RuleSpec &) const = default;

  // Whether something is drawn at random, and so the seed is used.
  bool chance() const;
  // Canonical words, accepted by parse_spec().
  std::string text() const;
  // The canonical words without seed, name, `disabled` and `next`.
  std::string words() const;
};

// Unknown words are errors, as is what matches no frame or does nothing. An element may contain
// several words. A seed that is needed and not given is drawn.
Result<RuleSpec> parse_spec(const std::vector<std::string> &words);

// The words of each part, in the canonical order; for errors about the length.
std::vector<std::string> texts(const RuleSpec &spec);

} // namespace xr::impair
