// SPDX-License-Identifier: Apache-2.0
#include "peer/peer_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "names/names.h"
#include "packet/message.h"
#include "parse/address.h"
#include "parse/value.h"

namespace xr::peer {

namespace {

using parse::Said;
using parse::say_if;
using parse::WordReader;

constexpr uint16_t kPerftestPort = 18515, kRpingPort = 7174, kLibrdmacmPort = 7471;
constexpr uint32_t kMostQps = 16384;
constexpr uint64_t kMostBytes = 1U << 31;

template <auto Member> Status parse_size(PeerDraft &draft, WordReader &words) {
  const uint64_t bytes = XR_TRY(parse::byte_count(words.take(), 1));
  if (bytes > kMostBytes)
    return Error{"a message has at most 2 GiB", "size 64k"};
  draft.spec.plan.*Member = bytes;
  return {};
}

// A word without a value, of the test or of what is around it.
template <auto Flag> auto &flag_of(auto &spec) {
  if constexpr (std::is_same_v<decltype(Flag), bool PerftestPlan::*>)
    return spec.plan.*Flag;
  else
    return spec.*Flag;
}

template <auto Flag> Status parse_flag(PeerDraft &draft, WordReader &) {
  flag_of<Flag>(draft.spec) = true;
  return {};
}

template <auto Flag> Said say_flag(const PeerSpec &spec) {
  return flag_of<Flag>(spec) ? Said{""} : Said();
}

Status parse_qps(PeerDraft &draft, WordReader &words) {
  draft.spec.qps =
      static_cast<uint32_t>(XR_TRY(parse::integer(words.take(), 1, kMostQps, "a number of QPs")));
  return {};
}

Status parse_iterations(PeerDraft &draft, WordReader &words) {
  draft.spec.plan.iterations =
      XR_TRY(parse::integer(words.take(), 1, UINT32_MAX, "a number of messages"));
  return {};
}

Status parse_for(PeerDraft &draft, WordReader &words) {
  draft.spec.plan.duration_ns = XR_TRY(parse::duration_above_0(words.take()));
  return {};
}

Status parse_transport(PeerDraft &draft, WordReader &words) {
  const size_t which = XR_TRY(parse::choice(words.take(), {"rc", "uc", "ud"}, "a transport"));
  constexpr uint8_t kAll[] = {ROCE_RC, ROCE_UC, ROCE_UD};
  draft.spec.plan.transport = kAll[which];
  return {};
}

Status parse_pmtu(PeerDraft &draft, WordReader &words) {
  const size_t which =
      XR_TRY(parse::choice(words.take(), {"256", "512", "1024", "2048", "4096"}, "a PMTU"));
  draft.spec.pmtu = 256U << which;
  return {};
}

Status parse_depth(PeerDraft &draft, WordReader &words) {
  draft.spec.plan.depth =
      static_cast<uint32_t>(XR_TRY(parse::integer(words.take(), 1, 65536, "a number of messages")));
  return {};
}

Status parse_port(PeerDraft &draft, WordReader &words) {
  draft.spec.port = static_cast<uint16_t>(XR_TRY(parse::integer(words.take(), 1, 65535, "a port")));
  return {};
}

Status parse_listen(PeerDraft &draft, WordReader &words) {
  draft.spec.listen = XR_TRY(parse::address(words.take()));
  return {};
}

Status parse_memory(PeerDraft &draft, WordReader &words) {
  draft.spec.memory = XR_TRY(parse::byte_count(words.take(), 4096));
  return {};
}

Status parse_receives(PeerDraft &draft, WordReader &words) {
  draft.spec.receives = XR_TRY(parse::integer(words.take(), 0, UINT32_MAX, "a number of receives"));
  return {};
}

template <auto Member, unsigned Most> Status parse_code(PeerDraft &draft, WordReader &words) {
  draft.spec.*Member =
      static_cast<uint8_t>(XR_TRY(parse::integer(words.take(), 0, Most, "a code")));
  return {};
}

Status parse_fault(PeerDraft &draft, WordReader &words) {
  parse::Draft<flow::Flow> of_flow;
  XR_TRY(flow::flow_language().find("fault")->parse(of_flow, words));
  draft.spec.faults.insert(draft.spec.faults.end(), of_flow.spec.faults.begin(),
                           of_flow.spec.faults.end());
  return {};
}

Status parse_rkey(PeerDraft &draft, WordReader &words) {
  draft.spec.rkey =
      static_cast<uint32_t>(XR_TRY(parse::integer(words.take(), 0, UINT32_MAX, "an R_Key")));
  return {};
}

template <auto Member> Status parse_every(PeerDraft &draft, WordReader &words) {
  draft.spec.*Member = XR_TRY(parse::integer(words.take(), 1, UINT32_MAX, "a distance"));
  return {};
}

Status parse_reject(PeerDraft &draft, WordReader &words) {
  const std::string word = words.take();
  draft.spec.reject = names::cm_reason(word);
  if (draft.spec.reject)
    return {};
  const std::vector<std::string> names = names::cm_reason_names();
  return Error{fmt::format("'{}' is not a reason for a REJ", word),
               parse::hint_from(word, {names.begin(), names.end()})};
}

Status parse_answers(PeerDraft &draft, WordReader &words) {
  using Kind = station::AnswerFault::Kind;
  const std::vector<std::string_view> kinds(std::begin(station::kAnswerFaults),
                                            std::end(station::kAnswerFaults));
  const std::vector<std::string_view> naks(std::begin(station::kNakNames),
                                           std::end(station::kNakNames));
  station::AnswerFault fault;
  fault.kind = static_cast<Kind>(XR_TRY(parse::choice(words.take(), kinds, "a fault of answers")));
  if (fault.kind == Kind::Late)
    fault.late_ns = XR_TRY(parse::duration_above_0(words.take()));
  if (fault.kind == Kind::Nak)
    fault.nak_code = static_cast<uint8_t>(XR_TRY(parse::choice(words.take(), naks, "a NAK")));
  XR_TRY(flow::take_when(fault.when, words));
  draft.spec.answer_faults.push_back(std::move(fault));
  return {};
}

Said say_answers(const PeerSpec &s) {
  using Kind = station::AnswerFault::Kind;
  Said all;
  for (const station::AnswerFault &fault : s.answer_faults) {
    std::string text(station::kAnswerFaults[static_cast<size_t>(fault.kind)]);
    if (fault.kind == Kind::Late)
      text += " " + parse::duration_text(fault.late_ns);
    if (fault.kind == Kind::Nak)
      text += fmt::format(" {}", station::kNakNames[fault.nak_code]);
    all.push_back(text + " " + flow::when_text(fault.when));
  }
  return all;
}

Said say_faults(const PeerSpec &s) {
  flow::Flow flow;
  flow.faults = s.faults;
  return flow::flow_language().find("fault")->print(flow);
}

constexpr parse::Word<PeerDraft> kTest[] = {
    {{"size", "", "size 64k", "BYTES",
      "of a message; default 64k, of latency 2, of the pingpongs 4096; a server sees it in what "
      "comes"},
     parse_size<&PerftestPlan::size>,
     [](const PeerSpec &s) {
       return say_if(s.plan.size.has_value(), "{}", s.plan.size.value_or(0));
     }},
    {{"all", "size", "all", "",
      "a client: sizes of 2 bytes to 8 MiB, one after another, as with -a"},
     parse_flag<&PerftestPlan::all_sizes>,
     say_flag<&PerftestPlan::all_sizes>},
    {{"iters", "amount", "iters 1000", "N",
      "messages of each QP; default 1000, of write_bw 5000; a server sends as many as come"},
     parse_iterations,
     [](const PeerSpec &s) { return say_if(s.plan.iterations > 0, "{}", s.plan.iterations); }},
    {{"for", "amount", "for 10s", "DURATION", "instead of `iters`: as long as that"},
     parse_for,
     [](const PeerSpec &s) {
       return say_if(s.plan.duration_ns > 0, "{}", parse::duration_text(s.plan.duration_ns));
     }},
    {{"qps", "", "qps 4", "N", "as many QPs at once"},
     parse_qps,
     [](const PeerSpec &s) { return say_if(s.qps != 1, "{}", s.qps); }},
    {{"both-ways", "", "both-ways", "", "both sides send, as with -b"},
     parse_flag<&PerftestPlan::both_ways>,
     say_flag<&PerftestPlan::both_ways>},
    {{"transport", "", "transport uc", "rc|uc|ud",
      "of the client's QPs; default rc; a server sees it in what comes"},
     parse_transport,
     [](const PeerSpec &s) {
       return say_if(s.plan.transport != ROCE_RC, "{}", packet::transport_name(s.plan.transport));
     }},
    {{"depth", "", "depth 16", "N", "messages of a QP that are outstanding; default 128"},
     parse_depth,
     [](const PeerSpec &s) { return say_if(s.plan.depth != 128, "{}", s.plan.depth); }},
};

constexpr parse::Word<PeerDraft> kPlace[] = {
    {{"port", "", "port 18516", "N",
      "TCP port, and RDMA CM's service; default 18515, of rping 7174, of rdma_client, ucmatose and "
      "cmtime 7471"},
     parse_port,
     [](const PeerSpec &s) { return say_if(s.port != 0, "{}", s.port); }},
    {{"listen", "", "listen 192.0.2.2", "IP",
      "the address of the server's TCP port; default: all of the host"},
     parse_listen,
     [](const PeerSpec &s) {
       return say_if(s.listen.has_value(), "{}", parse::address_text(s.listen.value_or(Address{})));
     }},
    {{"cm", "", "cm", "", "the client connects by RDMA CM, as with -R; a server answers both"},
     parse_flag<&PeerSpec::cm>,
     say_flag<&PeerSpec::cm>},
    {{"once", "", "once", "", "a server ends after one test"},
     parse_flag<&PeerSpec::once>,
     say_flag<&PeerSpec::once>},
    {{"pmtu", "", "pmtu 4096", "256|512|1024|2048|4096",
      "the largest PMTU; the two sides take the lesser of theirs; default 1024"},
     parse_pmtu,
     [](const PeerSpec &s) { return say_if(s.pmtu != 1024, "{}", s.pmtu); }},
    {{"memory", "", "memory 1g", "BYTES",
      "what WRITEs, READs and atomics of the other side may access; default 64 MiB"},
     parse_memory,
     [](const PeerSpec &s) { return say_if(s.memory != 64 << 20, "{}", s.memory); }},
};

constexpr parse::Word<PeerDraft> kFaults[] = {
    {{"receives", "", "receives 10", "N",
      "a QP has receives for so many messages, and RNR NAKs for the rest; default: always one"},
     parse_receives,
     [](const PeerSpec &s) {
       return say_if(s.receives.has_value(), "{}", s.receives.value_or(0));
     }},
    {{"timeout", "", "timeout 14", "CODE", "of requests: 4.096 us x 2^CODE; 0: none; default 14"},
     parse_code<&PeerSpec::timeout_code, 31>,
     [](const PeerSpec &s) { return say_if(s.timeout_code != 14, "{}", s.timeout_code); }},
    {{"retries", "", "retries 7", "N", "of requests without an answer; default 7"},
     parse_code<&PeerSpec::retries, 7>,
     [](const PeerSpec &s) { return say_if(s.retries != 7, "{}", s.retries); }},
    {{"rnr-retries", "", "rnr-retries 7", "N", "after RNR NAKs; default 7: without end"},
     parse_code<&PeerSpec::rnr_retries, 7>,
     [](const PeerSpec &s) { return say_if(s.rnr_retries != 7, "{}", s.rnr_retries); }},
    {{"rkey", "", "rkey 0xbad", "N", "R_Key of all requests, instead of the announced one"},
     parse_rkey,
     [](const PeerSpec &s) { return say_if(s.rkey.has_value(), "{:#x}", s.rkey.value_or(0)); }},
    {{"rnr-every", "", "rnr-every 10", "N", "every N-th message is refused once: RNR NAK"},
     parse_every<&PeerSpec::rnr_every>,
     [](const PeerSpec &s) { return say_if(s.rnr_every > 0, "{}", s.rnr_every); }},
    {{"rnr-timer", "", "rnr-timer 14", "CODE", "of RNR NAKs; default 12: 0.64 ms"},
     parse_code<&PeerSpec::rnr_timer, 31>,
     [](const PeerSpec &s) { return say_if(s.rnr_timer != 12, "{}", s.rnr_timer); }},
    {{"cnp-every", "", "cnp-every 100", "N", "a CNP for every N-th request, without a CE mark"},
     parse_every<&PeerSpec::cnp_every>,
     [](const PeerSpec &s) { return say_if(s.cnp_every > 0, "{}", s.cnp_every); }},
    {{"no-cnp", "", "no-cnp", "", "no CNP, not for CE marks either"},
     parse_flag<&PeerSpec::no_cnp>,
     say_flag<&PeerSpec::no_cnp>},
    {{"reject", "", "reject no-qp", "REASON",
      "a server rejects RDMA CM's requests: a reason by name or number"},
     parse_reject,
     [](const PeerSpec &s) { return say_if(s.reject.has_value(), "{}", s.reject.value_or(0)); }},
    {{"answers", parse::kMany, "answers skip every 100",
      "skip|repeat|icrc|psn|late DURATION|nak sequence|nak invalid|nak access|nak operational|cut|"
      "silent WHEN",
      "a fault of ACKs and other answers: not sent, sent twice, with a wrong iCRC, with the next "
      "PSN, later, as a NAK, without a READ's last packet, none from there on; WHEN as of `fault`; "
      "may be repeated"},
     parse_answers,
     say_answers},
    {{"fault", parse::kMany, "fault skip every 100", "WHAT WHEN",
      "a fault of the requests, as of a flow ([flows.md](flows.md)); may be repeated"},
     parse_fault,
     say_faults},
};

Result<Address> host(const std::string &word) {
  auto address = parse::address(word);
  if (!address)
    return Error{fmt::format("'{}' is neither a word nor the address of a server", word),
                 peer_language().unknown(word).hint};
  return *address;
}

bool is_word(const std::string &word) { return peer_language().find(word); }

Status take_test(PeerSpec &spec, WordReader &words) {
  const std::vector<std::string_view> tests(std::begin(kPerftestTests), std::end(kPerftestTests));
  if (words.done() || is_word(words.peek()))
    return {};
  const std::string word = words.take();
  const auto found = std::ranges::find(tests, word.starts_with("ib_") ? word.substr(3) : word);
  if (found == tests.end())
    return parse::wrong(word, "a test of perftest", parse::hint_from(word, tests));
  spec.plan.test = static_cast<PerftestTest>(found - tests.begin());
  return {};
}

Status take_pingpong(PeerSpec &spec, WordReader &words) {
  const size_t which = XR_TRY(parse::choice(words.take(), {"rc", "uc", "ud", "srq"}, "a pingpong"));
  constexpr uint8_t kAll[] = {ROCE_RC, ROCE_UC, ROCE_UD, ROCE_RC};
  spec.plan.transport = kAll[which];
  spec.plan.test = PerftestTest::SendLat;
  spec.srq = which == 3;
  if (spec.srq)
    spec.qps = 16; // ibv_srq_pingpong's default
  return {};
}

Status check(PeerSpec &spec, const parse::Claims &given) {
  PerftestPlan &plan = spec.plan;
  plan.client = spec.host.has_value();
  if (spec.tool == Tool::Perftest && plan.client && !plan.test)
    return Error{"the test is missing: this side is the client", "perftest write_bw 192.0.2.2"};
  if (plan.client && spec.once)
    return Error{"once is a server's: a client does one test", "without once"};
  if (plan.client && spec.listen)
    return Error{"listen is a server's", "without listen"};
  if (!plan.client && spec.cm)
    return Error{"cm is a client's: a server answers TCP and RDMA CM", "without cm"};
  const bool latency = plan.test && is_latency(*plan.test);
  if (latency && spec.qps > 1 && spec.tool == Tool::Perftest)
    return Error{"a test of latency has one QP", "without qps"};
  if (plan.all_sizes && !plan.client)
    return Error{"all is a client's: a server sees the sizes in what comes", "without all"};
  if (latency && plan.both_ways)
    return Error{"a test of latency goes both ways by itself", "without both-ways"};
  if (plan.transport != ROCE_RC && plan.test && !is_send(*plan.test) &&
      (plan.transport == ROCE_UD || is_answered(*plan.test)))
    return Error{"this transport has no such message", "transport rc"};
  if ((spec.tool == Tool::RdmaClient) != plan.client && spec.tool >= Tool::RdmaClient &&
      spec.tool <= Tool::RdmaServer)
    return plan.client ? Error{"rdma_server is a server", "rdma_client 192.0.2.2"}
                       : Error{"rdma_client needs its server's address", "rdma_client 192.0.2.2"};
  if (!spec.port)
    spec.port = spec.tool == Tool::Rping        ? kRpingPort
                : spec.tool >= Tool::RdmaClient ? kLibrdmacmPort
                                                : kPerftestPort;
  if (!plan.client)
    return {};
  const bool atomic = plan.test == PerftestTest::AtomicBw || plan.test == PerftestTest::AtomicLat;
  if (atomic)
    plan.size = 8;
  if (!plan.size && spec.tool != Tool::Perftest && spec.tool != Tool::Pingpong)
    plan.size = spec.tool == Tool::Rping ? 64 : spec.tool == Tool::Ucmatose ? 100 : 16;
  if (!plan.size)
    plan.size = latency ? spec.tool == Tool::Pingpong ? plan.transport == ROCE_UD ? 1024 : 4096 : 2
                : plan.transport == ROCE_UD ? spec.pmtu
                                            : 65536;
  if (plan.transport == ROCE_UD && *plan.size > spec.pmtu)
    return Error{
        fmt::format("a UD message of {} bytes does not fit PMTU {}", *plan.size, spec.pmtu),
        fmt::format("size {}", spec.pmtu)};
  if (!given.has("amount"))
    plan.iterations = spec.tool == Tool::Ucmatose          ? 10
                      : plan.test == PerftestTest::WriteBw ? 5000
                                                           : 1000;
  return {};
}

} // namespace

const parse::Language<PeerDraft> &peer_language() {
  static const parse::Language<PeerDraft> kLanguage(
      {.thing = "peer", .example = ""}, {{"test", kTest}, {"place", kPlace}, {"faults", kFaults}});
  return kLanguage;
}

Result<PeerSpec> parse_peer(const std::vector<std::string> &list) {
  WordReader words(list);
  PeerDraft draft;
  PeerSpec &spec = draft.spec;
  const std::vector<std::string_view> tools(std::begin(kTools), std::end(kTools));
  if (words.done())
    return Error{"which tool is at the other end is missing", parse::hint_from("", tools)};
  spec.tool = static_cast<Tool>(XR_TRY(parse::choice(words.take(), tools, "a tool")));
  if (spec.tool == Tool::Perftest)
    XR_TRY(take_test(spec, words));
  if (spec.tool == Tool::Pingpong)
    XR_TRY(take_pingpong(spec, words));
  if (!words.done() && !is_word(words.peek()))
    spec.host = XR_TRY(host(words.take()));
  XR_TRY(peer_language().read(draft, words));
  XR_TRY(check(spec, draft.taken));
  return std::move(spec);
}

std::string peer_usage() {
  return "perftest [TEST [HOST]] | rping [HOST] | pingpong rc|uc|ud|srq [HOST] | rdma_client HOST "
         "|\n"
         "rdma_server | ucmatose [HOST] | cmtime [HOST]";
}

} // namespace xr::peer
