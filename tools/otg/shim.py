# SPDX-License-Identifier: Apache-2.0
"""What SONiC's RoCEv2 tests take from a vendor's private extension of snappi, from OTG's own calls instead. After `api = snappi.api(location=...)`:

    shim.attach(api)                # api._ixnetwork: SaveConfig(Arg1=FILE), Traffic.find().RoceV2Traffic.find().RoceV2Stream.find()
    shim.install_statistics()       # before the tests are imported: StatViewAssistant(api._ixnetwork, "Port Statistics")

OTG has no counters of PFC frames. "Rx Pause Priority Group N Frames" are columns where the server reports rx_pfc_N_frames for a port, and are
absent else: ask the switch, or `xdp-roce counters IF` (pfc)."""
import sys
import types


class Stream:
    """A flow's QP."""

    def __init__(self, name, dscp):
        self.Name, self.IpDscp = name, str(dscp)


class Found:
    """Whatever is looked for in it, by find(), is itself; RoceV2Stream has the QPs."""

    def __init__(self, api):
        self._api = api
        self.Traffic = self.RoceV2Traffic = self

    def find(self):
        return self

    @property
    def RoceV2Stream(self):
        return types.SimpleNamespace(find=lambda: streams(self._api))

    def SaveConfig(self, Arg1):
        """GET /config as JSON; the name may end as the vendor's files do."""
        with open(Arg1, "w", encoding="utf-8") as file:
            file.write(self._api.get_config().serialize("json"))


def streams(api):
    """The flows of the configuration, with the DSCPs of their QPs."""
    config = api.get_config()
    dscps = {qp.qp_name: qp.connection_type.reliable_connection.dscp
             for device in config.devices for interface in device.rocev2.ipv4_interfaces for peer in interface.peers for qp in peer.qps}
    return [Stream(flow.name, dscps[flow.tx_endpoint]) for group in config.stateful_flows.rocev2 for port in group.tx_ports
            for flow in port.transmit_type.target_line_rate.flows]


class PortStatistics:
    """The rows of "Port Statistics", by the names of columns that the tests use."""
    COLUMNS = {"Port Name": "name", "Frames Tx.": "frames_tx", "Valid Frames Rx.": "frames_rx", "Bytes Tx.": "bytes_tx", "Bytes Rx.": "bytes_rx"}

    def __init__(self, extension, name):
        if name != "Port Statistics":
            raise ValueError(f"there is no view '{name}': Port Statistics")
        request = extension._api.metrics_request()
        request.port.port_names = []
        ports = extension._api.get_metrics(request).port_metrics
        pauses = {f"Rx Pause Priority Group {n} Frames": f"rx_pfc_{n}_frames" for n in range(8)}
        known = {title: key for title, key in pauses.items() if ports and all(getattr(port, key, None) is not None for port in ports)}
        columns = {**self.COLUMNS, **known}
        self.ColumnHeaders = list(columns)
        self.Rows = types.SimpleNamespace(RawData=[[getattr(port, key) for key in columns.values()] for port in ports])


def attach(api):
    api._ixnetwork = Found(api)
    return api


def install_statistics():
    """The tests import the vendor's package for its StatViewAssistant alone."""
    name = "ixnetwork_restpy.assistants.statistics.statviewassistant"
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules[".".join(parts[:i])] = types.ModuleType(".".join(parts[:i]))
    sys.modules[name].StatViewAssistant = PortStatistics
