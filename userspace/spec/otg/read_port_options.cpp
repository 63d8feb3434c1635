// SPDX-License-Identifier: Apache-2.0
// options.per_port_options[].protocols[].rocev2: CNPs, acknowledgements, DCQCN (OTG's
// port/rocev2.yaml).
#include "otg/dcqcn.h"
#include "otg/reading.h"

namespace xr::otg {

namespace {

// ip_dscp and ecn_value of a CNP, an ACK, a NAK.
void read_marking(Object &object, Marking &marking) {
  const Marking otg;
  (void)object.choice({"ip_dscp"}, 0);
  object.object(
      "ip_dscp", "ip_dscp",
      [&](Object &dscp) {
        marking.dscp = static_cast<uint8_t>(dscp.integer("value", 0, 63, otg.dscp));
      },
      true);
  marking.ecn = read_ecn(object, "ecn_value");
  marking.given = marking.dscp != otg.dscp || marking.ecn != otg.ecn;
}

void read_reliable(Object &object, PortOptions &options) {
  object.object("ack", "ack", [&](Object &ack) { read_marking(ack, options.ack); });
  object.object("nak", "nak", [&](Object &nak) { read_marking(nak, options.nak); });
  options.timer = object.flag("enable_retransmission_timeout", true);
  options.timeout_ms = object.integer("retransmission_timeout_value", 0, 5369, 1);
  options.retries = object.integer("retransmission_retry_count", 0, 254, 3);
}

} // namespace

void read_port_options(Object &rocev2, PortOptions &options) {
  rocev2.object("cnp", "cnp", [&](Object &cnp) {
    read_marking(cnp, options.cnp);
    options.cnp_interval_us = cnp.integer("cnp_delay_timer", 0, 255, 55);
    options.interval_given = true;
  });
  rocev2.object("connection_type", "connection_type", [&](Object &type) {
    (void)type.choice({"reliable_connection"}, 0);
    type.object(
        "reliable_connection", "reliable_connection",
        [&](Object &reliable) { read_reliable(reliable, options); }, true);
  });
  rocev2.object("dcqcn_settings", "dcqcn_settings",
                [&](Object &dcqcn) { read_dcqcn(dcqcn, options); });
}

} // namespace xr::otg
