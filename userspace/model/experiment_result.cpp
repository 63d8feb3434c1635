// SPDX-License-Identifier: Apache-2.0
#include "model/experiment_result.h"

namespace xr {

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
