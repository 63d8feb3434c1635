// SPDX-License-Identifier: Apache-2.0
// A client made from OTG's published model: the compiler checks what is sent and what is read.
import createClient from "openapi-fetch";
import type { paths, components } from "./otg";

declare const process: { argv: string[]; exit(status: number): never };
type Config = components["schemas"]["Config"];
const [location, left, right] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: location });

function need(truth: unknown, what: string): asserts truth {
  if (!truth) throw new Error(what);
}
function succeeded(answer: { error?: unknown; response: Response }, what: string) {
  need(answer.error === undefined && answer.response.status === 200, `${what}: ${JSON.stringify(answer.error)}`);
}

function device(i: number): components["schemas"]["Device"] {
  return {
    name: `d${i}`,
    ethernets: [{
      name: `e${i}`, mac: `10:22:00:00:00:0${i + 1}`, connection: { choice: "port_name", port_name: `Port ${i}` },
      ipv4_addresses: [{ name: `i${i}`, address: `198.51.100.${i + 1}`, gateway: `198.51.100.${2 - i}` }],
    }],
    rocev2: {
      ipv4_interfaces: [{
        ipv4_name: `i${i}`, ib_mtu: 1024,
        peers: [{
          name: `p${i}`, destination_ip_address: `198.51.100.${2 - i}`,
          qps: [{ qp_name: `QP${i}`, connection_type: { choice: "reliable_connection", reliable_connection: { source_qp_number: 33 } } }],
        }],
      }],
    },
  };
}

const config: Config = {
  ports: [{ name: "Port 0", location: left }, { name: "Port 1", location: right }],
  layer1: [{ name: "layer 1", port_names: ["Port 0", "Port 1"], speed: "speed_1_gbps" }],
  devices: [device(0), device(1)],
  stateful_flows: {
    rocev2: [{
      tx_ports: [{
        port_name: "Port 0",
        transmit_type: { choice: "target_line_rate", target_line_rate: { value: 10, flows: [
          { name: "QP0", tx_endpoint: "QP0", message_size: 4, message_size_unit: "kb", rocev2_verb: { choice: "write" } }] } },
      }],
    }],
  },
};

async function transmit(state: "start" | "stop") {
  succeeded(await api.POST("/control/state", { body: { choice: "traffic", traffic: { choice: "flow_transmit", flow_transmit: { state } } } }), state);
}

async function main() {
  succeeded(await api.POST("/config", { body: config }), "POST /config");
  const got = await api.GET("/config");
  succeeded(got, "GET /config");
  need(got.data?.devices?.length === 2, "two devices come back");
  await transmit("start");
  await new Promise((done) => setTimeout(done, 1000));
  await transmit("stop");
  await new Promise((done) => setTimeout(done, 500));
  const metrics = await api.POST("/monitor/metrics", { body: { choice: "rocev2_flow", rocev2_flow: { choice: "per_qp", per_qp: {} } } });
  succeeded(metrics, "POST /monitor/metrics");
  const [row] = metrics.data?.rocev2_flow_per_qp_metrics ?? [];
  need(row && row.message_tx && row.message_tx === row.message_complete_rx, `messages: ${JSON.stringify(row)}`);
  need(row.nak_rx === 0 && row.frame_delta === 0, `losses: ${JSON.stringify(row)}`);
  const wrong = await api.POST("/config", { body: { ports: [{ name: "p", location: "no-such-0" }] } });
  need(wrong.response.status === 400 && wrong.error?.errors[0].startsWith("ports[0].location"), `an error: ${JSON.stringify(wrong.error)}`);
  console.log(`${row.message_tx} messages`);
}

main().catch((error) => { console.error(`FAIL: ${error.message}`); process.exit(1); });
