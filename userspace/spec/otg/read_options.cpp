// SPDX-License-Identifier: Apache-2.0
// options, with per_port_options[].protocols[].rocev2: CNPs, acknowledgements, DCQCN (OTG's
// port/rocev2.yaml).
#include <set>

#include <fmt/format.h>

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

// A switch that does nothing here.
void idle_flag(Object &object, const char *key) {
  if (object.flag(key, false))
    object.warning(key, "it has no effect here");
}

// A port's own options; into others where the port is not known.
void read_port(Object &object, PortOptions &options) {
  object.each("protocols", "a protocol", [&](Object &protocol) {
    if (protocol.choice({"rocev2", "macsec"}, 0) == 1) {
      (void)protocol.value("macsec");
      protocol.error("macsec", {"it is not supported", "rocev2"});
      return;
    }
    if (options.given)
      protocol.error("rocev2", {"the port has it already", "once a port"});
    options.given = true;
    protocol.object(
        "rocev2", "rocev2", [&](Object &rocev2) { read_port_options(rocev2, options); }, true);
  });
}

} // namespace

void read_options(Object &root, Reading &reading) {
  std::set<size_t> seen;
  root.object("options", "options", [&](Object &options) {
    options.object("port_options", "port_options", [](Object &port) {
      idle_flag(port, "location_preemption");
      idle_flag(port, "data_integrity");
      port.unused("frame_ordering_mode");
    });
    options.object("protocol_options", "protocol_options", [&](Object &protocol) {
      reading.config.auto_start = protocol.flag("auto_start_all", true);
    });
    options.object("flow_options", "flow_options",
                   [](Object &flow) { idle_flag(flow, "packet_loss_duration"); });
    options.each("per_port_options", "per_port_options", [&](Object &each) {
      PortOptions other;
      const auto port = reading.ports.refer(each, "port_name");
      if (port && !seen.insert(*port).second)
        each.error("port_name", {fmt::format("port {} has options before it",
                                             shown(Json(reading.config.ports[*port].name))),
                                 "once a port"});
      else if (port)
        return read_port(each, reading.config.ports[*port].options);
      read_port(each, other);
    });
  });
}

} // namespace xr::otg
