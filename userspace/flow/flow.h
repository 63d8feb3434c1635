// SPDX-License-Identifier: Apache-2.0
// A flow as users describe it: who sends what to whom, how fast, for how long, and what is to be
// wrong with it. In words, like a rule of `impair`, or in YAML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "congestion/pacing.h"
#include "congestion/rate_control.h"
#include "packet/frame.h"
#include "packet/message.h"
#include "parse/words.h"

namespace xr::flow {

// Payload bytes of messages, by message number.
struct Sizes {
  enum class Kind : uint8_t { List, Uniform, Mix };
  struct Part {
    uint64_t bytes = 65536;
    double weight = 1; // Mix
  };
  Kind kind = Kind::List;
  std::vector<Part> parts = {{}}; // List: one after the other; Uniform: from, to; Mix: drawn
  // Of message `number` of a QP; what is drawn follows from the seed and the number alone.
  uint64_t of(uint64_t number, uint64_t seed) const;
  uint64_t largest() const;
};

// A fault on purpose: which packets of the flow (counted from 1 over all of its QPs, first
// transmissions in the order of sending), and what happens to them.
struct Fault {
  enum class Kind : uint8_t {
    Skip,     // its PSN is passed over: it is never sent
    Repeat,   // sent twice
    Reorder,  // sent behind the next one of its QP
    Icrc,     // with a wrong iCRC
    Pad,      // PadCnt says another number than there is
    GhostAck, // beside it, an ACK that nobody asked for, for its PSN
  };
  enum class When : uint8_t { Positions, Every, Probability };
  Kind kind = Kind::Skip;
  When when = When::Every;
  std::vector<uint64_t> positions; // ascending
  uint64_t every = 0;
  double probability = 0;
};

// What a flow sets in the BTH of every packet.
struct BthBits {
  bool solicited = false, mig_req = false, fecn = false;
  std::optional<bool> becn;    // none: 1 in CNPs only
  std::optional<bool> ack_req; // none: as ack_every says
  std::optional<uint8_t> pad;  // PadCnt, and as many bytes; none: what the payload wants
  uint8_t tver = 0;
  uint8_t resv6 = 0, resv7 = 0; // reserved: beside FECN and BECN, beside AckReq
  uint16_t pkey = 0xffff;
};

enum class Port : uint8_t { Hash, Fixed, Vary }; // of UDP's source: by QP, one, another each packet

struct Flow {
  std::string name;
  packet::Path path; // addresses, tags, TOS, ...; src_port is of Port::Fixed
  bool src_given = false, dst_given = false;   // addresses
  std::optional<packet::Mac> src_mac, dst_mac; // none: the port's; by ARP or ND
  uint8_t transport = ROCE_RC;
  packet::Verb verb = packet::Verb::Send;
  // Instead of transport and verb: packets with these opcodes in turn, each a message. `transport`
  // is that of the first one.
  std::vector<uint8_t> opcodes;
  uint32_t qp = 0x11, qps = 1;    // destination QPNs: qp, qp + 1, ...
  std::optional<uint32_t> src_qp; // the own ones likewise; none: the same as the destination's
  bool interleave = true;         // QPs take turns by packet; else by message
  Sizes size;
  uint32_t pmtu = 1024;           // payload of a full packet
  uint32_t extra_pad = 0;         // pad bytes of full packets that PMTU does not ask for
  uint32_t frame_size = 0;        // with FCS; decides both, see fit_frame_size(); 0: not asked for
  uint64_t messages = 0;          // of each QP; 0: no end
  uint64_t frames = 0;            // in a sequence of each QP; 0: there are no sequences
  std::optional<uint64_t> repeat; // sequences, from which `messages` follows; 0: no end
  uint64_t duration_ns = 0;       // 0: no end
  std::optional<uint32_t> psn;    // first one; none: drawn, each QP another
  uint32_t ack_every = 0;         // AckReq on every N-th packet; 0: on a message's last only
  Port port = Port::Hash;
  congestion::Pacing pacing;
  congestion::Control control; // of each QP's rate; `pacing` is that of all QPs together
  std::vector<Fault> faults;
  uint32_t qkey = 0x11111111, rkey = 0x1234, immediate = 0, srq = 0;
  uint64_t va = 0x10000;
  uint32_t ee_context = 0; // RDETH
  uint8_t syndrome = 0x1f; // AETH: an ACK without credits
  BthBits bth;
  uint64_t seed = 0;        // decides all that is drawn
  uint32_t first_index = 0; // of a part of a flow: what is drawn is as in the whole one

  // Of QP `index`.
  uint32_t dest_qp(uint32_t index) const { return (qp + index) & 0xffffff; }
  uint32_t own_qp(uint32_t index) const { return (src_qp.value_or(qp) + index) & 0xffffff; }
  uint64_t size_seed(uint32_t index) const;      // of its messages' sizes
  uint32_t first_psn(uint32_t index) const;      // psn, or drawn from the seed
  uint16_t source_port(uint32_t index) const;    // 0xc000 to 0xffff of Hash
  packet::Headers headers(uint8_t opcode) const; // what is the same in all packets of that opcode
  // Of a message of `size` bytes: its packets, and the one at `index`. With `opcodes` message
  // `number` decides.
  uint32_t packets_of(uint64_t size) const;
  packet::Segment segment(uint64_t size, uint32_t index, uint64_t number = 0) const;
  uint32_t pad_of(uint32_t payload) const; // bytes

  // Canonical words; parse_flow() of them gives the same flow.
  std::string text() const;
};

// The words of one flow. Errors are sentences with a hint.
Result<Flow> parse_flow(const std::vector<std::string> &words);
// The same, on top of a preset's or any other flow.
Result<Flow> parse_flow(const std::vector<std::string> &words, const Flow &base);

// Makes PMTU and extra_pad what `frame_size` asks for, with the path and transport as they are now:
// whoever changes these afterwards calls it again. Nothing to do where none is asked for.
Status fit_frame_size(Flow &flow);

// ipv4_rocev2_rc_send, ipv4_rocev2_ud_send, ipv6_rocev2_rc_send, ipv6_rocev2_ud_send.
Result<Flow> preset(const std::string &name);
std::vector<std::string> preset_names();

// What all flows have in common.
struct FlowFile {
  std::vector<Flow> flows;
  congestion::Rate rate;   // of all together
  uint64_t stagger_ns = 0; // flow N starts N of these after the first
  std::optional<uint64_t> seed;
};
// `R [l1|l2]`; words behind it are left.
Result<congestion::Rate> take_rate(parse::WordReader &words);
// YAML; "-" is the standard input.
Result<FlowFile> load_flows(const std::string &path);
Result<FlowFile> parse_flows_yaml(const std::string &text, const std::string &name);

// Whether flow and port agree: what is missing, contradicts itself, or is too large for `mtu`.
Status check_flow(const Flow &flow, uint32_t mtu);
// Whether a requester that waits for answers can send it.
Status check_reliable(const Flow &flow);

} // namespace xr::flow
