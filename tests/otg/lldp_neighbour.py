#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""lldp_neighbour.py IF TTL [malformed]: sends one LLDPDU that scapy builds, of a switch. `malformed`: one whose TLVs are cut, and one without a TTL.
77: without scapy."""
import socket
import sys

try:
    from scapy.config import conf
    from scapy.contrib.lldp import (LLDP_NEAREST_BRIDGE_MAC, LLDPDUChassisID, LLDPDUEndOfLLDPDU, LLDPDUGenericOrganisationSpecific,
                                    LLDPDUManagementAddress, LLDPDUPortDescription, LLDPDUPortID, LLDPDUSystemCapabilities, LLDPDUSystemDescription,
                                    LLDPDUSystemName, LLDPDUTimeToLive)
    from scapy.layers.l2 import Ether
except ImportError as error:
    print(f"SKIP: needs scapy: {error}")
    sys.exit(77)

conf.contribs["LLDP"].strict_mode_disable()  # builds malformed ones, too
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
end.bind((sys.argv[1], 0))
names = (Ether(dst=LLDP_NEAREST_BRIDGE_MAC, src="02:00:00:00:00:0b") / LLDPDUChassisID(subtype=5, family=1, id="192.0.2.9") /
         LLDPDUPortID(subtype=1, id=b"to the tester"))
if sys.argv[3:] == ["malformed"]:
    end.send(bytes(names / LLDPDUTimeToLive(ttl=60) / LLDPDUSystemName(system_name=b"cut" * 20))[:-1])
    end.send(bytes(names / LLDPDUEndOfLLDPDU()).ljust(60, b"\0"))
    sys.exit()
end.send(bytes(
    names / LLDPDUTimeToLive(ttl=int(sys.argv[2])) / LLDPDUPortDescription(description=b"uplink") / LLDPDUSystemName(system_name=b"switch") /
    LLDPDUSystemDescription(description=b"a \xff switch\n") / LLDPDUSystemCapabilities(router_available=1, mac_bridge_available=1, router_enabled=1) /
    LLDPDUManagementAddress(management_address_subtype=1, management_address=b"\xc0\x00\x02\x09", interface_numbering_subtype=2, interface_number=7) /
    LLDPDUGenericOrganisationSpecific(org_code=0x00120f, subtype=4, data=b"\x05\xdc") / LLDPDUEndOfLLDPDU()))
