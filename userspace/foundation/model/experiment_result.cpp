// SPDX-License-Identifier: Apache-2.0
#include "model/experiment_result.h"

namespace xr {

const char *sample_kind_name(ExperimentSample::Kind kind) {
  switch (kind) {
  case ExperimentSample::Kind::Flow:
    return "flow";
  case ExperimentSample::Kind::Queue:
    return "queue";
  case ExperimentSample::Kind::Total:
    break;
  }
  return "total";
}

const char *job_why_name(ExperimentJob::Why why) {
  switch (why) {
  case ExperimentJob::Why::LateSender:
    return "late sender";
  case ExperimentJob::Why::LateReceiver:
    return "late receiver";
  case ExperimentJob::Why::CongestedLink:
    return "congested link";
  case ExperimentJob::Why::SharedLinks:
    return "shared links";
  case ExperimentJob::Why::Retransmission:
    return "retransmission";
  case ExperimentJob::Why::Nothing:
    break;
  }
  return "nothing";
}

const char *verdict_name(Verdict verdict) {
  switch (verdict) {
  case Verdict::Pass:
    return "pass";
  case Verdict::Fail:
    return "fail";
  case Verdict::Void:
    break;
  }
  return "void";
}

} // namespace xr
