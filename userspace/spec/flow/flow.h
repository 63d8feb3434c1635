// SPDX-License-Identifier: Apache-2.0
// A flow as a user describes it, in words or in YAML: source, destination, headers, messages, rate,
// duration and deliberate faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "packet/frame.h"
#include "packet/message.h"
#include "parse/language.h"
#include "rate/control.h"
#include "rate/pacing.h"

namespace xr::flow {

// Payload bytes of messages, by message number.
struct Sizes {
  enum class Kind : uint8_t { List, Uniform, Mix };
  struct Part {
    uint64_t bytes = 65536;
    double weight = 1; // Mix
  };
  Kind kind = Kind::List;
  std::vector<Part> parts = {{}}; // List: in turn; Uniform: from, to; Mix: random, by weight
  // Size in bytes of message `number` of a QP. Random sizes depend only on the seed and the number.
  uint64_t of(uint64_t number, uint64_t seed) const;
  uint64_t largest() const;
};

// A deliberate fault and the packets it applies to. Packets are counted from 1 over all QPs of the
// flow: first transmissions only, in the order of sending.
struct Fault {
  enum class Kind : uint8_t {
    Skip,     // never sent; its PSN is skipped
    Repeat,   // sent twice
    Reorder,  // sent after the next packet of its QP
    Icrc,     // sent with a wrong iCRC
    Pad,      // PadCnt differs from the number of pad bytes
    GhostAck, // followed by an unsolicited ACK for its PSN
  };
  enum class When : uint8_t { Positions, Every, Probability };
  Kind kind = Kind::Skip;
  When when = When::Every;
  std::vector<uint64_t> positions; // ascending
  uint64_t every = 0;
  double probability = 0;
};

// BTH fields that are the same in every packet of a flow.
struct BthBits {
  bool solicited = false, mig_req = false, fecn = false;
  std::optional<bool> becn;    // unset: 1 in CNPs only
  std::optional<bool> ack_req; // unset: by ack_every
  std::optional<uint8_t> pad;  // PadCnt and number of pad bytes; unset: as the payload needs
  uint8_t tver = 0;
  uint8_t resv6 = 0, resv7 = 0; // reserved bits: after FECN and BECN; after AckReq
  uint16_t pkey = 0xffff;
};

// UDP source port: from a hash of the QP, fixed, or a new one for each packet.
enum class PortChoice : uint8_t { Hash, Fixed, Vary };

struct Flow { // NOLINT(clang-analyzer-optin.performance.Padding)
  std::string name;
  packet::Path path;                           // src_port is used by PortChoice::Fixed only
  bool src_given = false, dst_given = false;   // IP addresses or GIDs
  std::optional<packet::Mac> src_mac, dst_mac; // unset: the port's MAC; found by ARP or ND
  uint8_t transport = ROCE_RC;
  packet::Verb verb = packet::Verb::Send;
  // Replaces transport and verb: packets with these opcodes in turn, each of them a message.
  // `transport` is the transport of the first opcode.
  std::vector<uint8_t> opcodes;
  uint32_t qp = 0x11, qps = 1;    // destination QPNs: qp, qp + 1, ...
  std::optional<uint32_t> src_qp; // first source QPN; unset: the same as the destination's
  bool interleave = true;         // QPs alternate by packet; false: by message
  Sizes size;
  uint32_t pmtu = 1024;           // payload bytes of a full packet
  uint32_t extra_pad = 0;         // additional pad bytes of a full packet
  uint32_t frame_size = 0;        // bytes, with FCS; see fit_frame_size(); 0: not requested
  uint64_t messages = 0;          // of each QP; 0: unlimited
  uint64_t frames = 0;            // frames per sequence of each QP; 0: no sequences
  std::optional<uint64_t> repeat; // sequences; determines `messages`; 0: unlimited
  uint64_t duration_ns = 0;       // 0: unlimited
  std::optional<uint32_t> psn;    // first PSN; unset: random for each QP
  uint32_t ack_every = 0;         // AckReq on every N-th packet; 0: on the last of a message only
  PortChoice port = PortChoice::Hash;
  congestion::Pacing pacing;
  congestion::Control control; // rate control of each QP; `pacing` applies to the whole flow
  std::vector<Fault> faults;
  uint32_t qkey = 0x11111111, rkey = 0x1234, immediate = 0, srq = 0;
  uint64_t va = 0x10000;
  bool memory_given = false; // rkey or va, by a word
  uint32_t ee_context = 0;   // RDETH
  uint8_t syndrome = 0x1f;   // AETH: ACK without credits
  BthBits bth;
  uint64_t seed = 0;      // of all random values
  bool stamp = false;     // each packet's payload begins with a stamp (packet/stamp.h)
  uint64_t stamp_run = 0; // Stamp::run; set by the sender, not by a word
  // Index of the first QP in the original flow when a flow is split, so that random values stay the
  // same.
  uint32_t first_index = 0;
  // How QPs begin, by index in the original flow, where it is not as the words say: connected by
  // RDMA CM, or continued. Empty: as the words say.
  struct Begin {
    uint32_t dest_qp = 0, psn = 0;
    uint64_t message = 0; // number of the first message
  };
  std::vector<Begin> begins;
  // Each message has an address of its own: `va_slots` messages of a QP, `va_stride` apart, then
  // the next QP; later messages of the QP are at the addresses of earlier ones. 0: all are at `va`.
  uint64_t va_stride = 0;
  uint64_t va_slots = 1;
  bool pattern = false; // requests carry a Pattern (requester/pattern.h)
  // Messages and their sizes come one by one while it runs (requester::ReliableSource::post), on
  // one QP, without end; `size` is the largest.
  bool posted = false;

  // `index` is the number of a QP in the flow, from 0.
  uint32_t dest_qp(uint32_t index) const {
    return begins.empty() ? (qp + index) & 0xffffff : begins[first_index + index].dest_qp;
  }
  uint64_t first_message(uint32_t index) const {
    return begins.empty() ? 0 : begins[first_index + index].message;
  }
  uint64_t va_of(uint32_t index, uint64_t message) const {
    return va_stride ? va + ((first_index + index) * va_slots + message % va_slots) * va_stride
                     : va;
  }
  uint32_t own_qp(uint32_t index) const { return (src_qp.value_or(qp) + index) & 0xffffff; }
  uint64_t size_seed(uint32_t index) const;      // seed of the message sizes
  uint32_t first_psn(uint32_t index) const;      // psn, or random from the seed
  uint16_t source_port(uint32_t index) const;    // PortChoice::Hash: 0xc000 to 0xffff
  packet::Headers headers(uint8_t opcode) const; // fields common to all packets of the opcode
  // The packets of a message of `size` bytes, and the packet at `index`. With `opcodes`, the
  // message `number` selects the opcode.
  uint32_t packets_of(uint64_t size) const;
  packet::Segment segment(uint64_t size, uint32_t index, uint64_t number = 0) const;
  uint32_t pad_of(uint32_t payload) const; // pad bytes

  // Canonical words; parse_flow() makes the same flow of them.
  std::string text() const;
};

using FlowLanguage = parse::Language<parse::Draft<Flow>>;
const FlowLanguage &flow_language();

// Parses the words of one flow. An error is a sentence with a hint.
Result<Flow> parse_flow(const std::vector<std::string> &words);
// Parses words that change `base`.
Result<Flow> parse_flow(const std::vector<std::string> &words, const Flow &base);

// Sets pmtu and extra_pad from `frame_size`, path and transport. Call it again after a change of
// path or transport. Does nothing when frame_size is 0.
Status fit_frame_size(Flow &flow);

// ipv4_rocev2_rc_send, ipv4_rocev2_ud_send, ipv6_rocev2_rc_send, ipv6_rocev2_ud_send.
Result<Flow> preset(const std::string &name);
std::vector<std::string> preset_names();

// When a fault happens: "every 100", "at 1,5", "probability 1%"; and as words again.
Status take_when(Fault &fault, parse::WordReader &words);
std::string when_text(const Fault &fault);

// A file of flows and the settings common to them.
struct FlowFile {
  std::vector<Flow> flows;
  congestion::Rate rate;   // total rate of all flows
  uint64_t stagger_ns = 0; // flow N starts N * stagger_ns after flow 0
  std::optional<uint64_t> seed;
};
// Parses `R [l1|l2]`; leaves the words after it.
Result<congestion::Rate> take_rate(parse::WordReader &words);
// Parses what follows `cc`, like `dcqcn preset nvidia rai=10mbit`; leaves the words after it.
Result<congestion::Control> take_control(parse::WordReader &words);
// `path` is a YAML file; "-" is the standard input.
Result<FlowFile> load_flows(const std::string &path);
Result<FlowFile> parse_flows_yaml(const std::string &text, const std::string &name);

// Checks a flow for missing or contradictory values and for packets larger than `mtu`.
Status check_flow(const Flow &flow, uint32_t mtu);
// Checks whether the reliable requester can send the flow.
Status check_reliable(const Flow &flow);

} // namespace xr::flow
