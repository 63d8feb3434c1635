// SPDX-License-Identifier: Apache-2.0
// What `peer` is asked for: the tool at the other end, and its test, as words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flow/flow.h"
#include "peer/perftest_traffic.h"

namespace xr::peer {

enum class Tool : uint8_t { Perftest, Rping, Pingpong, RdmaClient, RdmaServer, Ucmatose, Cmtime };
inline constexpr std::string_view kTools[] = {"perftest",    "rping",    "pingpong", "rdma_client",
                                              "rdma_server", "ucmatose", "cmtime"};

struct PeerSpec {
  Tool tool = Tool::Perftest;
  std::optional<Address> host;   // of the server; none: this side is one
  std::optional<Address> listen; // a server's TCP; none: all addresses of the host
  uint16_t port = 0;             // TCP, and RDMA CM's service
  bool once = false;             // a server: one test
  bool cm = false;               // perftest: the client connects by RDMA CM
  bool srq = false;              // a pingpong
  PerftestPlan plan;
  uint32_t qps = 1;
  uint32_t pmtu = 1024;
  uint64_t memory = 64 << 20; // bytes that WRITEs, READs and atomics of the other side may access
  std::optional<uint64_t> receives; // messages that the QPs have receives for; none: always one
  uint8_t timeout_code = 14, retries = 7, rnr_retries = 7; // of requests
  std::vector<flow::Fault> faults;                         // of requests
  std::optional<uint32_t> rkey;                            // of requests, instead of the announced
  std::vector<station::AnswerFault> answer_faults;
  uint64_t rnr_every = 0; // an RNR NAK for every N-th message, once; 0: none
  uint8_t rnr_timer = 12; // its timer code
  uint64_t cnp_every = 0; // a CNP for every N-th request, marked or not; 0: only for marks
  bool no_cnp = false;
  std::optional<uint16_t> reject; // REQs of RDMA CM get a REJ with this reason
};

using PeerDraft = parse::Draft<PeerSpec>;
const parse::Language<PeerDraft> &peer_language();

// "perftest write_bw 192.0.2.2 size 64k", "rping", ...
Result<PeerSpec> parse_peer(const std::vector<std::string> &words);
std::string peer_usage();

} // namespace xr::peer
