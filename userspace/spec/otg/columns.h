// SPDX-License-Identifier: Apache-2.0
// The columns of OTG's metrics (model 1.61), in its order.
#pragma once

namespace xr::otg {

// Rocev2Flow.Metric.PerQP
inline constexpr const char *kQpColumns[] = {"flow_name",
                                             "port_tx",
                                             "port_rx",
                                             "src_qp",
                                             "dest_qp",
                                             "src_ipv4",
                                             "dest_ipv4",
                                             "data_frames_tx",
                                             "data_frames_rx",
                                             "frame_delta",
                                             "data_frames_retransmitted",
                                             "frame_sequence_error",
                                             "tx_bytes",
                                             "rx_bytes",
                                             "data_tx_rate",
                                             "data_rx_rate",
                                             "message_tx",
                                             "message_complete_rx",
                                             "message_fail",
                                             "flow_completion_time",
                                             "avg_latency",
                                             "min_latency",
                                             "max_latency",
                                             "ecn_ce_rx",
                                             "cnp_tx",
                                             "cnp_rx",
                                             "ack_tx",
                                             "ack_rx",
                                             "nak_tx",
                                             "nak_rx",
                                             "first_timestamp",
                                             "last_timestamp"};
// Rocev2IPv4.Metric.PerPeer and Rocev2IPv6
inline constexpr const char *kPeerColumns[] = {"name",
                                               "qp_configured",
                                               "qp_up",
                                               "qp_down",
                                               "connect_request_tx",
                                               "connect_request_rx",
                                               "connect_reply_tx",
                                               "connect_reply_rx",
                                               "ready_tx",
                                               "ready_rx",
                                               "disconnect_request_tx",
                                               "disconnect_request_rx",
                                               "disconnect_reply_tx",
                                               "disconnect_reply_rx",
                                               "reject_tx",
                                               "unknown_msg_rx"};
// Port.Metric
inline constexpr const char *kPortColumns[] = {
    "name",     "location",    "link",           "capture",        "frames_tx",     "frames_rx",
    "bytes_tx", "bytes_rx",    "frames_tx_rate", "frames_rx_rate", "bytes_tx_rate", "bytes_rx_rate",
    "transmit", "last_change", "data_integrity", "speed"};

} // namespace xr::otg
