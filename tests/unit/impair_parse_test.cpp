// SPDX-License-Identifier: Apache-2.0
// Parsing of rules: every word and its canonical text, the compiled rule, and errors about wrong
// words.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "parse/words.h"

namespace xr::impair::impair_parse_test {
namespace {

constexpr long double kOne = 0x1p64L;

Rule rule(const std::string &text) {
  auto result = parse(parse::split(text));
  if (result.ok())
    return result.get();
  ADD_FAILURE() << text << ": " << result.error().message << " (" << result.error().hint << ")";
  return {};
}

Error failure(const std::string &text) {
  auto result = parse(parse::split(text));
  if (!result)
    return result.error();
  ADD_FAILURE() << text << " was understood as " << result.get().text();
  return {};
}

void expect_same(const Rule &a, const Rule &b, const std::string &text) {
  // NOLINTNEXTLINE: what is between the members is zero too, the kernel gets it
  EXPECT_EQ(memcmp(&a.compiled, &b.compiled, sizeof(a.compiled)), 0) << text;
  EXPECT_EQ(a.points, b.points) << text;
  EXPECT_EQ(a.name, b.name) << text;
  EXPECT_TRUE(a.hold == b.hold) << text;
  EXPECT_TRUE(a.tables == b.tables) << text;
}

struct Pair {
  const char *words, *canonical; // null: the same
};

// Rules that use chance have a seed, so that their text is known.
constexpr Pair kTexts[] = {
    {"drop", nullptr},
    {"src 192.0.2.1 drop", nullptr},
    {"src 192.0.2.1/32 drop", "src 192.0.2.1 drop"},
    {"src 0.0.0.0/0 dst 192.0.2.0/24 drop", nullptr},
    {"src ::ffff:192.0.2.0/120 drop", "src 192.0.2.0/24 drop"},
    {"not src 2001:DB8::/32 dst ::/0 drop", "not src 2001:db8::/32 dst ::/0 drop"},
    {"dest-qp 17 drop", "dest-qp 0x11 drop"},
    {"dest-qp 0x11,1-0xFF,3 drop", "dest-qp 0x11,0x1-0xff,0x3 drop"},
    {"not dest-qp 0x11 drop", nullptr},
    {"transport RC,uc,rd,ud,xrc,cnp,manufacturer drop",
     "transport rc,uc,rd,ud,xrc,cnp,manufacturer drop"},
    {"not transport ud drop", nullptr},
    {"opcode data,ack,nak,rnr-nak,cnp,read,atomic,cm drop", nullptr},
    {"opcode rc_send_only,send_only,0x04,4,0x81,0x18,RESERVED_0x19,MANUFACTURER_0xc1 drop",
     "opcode RC_SEND_ONLY,SEND_ONLY,RC_SEND_ONLY,RC_SEND_ONLY,cnp,0x18,0x19,0xc1 drop"},
    {"not opcode cm drop", nullptr},
    {"psn 5 drop", nullptr},
    {"not psn 0xfffff0-5 drop", "not psn 16777200-5 drop"},
    {"ecn not-ect,ECT0,ect1,ce drop", "ecn not-ect,ect0,ect1,ce drop"},
    {"not ecn ect drop", nullptr},
    {"dscp 0,26-28,63 drop", nullptr},
    {"not dscp 26 drop", nullptr},
    {"vlan 5 drop", nullptr},
    {"not vlan 5-9 drop", nullptr},
    {"vlan any drop", nullptr},
    {"not vlan ANY drop", "vlan none drop"},
    {"not vlan none drop", "vlan any drop"},
    {"size 64 drop", nullptr},
    {"size 64-1500 drop", nullptr},
    {"not size 1500- drop", nullptr},
    {"roce drop", nullptr},
    {"not roce drop", "non-roce drop"},
    {"non-roce drop", nullptr},
    {"not non-roce drop", "roce drop"},
    {"ipv4 drop", nullptr},
    {"not ipv4 drop", "ipv6 drop"},
    {"not ipv6 drop", "ipv4 drop"},
    {"se 1 drop", nullptr},
    {"not migreq 1 drop", nullptr},
    {"padcnt 1-3 drop", nullptr},
    {"not padcnt 0,2 drop", nullptr},
    {"tver 1-15 drop", nullptr},
    {"not tver 0 drop", nullptr},
    {"tver 0 ce", nullptr},
    {"pkey 65535 drop", "pkey 0xffff drop"},
    {"not pkey 0x8000-0x8fff drop", nullptr},
    {"fecn 1 becn 0 drop", nullptr},
    {"resv6 0x10,1-3 drop", "resv6 16,1-3 drop"},
    {"ack-req 1 drop", nullptr},
    {"resv7 1-127 drop", nullptr},
    {"resv7 1 ack-req 0 resv6 1 becn 1 fecn 1 pkey 1 tver 0 padcnt 1 migreq 0 se 1 drop",
     "se 1 migreq 0 padcnt 1 tver 0 pkey 0x1 fecn 1 becn 1 resv6 1 ack-req 0 resv7 1 drop"},
    {"src-mac 02:0:0:00:00:AB drop", "src-mac 02:00:00:00:00:ab drop"},
    {"not dst-mac 01-00-5e-00-00-00/24 drop", "not dst-mac 01:00:5e:00:00:00/24 drop"},
    {"dst-mac 01:00:00:00:00:00/01:00:00:00:00:00 drop", nullptr},
    {"dst-mac ff:ff:ff:ff:ff:ff/48 drop", "dst-mac ff:ff:ff:ff:ff:ff drop"},
    {"pcp 3,5-7 inner-vlan 5-9 mpls label 16 drop", "pcp 3,5-7 inner-vlan 5-9 mpls 16 drop"},
    {"not pcp 0 drop", nullptr},
    {"not mpls 0-1048575 not src-port 80 dst-port 1024-65535 drop", nullptr},
    {"roce-version 1 drop", nullptr},
    {"not roce-version 1 drop", "roce-version 2 drop"},
    {"bytes 12 0800 drop", nullptr},
    {"not bytes 0x0c 080B/fF0f drop", "not bytes 12 080b/ff0f drop"},
    {"bytes 16377 010203040506 drop", nullptr},
    {"qp 1024 psn 5 drop", nullptr},
    {"qp 0X11 psn ALL iter 3 drop", "qp 0x11 psn all iter 3 drop"},
    {"qp 1 psn 5-9 drop", nullptr},
    {"psn 7 qp 1 psn 5-9 drop", nullptr},
    {"qp 1 psn 5-9 psn 7 drop", "psn 7 qp 1 psn 5-9 drop"},
    {"always drop", "drop"},
    {"every 100 drop", nullptr},
    {"positions 1,5,0x9 drop", "positions 1,5,9 drop"},
    {"probability 0.010 drop seed 7", "probability 0.01 drop seed 7"},
    {"probability 1E-6 drop seed 7", "probability 1e-06 drop seed 7"},
    {"probability 1% drop seed 7", nullptr},
    {"probability 50PPM drop seed 7", "probability 50ppm drop seed 7"},
    {"probability .5 drop seed 7", "probability 0.5 drop seed 7"},
    {"burst 3 every 100 drop", nullptr},
    {"burst 3-3 every 3 drop", "burst 3 every 3 drop"},
    {"burst 2-5 every 100 drop seed 7", nullptr},
    {"burst 2-5 probability 1% drop seed 7", nullptr},
    {"gilbert 1% drop seed 7", nullptr},
    {"gilbert 1% 20% 90% 0.1% drop seed 7", nullptr},
    {"ber 1 -9 drop seed 7", nullptr},
    {"ber 2.5 -7 drop seed 7", nullptr},
    {"ber 0 0 drop seed 7", nullptr},
    {"distance uniform 10 20 drop seed 7", nullptr},
    {"distance gaussian 100 12.5 drop seed 7", nullptr},
    {"distance poisson 30 drop seed 7", nullptr},
    {"distance gamma 2 30 drop seed 7", nullptr},
    {"distance table 5,9,5 drop seed 7", nullptr},
    {"continuous drop", "drop"},
    {"for 1000us drop", "for 1ms drop"},
    {"for 1.5s drop", "for 1500ms drop"},
    {"for 2h drop", "for 120m drop"},
    {"repeat 10us 1m drop", nullptr},
    {"limit 5 drop", nullptr},
    {"shots 5 drop", "limit 5 drop"},
    {"limit 5 per 1000us drop", "limit 5 per 1ms drop"},
    {"shots 7 per 1s drop", "limit 7 per 1s drop"},
    {"ppm 250 drop", nullptr},
    {"ppm 0.125 drop", nullptr},
    {"ppm 1e6 drop", "ppm 1000000 drop"},
    {"ppm 333333.333 drop", nullptr},
    {"psn +0 drop", nullptr},
    {"psn +5-0x9 iter 2 dest-qp 0x11 drop", "dest-qp 0x11 psn +5-9 iter 2 drop"},
    {"drop cnp", nullptr},
    {"ce", nullptr},
    {"ce force", nullptr},
    {"red 5k 200KB 1% rate 10gbit seed 7", "red 5k 200k 1% rate 10gbit seed 7"},
    {"red 5k 200KB 1% rate 40g max 1MiB l1 force seed 7",
     "red 5k 200k 1% rate 40gbit force l1 max 1MiB seed 7"},
    {"red 5k 1M 1% rate 1.5g max 8M l2 seed 7", "red 5k 1M 1% rate 1500mbit seed 7"},
    {"corrupt icrc", nullptr},
    {"corrupt payload seed 7", nullptr},
    {"corrupt bit seed 7", nullptr},
    {"corrupt bit 0x11 seed 7", "corrupt bit 17"},
    {"corrupt bit 0", nullptr},
    {"corrupt ip-checksum seed 7", "corrupt ip-checksum"},
    {"set dscp 5 corrupt udp-checksum", "corrupt udp-checksum set dscp 5"},
    {"corrupt header dest-qp seed 7", nullptr},
    {"set becn 0 set fecn 1 set ecn ECT0 set dscp 46",
     "set dscp 46 set ecn ect0 set fecn 1 set becn 0"},
    {"police 1000mbit burst 64KiB", "police 1gbit burst 64KiB"},
    {"police 1g burst 64k l1 excess ce", "police 1gbit burst 64k l1 excess ce"},
    {"police 1g burst 64k excess drop l2", "police 1gbit burst 64k"},
    {"police 1g burst 64k drop cnp", "police 1gbit burst 64k cnp"},
    {"police 1g burst 64k ce", "police 1gbit burst 64k excess ce"},
    {"police 1g burst 64k ce force", "ce force police 1gbit burst 64k"},
    {"police 1g burst 64k set dscp 8", "set dscp 8 police 1gbit burst 64k"},
    {"cnp interval 50us scope stream dscp 48", "cnp"},
    {"cnp dscp 46 scope PAIR interval 1ms", "cnp interval 1ms scope pair dscp 46"},
    {"cnp scope port interval 0s", "cnp interval 0s scope port"},
    {"cnp dscp 46 dscp 26", "dscp 26 cnp dscp 46"},
    {"duplicate", nullptr},
    {"ce corrupt bit set dscp 5 duplicate seed 0xff",
     "ce corrupt bit set dscp 5 duplicate seed 255"},
    {"delay 1000us", "delay 1ms"},
    {"delay 0s", nullptr},
    {"delay 10m", nullptr},
    {"delay 1ms jitter uniform 10us 20us seed 7", nullptr},
    {"delay 0s jitter uniform 0s 20us seed 7", "delay uniform 0s 20us seed 7"},
    {"delay 1ms jitter gaussian 0s 100us unordered seed 7", nullptr},
    {"delay gaussian 1ms 100us seed 7", nullptr},
    {"delay 5us jitter poisson 30us seed 7", nullptr},
    {"delay 5us jitter gamma 2.50 30us seed 7", "delay 5us jitter gamma 2.5 30us seed 7"},
    {"delay 5us jitter TABLE 5us,9ns,1000us seed 7", "delay 5us jitter table 5us,9ns,1ms seed 7"},
    {"delay step 1ms 5ms every 10s", nullptr},
    {"delay 1ms jitter step 5ms 1ms every 10s unordered", nullptr},
    {"every 3 delay step 1ms 5ms every 10s", nullptr},
    {"accumulate 16", nullptr},
    {"accumulate 16 timeout 10ms", "accumulate 16"},
    {"accumulate 65535 timeout 1s", nullptr},
    {"accumulate 100us", nullptr},
    {"reorder depth 1", nullptr},
    {"reorder depth 511 timeout 1ms", nullptr},
    {"reorder skip 0 take 1 hold 510", nullptr},
    {"reorder skip 100 take 2 hold 5 timeout 10000us", "reorder skip 100 take 2 hold 5"},
    {"shape 1000mbit burst 16KB queue 1M", "shape 1gbit burst 16k queue 1M"},
    {"shape 1g l1 burst 16k queue 1M", "shape 1gbit l1 burst 16k queue 1M"},
    {"shape 1g burst 16k queue 1M l1", "shape 1gbit l1 burst 16k queue 1M"},
    {"shape 1g l2 burst 64 queue 64", "shape 1gbit burst 64 queue 64"},
    {"dst 10.10.10.20 roce burst 1 every 1 reorder depth 1", nullptr},
    {"burst 2 every 9 shape 1gbit burst 16k queue 1M", nullptr},
    {"delay 1ms corrupt icrc set dscp 5 duplicate ce",
     "ce corrupt icrc set dscp 5 duplicate delay 1ms"},
    {"delay 1ms cnp", "cnp delay 1ms"},
    {"delay 1ms police 1g burst 64k", "police 1gbit burst 64k delay 1ms"},
    {"non-roce reorder depth 3", nullptr},
    {"drop seed 7", "drop"},
    {"name A-z_0.9 drop", "drop name A-z_0.9"},
    {"disabled probability 1% seed 7 name x drop", "probability 1% drop seed 7 name x disabled"},
    {"drop limit 5 for 2s every 3 ipv4 roce size 64- vlan 3 dscp 5 ecn ce psn 3 opcode data "
     "transport rc dest-qp 3 dst 192.0.2.1 src 192.0.2.2 name x",
     "src 192.0.2.2 dst 192.0.2.1 dest-qp 0x3 transport rc opcode data psn 3 ecn ce dscp 5 vlan 3 "
     "size 64- roce ipv4 every 3 for 2s limit 5 drop name x"},
};

TEST(ImpairParse, ThereAndBack) {
  for (const Pair &pair : kTexts) {
    const Rule there = rule(pair.words);
    EXPECT_EQ(there.text(), pair.canonical ? pair.canonical : pair.words);
    const Rule back = rule(there.text());
    EXPECT_EQ(back.text(), there.text());
    expect_same(there, back, pair.words);
  }
}

TEST(ImpairParse, WordsMayBeStringsOfWords) {
  const auto whole = parse({"opcode data every 3 drop"});
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole.get().text(), "opcode data every 3 drop");
}

struct Wrong {
  const char *words;
  const char *named; // is in the message
};

constexpr Wrong kWrong[] = {
    {"", "action"},
    {"src 192.0.2.1", "action"},
    {"drob", "'drob'"},
    {"DROP", "'DROP'"},
    {"excess drop", "'excess'"},
    {"iter 3 drop", "'iter'"},
    {"src", "src"},
    {"src 192.0.2 drop", "'192.0.2'"},
    {"src 192.0.2.1/24 drop", "'192.0.2.1/24'"},
    {"src 192.0.2.0/33 drop", "'192.0.2.0/33'"},
    {"dst 2001:db8::1/32 drop", "'2001:db8::1/32'"},
    {"src 192.0.2.1 not src 192.0.2.2 drop", "src"},
    {"src 192.0.2.1 dst 2001:db8::1 drop", "dst"},
    {"dest-qp 17,,18 drop", "dest-qp"},
    {"dest-qp 0x1000000 drop", "'0x1000000'"},
    {"dest-qp 9-5 drop", "'9-5'"},
    {"dest-qp 1,2,3,4,5,6,7,8,9 drop", "'9'"},
    {"dest-qp x drop", "'x'"},
    {"transport tcp drop", "'tcp'"},
    {"opcode dat drop", "'dat'"},
    {"opcode 256 drop", "'256'"},
    {"opcode data, drop", "opcode"},
    {"opcode nak transport uc drop", "transport"},
    {"psn 16777216 drop", "'16777216'"},
    {"psn 5- drop", "'5-'"},
    {"ecn ect2 drop", "'ect2'"},
    {"not ecn not-ect,ect,ce drop", "ecn"},
    {"dscp 64 drop", "'64'"},
    {"dscp 9-8 drop", "'9-8'"},
    {"vlan 4096 drop", "'4096'"},
    {"vlan all drop", "'all'"},
    {"size -5 drop", "'-5'"},
    {"size 1500-100 drop", "'1500-100'"},
    {"size 10k drop", "'10k'"},
    {"roce non-roce drop", "roce"},
    {"ipv4 ipv6 drop", "ipv4"},
    {"se 2 drop", "'2'"},
    {"se 0 se 1 drop", "se"},
    {"not se 0,1 drop", "se"},
    {"padcnt 4 drop", "'4'"},
    {"tver 16 drop", "'16'"},
    {"tver 1 ce", "no RoCE"},
    {"tver 1 roce drop", "roce"},
    {"tver 1 opcode data drop", "opcode"},
    {"not tver 0 se 1 drop", "se"},
    {"non-roce se 1 drop", "se"},
    {"pkey 0x10000 drop", "'0x10000'"},
    {"not pkey 0-0xffff non-roce drop", "non-roce"},
    {"resv6 64 drop", "'64'"},
    {"resv7 128 drop", "'128'"},
    {"ack-req yes drop", "'yes'"},
    {"src-mac 02:00:00:00:00 drop", "'02:00:00:00:00'"},
    {"src-mac 02:00:00:00:00:01:02 drop", "'02:00:00:00:00:01:02'"},
    {"src-mac 02:00:00:00:00:g1 drop", "src-mac"},
    {"dst-mac 02:00:00:00:00:01/40 drop", "mask leaves out"},
    {"dst-mac 02:00:00:00:00:01/49 drop", "'49'"},
    {"src-mac 02:00:00:00:00:01/ drop", "src-mac"},
    {"pcp 8 drop", "'8'"},
    {"inner-vlan 4096 drop", "'4096'"},
    {"mpls 1048576 drop", "'1048576'"},
    {"src-port 65536 drop", "'65536'"},
    {"dst-port 9-5 drop", "'9-5'"},
    {"roce-version 3 drop", "'3'"},
    {"roce-version 1 non-roce drop", "non-roce"},
    {"bytes 12 080 drop", "'080'"},
    {"bytes 12 01020304050607 drop", "'01020304050607'"},
    {"bytes 16378 01 drop", "'16378'"},
    {"bytes 12 0801/ff00 drop", "mask leaves out"},
    {"bytes 12 0800/ff drop", "'ff'"},
    {"bytes 12 -800 drop", "'-800'"},
    {"bytes 12 drop", "'drop'"},
    {"ipv6 src 192.0.2.1 drop", "src"},
    {"not src ::/64 drop", "::/64"},
    {"src ::ffff:0:0/90 drop", "90"},
    {"non-roce dscp 5 drop", "dscp"},
    {"not qp 1 psn 5 drop", "'qp'"},
    {"not drop", "'drop'"},
    {"not not roce drop", "'not'"},
    {"drop not", "not"},
    {"qp 0 psn 5 drop", "'0'"},
    {"qp 1025 psn 5 drop", "'1025'"},
    {"qp 0x1000000 psn 5 drop", "'0x1000000'"},
    {"qp 1 drop", "'drop'"},
    {"qp 1 psn 0 drop", "'0'"},
    {"qp 1 psn 9-5 drop", "'9-5'"},
    {"qp 1 psn 5 iter 0 drop", "'0'"},
    {"qp 1 psn 5 dest-qp 5 drop", "qp"},
    {"dest-qp 5 qp 1 psn 5 drop", "dest-qp"},
    {"qp 1 psn 5 qp 2 psn 5 drop", "qp"},
    {"every 0 drop", "'0'"},
    {"every 3 always drop", "always"},
    {"every 3 probability 1% drop", "every"},
    {"positions 5,5 drop", "'5'"},
    {"positions 0 drop", "'0'"},
    {"positions 5,3 drop", "'3'"},
    {"probability 101% drop", "'101%'"},
    {"probability -1 drop", "'-1'"},
    {"probability nan drop", "'nan'"},
    {"probability 1permille drop", "'1permille'"},
    {"probability drop", "'drop'"},
    {"burst 0 every 5 drop", "'0'"},
    {"burst 5 every 4 drop", "'4'"},
    {"burst 2-5 every 4 drop", "'4'"},
    {"burst 5 evry 9 drop", "'evry'"},
    {"burst 5 drop", "'drop'"},
    {"gilbert drop", "'drop'"},
    {"gilbert 1% 200% drop", "'200%'"},
    {"gilbert 1% 2% 3% 4% 5% drop", "'5%'"},
    {"ber 5 -1 drop", "'5 -1'"},
    {"ber 1 -30 drop", "'1 -30'"},
    {"ber 1 x drop", "'x'"},
    {"ber -1 -9 drop", "'-1'"},
    {"ber 1 -9.5 drop", "'-9.5'"},
    {"distance gama 2 3 drop", "'gama'"},
    {"distance uniform 20 10 drop", "'20 10'"},
    {"distance uniform 1.5 10 drop", "'1.5'"},
    {"distance uniform 10 drop", "'drop'"},
    {"distance gaussian 0 1 drop", "'0'"},
    {"distance table 5,0 drop", "'0'"},
    {"for 5 drop", "'5'"},
    {"for 0s drop", "'0s'"},
    {"for 5parsec drop", "'5parsec'"},
    {"for 200000h drop", "'200000h'"},
    {"repeat 5s 1s drop", "'5s'"},
    {"repeat 5s drop", "'drop'"},
    {"for 5s continuous drop", "continuous"},
    {"limit 0 drop", "'0'"},
    {"limit 5 shots 5 drop", "limit"},
    {"limit 5 per drop", "per"},
    {"limit 5 per 0s drop", "'0s'"},
    {"limit 4294967296 per 1s drop", "'4294967296'"},
    {"per 1s drop", "'per'"},
    {"ppm 1000001 drop", "'1000001'"},
    {"ppm 0.0001 drop", "'0.0001'"},
    {"ppm 50ppm drop", "'50ppm'"},
    {"ppm 5 every 5 drop", "ppm"},
    {"not psn +5 drop", "'+5'"},
    {"psn +16777215 drop", "'16777215'"},
    {"psn +5 qp 1 psn 5 drop", "psn +K"},
    {"qp 1 psn 5 psn +5 drop", "qp"},
    {"psn +5 psn 5 drop", "psn"},
    {"psn + drop", "psn"},
    {"limit 18446744073709551616 drop", "'18446744073709551616'"},
    {"drop drop", "drop"},
    {"drop disabled disabled", "disabled"},
    {"not disabled drop", "'disabled'"},
    {"drop ce", "drop"},
    {"drop duplicate", "duplicate"},
    {"cnp duplicate", "duplicate"},
    {"cnp corrupt icrc", "corrupt"},
    {"drop corrupt icrc", "corrupt"},
    {"drop set dscp 5", "set dscp"},
    {"red 5k 200k 1% rate 10gbit ce", "red"},
    {"red 5k 200k 1% rate 10gbit drop", "red"},
    {"red 5k 200k 1% rate 10gbit set ecn ce", "set ecn"},
    {"red 5k 200k 1% rate 10gbit police 1g burst 64k", "police"},
    {"red 200k 5k 1% rate 10gbit", "'200k'"},
    {"red 5k 200k 2 rate 10gbit", "'2'"},
    {"red 5k 200k 1% 10gbit", "'10gbit'"},
    {"red 5k 200k 1% rate 10gbps", "'10gbps'"},
    {"red 5k 200k 1% rate 10", "'10'"},
    {"red 5k 200x 1% rate 10gbit", "'200x'"},
    {"red 5k 200k 1% rate 10gbit max 100k", "'100k'"},
    {"red 1M 4M 1% rate 124kbit", "'124kbit'"},
    {"ce set ecn ce", "set ecn"},
    {"corrupt crc", "'crc'"},
    {"corrupt bit 65536", "'65536'"},
    {"corrupt bit 5 non-roce", "no RoCE"},
    {"corrupt udp-checksum non-roce", "no RoCE"},
    {"corrupt ip-checksum corrupt udp-checksum", "corrupt"},
    {"corrupt header vaa", "'vaa'"},
    {"corrupt icrc corrupt bit", "corrupt"},
    {"set ttl 5", "'ttl'"},
    {"set dscp 64", "'64'"},
    {"set ecn ect", "'ect'"},
    {"set fecn 2", "'2'"},
    {"set dscp 5 set dscp 6", "dscp"},
    {"police 1g 64k", "'64k'"},
    {"police 1g burst 63", "'63'"},
    {"police 1g burst 64k excess pass", "'pass'"},
    {"police 1g burst 64k excess ce drop", "drop"},
    {"police 1g burst 64k excess drop set dscp 3", "set dscp"},
    {"cnp dscp 4,5", "'4,5'"},
    {"cnp scope host", "'host'"},
    {"cnp interval 5", "'5'"},
    {"non-roce ce", "ce"},
    {"non-roce corrupt icrc", "corrupt"},
    {"delay", "delay"},
    {"delay 5", "'5'"},
    {"delay 11m", "'11m'"},
    {"delay 5us unordered", "'unordered'"},
    {"delay 5us jitter", "a distribution is missing"},
    {"delay 5us jitter normal 5us 6us", "'normal'"},
    {"delay 5us jitter uniform 6us 5us", "'6us 5us'"},
    {"delay 5us jitter uniform 6 7us", "'6'"},
    {"delay 5us jitter gaussian 6us 0s", "SIGMA"},
    {"delay 5us jitter poisson 0s", "'0s'"},
    {"delay 5us jitter gamma 0 5us", "'0'"},
    {"delay 5us jitter gamma 1000 1m", "SHAPE"},
    {"delay 5us jitter gamma 2 0s", "'0s'"},
    {"delay 5us jitter table 5us,,6us", "a duration is missing"},
    {"delay 5us jitter step 5us 6us", "every"},
    {"delay step 5us 6us every 0s", "'0s'"},
    {"accumulate 0", "'0'"},
    {"accumulate 65536", "'65536'"},
    {"accumulate 0s", "'0s'"},
    {"accumulate 5us timeout 6us", "'timeout'"},
    {"accumulate 5 timeout 0s", "'0s'"},
    {"reorder 5", "'5'"},
    {"reorder depth 512", "'512'"},
    {"reorder depth 0", "'0'"},
    {"reorder skip 5 hold 5", "take"},
    {"reorder skip 5 take 5", "hold"},
    {"reorder skip 5 take 256 hold 256", "511"},
    {"reorder skip 5 take 5 hold 0", "'0'"},
    {"shape 1g 64k", "'64k'"},
    {"shape 1g burst 64k", "queue"},
    {"shape 1g burst 63 queue 64k", "'63'"},
    {"shape 1g burst 64k queue 63", "'63'"},
    {"shape 64k burst 64k queue 63", "'64k'"},
    {"delay 1ms delay 2ms", "delay"},
    {"delay 1ms drop", "delay"},
    {"delay 1ms reorder depth 1", "reorder"},
    {"accumulate 5 shape 1g burst 64k queue 64k", "shape"},
    {"jitter uniform 5us 6us drop", "'jitter'"},
    {"drop seed -1", "'-1'"},
    {"drop seed 1 seed 2", "seed"},
    {"drop name a/b", "'a/b'"},
    {"drop name abcdefghijklmnopqrstuvwxyz0123456", "'abcdefghijklmnopqrstuvwxyz0123456'"},
    {"drop name", "name"},
};

TEST(ImpairParse, WrongWordsAreNamed) {
  for (const Wrong &wrong : kWrong) {
    const Error error = failure(wrong.words);
    EXPECT_NE(error.message.find(wrong.named), std::string::npos)
        << wrong.words << ": " << error.message;
    EXPECT_FALSE(error.hint.empty()) << wrong.words << ": " << error.message;
  }
}

TEST(ImpairParse, HintsAreNear) {
  constexpr Pair kHints[] = {
      {"drob", "drop"},
      {"opcde data drop", "opcode"},
      {"opcode RC_SEND_ONYL drop", "RC_SEND_ONLY"},
      {"transport xcr drop", "xrc"},
      {"src 192.0.2.1/24 drop", "192.0.2.0/24"},
      {"size 1500-100 drop", "100-1500"},
      {"repeat 10s 1s drop", "repeat 1s 10s"},
      {"delay uniform 10us 1us", "uniform 1us 10us"},
      {"delay 1ms reorder depth 1", "two rules"},
      {"delay 1ms unordered", "jitter"},
      {"corrupt header dest_qp", "dest-qp"},
  };
  for (const Pair &hint : kHints)
    EXPECT_NE(failure(hint.words).hint.find(hint.canonical), std::string::npos)
        << hint.words << ": " << failure(hint.words).hint;
}

std::string places(size_t count, size_t first = 1) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; i++)
    all[i] = first + i;
  return fmt::format("{}", fmt::join(all, ","));
}

TEST(ImpairParse, TextIsNeverTooLong) {
  EXPECT_LT(rule("positions " + places(1024) + " drop").text().size(), size_t{ROCE_RULE_TEXT});
  EXPECT_EQ(rule("distance table " + places(1024, 1000) + " drop").points.size(), 1024u);
  const Error error = failure("positions " + places(1000, 100'000'000) + " drop");
  EXPECT_NE(error.message.find("positions"), std::string::npos) << error.message;
  EXPECT_FALSE(error.hint.empty());
  EXPECT_NE(failure("positions " + places(1025) + " drop").message.find("positions"),
            std::string::npos);
  EXPECT_NE(failure("distance table " + places(1025) + " drop").message.find("distance"),
            std::string::npos);
}

TEST(ImpairParse, SeedsAreDrawnWhereChanceNeedsThem) {
  const Rule one = rule("probability 1% drop"), other = rule("probability 1% drop");
  EXPECT_NE(one.compiled.select.seed, other.compiled.select.seed);
  EXPECT_LE(one.compiled.select.seed, UINT32_MAX);
  EXPECT_FALSE(one.seeded);
  expect_same(one, rule(one.text()), one.text());
  EXPECT_EQ(rule("every 3 drop seed 9").compiled.select.seed, 0U);
  EXPECT_FALSE(rule("corrupt icrc").chance());
  EXPECT_TRUE(rule("corrupt payload").chance());
  EXPECT_TRUE(rule("red 5k 200k 1% rate 10gbit").chance());
  EXPECT_FALSE(rule("burst 3 every 9 ce duplicate").chance());
}

TEST(ImpairParse, Probabilities) {
  const auto p = [](const std::string &word) {
    return rule("probability " + word + " drop").compiled.select.probability;
  };
  EXPECT_EQ(p("0"), 0U);
  EXPECT_EQ(p("1"), UINT64_MAX);
  EXPECT_EQ(p("100%"), UINT64_MAX);
  EXPECT_EQ(p("0.5"), 1ULL << 63);
  EXPECT_EQ(p("25%"), 1ULL << 62);
  EXPECT_NEAR(static_cast<double>(p("50ppm") / kOne), 50e-6, 1e-18);
  EXPECT_NEAR(static_cast<double>(p("1e-6") / kOne), 1e-6, 1e-18);
}

TEST(ImpairParse, Selectors) {
  const Rule positions = rule("positions 3,4,10 drop");
  EXPECT_EQ(positions.compiled.select.kind, ROCE_SELECT_POSITIONS);
  EXPECT_EQ(positions.compiled.select.points, 3);
  EXPECT_EQ(positions.points, (std::vector<uint32_t>{3, 1, 6}));

  const roce_selector burst = rule("burst 2-5 every 9 limit 4 drop").compiled.select;
  EXPECT_EQ(burst.kind, ROCE_SELECT_BURST);
  EXPECT_EQ(burst.burst_from, 2U);
  EXPECT_EQ(burst.burst_to, 5U);
  EXPECT_EQ(burst.every, 9U);
  EXPECT_EQ(burst.limit, 4U);
  EXPECT_EQ(rule("burst 3 probability 50% drop").compiled.select.every, 0U);

  const roce_selector once = rule("for 2ms drop").compiled.select;
  EXPECT_EQ(once.schedule, ROCE_ONCE);
  EXPECT_EQ(once.duration_ns, 2'000'000U);
  const roce_selector repeat = rule("repeat 5us 1m drop").compiled.select;
  EXPECT_EQ(repeat.schedule, ROCE_REPEAT);
  EXPECT_EQ(repeat.duration_ns, 5'000U);
  EXPECT_EQ(repeat.period_ns, 60'000'000'000U);
}

TEST(ImpairParse, GilbertsDefaultsAreNetems) {
  const roce_selector one = rule("gilbert 25% drop").compiled.select;
  EXPECT_EQ(one.probability, 1ULL << 62);
  EXPECT_EQ(one.bad_to_good, 3ULL << 62);
  EXPECT_EQ(one.loss_bad, UINT64_MAX);
  EXPECT_EQ(one.loss_good, 0U);
  const roce_selector all = rule("gilbert 25% 50% 75% 100% drop").compiled.select;
  EXPECT_EQ(all.bad_to_good, 2ULL << 62);
  EXPECT_EQ(all.loss_bad, 3ULL << 62);
  EXPECT_EQ(all.loss_good, UINT64_MAX);
}

TEST(ImpairParse, BitErrorRates) {
  const auto chance = [](const std::string &ber, double bytes) {
    const roce_selector s = rule("ber " + ber + " drop").compiled.select;
    return 1 - std::exp2(-static_cast<double>(s.ber_log2) * std::exp2(-ROCE_BER_SHIFT) * bytes);
  };
  EXPECT_NEAR(chance("1 -6", 1000) / (1 - std::pow(1 - 1e-6, 8000)), 1, 1e-6);
  EXPECT_NEAR(chance("2.5 -3", 100) / (1 - std::pow(1 - 2.5e-3, 800)), 1, 1e-6);
  EXPECT_NEAR(chance("1 -9", 1000) / 8e-6, 1, 1e-4);
  EXPECT_NEAR(chance("4.9 -1", 1), 1 - std::pow(0.51, 8), 1e-9);
  EXPECT_EQ(chance("0 0", 1000), 0);
}

TEST(ImpairParse, DistancesAreQuantiles) {
  constexpr Pair kMiddle[] = {{"uniform 10 20", "15"},
                              {"gaussian 1000 10", "1000"},
                              {"poisson 300", "300"},
                              {"gamma 100 20", "1993"},
                              {"gaussian 1 100", "1"}};
  for (const Pair &pair : kMiddle) {
    const Rule r = rule(fmt::format("distance {} drop", pair.words));
    ASSERT_EQ(r.points.size(), size_t{ROCE_RULE_POINTS});
    EXPECT_EQ(r.compiled.select.points, ROCE_RULE_POINTS);
    EXPECT_TRUE(std::is_sorted(r.points.begin(), r.points.end()));
    EXPECT_GE(r.points.front(), 1U);
    EXPECT_NEAR(r.points[ROCE_RULE_POINTS / 2], std::stod(pair.canonical),
                std::stod(pair.canonical) * 0.01 + 1)
        << pair.words;
  }
  const Rule uniform = rule("distance uniform 10 20 drop");
  EXPECT_EQ(uniform.points.front(), 10U);
  EXPECT_EQ(uniform.points.back(), 20U);
  EXPECT_EQ(rule("distance table 5,9,5 drop").points, (std::vector<uint32_t>{5, 9, 5}));
}

TEST(ImpairParse, Queues) {
  const roce_action red = rule("red 5k 200k 1% rate 8gbit l1 force").compiled.action;
  EXPECT_EQ(red.act, uint32_t{ROCE_ACT_RED | ROCE_ACT_CE | ROCE_ACT_FORCE});
  EXPECT_EQ(red.queue.byte_cost, 1ULL << 32); // a nanosecond a byte
  EXPECT_EQ(red.queue.low, 5'000U * 256);
  EXPECT_EQ(red.queue.high, 200'000U * 256);
  EXPECT_EQ(red.queue.most, 1'600'000U * 256);
  EXPECT_EQ(red.queue.overhead, 24U);
  EXPECT_NEAR(static_cast<double>(red.queue.slope * (195'000.0L * 256) / kOne), 0.01, 1e-9);
  // as RED has it, the product never goes beyond certainty
  for (const char *words : {"red 1 4 1 rate 8gbit", "red 0 4G 1 rate 125kbit",
                            "red 5k 200k 1 rate 7gbit", "red 7 1M 100% rate 123mbit"}) {
    const roce_queue q = rule(words).compiled.action.queue;
    EXPECT_LE(static_cast<unsigned __int128>(q.slope) * (q.high - q.low), UINT64_MAX) << words;
    EXPECT_LT(q.most, 1ULL << 62) << words;
    EXPECT_LT(static_cast<unsigned __int128>(q.byte_cost) * 65560, UINT64_MAX) << words;
  }
  EXPECT_EQ(rule("red 1 2 1 rate 10tbit").compiled.action.queue.slope, UINT64_MAX);

  const roce_action police = rule("police 8gbit burst 64").compiled.action;
  EXPECT_EQ(police.act, uint32_t{ROCE_ACT_POLICE | ROCE_ACT_DROP});
  EXPECT_EQ(police.queue.low, 64U * 256);
  EXPECT_EQ(police.queue.overhead, 0U);
  EXPECT_EQ(rule("police 8gbit burst 64 excess ce").compiled.action.act,
            uint32_t{ROCE_ACT_POLICE | ROCE_ACT_CE});
  EXPECT_EQ(rule("police 8gbit burst 64 cnp").compiled.action.act,
            uint32_t{ROCE_ACT_POLICE | ROCE_ACT_DROP | ROCE_ACT_CNP});
  EXPECT_EQ(rule("police 8gbit burst 64 duplicate").compiled.action.act,
            uint32_t{ROCE_ACT_POLICE | ROCE_ACT_DUPLICATE});
}

struct FieldAt {
  const char *name;
  unsigned header, first_bit, bits;
};

TEST(ImpairParse, HeaderFields) {
  // the bit's number among ROCE_HAS_...
  static_assert(ROCE_RULES == 64);
  constexpr FieldAt kFields[] = {
      {"opcode", 0, 0, 8},  {"se", 0, 8, 1},        {"migreq", 0, 9, 1},    {"padcnt", 0, 10, 2},
      {"tver", 0, 12, 4},   {"pkey", 0, 16, 16},    {"dest-qp", 0, 40, 24}, {"ackreq", 0, 64, 1},
      {"psn", 0, 72, 24},   {"syndrome", 14, 0, 8}, {"msn", 14, 8, 24},     {"va", 12, 0, 64},
      {"rkey", 12, 64, 32}, {"dmalen", 12, 96, 32}, {"qkey", 9, 0, 32},     {"src-qp", 9, 40, 24},
      {"imm", 16, 0, 32},
  };
  for (const FieldAt &field : kFields) {
    const roce_action a = rule(fmt::format("corrupt header {}", field.name)).compiled.action;
    EXPECT_EQ(a.act, uint32_t{ROCE_ACT_CORRUPT_HEADER});
    EXPECT_EQ(a.header, field.header) << field.name;
    EXPECT_EQ(a.first_bit, field.first_bit) << field.name;
    EXPECT_EQ(a.bits, field.bits) << field.name;
  }
}

TEST(ImpairParse, OtherActions) {
  const roce_action set = rule("set dscp 46 set ecn ect1 set fecn 1 set becn 0").compiled.action;
  EXPECT_EQ(set.act,
            uint32_t{ROCE_ACT_SET_DSCP | ROCE_ACT_SET_ECN | ROCE_ACT_SET_FECN | ROCE_ACT_SET_BECN});
  EXPECT_EQ(set.dscp, 46);
  EXPECT_EQ(set.ecn, 1);
  EXPECT_EQ(set.fecn, 1);
  EXPECT_EQ(set.becn, 0);
  const roce_action cnp = rule("cnp").compiled.action;
  EXPECT_EQ(cnp.cnp_interval_ns, 50'000U);
  EXPECT_EQ(cnp.cnp_dscp, 48);
  EXPECT_EQ(cnp.cnp_scope, ROCE_CNP_STREAM);
  EXPECT_EQ(rule("cnp scope port").compiled.action.cnp_scope, ROCE_CNP_PORT);
  EXPECT_EQ(rule("corrupt icrc").compiled.action.act, uint32_t{ROCE_ACT_CORRUPT_ICRC});
  EXPECT_EQ(rule("corrupt payload").compiled.action.act, uint32_t{ROCE_ACT_CORRUPT_PAYLOAD});
  EXPECT_EQ(rule("corrupt bit").compiled.action.act, uint32_t{ROCE_ACT_CORRUPT_BIT});
}

TEST(ImpairParse, Holds) {
  const Rule delay = rule("delay 1ms jitter gamma 2 30us unordered");
  EXPECT_EQ(delay.compiled.action.act, uint32_t{ROCE_ACT_DELAY});
  EXPECT_TRUE(delay.chance());
  EXPECT_TRUE(delay.hold == (Hold{.kind = Hold::Kind::Delay,
                                  .jitter = Jitter::Gamma,
                                  .unordered = true,
                                  .delay_ns = 1'000'000,
                                  .b = 30'000,
                                  .shape = 2}));
  EXPECT_FALSE(rule("delay 1ms").chance());
  EXPECT_FALSE(rule("delay step 1ms 2ms every 1s").chance());
  EXPECT_TRUE(rule("delay step 1ms 2ms every 1s").hold == (Hold{.kind = Hold::Kind::Delay,
                                                                .jitter = Jitter::Step,
                                                                .a = 1'000'000,
                                                                .b = 2'000'000,
                                                                .every_ns = 1'000'000'000}));
  EXPECT_EQ(rule("delay 1us jitter table 5us,0s").hold.table, (std::vector<uint64_t>{5000, 0}));

  const Rule burst = rule("accumulate 16");
  EXPECT_EQ(burst.compiled.action.act, uint32_t{ROCE_ACT_ACCUMULATE});
  EXPECT_TRUE(burst.hold ==
              (Hold{.kind = Hold::Kind::Accumulate, .frames = 16, .timeout_ns = 10'000'000}));
  EXPECT_TRUE(rule("accumulate 16us").hold ==
              (Hold{.kind = Hold::Kind::Accumulate, .timeout_ns = 16'000}));

  const Rule depth = rule("reorder depth 3 timeout 1us");
  EXPECT_EQ(depth.compiled.action.act, uint32_t{ROCE_ACT_REORDER});
  EXPECT_TRUE(depth.hold == (Hold{.kind = Hold::Kind::Reorder, .depth = 3, .timeout_ns = 1000}));
  EXPECT_TRUE(rule("reorder skip 5 take 6 hold 7").hold == (Hold{.kind = Hold::Kind::Reorder,
                                                                 .frames = 6,
                                                                 .skip = 5,
                                                                 .pass = 7,
                                                                 .timeout_ns = 10'000'000}));

  const Rule shape = rule("ce shape 8gbit l1 burst 64 queue 1KiB");
  EXPECT_EQ(shape.compiled.action.act, uint32_t{ROCE_ACT_SHAPE | ROCE_ACT_CE});
  EXPECT_TRUE(shape.hold == (Hold{.kind = Hold::Kind::Shape,
                                  .rate = 8'000'000'000,
                                  .overhead = 24,
                                  .burst = 64,
                                  .queue = 1024}));
  EXPECT_TRUE(rule("drop").hold == Hold{});
}

// A rule of random phrases: any order of them is the same rule.
class Phrases {
public:
  explicit Phrases(uint64_t seed) : engine_(seed) {}

  std::vector<std::string> draw() {
    std::vector<std::string> phrases;
    for (const auto &kind : kinds())
      if (number(0, 3) == 0)
        phrases.push_back(one_of(kind));
    phrases.push_back(one_of(selectors()));
    phrases.push_back(one_of(actions()));
    phrases.push_back(fmt::format("seed {}", engine_()));
    return phrases;
  }
  std::string shuffled(std::vector<std::string> phrases) {
    std::shuffle(phrases.begin(), phrases.end(), engine_);
    return fmt::format("{}", fmt::join(phrases, " "));
  }

private:
  using Kind = std::vector<std::string>;

  uint64_t number(uint64_t from, uint64_t to) {
    return std::uniform_int_distribution<uint64_t>(from, to)(engine_);
  }
  std::string one_of(const Kind &kind) { return kind[number(0, kind.size() - 1)]; }
  std::string range(uint64_t most) {
    const uint64_t from = number(0, most), to = number(from, most);
    return number(0, 1) ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
  }
  std::string p() {
    const double value = std::uniform_real_distribution<double>(0, 1)(engine_);
    return one_of({fmt::format("{}", value), fmt::format("{}%", value * 100),
                   fmt::format("{}ppm", value * 1e6), "1", "0"});
  }
  std::string time() {
    return fmt::format("{}{}", number(1, 900), one_of({"us", "ms", "ns", "s"}));
  }
  // A time that frames can be held.
  std::string moment() { return fmt::format("{}{}", number(1, 900), one_of({"us", "ms", "ns"})); }
  std::string bytes() {
    return fmt::format("{}{}", number(64, 999), one_of({"", "k", "KB", "KiB", "k"}));
  }

  std::vector<Kind> kinds() {
    const std::string not_ = number(0, 1) ? "not " : "";
    return {
        {fmt::format("{}src 10.{}.{}.0/24", not_, number(0, 255), number(0, 255)),
         fmt::format("not dst 2001:db8:{:x}::/48", number(0, 65535))},
        {fmt::format("{}dest-qp {},{}", not_, range(0xffffff), range(0xffffff)),
         fmt::format("qp {} psn {}", number(1, 1024), number(1, 99)),
         fmt::format("qp {:#x} psn {}-99 iter {}", number(0, 0xffffff), number(1, 99),
                     number(1, 9))},
        {not_ + "transport rc,xrc", not_ + "transport rc"},
        {not_ + "opcode SEND_MIDDLE", not_ + "opcode nak,RC_SEND_ONLY,0x12"},
        {fmt::format("{}psn {}-{}", not_, number(0, 0xffffff), number(0, 0xffffff))},
        {not_ + "ecn ect", not_ + "ecn ect0,ce"},
        {fmt::format("{}dscp {}", not_, number(0, 63))},
        {fmt::format("{}vlan {}", not_, range(4095)), not_ + "vlan any"},
        {fmt::format("{}size {}", not_, range(9000)), fmt::format("size {}-", number(0, 9000))},
        {"roce", "not non-roce"},
        {"for " + time(), "repeat 1ns " + time()},
        {fmt::format("limit {}", number(1, 1000))},
        {fmt::format("name n{}", number(0, 99))},
    };
  }
  Kind selectors() {
    const uint64_t n = number(1, 1000);
    return {"always",
            fmt::format("every {}", n),
            fmt::format("positions {},{},{}", n, n + number(1, 9), n + number(10, 19)),
            "probability " + p(),
            fmt::format("burst {} every {}", n, n + number(0, 9)),
            fmt::format("burst {}-{} probability {}", n, n + number(0, 9), p()),
            fmt::format("gilbert {} {}", p(), p()),
            fmt::format("ber {} -7", number(1, 100)),
            fmt::format("distance poisson {}", n),
            fmt::format("distance table {},{}", n, number(1, 1000))};
  }
  Kind actions() {
    return {
        "drop",
        fmt::format("cnp interval {} dscp {} drop", time(), number(0, 63)),
        "ce",
        "duplicate ce force corrupt header psn",
        fmt::format("set fecn {} set dscp {} corrupt bit", number(0, 1), number(0, 63)),
        fmt::format("red {} 2M {} rate {}mbit", bytes(), p(), number(1, 99)),
        fmt::format("police {}kbit burst {} l1", number(125, 999), bytes()),
        fmt::format("police {}g burst {} excess ce", number(1, 400), bytes()),
        fmt::format("police {}g burst {} set becn 1", number(1, 400), bytes()),
        fmt::format("delay {} jitter gaussian {} {} unordered ce", moment(), moment(), moment()),
        fmt::format("delay step {} {} every {}", moment(), moment(), moment()),
        fmt::format("accumulate {} timeout {} duplicate", number(1, 999), moment()),
        fmt::format("reorder skip {} take {} hold {}", number(0, 99), number(1, 200),
                    number(1, 200)),
        fmt::format("shape {}g l1 burst {} queue {}", number(1, 400), bytes(), bytes())};
  }

  std::mt19937_64 engine_;
};

TEST(ImpairParse, RandomRulesThereAndBack) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Phrases source(seed);
  for (int i = 0; i < 300 && !testing::Test::HasFailure(); i++) {
    const auto phrases = source.draw();
    const Rule there = rule(fmt::format("{}", fmt::join(phrases, " ")));
    expect_same(there, rule(there.text()), there.text());
    EXPECT_EQ(rule(there.text()).text(), there.text());
    const std::string other = source.shuffled(phrases);
    EXPECT_EQ(rule(other).text(), there.text()) << other;
  }
}

// Any words are understood or refused with a sentence.
TEST(ImpairParse, RandomWords) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 engine(seed);
  std::vector<std::string> all;
  for (const Wrong &wrong : kWrong)
    for (const std::string &word : parse::split(wrong.words))
      all.push_back(word);
  size_t good = 0;
  for (int i = 0; i < 20000; i++) {
    std::vector<std::string> words(1 + engine() % 5);
    for (std::string &word : words)
      word = all[engine() % all.size()];
    const auto result = parse(words);
    good += result.ok();
    if (result.ok())
      EXPECT_EQ(rule(result.get().text()).text(), result.get().text());
    else
      EXPECT_FALSE(result.error().message.empty() || result.error().hint.empty())
          << fmt::format("{}", fmt::join(words, " "));
  }
  EXPECT_GT(good, 0U);
}

TEST(ImpairPeer, ThereAndBack) {
  for (const char *words : {"192.0.2.1 17 -> 0x12", "192.0.2.1 0x11 18"}) {
    auto peer = parse_peer(parse::split(words));
    ASSERT_TRUE(peer.ok()) << peer.error().message;
    EXPECT_EQ(peer->qp, 17U);
    EXPECT_EQ(peer->src_qp, 18U);
    EXPECT_EQ(peer_text(*peer), "192.0.2.1 0x11 0x12");
  }
  auto ipv6 = parse_peer(parse::split("2001:db8::1 0x11 -> 0x12"));
  ASSERT_TRUE(ipv6.ok());
  EXPECT_EQ(peer_text(*ipv6), "2001:db8::1 0x11 0x12");
}

TEST(ImpairPeer, WrongWordsAreNamed) {
  constexpr Wrong kPeers[] = {
      {"", "address"},
      {"192.0.2 1 2", "'192.0.2'"},
      {"192.0.2.1", "QPN"},
      {"192.0.2.1 x 2", "'x'"},
      {"192.0.2.1 1 -> 0x1000000", "'0x1000000'"},
      {"192.0.2.1 1 -> 2 3", "'3'"},
  };
  for (const Wrong &wrong : kPeers) {
    const auto peer = parse_peer(parse::split(wrong.words));
    ASSERT_FALSE(peer.ok()) << wrong.words;
    EXPECT_NE(peer.error().message.find(wrong.named), std::string::npos) << peer.error().message;
    EXPECT_FALSE(peer.error().hint.empty());
  }
}

} // namespace
} // namespace xr::impair::impair_parse_test
