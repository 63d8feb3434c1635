// SPDX-License-Identifier: Apache-2.0
// What an expectation names: rows, texts and times, compared with what the experiment will have.
#pragma once

#include "base/result.h"
#include "expect/expectation.h"
#include "expect/expression.h"

namespace xr::experiment {

const char *rows_name(RowKind kind); // "flows"

// The rows of a column, or all(), any() and none().
Status check_names(const Node &node, const Subject &subject);
// `text` is compared with `column`, which is written as `left`.
Status check_text(const ColumnRow &column, const Node &left, const Node &text,
                  const Subject &subject);
// The column's after and before. nullptr: the rows'.
Status check_times(const Node &node, const ColumnRow *column, const Subject &subject);

} // namespace xr::experiment
