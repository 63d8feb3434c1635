// SPDX-License-Identifier: Apache-2.0
// Languages of words: what the table of words makes of them, for all languages alike; and the
// tables of the documents, which are made from them: XR_UPDATE_GOLDENS=1 writes these.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "congestion/prediction.h"
#include "congestion/steady_state.h"
#include "flow/flow.h"
#include "impair/rule.h"
#include "parse/language.h"
#include "peer/peer_words.h"
#include "requester/pfc.h"
#include "wire/link_words.h"

namespace xr::language_test {
namespace {

using parse::WordInfo;

struct Toy {
  uint64_t size = 0;
  std::vector<std::string> notes;
  bool loud = false;
};
using ToyDraft = parse::Draft<Toy>;

const parse::Language<ToyDraft> &toy() {
  static const parse::Word<ToyDraft> kWords[] = {
      {{"size", "", "size 5", "N", "its size"},
       [](ToyDraft &draft, parse::WordReader &words) -> Status {
         const std::string word = words.take();
         if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos)
           return parse::wrong(word, "a number");
         draft.spec.size = std::stoull(word);
         return {};
       },
       [](const Toy &toy) { return parse::say_if(toy.size, "{}", toy.size); },
       [](Toy &toy, const parse::Scale &scale) { scale.rate(toy.size); }},
      {{"length", "size", "", "N"},
       [](ToyDraft &draft, parse::WordReader &words) -> Status {
         draft.spec.size = std::stoull(words.take());
         return {};
       }},
      {{"note", parse::kMany, "note hello", "WORD"},
       [](ToyDraft &draft, parse::WordReader &words) -> Status {
         draft.spec.notes.push_back(words.take());
         return {};
       },
       [](const Toy &toy) { return toy.notes; }},
      {{"loud", "", "", "", "it is"},
       [](ToyDraft &draft, parse::WordReader &) -> Status {
         draft.spec.loud = true;
         return {};
       },
       [](const Toy &toy) { return parse::say_if(toy.loud, ""); }},
  };
  static const parse::Language<ToyDraft> kToy(
      {.thing = "a toy", .example = "a toy is like: size 5"}, {{"", kWords}}, {{"per", "size N"}});
  return kToy;
}

Result<Toy> read_toy(const std::string &text) {
  ToyDraft draft;
  parse::WordReader words(parse::split(text));
  XR_TRY(toy().read(draft, words));
  return std::move(draft.spec);
}

TEST(Language, ReadsAndSays) {
  const Result<Toy> read = read_toy("loud note b size 7 note a");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(toy().text(read.get()), "size 7 note b note a loud");
  Toy slow = read.get();
  toy().scale(slow, 0.5);
  EXPECT_EQ(slow.size, 4U);
  EXPECT_EQ(toy().usage(1), "size N [length N] [note WORD] [loud]");
  EXPECT_EQ(toy().markdown(), "| `size` N | its size |\n| `length` N |  |\n| `note` WORD |  |\n"
                              "| `loud` | it is |\n");
}

TEST(Language, Refuses) {
  const struct {
    const char *text, *message, *hint;
  } kWrong[] = {
      {"size 1 size 2", "size: is given twice", "remove one of them"},
      {"size 1 length 2", "length: there is size already", "leave one of them away"},
      {"sise 1", "'sise' is not a word of a toy", "did you mean size?"},
      {"xxxxxx", "'xxxxxx' is not a word of a toy", "a toy is like: size 5"},
      {"per 1", "'per' is only valid after size N", "write size N per"},
      {"size many", "size: 'many' is not a number", "size 5"},
      {"size", "size: a number is missing", "size 5"},
  };
  for (const auto &wrong : kWrong) {
    const Result<Toy> read = read_toy(wrong.text);
    ASSERT_FALSE(read.ok()) << wrong.text;
    EXPECT_EQ(read.error().message, wrong.message);
    EXPECT_EQ(read.error().hint, wrong.hint);
  }
}

TEST(Language, ReadsYaml) {
  const auto words = toy().from_yaml(YAML::Load("{size: 5, notes: [a, b], loud: true}"));
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ(words.get(), (std::vector<std::string>{"size", "5", "note", "a", "note", "b", "loud"}));
  for (const auto &[yaml, message] : std::map<std::string, std::string>{
           {"{sise: 5}", "1: 'sise' is not a word of a toy"},
           {"{loud: false}", "1: loud cannot be false"},
           {"{size: {a: 1}}", "1: size is a map"},
           {"{notes: {a: 1}}", "1: notes is not a list"},
           {"{size: [[1]]}", "1: a list of values has something else in it"},
           {"[a]", "1: a toy is neither words nor a map"}}) {
    const auto read = toy().from_yaml(YAML::Load(yaml));
    ASSERT_FALSE(read.ok()) << yaml;
    EXPECT_EQ(read.error().message, message);
  }
}

// Arguments of each word: a word without some here fails the test. Words that take none have "".
using Arguments = std::map<std::string_view, std::vector<const char *>>;

struct Tongue {
  const char *name;
  const parse::LanguageWords *words;
  const Arguments *arguments;
  // The canonical text of a spec in these words; what is wrong with them.
  std::function<Result<std::string>(const std::vector<std::string> &)> text;
  const char *always = ""; // words that every spec needs
  bool yaml = true;
};

const Arguments kFlowArguments = {
    {"preset", {"ipv4_rocev2_rc_send"}},
    {"name", {"a", "first-1"}},
    {"src", {"192.0.2.1", "2001:db8::1"}},
    {"dst", {"192.0.2.2", "2001:db8::2"}},
    {"src-mac", {"02:00:00:00:00:01"}},
    {"dst-mac", {"02:00:00:00:00:02"}},
    {"vlan", {"5", "5/3", "7,5/3"}},
    {"v1", {""}},
    {"opcode", {"RC_SEND_ONLY,CNP,0x18", "0x04"}},
    {"transport", {"rc", "uc", "ud", "xrc"}},
    {"verb", {"write", "read"}},
    {"qp", {"1", "0x11-0x1f"}},
    {"qps", {"1", "100"}},
    {"src-qp", {"0x12"}},
    {"by", {"packet", "message"}},
    {"size", {"64k", "64,4k", "1k-64k", "64:9,64k:1.5"}},
    {"frame-size", {"1518"}},
    {"pmtu", {"256", "4096"}},
    {"frames", {"1000"}},
    {"repeat", {"0", "5"}},
    {"messages", {"1", "1000"}},
    {"for", {"10s", "1ms"}},
    {"psn", {"0", "0xffffff"}},
    {"ack-every", {"16"}},
    {"port", {"hash", "vary", "49152"}},
    {"dscp", {"26", "0"}},
    {"ecn", {"not-ect", "ect1", "ce"}},
    {"ttl", {"1", "255"}},
    {"flow-label", {"0x12345"}},
    {"se", {"0", "1"}},
    {"migreq", {"1"}},
    {"padcnt", {"0", "3"}},
    {"tver", {"1"}},
    {"pkey", {"0x8001"}},
    {"fecn", {"1"}},
    {"becn", {"0", "1"}},
    {"resv6", {"0x10"}},
    {"ack-req", {"0", "1"}},
    {"resv7", {"127"}},
    {"rate", {"10gbit", "10gbit l1", "1mpps", "50%", "top"}},
    {"top", {""}},
    {"poisson", {""}},
    {"burst", {"32 gap 1ms", "32 gap 1ms count 10"}},
    {"start", {"1s"}},
    {"ramp", {"10s", "10s from 10%"}},
    {"cc",
     {"fixed 100mbit", "dcqcn", "dcqcn preset nvidia rai=10mbit line 40gbit", "timely", "dctcp",
      "hpcc window bdp vary", "swift burst=4", "copa window 64k delta=0.1"}},
    {"qkey", {"1"}},
    {"rkey", {"0xffffffff"}},
    {"va", {"0x1234567890"}},
    {"imm", {"7"}},
    {"srq", {"5"}},
    {"ee-context", {"5"}},
    {"syndrome", {"0x60"}},
    {"seed", {"7"}},
    {"stamp", {""}},
    {"fault", {"skip at 1,5", "icrc every 100", "ghost-ack probability 1%"}},
};

const Arguments kRuleArguments = {
    {"src", {"192.0.2.0/24", "2001:db8::/32"}},
    {"dst", {"192.0.2.1"}},
    {"dest-qp", {"0x11,20-29"}},
    {"transport", {"rc,ud"}},
    {"opcode", {"data,nak", "RC_SEND_ONLY", "0x04"}},
    {"psn", {"100", "100-200", "+5", "+5-7 iter 2"}},
    {"ecn", {"ect0,ce"}},
    {"dscp", {"26,40-47"}},
    {"vlan", {"5", "5-9", "any", "none"}},
    {"size", {"64", "64-1500", "1500-"}},
    {"roce", {""}},
    {"non-roce", {""}},
    {"ipv4", {""}},
    {"ipv6", {""}},
    {"se", {"1"}},
    {"migreq", {"0"}},
    {"padcnt", {"1-3"}},
    {"tver", {"0", "1-15"}},
    {"pkey", {"0x8000-0x8fff"}},
    {"fecn", {"1"}},
    {"becn", {"1"}},
    {"resv6", {"0x10"}},
    {"ack-req", {"1"}},
    {"resv7", {"1-127"}},
    {"src-mac", {"02:00:00:00:00:01", "02:00:00:00:00:00/24"}},
    {"dst-mac", {"02:00:00:00:00:02"}},
    {"pcp", {"3,5-7"}},
    {"inner-vlan", {"5-9"}},
    {"mpls", {"16-31"}},
    {"src-port", {"80"}},
    {"dst-port", {"1024-65535"}},
    {"roce-version", {"1", "2"}},
    {"bytes", {"12 0800", "12 0800/ff00"}},
    {"qp", {"1 psn 5", "0x11 psn all iter 2"}},
    {"always", {""}},
    {"every", {"100"}},
    {"ppm", {"250", "0.001"}},
    {"positions", {"1,5,9"}},
    {"probability", {"1%", "1e-9"}},
    {"burst", {"3 every 100", "2-5 probability 0.1%"}},
    {"gilbert", {"1%", "1% 20% 5% 0.1%"}},
    {"ber", {"1 -9"}},
    {"distance", {"uniform 10 20", "table 5,9,30", "gamma 2 10"}},
    {"continuous", {""}},
    {"for", {"10s"}},
    {"repeat", {"1s 10s"}},
    {"limit", {"100", "100 per 1s"}},
    {"shots", {"5"}},
    {"drop", {""}},
    {"ce", {"", "force"}},
    {"red", {"5k 200k 1% rate 10gbit", "5k 200k 1% rate 10gbit l1 max 2M"}},
    {"corrupt", {"icrc", "bit 5", "header va"}},
    {"set", {"dscp 26", "ecn ect0", "becn 1"}},
    {"police", {"1gbit burst 64k", "1gbit burst 64k l1 excess ce"}},
    {"cnp", {"", "interval 1ms scope pair dscp 5"}},
    {"duplicate", {""}},
    {"delay", {"1ms", "1ms jitter gaussian 0s 100us unordered", "uniform 1us 2us"}},
    {"accumulate", {"16", "16 timeout 1ms", "100us"}},
    {"reorder", {"depth 3", "skip 100 take 2 hold 5"}},
    {"shape", {"1gbit burst 16k queue 1M"}},
    {"seed", {"7"}},
    {"name", {"loss"}},
    {"disabled", {""}},
    {"next", {}}, // must be the last word
};

const Arguments kLinkArguments = {
    {"rate", {"10gbit", "25gbit l1"}},
    {"trace", {"/tmp/cell.up"}},
    {"delay", {"100us"}},
    {"mtu", {"1500"}},
    {"buffer", {"64k", "12M"}},
    {"red", {"5k 200k 1%", "5k 200k 1% weight 0.002 drop at enqueue"}},
    {"step", {"65k", "65k ce only"}},
    {"blue", {"", "0.01 0.001 10ms over 20k"}},
    {"map", {"26:3,48-55:6"}},
    {"pfc", {"xoff 20k xon 15k", "xoff 20k xon 15k headroom 5k alpha 0.5 priorities 3,4"}},
    {"class", {"3 weight 4 share 40%", "6 strict reserve 5% step 10k"}},
    {"flap", {"100ms every 5s", "100ms every 5s count 3 drop"}},
};

const Arguments kPeerArguments = {
    {"size", {"2", "64k"}},
    {"all", {""}},
    {"iters", {"1000"}},
    {"for", {"10s"}},
    {"qps", {"4"}},
    {"both-ways", {""}},
    {"transport", {"uc", "ud"}},
    {"depth", {"16"}},
    {"port", {"18516"}},
    {"listen", {"192.0.2.2", "2001:db8::2"}},
    {"cm", {""}},
    {"once", {""}},
    {"pmtu", {"256", "4096"}},
    {"memory", {"1g", "4096"}},
    {"receives", {"0", "10"}},
    {"timeout", {"0", "18"}},
    {"retries", {"0", "3"}},
    {"rnr-retries", {"0", "6"}},
    {"rkey", {"0xbad"}},
    {"rnr-every", {"10"}},
    {"rnr-timer", {"14"}},
    {"cnp-every", {"100"}},
    {"no-cnp", {""}},
    {"reject", {"no-qp", "consumer"}},
    {"answers",
     {"skip every 100", "repeat at 1,5", "icrc probability 0.01", "psn at 3", "late 5ms every 7",
      "nak access at 9", "cut every 2", "silent at 100"}},
    {"fault", {"skip every 100", "icrc at 1,5"}},
};

std::vector<Tongue> tongues() {
  const auto flow = [](const std::vector<std::string> &words) -> Result<std::string> {
    return XR_TRY(flow::parse_flow(words)).text();
  };
  const auto rule = [](const std::vector<std::string> &words) -> Result<std::string> {
    return XR_TRY(impair::parse_spec(words)).text();
  };
  const auto link = [](const std::vector<std::string> &words) -> Result<std::string> {
    return wire::link_text(XR_TRY(wire::parse_link(words)));
  };
  const auto peer = [](const std::vector<std::string> &words) -> Result<std::string> {
    peer::PeerDraft draft;
    parse::WordReader reader(words);
    XR_TRY(peer::peer_language().read(draft, reader));
    return peer::peer_language().text(draft.spec);
  };
  return {{"peer", &peer::peer_language(), &kPeerArguments, peer},
          {"flow", &flow::flow_language(), &kFlowArguments, flow},
          {"rule", &impair::rule_words(), &kRuleArguments, rule, "", false},
          {"link", &wire::link_language(), &kLinkArguments, link}};
}

bool is_verb(const WordInfo &info) { return info.sets == "verb" && !*info.syntax; }

TEST(Language, EachWordHasArgumentsHere) {
  for (const Tongue &tongue : tongues())
    for (const WordInfo &info : tongue.words->words())
      EXPECT_TRUE(is_verb(info) || tongue.arguments->contains(info.name))
          << tongue.name << " " << info.name;
}

// Each word with each of its arguments, alone where it can be: text, read, and the same text.
TEST(Language, EveryWordIsSaidAndReadAgain) {
  for (const Tongue &tongue : tongues())
    for (const auto &[word, all] : *tongue.arguments)
      for (const char *arguments : all) {
        const std::string given = std::string(word) + " " + arguments;
        std::vector<std::string> words = parse::split(given);
        auto text = tongue.text(words);
        if (!text && tongue.name == std::string("rule")) { // most need an action
          words.emplace_back("drop");
          text = tongue.text(words);
        }
        if (!text) // some need others beside them
          continue;
        const auto again = tongue.text(parse::split(text.get()));
        ASSERT_TRUE(again.ok()) << tongue.name << " " << text.get() << ": "
                                << again.error().message;
        EXPECT_EQ(again.get(), text.get()) << given;
      }
}

// Random specs, from words in any order: the canonical text is read as the same spec, and so is a
// map of the words.
TEST(Language, RandomSpecsComeBack) {
  constexpr size_t kSpecs = 4000;
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const Tongue &tongue : tongues()) {
    size_t sound = 0;
    for (size_t i = 0; i < kSpecs; i++) {
      std::vector<std::pair<std::string, std::string>> pairs;
      const size_t wanted = 1 + random() % 6;
      for (size_t k = 0; k < wanted; k++) {
        const WordInfo &info = tongue.words->words()[random() % tongue.words->words().size()];
        const auto found = tongue.arguments->find(info.name);
        if (found == tongue.arguments->end() || found->second.empty() || info.name == "preset")
          continue;
        pairs.emplace_back(info.name, found->second[random() % found->second.size()]);
      }
      if (tongue.name == std::string("rule")) // its seed would be drawn
        pairs.insert(pairs.end(), {{"seed", "7"}, {"drop", ""}});
      std::vector<std::string> words;
      for (const auto &[word, arguments] : pairs) {
        words.push_back(word);
        for (const std::string &one : parse::split(arguments))
          words.push_back(one);
      }
      const auto text = tongue.text(words);
      if (!text) {
        EXPECT_FALSE(text.error().message.empty());
        continue;
      }
      sound++;
      const auto again = tongue.text(parse::split(text.get()));
      ASSERT_TRUE(again.ok()) << text.get() << ": " << again.error().message;
      ASSERT_EQ(again.get(), text.get());
      if (!tongue.yaml)
        continue;
      YAML::Node map(YAML::NodeType::Map);
      for (const auto &[word, arguments] : pairs)
        if (map[word]) // a repeated word: its key has a list
          map[word] = YAML::Load("[" + map[word].Scalar() + ", '" + arguments + "']");
        else
          map[word] = arguments.empty() ? "true" : arguments;
      bool lists = false;
      for (const auto &pair : map)
        lists = lists || pair.second.IsSequence();
      if (lists)
        continue;
      const auto listed = tongue.words->from_yaml(map);
      ASSERT_TRUE(listed.ok()) << listed.error().message;
      const auto of_yaml = tongue.text(listed.get());
      ASSERT_TRUE(of_yaml.ok()) << text.get() << ": " << of_yaml.error().message;
      ASSERT_EQ(of_yaml.get(), text.get());
    }
    EXPECT_GT(sound, kSpecs / 20) << tongue.name;
  }
}

// A scale of 1 changes nothing, and a scale and its inverse give the same rates and times back.
TEST(Language, ScalesBothWays) {
  LinkSpec link = wire::parse_link({"rate 10gbit delay 100us flap 100ms every 5s"}).get();
  wire::link_language().scale(link, 0.01);
  EXPECT_EQ(wire::link_text(link), "rate 100mbit delay 10ms buffer 1M flap 10s every 500s");
  wire::link_language().scale(link, 100);
  EXPECT_EQ(wire::link_text(link), "rate 10gbit delay 100us buffer 1M flap 100ms every 5s");

  flow::Flow flow =
      flow::parse_flow({"rate 10gbit for 1s burst 3 gap 1ms cc dcqcn rai=40mbit line 50%"}).get();
  const double value = flow.pacing.rate.value;
  flow::flow_language().scale(flow, 0.01);
  EXPECT_DOUBLE_EQ(flow.pacing.rate.value, value / 100);
  EXPECT_EQ(flow.duration_ns, 100'000'000'000U);
  EXPECT_EQ(flow.pacing.burst_gap_ns, 100'000'000U);
  EXPECT_DOUBLE_EQ(flow.control.rate.value, 50);

  impair::RuleSpec rule =
      impair::parse_spec({"limit 5 per 1s shape 1gbit burst 16k queue 1M"}).get();
  impair::scale(rule, 0.1);
  EXPECT_EQ(rule.text(), "limit 5 per 10s shape 100mbit burst 16k queue 1M");
}

// docs/NAME.md has the table between these two lines.
void expect_table(const std::string &page, const std::string &name, const std::string &head,
                  const std::string &table) {
  const std::string path = std::string(XR_TEST_DATA "/../../docs/") + page;
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  std::string text = file.str();
  const std::string begin = "<!-- words: " + name + " -->\n", end = "<!-- end of words -->\n";
  const size_t from = text.find(begin);
  ASSERT_NE(from, std::string::npos) << path << " " << begin;
  const size_t to = text.find(end, from);
  ASSERT_NE(to, std::string::npos) << path;
  const size_t start = from + begin.size();
  const std::string wanted = "\n" + head + table + "\n";
  if (const char *update = getenv("XR_UPDATE_GOLDENS"); update && *update == '1')
    std::ofstream(path) << text.replace(start, to - start, wanted);
  else
    EXPECT_EQ(text.substr(start, to - start), wanted) << path;
}

TEST(Language, DocumentsHaveTheTables) {
  expect_table("links.md", "link", "| words of `link` | |\n| --- | --- |\n",
               wire::link_language().markdown());
  expect_table("flows.md", "flow", "| words of a flow | |\n| --- | --- |\n",
               flow::flow_language().markdown());
  expect_table("congestion.md", "cc",
               "| `cc` | rate and window follow | source; needs |\n| --- | --- | --- |\n",
               congestion::control_markdown());
  expect_table("peer.md", "peer", "| words of `peer` | |\n| --- | --- |\n",
               peer::peer_language().markdown());
  expect_table("rules.md", "rule", "| | words |\n| --- | --- |\n", impair::rule_words().markdown());
}

} // namespace
} // namespace xr::language_test
