// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include <fmt/format.h>

#include "run_analysis/answers.h"

namespace xr::run_analysis {

void note_losses(const Trace &trace, const Episodes &episodes, uint64_t dropped, RunAnswers &into) {
  using enum AnswerTable;
  const auto lost = [&](uint64_t count, const char *what,
                        std::initializer_list<AnswerTable> tables) {
    if (!count)
      return;
    into.lost.push_back(fmt::format("{} {}", count, what));
    for (const AnswerTable table : tables)
      if (std::string &first = into.incomplete[static_cast<size_t>(table)]; first.empty())
        first = into.lost.back();
  };
  lost(dropped + episodes.episodes_dropped, "further retransmissions", {Retransmissions, GoBackN});
  lost(trace.hits_dropped, "further packets on which rules acted", {Events, Retransmissions});
  lost(trace.cnps_dropped, "further CNPs: no delay until the CNP is known after them",
       {Events, Cnps});
  lost(trace.unknown, "frames whose outcome was lost: they count as passed",
       {Events, GoBackN, Retransmissions, Findings, Cnps, Counts});
  lost(episodes.findings_dropped, "further findings", {Findings, GoBackN});
  lost(episodes.pairs_full, "packets of QP pairs that were not followed",
       {GoBackN, Retransmissions, Findings, Cnps});
  lost(episodes.holes_forgotten, "gaps beyond 16 at a time", {GoBackN, Retransmissions});
  lost(episodes.cnps_forgotten, "CNPs to QPs beyond 65,536: no intervals", {Cnps});
  lost(episodes.unpaired, "answers whose requests are not known",
       {GoBackN, Retransmissions, Findings});
}

} // namespace xr::run_analysis
