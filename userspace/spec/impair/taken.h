// SPDX-License-Identifier: Apache-2.0
// Rules that can match nothing, as an earlier rule without `next` applies to all that they match.
#pragma once

#include <optional>
#include <span>

#include "impair/rule.h"

namespace xr::impair {

// Index of the first rule before `index` that takes every frame which rule `index` matches.
// Decided condition by condition: nothing, if only several rules together take them all. What a
// rule selects does not matter: a frame that it matches and does not select meets no later rule.
std::optional<size_t> taken_by(std::span<const Rule *const> rules, size_t index);

} // namespace xr::impair
