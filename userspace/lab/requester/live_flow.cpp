// SPDX-License-Identifier: Apache-2.0
#include "requester/live_flow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "packet/icrc_changes.h"
#include "requester/frames.h"

namespace xr::requester {

using flow::Flow;

namespace {

constexpr uint32_t kMend = 8; // bytes: longer than pad and iCRC

bool counts_messages(packet::Verb verb) {
  return verb == packet::Verb::SendImmediate || verb == packet::Verb::WriteImmediate;
}

uint64_t word_at(const std::vector<uint8_t> &frame, uint32_t offset) {
  uint64_t word = 0;
  memcpy(&word, frame.data() + offset, sizeof(word));
  return word;
}

uint32_t half_at(const std::vector<uint8_t> &frame, uint32_t offset) {
  uint32_t half = 0;
  memcpy(&half, frame.data() + offset, sizeof(half));
  return half;
}

uint32_t icrc_of(const std::vector<uint8_t> &frame) {
  return half_at(frame, static_cast<uint32_t>(frame.size()) - ROCE_ICRC_LEN);
}

// Like congestion/pacer.cpp: rounded up, never faster than asked.
uint64_t ticks(const congestion::Rate &rate, double line_bits, uint32_t bytes) {
  const congestion::RateUnits units = congestion::units_of(rate, line_bits);
  if (!(units.rate > 0))
    return 0;
  const auto step =
      static_cast<uint64_t>(std::ceil(std::ldexp(1e9 / units.rate, ROCE_LIVE_FRACTION)));
  const unsigned __int128 all =
      static_cast<unsigned __int128>(step) * (uint64_t{bytes} * units.per_byte + units.per_packet);
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return all < kMost ? static_cast<uint64_t>(all) : kMost;
}

} // namespace

// To let live frames send another word: this check and the plan, include/roce/live.h (the packet),
// endpoint/live_engine.cpp (calls of the kernel); live_flow_test, live_program_test, send_live.sh.
Status check_live(const Flow &flow) {
  const auto refuse = [](const char *what, const char *why) {
    return Error{fmt::format("{}: live frames {}", what, why), "--engine afxdp"};
  };
  using Shape = congestion::Pacing::Shape;
  if (!flow.opcodes.empty())
    return refuse("opcode", "are the packets of one verb");
  if (flow.control.kind != congestion::Control::Kind::None)
    return refuse("cc", "know no rate of a QP");
  if (!flow.faults.empty())
    return refuse("fault", "are sent without faults");
  if (flow.stamp)
    return refuse("stamp", "have the same payload each time");
  if (flow.port == flow::PortChoice::Vary)
    return refuse("port vary", "have a port for each QP");
  if (flow.size.kind != flow::Sizes::Kind::List || flow.size.parts.size() != 1)
    return refuse("size", "are messages of one size");
  if (counts_messages(flow.verb))
    return refuse("imm", "cannot count messages in the immediate data");
  if (flow.pacing.shape != Shape::Constant || flow.pacing.ramp_ns)
    return refuse(flow.pacing.shape == Shape::Poisson ? "poisson"
                  : flow.pacing.ramp_ns               ? "ramp"
                                                      : "burst",
                  "have a constant rate");
  return {};
}

LiveFlow::LiveFlow(Flow flow, double line_bits)
    : flow_(std::move(flow)),
      packets_(packet::packets_of(flow_.verb, flow_.size.parts[0].bytes, flow_.pmtu)) {
  const uint64_t size = flow_.size.parts[0].bytes;
  plan_.qps = flow_.qps;
  plan_.packets = packets_;
  plan_.psns = packets_ == 1 ? packet::psns_of(flow_.verb, size, flow_.pmtu) : 1;
  plan_.by_message = !flow_.interleave;
  plan_.ask = flow_.bth.ack_req ? (*flow_.bth.ack_req ? ROCE_LIVE_ASK_ALWAYS : ROCE_LIVE_ASK_NEVER)
              : is_reliable(flow_.transport) ? ROCE_LIVE_ASK_LAST
                                             : ROCE_LIVE_ASK_NEVER;
  plan_.ack_every = plan_.ask == ROCE_LIVE_ASK_LAST ? flow_.ack_every : 0;
  plan_.paced = flow_.pacing.rate.kind != congestion::Rate::Kind::Top;
  qps_.resize(flow_.qps);
  FlowFrames frames(flow_);
  make_shape(ROCE_LIVE_LAST, packets_ - 1, frames);
  if (packets_ > 1)
    make_shape(ROCE_LIVE_FIRST, 0, frames);
  if (packets_ > 2)
    make_shape(ROCE_LIVE_MIDDLE, 1, frames);
  for (roce_live_shape &shape : plan_.shapes) {
    const roce_live_shape &base = plan_.shapes[this->base()];
    if (!shape.length)
      continue;
    shape.head = static_cast<int32_t>(shape.header) - static_cast<int32_t>(base.header);
    shape.tail =
        static_cast<int32_t>(shape.length) - static_cast<int32_t>(base.length) - shape.head;
    shape.interval = ticks(flow_.pacing.rate, line_bits, shape.length);
  }
  mend();
  frame_ = shapes_[base()];
}

uint32_t LiveFlow::base() const {
  return packets_ > 2 ? ROCE_LIVE_MIDDLE : packets_ == 2 ? ROCE_LIVE_FIRST : ROCE_LIVE_LAST;
}

void LiveFlow::make_shape(uint32_t which, uint32_t index, FlowFrames &frames) {
  const uint64_t size = flow_.size.parts[0].bytes;
  const packet::Segment segment =
      packet::segment(flow_.transport, flow_.verb, size, flow_.pmtu, index);
  const packet::Template *shape = frames.of(segment.opcode, segment.payload);
  const packet::Layout &layout = shape->layout();
  std::vector<uint8_t> &frame = shapes_[which];
  frame.assign(shape->bytes().begin(), shape->bytes().end());
  packet::Fields fields;
  fields.solicited = flow_.bth.solicited;
  fields.immediate = flow_.immediate;
  fields.dma_len = packet::dma_length(flow_.verb, size);
  fields.va = flow_.va;
  plan_.bth = layout.bth;
  if (layout.bth - layout.l3 != ROCE_GRH_LEN)
    plan_.port = layout.bth - ROCE_UDP_LEN;
  const uint32_t info = roce_opcode_info[segment.opcode];
  if (info & ROCE_HAS_DETH)
    plan_.src_qp = layout.ext + ROCE_DETH_SRCQP + (info & ROCE_HAS_RDETH ? 4 : 0);
  for (uint32_t i = flow_.qps; i-- > 0;) { // the first one last: its frame stays
    roce_live_qp &qp = qps_[i];
    fields.dest_qp = flow_.dest_qp(i);
    fields.src_qp = flow_.own_qp(i);
    fields.src_port = flow_.source_port(i);
    shape->stamp(frame.data(), fields);
    qp.psn = flow_.first_psn(i);
    qp.dest_qp = half_at(frame, layout.bth + 4);
    qp.src_qp = plan_.src_qp ? half_at(frame, plan_.src_qp) : 0;
    qp.port = static_cast<uint16_t>(__builtin_bswap16(fields.src_port));
    qp.icrc[which] = icrc_of(frame);
  }
  plan_.psn_flags = __builtin_bswap32(half_at(frame, layout.bth + 8));
  roce_live_shape &made = plan_.shapes[which];
  made.length = static_cast<uint32_t>(frame.size());
  made.header = layout.payload;
  for (uint32_t i = 0; i < made.header / 8; i++)
    made.words[i] = word_at(frame, 8 * i);
  made.last_word = word_at(frame, made.header - 8);
  const uint32_t covered = made.length - ROCE_ICRC_LEN;
  for (uint32_t byte = 0; byte < 3; byte++) {
    const auto changes = icrc_changes(covered - (layout.bth + 11 - byte) - 1);
    std::copy(changes.begin(), changes.end(), made.change[byte]);
  }
  made.ask = icrc_changes(covered - (layout.bth + 8) - 1)[0x80];
}

// Where the end of the last packet and the payload of the others overlap.
void LiveFlow::mend() {
  const packet::Segment end = packet::segment(flow_.transport, flow_.verb,
                                              flow_.size.parts[0].bytes, flow_.pmtu, packets_ - 1);
  if (packets_ == 1 || end.payload == flow_.pmtu)
    return;
  roce_live_shape &last = plan_.shapes[ROCE_LIVE_LAST];
  last.mend = last.length - kMend;
  last.mended = word_at(shapes_[ROCE_LIVE_LAST], last.mend);
  for (const uint32_t which : {ROCE_LIVE_FIRST, ROCE_LIVE_MIDDLE}) {
    roce_live_shape &shape = plan_.shapes[which];
    if (!shape.length)
      continue;
    shape.mend = std::min(shape.header + end.payload, shape.length - kMend);
    shape.mended = word_at(shapes_[which], shape.mend);
  }
}

uint64_t LiveFlow::packets_to_come() const { return flow_.messages * packets_ * flow_.qps; }

double LiveFlow::asked_pps() const {
  if (!plan_.paced)
    return 0;
  const auto interval = [&](uint32_t which) {
    return std::ldexp(static_cast<double>(plan_.shapes[which].interval), -ROCE_LIVE_FRACTION);
  };
  double ns = interval(ROCE_LIVE_LAST);
  if (packets_ > 1)
    ns += interval(ROCE_LIVE_FIRST);
  if (packets_ > 2)
    ns += (packets_ - 2.0) * interval(ROCE_LIVE_MIDDLE);
  return packets_ * 1e9 / ns;
}

SendCounts LiveFlow::counts(uint64_t sent) const {
  SendCounts counts;
  const auto bytes = [&](uint32_t which) { return uint64_t{plan_.shapes[which].length}; };
  const auto add = [&](uint64_t qps, uint64_t packets) { // each of them has sent so many
    const uint64_t messages = packets / packets_, rest = packets % packets_;
    uint64_t whole = bytes(ROCE_LIVE_LAST);
    if (packets_ > 1)
      whole += bytes(ROCE_LIVE_FIRST) + (packets_ - 2) * bytes(ROCE_LIVE_MIDDLE);
    counts.messages += qps * messages;
    counts.bytes += qps * (messages * whole);
    if (rest)
      counts.bytes += qps * (bytes(ROCE_LIVE_FIRST) + (rest - 1) * bytes(ROCE_LIVE_MIDDLE));
  };
  counts.packets = sent;
  if (flow_.interleave) {
    add(sent % flow_.qps, sent / flow_.qps + 1);
    add(flow_.qps - sent % flow_.qps, sent / flow_.qps);
  } else { // one after the other
    add(1, sent);
  }
  counts.message_bytes = counts.messages * flow_.size.parts[0].bytes;
  return counts;
}

} // namespace xr::requester
