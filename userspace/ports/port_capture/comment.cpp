// SPDX-License-Identifier: Apache-2.0
#include "port_capture/comment.h"

#include <fmt/format.h>

#include "impair/trace_words.h"
#include "names/names.h"

namespace xr::port_capture {

namespace {

struct Word {
  uint32_t bit;
  const char *text;
};

constexpr Word kPlain[] = {
    {ROCE_FOUND_ANNOUNCED, "RDMA CM starts a connection"},
    {ROCE_FOUND_NEW, "first of its stream"},
    {ROCE_FOUND_MADE_WAY, "its stream replaced an idle one"},
    {ROCE_FOUND_FULL, "not tracked: the stream table is full"},
    {ROCE_FOUND_CONTENDED, "not tracked: too many CPUs update its stream"},
    {ROCE_FOUND_CNP_AFTER_CE, "CNP after a CE mark"},
    {ROCE_FOUND_CNP_AFTER_NAK, "CNP after a NAK"},
    {ROCE_FOUND_CNP_AFTER_NEITHER, "CNP after neither CE mark nor NAK"},
    {ROCE_FOUND_CNP_UNEXPLAINED, "CNP of an unknown stream"},
    {ROCE_FOUND_EPISODE, "episode"},
};

void add(std::string &to, std::string_view text, std::string_view between = "; ") {
  if (!to.empty())
    to += between;
  to += text;
}

const char *other_class(int class_) {
  switch (class_) {
  case ROCE_CLASS_PFC:
    return "PFC or PAUSE";
  case ROCE_CLASS_FRAGMENT:
    return "IP fragment";
  case ROCE_CLASS_MALFORMED:
    return "malformed";
  default:
    return "no RoCE";
  }
}

// Tracking results that contain numbers.
void add_psns(std::string &text, const roce_capture &c) {
  const uint32_t found = c.trace.found;
  if (found & ROCE_FOUND_GAP)
    add(text, "gap: " + names::psns(c.expected, c.skipped));
  if (found & ROCE_FOUND_FILLED)
    add(text, fmt::format("late: {} missing {}", c.filled, c.filled == 1 ? "PSN" : "PSNs"));
  if (found & ROCE_FOUND_DUPLICATE)
    add(text, fmt::format("duplicate: PSN {}, {} was expected", c.psn, c.expected));
  if (found & ROCE_FOUND_REWIND)
    add(text, fmt::format("rewind: the stream continues before PSN {}", c.expected));
  if (found & ROCE_FOUND_RESYNC)
    add(text, fmt::format("the QPN was reused: PSN {} was expected", c.expected));
  if ((found & (ROCE_FOUND_JUMP | ROCE_FOUND_GAP)) == ROCE_FOUND_JUMP)
    add(text,
        fmt::format("jumps over {}", names::psns((c.psn - c.jumped) & ROCE_PSN_MASK, c.jumped)));
  if (found & ROCE_FOUND_NAK)
    add(text, "NAK: " + names::nak_words(c.syndrome));
  if (found & ROCE_FOUND_RNR_NAK)
    add(text, fmt::format("RNR NAK: timer {} ms", names::rnr_timer_ms(c.syndrome)));
}

std::string tracked_as(const roce_capture &c) {
  std::string text;
  for (const auto &[bit, words] : kPlain)
    if (c.trace.found & bit)
      add(text, words);
  add_psns(text, c);
  if (!text.empty())
    return text;
  if (!roce_opcode_info[c.opcode])
    return "an opcode without a stream";
  if (c.kinds & ROCE_CAPTURE_ACK)
    return "ACK";
  return roce_key_kind(&c.key) == ROCE_KIND_DATAGRAM ? "datagram" : "in order";
}

const char *fate_words(uint32_t fate) {
  switch (fate) {
  case ROCE_CAPTURE_PASSED:
    return "to the host";
  case ROCE_CAPTURE_DROPPED:
    return "gone";
  case ROCE_CAPTURE_FORWARDED:
    return "forwarded";
  case ROCE_CAPTURE_FORWARDED_TWICE:
    return "forwarded twice";
  case ROCE_CAPTURE_FORWARDED_WITH_CNP:
    return "forwarded, and a CNP sent back";
  case ROCE_CAPTURE_BACK_AS_CNP:
    return "sent back as a CNP";
  case ROCE_CAPTURE_NOT_FORWARDED:
    return "gone: the other port does not exist";
  default:
    return "to a socket";
  }
}

} // namespace

std::string comment(const TracedFrame &frame, bool tracked) {
  const roce_capture &c = frame.record;
  std::string text;
  if (c.kinds & ROCE_CAPTURE_OTHER)
    add(text, other_class(c.class_));
  if (!frame.known()) {
    add(text, "its outcome was lost");
    return text;
  }
  if (tracked && !(c.kinds & ROCE_CAPTURE_OTHER))
    add(text, tracked_as(c));
  if (c.kinds & ROCE_CAPTURE_CE)
    add(text, "received with CE");
  if (c.trace.rule)
    add(text, impair::trace_words(c.trace));
  add(text, fate_words(c.fate));
  return text;
}

} // namespace xr::port_capture
