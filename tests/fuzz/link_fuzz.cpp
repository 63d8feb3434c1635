// SPDX-License-Identifier: Apache-2.0
// The words of links, and events for a link that changes between them. The input: lines of words,
// an empty line, then events of 4 bytes: what happens, 24 bits for it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "parse/words.h"
#include "require.h"
#include "wire/link.h"
#include "wire/link_words.h"

using namespace xr;
using namespace xr::wire;

namespace {

constexpr size_t kMostLines = 8;

// What of the lines is a link. Its canonical words are the same link.
std::vector<LinkSpec> specs_of(const uint8_t *&data, size_t &size) {
  std::vector<LinkSpec> specs;
  for (size_t line = 0; line < kMostLines && size; line++) {
    const uint8_t *end = std::find(data, data + size, '\n');
    const std::string text(data, end);
    const size_t used = text.size() + (end != data + size);
    data += used;
    size -= used;
    if (text.empty())
      break;
    const auto spec = parse_link(parse::split(text));
    if (!spec) {
      REQUIRE(!spec.error().message.empty());
      continue;
    }
    const auto again = parse_link(parse::split(link_text(spec.get())));
    REQUIRE(again.ok());
    REQUIRE(again.get() == spec.get());
    specs.push_back(spec.get());
  }
  return specs;
}

class Driver {
public:
  explicit Driver(std::vector<LinkSpec> specs)
      : specs_(std::move(specs)), link_(specs_[0], {.line_rate = 25'000'000'000, .trace = trace_}) {
  }

  void step(uint8_t what, uint32_t value) {
    now_ += value & 0x3ff;
    switch (what & 15) {
    case 0: {
      const LinkSpec &spec = specs_[value % specs_.size()];
      link_.change(now_, spec, spec.trace.empty() ? nullptr : trace_);
      break;
    }
    case 1:
      now_ += uint64_t{value} << (what >> 4); // up to half a second
      link_.update(now_);
      break;
    case 2: {
      std::array<uint16_t, kLinkClasses> quanta;
      quanta.fill(static_cast<uint16_t>(value));
      link_.pause(now_, static_cast<uint8_t>(value >> 16), quanta);
      break;
    }
    case 3:
      link_.pause_all(now_, static_cast<uint16_t>(value));
      break;
    case 4:
    case 5:
      collect();
      break;
    default:
      offer(what, value);
    }
  }

  void end() {
    collect();
    const LinkClassCounts total = link_.counts().total();
    uint64_t drops = 0;
    for (const uint64_t one : total.drops)
      drops += one;
    REQUIRE(total.frames_in == offered_);
    REQUIRE(total.frames_in == total.frames_out + drops + total.backlog_frames);
    REQUIRE(total.bytes_in == total.bytes_out + total.dropped_bytes + total.backlog_bytes);
    REQUIRE(inside_.size() == total.backlog_frames + link_.counts().wire_frames);
    REQUIRE(total.backlog_bytes == link_.buffer().used() + link_.buffer().headroom_used());
  }

private:
  void offer(uint8_t what, uint32_t value) {
    const Frame frame = {.handle = offered_++,
                         .length = 14 + (value >> 8 & 0x7ff) * (what & 16 ? 4 : 1),
                         .ecn = static_cast<uint8_t>(value >> 19 & 3),
                         .dscp = what & 32 ? kNoDscp : static_cast<uint8_t>(value & 63),
                         .pcp = what & 64 ? static_cast<uint8_t>(value & 7) : kNoPcp,
                         .ingress = static_cast<uint8_t>(value >> 21)};
    if (link_.enqueue(now_, frame) == LinkDrop::None)
      inside_.insert(frame.handle);
  }

  void collect() {
    Frame frame;
    LinkDrop cause;
    PfcOut out;
    while (link_.take(now_, frame)) {
      REQUIRE(inside_.erase(frame.handle) == 1);
      REQUIRE(frame.due <= now_ && frame.due >= last_due_);
      last_due_ = frame.due;
    }
    while (link_.take_dropped(now_, frame, cause))
      REQUIRE(inside_.erase(frame.handle) == 1);
    while (link_.take_pfc(now_, out))
      REQUIRE(out.priorities != 0);
    REQUIRE(link_.next() > now_);
  }

  std::vector<LinkSpec> specs_;
  TracePointer trace_ =
      std::make_shared<DeliveryTrace>(DeliveryTrace{0, 1'000'000, 1'000'000, 30'000'000});
  Link link_;
  uint64_t now_ = 0, last_due_ = 0;
  uint32_t offered_ = 0;
  std::set<uint32_t> inside_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)parse_trace({reinterpret_cast<const char *>(data), size});
  std::vector<LinkSpec> specs = specs_of(data, size);
  if (specs.empty())
    return 0;
  Driver driver(std::move(specs));
  for (; size >= 4; data += 4, size -= 4)
    driver.step(data[0], data[1] | data[2] << 8 | static_cast<uint32_t>(data[3]) << 16);
  driver.end();
  return 0;
}
