// SPDX-License-Identifier: Apache-2.0
#include "report/run_parts.h"

#include <fmt/format.h>

#include "names/names.h"

namespace xr::report {

Section cm_section(const CmCounts &c) {
  return {"connections", "CONNECTIONS (RDMA CM)",
          Group{count("requested", "requested", c.requested, Hide::Never),
                count("established", "established", c.established, Hide::Never),
                lost("rejected", "rejected", c.rejected),
                {{"reject_reason", "reason of the first REJ", Format::Text, Hide::Zero},
                 c.rejected ? names::cm_reason_name(c.reason) : std::string()},
                lost("timed_out", "REQs without an answer", c.timed_out),
                count("ended", "ended", c.ended),
                lost("ended_by_peer", "ended by the peer", c.ended_by_peer),
                lost("not_ended", "DREQs without an answer", c.not_ended),
                count("mads_sent", "MADs sent", c.mads_sent),
                lost("mads_resent", "of them again", c.mads_resent),
                count("mads_received", "MADs received", c.mads_received),
                count("mras", "MRAs: the peer needs time", c.mras),
                lost("strays", "MADs of other connections", c.strays)}};
}

Section memory_section(const MemoryReport &r) {
  return {"memory", "MEMORY",
          Group{{{"bytes", "bytes", Format::Count}, r.bytes},
                {{"va", "address", Format::Qpn}, r.va},
                {{"rkey", "R_Key", Format::Qpn}, uint64_t{r.rkey}},
                {{"access", "access"}, r.access}}};
}

void add_verified(std::vector<Section> &sections, const VerifyCounts &c) {
  sections.push_back({"verified", "VERIFIED",
                      Group{count("messages", "messages read back", c.messages, Hide::Never),
                            count("bytes", "bytes compared", c.bytes, Hide::Never),
                            count("different_packets", "packets that differ", c.different_packets,
                                  Hide::Zero, Tone::Alarm),
                            count("different_bytes", "bytes that differ", c.different_bytes,
                                  Hide::Zero, Tone::Alarm)}});
  std::vector<std::vector<Value>> rows;
  for (const VerifyCounts::Difference &difference : c.differences)
    rows.push_back({uint64_t{difference.qp}, difference.message, difference.offset, difference.va,
                    fmt::format("{:#04x}", difference.written),
                    fmt::format("{:#04x}", difference.read)});
  Section section{"differences", "FIRST DIFFERENT BYTES",
                  make_table({{"qp", "QP", Format::Qpn},
                              {"message", "MESSAGE", Format::Count},
                              {"offset", "OFFSET", Format::Count},
                              {"va", "ADDRESS", Format::Qpn},
                              {"written", "WRITTEN"},
                              {"read", "READ"}},
                             std::move(rows))};
  section.hide = Hide::Zero;
  sections.push_back(std::move(section));
}

} // namespace xr::report
