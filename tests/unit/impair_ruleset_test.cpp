// SPDX-License-Identifier: Apache-2.0
// Random rule sets and random packets: the compiled rules compared with an evaluation of the
// conditions as written.
#include <algorithm>
#include <arpa/inet.h>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "impair/taken.h"
#include "parse/words.h"
#include "roce/match.h"

namespace xr::impair::impair_ruleset_test {
namespace {

struct Packet {
  bool roce = true, ipv4 = true, cm = false, tagged = false;
  unsigned opcode = 0, syndrome = 0, tos = 0, vid = 0;
  std::array<uint32_t, 4> src{}, dst{}; // host order, word by word
  uint32_t qp = 0, psn = 0, size = 0, first_psn = 0, qp_number = 0, iteration = 1;
  uint32_t flags = 0, marks = 0, ack = 0, pkey = 0; // BTH bytes 1, 4, 8; bytes 2 and 3
  bool streamed = true;                             // the table of streams had room

  // No RoCE, but a BTH of another version.
  bool versioned() const { return flags & 15; }
  uint32_t place() const { return ((psn - first_psn) & 0xffffff) + 1; }
  bool operator==(const Packet &) const = default;
};

using Test = std::function<bool(const Packet &)>;

// A condition as words and as what it means.
struct Condition {
  std::string words;
  Test test;
  bool needs_roce = true;
  bool needs_bth = false;

  bool holds(const Packet &p) const {
    return (p.roce || !needs_roce) && (p.roce || p.versioned() || !needs_bth) && test(p);
  }
};

struct Source {
  std::mt19937_64 engine;

  uint32_t number(uint32_t from, uint32_t to) {
    return std::uniform_int_distribution<uint32_t>(from, to)(engine);
  }
  bool chance(uint32_t n) { return number(1, n) == 1; }
  template <typename T> T one_of(const std::vector<T> &all) {
    return all[number(0, static_cast<uint32_t>(all.size()) - 1)];
  }
  // Values lie close enough together that conditions often hold.
  uint32_t near24() {
    return one_of<uint32_t>({0x00fffe, 0x0100fe, 0xfffffa, 0, 0x01fffd}) + number(0, 5);
  }
};

bool within(uint32_t x, uint32_t from, uint32_t to) { return from <= x && x <= to; }
uint32_t in24(uint32_t x) { return x & 0xffffff; }

unsigned operation(const Packet &p) { return p.opcode & 0x1f; }
bool acknowledges(const Packet &p) {
  return (p.opcode >> 5 == 0 || p.opcode >> 5 == 2 || p.opcode >> 5 == 5) &&
         (operation(p) == 0x11 || operation(p) == 0x12);
}
bool connected(const Packet &p) { return p.opcode >> 5 == 0 || p.opcode >> 5 == 5; } // RC, XRC
bool reads(const Packet &p) {
  return (connected(p) || p.opcode >> 5 == 2) && within(operation(p), 0x0c, 0x10);
}

bool carries_data(const Packet &p) {
  if (p.cm)
    return false;
  if (p.opcode == 0x64 || p.opcode == 0x65)
    return true;
  const bool send_or_write =
      operation(p) <= 0x0b && (connected(p) || p.opcode >> 5 == 1 || p.opcode >> 5 == 2);
  const bool invalidates = connected(p) && (operation(p) == 0x16 || operation(p) == 0x17);
  return send_or_write || invalidates || (reads(p) && operation(p) != 0x0c) || p.opcode == 0x1d;
}

struct Named {
  const char *words;
  Test test;
};

const std::vector<Named> &opcodes() {
  static const std::vector<Named> kOpcodes = {
      {"data", carries_data},
      {"ack", [](auto &p) { return acknowledges(p) && (p.syndrome >> 5 & 3) == 0; }},
      {"nak", [](auto &p) { return acknowledges(p) && (p.syndrome >> 5 & 3) == 3; }},
      {"rnr-nak", [](auto &p) { return acknowledges(p) && (p.syndrome >> 5 & 3) == 1; }},
      {"cnp", [](auto &p) { return p.opcode == 0x81; }},
      {"CNP", [](auto &p) { return p.opcode == 0x81; }},
      {"read", reads},
      {"atomic",
       [](auto &p) {
         return p.opcode == 0x1d ||
                ((connected(p) || p.opcode >> 5 == 2) && within(operation(p), 0x12, 0x14));
       }},
      {"cm", [](auto &p) { return p.cm; }},
      {"UD_SEND_ONLY", [](auto &p) { return p.opcode == 0x64; }},
      {"SEND_ONLY",
       [](auto &p) { return operation(p) == 4 && p.opcode <= 0xbf && p.opcode >> 5 != 4; }},
      {"ACKNOWLEDGE", [](auto &p) { return acknowledges(p) && operation(p) == 0x11; }},
      {"rc_atomic_acknowledge", [](auto &p) { return p.opcode == 0x12; }},
      {"0x11", [](auto &p) { return p.opcode == 0x11; }},
      {"0x64", [](auto &p) { return p.opcode == 0x64; }},
      {"0x31", [](auto &p) { return p.opcode == 0x31; }},
      {"MANUFACTURER_0xc1", [](auto &p) { return p.opcode == 0xc1; }},
      {"UC_RDMA_WRITE_MIDDLE", [](auto &p) { return p.opcode == 0x27; }},
  };
  return kOpcodes;
}

const std::vector<Named> &transports() {
  static const std::vector<Named> kTransports = {
      {"rc", [](auto &p) { return p.opcode < 0x20; }},
      {"uc", [](auto &p) { return p.opcode >> 5 == 1; }},
      {"rd", [](auto &p) { return p.opcode >> 5 == 2; }},
      {"UD", [](auto &p) { return p.opcode >> 5 == 3; }},
      {"cnp", [](auto &p) { return p.opcode >> 5 == 4; }},
      {"xrc", [](auto &p) { return p.opcode >> 5 == 5; }},
      {"manufacturer", [](auto &p) { return p.opcode >= 0xc0; }},
  };
  return kTransports;
}

const std::vector<Named> &codepoints() {
  static const std::vector<Named> kCodepoints = {
      {"not-ect", [](auto &p) { return (p.tos & 3) == 0; }},
      {"ect0", [](auto &p) { return (p.tos & 3) == 2; }},
      {"ect1", [](auto &p) { return (p.tos & 3) == 1; }},
      {"ect", [](auto &p) { return (p.tos & 3) == 1 || (p.tos & 3) == 2; }},
      {"ce", [](auto &p) { return (p.tos & 3) == 3; }},
  };
  return kCodepoints;
}

// A list of some of these.
Condition some_of(Source &s, const std::string &keyword, const std::vector<Named> &all) {
  std::string words = fmt::format("{} ", keyword);
  std::vector<Test> tests;
  for (uint32_t i = s.number(1, 2); i; i--) {
    const Named &named = all[s.number(0, static_cast<uint32_t>(all.size()) - 1)];
    words += fmt::format("{}{}", tests.empty() ? "" : ",", named.words);
    tests.push_back(named.test);
  }
  return {words, [tests](const Packet &p) {
            return std::any_of(tests.begin(), tests.end(), [&p](auto &t) { return t(p); });
          }};
}

using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

bool in_one(const Ranges &ranges, uint32_t x) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [x](auto &r) { return within(x, r.first, r.second); });
}

// `count` ranges in words; some are single values.
std::string range_words(Source &s, const Ranges &ranges) {
  std::string words;
  for (const auto &[from, to] : ranges) {
    words += words.empty() ? "" : ",";
    words +=
        from == to && !s.chance(4) ? fmt::format("{}", from) : fmt::format("{:#x}-{}", from, to);
  }
  return words;
}

Ranges draw_ranges(Source &s, size_t count, const std::function<uint32_t()> &value) {
  Ranges ranges(count);
  for (auto &[from, to] : ranges) {
    from = value();
    to = s.chance(2) ? from : value();
    if (from > to)
      std::swap(from, to);
  }
  return ranges;
}

Condition dest_qp(Source &s) {
  const Ranges r =
      draw_ranges(s, s.chance(2) ? 1 : s.number(2, 8), [&s] { return in24(s.near24()); });
  return {fmt::format("dest-qp {}", range_words(s, r)), [r](auto &p) { return in_one(r, p.qp); }};
}

Condition psn(Source &s) {
  const uint32_t from = in24(s.near24()), to = s.chance(3) ? from : in24(s.near24());
  return {from == to ? fmt::format("psn {}", from) : fmt::format("psn {}-{}", from, to),
          [from, to](auto &p) { return in24(p.psn - from) <= in24(to - from); }};
}

Condition dscp(Source &s) {
  const Ranges r = draw_ranges(s, s.number(1, 3), [&s] { return s.number(0, 63); });
  return {fmt::format("dscp {}", range_words(s, r)),
          [r](auto &p) { return in_one(r, p.tos >> 2); }};
}

uint32_t vid(Source &s) {
  return s.one_of<uint32_t>({0, 5, 0x105, 0x205, 4095, s.number(0, 4095)});
}

Condition vlan(Source &s) {
  if (s.chance(4))
    return {"vlan any", [](auto &p) { return p.tagged; }, false};
  if (s.chance(4))
    return {"vlan none", [](auto &p) { return !p.tagged; }, false};
  const Ranges r = draw_ranges(s, 1, [&s] { return vid(s); });
  return {fmt::format("vlan {}", range_words(s, r)),
          [r](auto &p) { return p.tagged && in_one(r, p.vid); }, false};
}

uint32_t size(Source &s) {
  return s.one_of<uint32_t>({60, 64, 1086, 9000, 20000, 70000}) + s.number(0, 70);
}

Condition size_condition(Source &s) {
  if (s.chance(3)) {
    const uint32_t from = size(s);
    return {fmt::format("size {}-", from), [from](auto &p) { return p.size >= from; }, false};
  }
  const Ranges r = draw_ranges(s, 1, [&s] { return size(s); });
  return {fmt::format("size {}", range_words(s, r)), [r](auto &p) { return in_one(r, p.size); },
          false};
}

std::array<uint32_t, 4> address(Source &s, bool ipv4) {
  const uint32_t low =
      s.one_of<uint32_t>({0xc0000201, 0xc0000202, 0xc0000301, 0xc0010201, 0x0a000001});
  if (ipv4)
    return {0, 0, 0xffff, low};
  return {0x20010db8, s.number(0, 1), s.number(0, 1), low};
}

std::string text_of(const std::array<uint32_t, 4> &a, bool ipv4) {
  char text[INET6_ADDRSTRLEN];
  uint32_t net[4];
  for (size_t i = 0; i < 4; i++)
    net[i] = htonl(a[i]);
  return inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? &net[3] : net, text, sizeof(text));
}

bool bit(const std::array<uint32_t, 4> &a, unsigned i) { return a[i / 32] >> (31 - i % 32) & 1; }

Condition prefix(Source &s, const char *keyword, std::array<uint32_t, 4> Packet::*end) {
  const bool ipv4 = s.chance(2);
  const unsigned length = ipv4 ? s.one_of<unsigned>({0, 8, 15, 16, 23, 24, 25, 31, 32})
                               : s.one_of<unsigned>({0, 32, 64, 96, 104, 111, 121, 127, 128});
  const unsigned bits = length + (ipv4 ? 96 : 0);
  auto a = address(s, ipv4);
  for (unsigned i = bits; i < 128; i++)
    a[i / 32] &= ~(1U << (31 - i % 32));
  return {fmt::format("{} {}/{}", keyword, text_of(a, ipv4), length), [=](const Packet &p) {
            for (unsigned i = 0; i < bits; i++)
              if (bit(p.*end, i) != bit(a, i))
                return false;
            return p.ipv4 == ipv4;
          }};
}

// ACKs and CNPs have none, nor have datagrams; what is in no stream has none either.
bool has_place(const Packet &p) {
  const bool acknowledge = connected(p) && operation(p) == 0x11;
  const bool assigned = connected(p) ? operation(p) <= 0x14 || within(operation(p), 0x16, 0x17) ||
                                           within(p.opcode, 0x1c, 0x1d)
                                     : p.opcode >> 5 == 1 && operation(p) <= 0x0b;
  return assigned && !acknowledge && p.streamed;
}

// A condition that cannot follow `not`.
Condition event(Source &s) {
  const bool numbered = s.chance(2);
  const uint32_t qp = numbered ? s.number(1, 3) : in24(s.near24());
  const uint32_t from = s.number(1, 600), to = s.chance(2) ? from : from + s.number(0, 400);
  const uint32_t iteration = s.chance(2) ? s.number(1, 2) : 0;
  const bool all = s.chance(3);
  std::string words = numbered ? fmt::format("qp {}", qp) : fmt::format("qp {:#x}", qp);
  words += all ? " psn all" : fmt::format(" psn {}-{}", from, to);
  if (iteration)
    words += fmt::format(" iter {}", iteration);
  return {words, [=](const Packet &p) {
            return has_place(p) && (numbered ? p.qp_number == qp : p.qp == qp) &&
                   (all || within(p.place(), from, to)) && (!iteration || p.iteration == iteration);
          }};
}

Condition psn_offset(Source &s) {
  const uint32_t from = s.number(0, 600), to = s.chance(2) ? from : from + s.number(0, 400);
  const uint32_t iteration = s.chance(2) ? s.number(1, 2) : 0;
  std::string words = fmt::format("psn +{}-{}", from, to);
  if (iteration)
    words += fmt::format(" iter {}", iteration);
  return {words, [=](const Packet &p) {
            return has_place(p) && within(in24(p.psn - p.first_psn), from, to) &&
                   (!iteration || p.iteration == iteration);
          }};
}

Condition turned(const Condition &c) {
  return {fmt::format("not {}", c.words), [test = c.test](auto &p) { return !test(p); },
          c.needs_roce, c.needs_bth};
}

// A field of one of these bytes, by its place in IBA vol. 1, 9.2.
struct Field {
  const char *name;
  uint32_t Packet::*byte;
  uint32_t shift, most;
};

Condition field(Source &s, const std::vector<Field> &fields) {
  const Field f = fields[s.number(0, static_cast<uint32_t>(fields.size()) - 1)];
  const Ranges r = draw_ranges(s, s.number(1, 2), [&] { return s.number(0, f.most); });
  const bool version = f.name == std::string("tver");
  return {fmt::format("{} {}", f.name, range_words(s, r)),
          [f, r](const Packet &p) { return in_one(r, p.*f.byte >> f.shift & f.most); }, !version,
          version};
}

Condition flags(Source &s) {
  return field(s, {{"se", &Packet::flags, 7, 1},
                   {"migreq", &Packet::flags, 6, 1},
                   {"padcnt", &Packet::flags, 4, 3},
                   {"tver", &Packet::flags, 0, 15}});
}

Condition marks(Source &s) {
  return field(s, {{"fecn", &Packet::marks, 7, 1},
                   {"becn", &Packet::marks, 6, 1},
                   {"resv6", &Packet::marks, 0, 63}});
}

Condition ack_byte(Source &s) {
  return field(s, {{"ack-req", &Packet::ack, 7, 1}, {"resv7", &Packet::ack, 0, 127}});
}

uint32_t pkey_of(Source &s) {
  return s.one_of<uint32_t>({0xffff, 0x7fff, 0x8001, 0x8101, 0, s.number(0, 0xffff)});
}

Condition pkey(Source &s) {
  const Ranges r = draw_ranges(s, 1, [&s] { return pkey_of(s); });
  return {fmt::format("pkey {}", range_words(s, r)), [r](auto &p) { return in_one(r, p.pkey); }};
}

using Draw = std::function<Condition(Source &)>;

const std::vector<Draw> &kinds() {
  static const std::vector<Draw> kKinds = {
      [](Source &s) { return prefix(s, "src", &Packet::src); },
      [](Source &s) { return prefix(s, "dst", &Packet::dst); },
      dest_qp,
      [](Source &s) { return some_of(s, "transport", transports()); },
      [](Source &s) { return some_of(s, "opcode", opcodes()); },
      psn,
      [](Source &s) { return some_of(s, "ecn", codepoints()); },
      dscp,
      vlan,
      size_condition,
      [](Source &) {
        return Condition{"roce", [](auto &p) { return p.roce; }, false};
      },
      flags,
      marks,
      ack_byte,
      pkey,
      [](Source &) {
        return Condition{"ipv4", [](auto &p) { return p.ipv4; }};
      },
      [](Source &) {
        return Condition{"ipv6", [](auto &p) { return !p.ipv4; }};
      },
  };
  return kKinds;
}

struct Drawn {
  Rule rule;
  std::vector<Condition> conditions;

  bool matches(const Packet &p) const {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&p](const Condition &c) { return c.holds(p); });
  }
};

// Until one is not refused: many contradict themselves.
Drawn draw_rule(Source &s) {
  for (;;) {
    Drawn drawn;
    std::string words;
    const auto add = [&](const Condition &c) {
      drawn.conditions.push_back(c);
      words += fmt::format("{} ", c.words);
    };
    for (const Draw &kind : kinds())
      if (s.chance(8)) {
        const Condition c = kind(s);
        add(s.chance(3) ? turned(c) : c);
      }
    if (s.chance(8) && words.find("dest-qp") == std::string::npos)
      add(event(s));
    else if (s.chance(8))
      add(psn_offset(s));
    auto rule = parse({words + "drop"});
    if (!rule)
      continue;
    drawn.rule = *rule;
    return drawn;
  }
}

Packet draw_packet(Source &s) {
  Packet p;
  p.roce = !s.chance(8);
  p.tagged = s.chance(2);
  p.vid = p.tagged ? vid(s) : 0;
  p.size = size(s);
  p.flags = p.roce ? s.number(0, 15) << 4 : s.chance(2) ? s.number(0, 255) : 0;
  if (!p.roce)
    return p;
  p.marks = s.number(0, 255);
  p.ack = s.number(0, 255);
  p.pkey = pkey_of(s);
  p.ipv4 = s.chance(2);
  p.src = address(s, p.ipv4);
  p.dst = address(s, p.ipv4);
  p.opcode =
      s.one_of<unsigned>({0x04, 0x11, 0x12, 0x51, 0xb1, 0x64, 0x81, 0x1d, 0x0c, s.number(0, 255)});
  p.cm = p.opcode == 0x64 && s.chance(2);
  p.syndrome = s.number(0, 127);
  p.tos = s.number(0, 255);
  p.qp = p.cm ? ROCE_QPN_GSI : in24(s.near24());
  p.streamed = !s.chance(8);
  p.psn = in24(s.near24());
  p.first_psn = in24(p.psn - s.number(0, 1000));
  p.qp_number = s.number(1, 3);
  p.iteration = s.number(1, 3);
  return p;
}

// The packet as roce/match.h sees it.
struct Seen {
  roce_packet packet{};
  roce_stream stream{};
  const roce_stream *of = nullptr;

  explicit Seen(const Packet &p) {
    packet.vlan = static_cast<__u16>(p.tagged ? ROCE_VLAN_TAGGED | p.vid : 0);
    if (!p.roce)
      return;
    packet.opcode = static_cast<__u8>(p.opcode);
    packet.info = roce_opcode_info[p.opcode];
    packet.syndrome = static_cast<__u8>(p.syndrome);
    packet.tos = static_cast<__u8>(p.tos);
    packet.pkey = static_cast<__u16>(p.pkey);
    packet.ecn = p.tos & 3;
    packet.psn = p.psn;
    packet.payload = p.cm ? ROCE_MAD_LEN : ROCE_MAD_LEN - 1;
    packet.key.qp_kind = p.qp | roce_kind_of(packet.info) << ROCE_KIND_SHIFT;
    packet.key.qp_kind |= p.ipv4 ? ROCE_KEY_IPV4 : 0;
    for (size_t i = 0; i < 4; i++) {
      packet.key.src[i] = htonl(p.src[i]);
      packet.key.dst[i] = htonl(p.dst[i]);
    }
    stream.first_psn = p.first_psn;
    // A run that has just begun is an iteration too, but counted as a rewind when it continues.
    const bool begins = p.iteration > 1 && p.psn & 1;
    stream.run_asked = begins ? 1 : p.psn & 2 ? 3 : 0;
    roce_stream_count(&stream, ROCE_REWINDS, p.iteration - 1 - begins);
    of = packet.info && p.streamed ? &stream : nullptr;
  }
};

std::vector<Rule> rules_of(const std::vector<Drawn> &drawn) {
  std::vector<Rule> rules;
  rules.reserve(drawn.size());
  for (const Drawn &d : drawn)
    rules.push_back(d.rule);
  return rules;
}

// How often what happened.
struct Tally {
  size_t matched = 0, narrowed = 0, refused = 0;
};

void compare(const std::vector<Drawn> &drawn, const roce_ruleset &set, const Packet &p,
             Tally &tally) {
  const Seen seen(p);
  roce_facts facts = roce_facts_of(&seen.packet, p.size, p.roce, seen.of);
  const __u8 bth[ROCE_BTH_LEN] = {static_cast<__u8>(p.opcode),
                                  static_cast<__u8>(p.flags),
                                  static_cast<__u8>(p.pkey >> 8),
                                  static_cast<__u8>(p.pkey),
                                  static_cast<__u8>(p.marks),
                                  0,
                                  0,
                                  0,
                                  static_cast<__u8>(p.ack)};
  roce_facts_read(bth, &facts);
  roce_packet whole = seen.packet;
  whole.end = ROCE_BTH_LEN + ROCE_ICRC_LEN;
  roce_facts_version(whole.bth, whole.end, p.roce ? ROCE_CLASS_V2 : ROCE_CLASS_MALFORMED, &facts);
  const uint64_t left = roce_match_tables(&set, set.used, &facts);
  // A program may look at more tables than this set wants.
  ASSERT_EQ(left, roce_match_tables(&set, ~0U, &facts));
  for (size_t i = 0; i < drawn.size(); i++) {
    const bool candidate = left >> i & 1;
    const bool found = candidate && roce_rule_holds(&set.rule[i], &seen.packet, p.size, p.roce,
                                                    seen.of, seen.of ? p.qp_number : 0);
    ASSERT_EQ(found, drawn[i].matches(p))
        << drawn[i].rule.text() << "\n  opcode " << p.opcode << " roce " << p.roce << " cm " << p.cm
        << " ipv4 " << p.ipv4 << " tos " << p.tos << " qp " << p.qp << " psn " << p.psn << " size "
        << p.size << " flags " << p.flags << " pkey " << p.pkey << " tagged " << p.tagged << " vid "
        << p.vid << " place " << p.place() << " candidate " << candidate;
    tally.matched += found;
    tally.narrowed += !candidate;
    tally.refused += candidate && !found;
  }
  ASSERT_EQ(drawn.size() < 64 ? left >> drawn.size() : 0, 0U);
}

TEST(ImpairRuleset, MatchesWhatTheGrammarSays) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Source s{std::mt19937_64(seed)};
  Tally tally;
  for (int round = 0; round < 400 && !testing::Test::HasFailure(); round++) {
    std::vector<Drawn> drawn(s.chance(8) ? ROCE_RULES : s.number(1, 6));
    for (Drawn &d : drawn)
      d = draw_rule(s);
    const auto set = make_ruleset(rules_of(drawn));
    ASSERT_EQ(set->count, drawn.size());
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); i++)
      compare(drawn, *set, draw_packet(s), tally);
  }
  EXPECT_GT(tally.matched, 10000U);
  EXPECT_GT(tally.narrowed, 10000U);
  EXPECT_GT(tally.refused, 1000U);
}

roce_ruleset set_of(const std::string &words) {
  auto rule = parse({words});
  if (!rule) {
    ADD_FAILURE() << words << ": " << rule.error().message;
    return {};
  }
  return *make_ruleset({*rule});
}

// Between others it keeps its place, and is in no table.
TEST(ImpairRuleset, DisabledRulesAreInNoTable) {
  std::vector<Rule> rules;
  for (const char *words :
       {"dest-qp 0x11 drop", "psn 5 size 64 vlan 7 pkey 1-9 drop disabled", "drop"}) {
    auto rule = parse({words});
    ASSERT_TRUE(rule.ok()) << words;
    rules.push_back(*rule);
  }
  const auto set = make_ruleset(rules);
  EXPECT_EQ(set->count, 3U);
  EXPECT_EQ(set->used, static_cast<uint32_t>(ROCE_USES_QP)) << "only the first one's";
  EXPECT_TRUE(set->rule[1].checks & ROCE_CHECK_DISABLED);
  const auto *words = reinterpret_cast<const uint64_t *>(set->what);
  const auto *end = reinterpret_cast<const uint64_t *>(set->rule);
  for (; words != end; words++)
    ASSERT_FALSE(*words & 2);
  rules[1].disable(false);
  EXPECT_TRUE(make_ruleset(rules)->what[4] & 2);
  EXPECT_EQ(make_ruleset(rules)->used,
            static_cast<uint32_t>(ROCE_USES_QP | ROCE_USES_PSN | ROCE_USES_SIZE | ROCE_USES_VLAN |
                                  ROCE_USES_PKEY));
}

struct Uses {
  const char *words;
  uint32_t used, checks;
};

// What is exact in the tables costs no check, and what narrows nothing costs no table.
TEST(ImpairRuleset, UsesAndChecksNoMoreThanNeeded) {
  constexpr Uses kUses[] = {
      {"drop", 0, 0},
      {"roce drop", 0, 0},
      {"opcode data transport rc drop", 0, 0},
      {"src 192.0.2.0/24 drop", ROCE_USES_SRC, 0},
      {"src 0.0.0.0/0 drop", ROCE_USES_SRC, 0},
      {"ipv4 drop", ROCE_USES_SRC, 0},
      {"ipv4 dst 192.0.2.1 drop", ROCE_USES_DST, 0},
      {"dst 2001:db8::/32 drop", ROCE_USES_SRC, ROCE_CHECK_DST},
      {"dst ::/0 drop", ROCE_USES_SRC, 0},
      {"not dst ::/0 drop", ROCE_USES_SRC, 0},
      {"not src 0.0.0.0/0 drop", ROCE_USES_SRC, 0},
      {"dst 2001:db8::1 drop", ROCE_USES_DST, ROCE_CHECK_DST},
      {"not src 192.0.2.1 drop", 0, ROCE_CHECK_NOT_SRC},
      {"dest-qp 17 drop", ROCE_USES_QP, 0},
      {"dest-qp 17,18 drop", ROCE_USES_QP, ROCE_CHECK_QP},
      {"not dest-qp 17 drop", 0, ROCE_CHECK_NOT_QP},
      {"qp 0x11 psn all drop", ROCE_USES_QP, ROCE_CHECK_EVENT},
      {"qp 1 psn 5 drop", ROCE_USES_PACKET, ROCE_CHECK_EVENT},
      {"psn +4 drop", ROCE_USES_PACKET, ROCE_CHECK_EVENT},
      {"src-mac 02:00:00:00:00:01 drop", ROCE_USES_OUTER, ROCE_CHECK_OUTER},
      {"roce-version 1 ipv6 drop", ROCE_USES_SRC | ROCE_USES_OUTER, ROCE_CHECK_OUTER},
      {"qp 1 psn 5-300 drop", 0, ROCE_CHECK_EVENT},
      {"psn 5 drop", ROCE_USES_PSN, ROCE_CHECK_PSN},
      {"ecn ce drop", ROCE_USES_TOS, 0},
      {"not dscp 5 drop", ROCE_USES_TOS, 0},
      {"vlan any drop", ROCE_USES_VLAN, 0},
      {"vlan 5 drop", ROCE_USES_VLAN, ROCE_CHECK_VLAN},
      {"not vlan 5 drop", 0, ROCE_CHECK_NOT_VLAN},
      {"size 64-127 drop", ROCE_USES_SIZE, ROCE_CHECK_SIZE},
      {"not size 64-127 drop", 0, ROCE_CHECK_NOT_SIZE},
      {"se 1 drop", ROCE_USES_BTH_FLAGS, 0},
      {"not padcnt 0 migreq 1 drop", ROCE_USES_BTH_FLAGS, 0},
      {"tver 1 drop", ROCE_USES_BTH_FLAGS, 0},
      {"tver 0-15 drop", ROCE_USES_BTH_FLAGS, 0},
      {"non-roce drop", 0, 0},
      {"fecn 1 drop", ROCE_USES_BTH_MARKS, 0},
      {"ack-req 1 resv7 0 drop", ROCE_USES_BTH_ACK, 0},
      {"pkey 0xffff drop", ROCE_USES_PKEY, 0},
      {"pkey 1-2 drop", ROCE_USES_PKEY, ROCE_CHECK_PKEY},
      {"not pkey 1 drop", ROCE_USES_PKEY, ROCE_CHECK_NOT_PKEY},
      {"resv6 0-63 drop", 0, 0},
  };
  for (const Uses &uses : kUses) {
    const roce_ruleset set = set_of(uses.words);
    EXPECT_EQ(set.used, uses.used) << uses.words;
    EXPECT_EQ(set.rule[0].checks, uses.checks) << uses.words;
  }
}

TEST(ImpairRuleset, RulesStandInOrderAndAreCopied) {
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < ROCE_RULES; i++) {
    auto rule = parse({fmt::format("every {} drop", i + 1)});
    ASSERT_TRUE(rule.ok());
    rules.push_back(*rule);
    rules.back().compiled.slot = 2 * i;
    rules.back().compiled.id = 1000 + i;
  }
  const auto set = make_ruleset(rules);
  ASSERT_EQ(set->count, uint32_t{ROCE_RULES});
  for (uint32_t i = 0; i < ROCE_RULES; i++) {
    EXPECT_EQ(set->rule[i].slot, 2 * i);
    EXPECT_EQ(set->rule[i].id, 1000 + i);
    EXPECT_EQ(set->rule[i].select.every, i + 1);
  }
  EXPECT_EQ(set->what[ROCE_WHAT_OTHER], UINT64_MAX);
  EXPECT_EQ(make_ruleset({})->count, 0U);
}

TEST(ImpairRuleset, KnowsTheRulesThatOnlyHold) {
  std::vector<Rule> rules;
  const char *const holding[] = {"opcode data delay 1ms next", "shape 1gbit burst 16k queue 1M",
                                 "reorder depth 1"};
  const char *const others[] = {"opcode data probability 1% delay 1ms",
                                "delay 1ms ce",
                                "limit 5 delay 1ms",
                                "every 2 delay 1ms",
                                "size 100-107 delay 1ms",
                                "drop next"};
  const auto add = [&](const char *words) {
    auto rule = parse(xr::parse::split(words));
    ASSERT_TRUE(rule.ok()) << words << ": " << rule.error().message;
    rules.push_back(*rule);
  };
  std::ranges::for_each(holding, add);
  std::ranges::for_each(others, add);
  ASSERT_EQ(rules.size(), std::size(holding) + std::size(others));
  for (uint32_t i = 0; i < rules.size(); i++)
    rules[i].compiled.slot = 100 + i;
  rules.push_back(rules[0]);
  rules.back().disabled = true;
  const auto set = make_ruleset(rules);
  EXPECT_EQ(set->holds, (1U << std::size(holding)) - 1);
  EXPECT_EQ(set->next, 1U | 1U << (std::size(holding) + std::size(others) - 1));
  for (uint32_t i = 0; i < rules.size(); i++)
    EXPECT_EQ(set->slot[i], set->rule[i].slot);
}

// Index of the rule that takes what the last one matches; -1: none.
int taker(const std::vector<std::string> &words) {
  std::vector<Rule> rules;
  for (const std::string &rule : words)
    rules.push_back(parse({rule}).get());
  std::vector<const Rule *> all;
  for (const Rule &rule : rules)
    all.push_back(&rule);
  const auto by = taken_by(all, all.size() - 1);
  return by ? static_cast<int>(*by) : -1;
}

TEST(TakenBy, DecidesFieldByField) {
  using Rules = std::vector<std::string>;
  const std::pair<Rules, int> cases[] = {
      {{"drop"}, -1},
      {{"drop", "ce"}, 0},
      {{"drop next", "ce"}, -1},
      {{"drop disabled", "ce"}, -1},
      {{"ecn ce drop", "drop", "roce ce"}, 1},
      // A rule takes what it matches, not only what it selects.
      {{"opcode data probability 1% drop", "opcode RC_SEND_ONLY ce"}, 0},
      {{"opcode data every 3 drop", "opcode data,ack ce"}, -1},
      {{"roce for 1s drop", "ipv6 ce"}, 0},
      {{"roce drop", "ce"}, -1},
      {{"roce drop", "non-roce drop"}, -1},
      {{"src 192.0.2.0/24 drop", "src 192.0.2.7 ce"}, 0},
      {{"src 192.0.2.7 drop", "src 192.0.2.0/24 ce"}, -1},
      {{"src 192.0.2.0/24 drop", "dst 192.0.2.7 ce"}, -1},
      {{"src 192.0.2.0/24 drop", "src 2001:db8::1 ce"}, -1},
      {{"src 2001:db8::/32 drop", "src 2001:db8:1::/48 ce"}, 0},
      {{"src 2001:db8:1::/48 drop", "src 2001:db8::/32 ce"}, -1},
      {{"not src 192.0.2.0/24 drop", "src 192.0.2.7 ce"}, -1},
      {{"not src 192.0.2.0/24 drop", "src 198.51.100.1 ce"}, 0},
      {{"not src 192.0.2.0/28 drop", "not src 192.0.2.0/24 ce"}, 0},
      {{"dest-qp 3-9,20 drop", "dest-qp 5 ce"}, 0},
      {{"dest-qp 3-9,20 drop", "dest-qp 5,20 ce"}, 0},
      {{"dest-qp 3-9,20 drop", "dest-qp 5,21 ce"}, -1},
      {{"dest-qp 5 drop", "qp 0x5 psn 3 ce"}, 0},
      {{"not dest-qp 5 drop", "dest-qp 3-4 ce"}, 0},
      {{"psn 0xfffff0-0x10 drop", "psn 0xfffffe-2 ce"}, 0},
      {{"psn 0xfffff0-0x10 drop", "psn 0xffffe0-2 ce"}, -1},
      {{"psn 0-0xffffff drop", "psn 5 ce"}, 0},
      {{"not psn 5-10 drop", "psn 11-20 ce"}, 0},
      {{"size 64-1500 drop", "size 100 ce"}, 0},
      {{"size 64-1500 drop", "size 100- ce"}, -1},
      {{"vlan 5-9 drop", "vlan 7 ce"}, 0},
      {{"vlan any drop", "vlan 7 ce"}, 0},
      {{"not vlan 5 drop", "vlan none ce"}, -1}, // not decided
      {{"pkey 0x8000-0x8fff drop", "pkey 0x8001 ce"}, 0},
      {{"ecn ect0,ce drop", "ecn ce ce force"}, 0},
      {{"dscp 26 drop", "dscp 26 ecn ect0 ce"}, 0},
      {{"qp 3 psn 5-9 drop", "qp 3 psn 7 iter 1 ce"}, 0},
      {{"qp 3 psn 5-9 iter 2 drop", "qp 3 psn 7 ce"}, -1},
      {{"qp 3 psn all drop", "qp 2 psn 7 ce"}, -1},
      {{"psn +0-9 drop", "qp 2 psn 7 ce"}, 0},
      {{"src-mac 02:00:00:00:00:00/40 drop", "src-mac 02:00:00:00:00:01 ce"}, 0},
      {{"src-mac 02:00:00:00:00:00/40 drop", "dst-mac 02:00:00:00:00:01 ce"}, -1},
      {{"not mpls 16-17 drop", "not mpls 16-31 ce"}, 0},
      {{"not mpls 16-31 drop", "not mpls 16-17 ce"}, -1},
      {{"pcp 3-5 drop", "pcp 4 ce"}, 0},
      {{"not pcp 3-5 drop", "pcp 4 ce"}, -1},
      {{"dst-port 4000-5000 drop", "dst-port 4791 ce"}, 0},
      {{"bytes 12 0800/ff00 drop", "bytes 12 0806 ce"}, 0},
      // What both read may be changed in between.
      {{"bytes 42 ff drop", "corrupt header opcode next", "bytes 42 ff ce"}, -1},
      {{"bytes 42 ff drop", "delay 1ms next", "bytes 42 ff ce"}, 0},
  };
  for (const auto &[rules, by] : cases)
    EXPECT_EQ(taker(rules), by) << fmt::format("{}", fmt::join(rules, " / "));
}

// Whatever is found holds for packets, by the conditions as written; and a rule with some of
// another one's conditions takes all of its packets.
TEST(TakenBy, IsTrueOfRandomPackets) {
  Source s{std::mt19937_64(7)};
  size_t taken = 0, met = 0;
  for (int i = 0; i < 20000; i++) {
    Drawn later = draw_rule(s), earlier;
    const bool fewer = s.chance(2);
    if (fewer) {
      std::string words;
      for (const Condition &c : later.conditions)
        if (s.chance(2)) {
          earlier.conditions.push_back(c);
          words += c.words + " ";
        }
      earlier.rule = parse({words + "drop"}).get();
    } else {
      earlier = draw_rule(s);
    }
    const Rule *both[] = {&earlier.rule, &later.rule};
    const bool all = taken_by(both, 1).has_value();
    ASSERT_TRUE(all || !fewer) << earlier.rule.text() << " / " << later.rule.text();
    if (!all)
      continue;
    taken++;
    for (int k = 0; k < 50; k++) {
      const Packet p = draw_packet(s);
      if (!later.matches(p))
        continue;
      met++;
      ASSERT_TRUE(earlier.matches(p)) << earlier.rule.text() << " / " << later.rule.text();
    }
  }
  EXPECT_GT(taken, 10000U);
  EXPECT_GT(met, 10000U);
}

} // namespace
} // namespace xr::impair::impair_ruleset_test
