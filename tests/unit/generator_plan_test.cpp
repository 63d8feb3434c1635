// SPDX-License-Identifier: Apache-2.0
// What a configuration of OTG makes of the ports of `serve`.
#include "generator/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "experiment/experiment.h"
#include "importers/otg_export.h"

namespace xr::generator::generator_plan_test {
namespace {

std::optional<packet::ObeyedPauses> obeyed(const char *flow_control) {
  otg::Json json = otg::Json::parse(
      R"({"ports": [{"name": "p", "location": "ns/eth7"}],
          "layer1": [{"name": "l", "port_names": ["p"], "speed": "speed_25_gbps")" +
      std::string(flow_control) + "}]}");
  otg::Findings findings;
  const Plan plan = make_plan(otg::read_config(json, findings), "");
  EXPECT_TRUE(findings.ok()) << flow_control;
  EXPECT_EQ(plan.ports.at(0).request.ifname, "eth7");
  EXPECT_EQ(plan.ports.at(0).request.line_bits, 25'000'000'000U);
  return plan.ports.at(0).request.obey;
}

// IEEE 802.1Q, 36: a port has PFC or PAUSE.
TEST(GeneratorPlan, APortObeysThePausesOfItsLayer1) {
  EXPECT_FALSE(obeyed(""));
  EXPECT_EQ(obeyed(R"(, "flow_control": {})"), (packet::ObeyedPauses{.pfc = 0xff, .pause = false}));
  EXPECT_EQ(obeyed(R"(, "flow_control": {"ieee_802_1qbb": {"pfc_class_0": null, "pfc_class_3": 3,
                   "pfc_class_7": null}})"),
            (packet::ObeyedPauses{.pfc = 0x7e, .pause = false}));
  EXPECT_EQ(obeyed(R"(, "flow_control": {"ieee_802_3x": {}})"),
            (packet::ObeyedPauses{.pfc = 0, .pause = true}));
}

// The QP that `run --export otg` gives a flow at the receiver is the one that the plan connects.
TEST(GeneratorPlan, ExportedFlowsArriveAtTheirOwnQps) {
  const auto experiment = experiment::ExperimentFile(R"(experiment: x
duration: 1ms
topology: {star: {senders: 3, rate: 100gbit, delay: 1us}}
flows:
  - {name: a, from: all, to: receiver, words: "size 4k qps 3 rate 30%"}
  - {name: back, from: receiver, to: [sender-2, sender-3], words: "size 8k rate 30%"}
)",
                                                     "x.yaml", "")
                              .read({});
  ASSERT_TRUE(experiment.ok()) << experiment.error().message;
  const auto exported = importers::export_otg(experiment.get());
  ASSERT_TRUE(exported.ok()) << exported.error().message;
  otg::Json json = otg::Json::parse(exported.get().json);
  otg::Findings findings;
  const otg::Config config = otg::read_config(json, findings);
  EXPECT_TRUE(findings.ok());
  const Plan plan = make_plan(config, "");
  ASSERT_EQ(config.flows.size(), 11U);
  for (size_t i = 0; i < config.flows.size(); i++) {
    const otg::StatefulFlow &flow = config.flows[i];
    const auto there = std::ranges::find(config.qps, flow.rx, &otg::Qp::name);
    ASSERT_NE(there, config.qps.end()) << flow.rx;
    const size_t rx = static_cast<size_t>(there - config.qps.begin());
    EXPECT_EQ(plan.qps[flow.qp].dest, plan.qps[rx].own) << flow.name;
    EXPECT_EQ(plan.qps[rx].dest, plan.qps[flow.qp].own) << flow.name;
    EXPECT_EQ(
        plan.rx_ports[i],
        config.ethernets[config.interfaces[config.peers[there->peer].interface].ethernet].port)
        << flow.name;
  }
}

} // namespace
} // namespace xr::generator::generator_plan_test
