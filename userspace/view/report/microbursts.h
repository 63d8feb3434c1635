// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/microburst.h"
#include "report/document.h"

namespace xr::report {

void add_microbursts(Document &document, const Microbursts &found);

} // namespace xr::report
