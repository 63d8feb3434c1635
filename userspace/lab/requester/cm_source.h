// SPDX-License-Identifier: Apache-2.0
// Flows whose QPs are connected by RDMA CM first: connects, lets another source send, disconnects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flow/flow.h"
#include "requester/cm_connector.h"
#include "requester/requester.h"

namespace xr::requester {

// Whether RDMA CM can connect the flow's QPs.
Status check_cm(const flow::Flow &flow);

class CmSource : public Requester {
public:
  // Makes the source of the connected flows, whose QPs may have `reads` READs and atomics
  // outstanding.
  using Make = std::function<std::unique_ptr<Requester>(std::vector<flow::Flow>, uint32_t reads)>;

  // The flows' paths have all addresses. `check_icrc`: drops received MADs with a wrong iCRC.
  CmSource(std::vector<flow::Flow> flows, const CmOptions &options, Make make,
           bool check_icrc = true);

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return phase_ == Phase::Done; }
  size_t last(std::span<packet::Outgoing> out) override;

  const SendCounts &counts() const override { return source_ ? source_->counts() : none_; }
  double asked_pps() const override { return source_ ? source_->asked_pps() : 0; }
  uint64_t expected() const override { return source_ ? source_->expected() : 0; }
  uint64_t over() const override { return source_ ? source_->over() : 0; }
  void qp_rates(uint64_t now, std::vector<QpRate> &rows) override;
  void obey(const packet::Pauses &pauses) override;
  const VerifyCounts *verified() const override { return source_ ? source_->verified() : nullptr; }
  const CmCounts *cm() const override { return &connector_.counts(); }

private:
  enum class Phase : uint8_t { New, Connecting, Sending, Ending, Done };

  void advance(uint64_t now);
  void connected();
  bool write(const CmConnector::Mad &mad, packet::Outgoing &out);

  std::vector<flow::Flow> flows_;
  std::vector<size_t> flow_of_; // by connection
  CmConnector connector_;
  Make make_;
  bool check_icrc_;
  Phase phase_ = Phase::New;
  std::unique_ptr<Requester> source_;
  const packet::Pauses *pauses_ = nullptr;
  uint32_t mad_psn_ = 0;
  std::vector<std::vector<uint8_t>> sent_; // keeps the MADs of the last next() valid
  SendCounts none_;
};

} // namespace xr::requester
