// SPDX-License-Identifier: Apache-2.0
// A table of a report as rows for other programs: NDJSON, a JSON object a line, or CSV (RFC 4180)
// with a header. Each row begins with the same cells, which say where it is from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.h"
#include "report/document.h"
#include "roce/event.h"

namespace xr::report {

enum class RowFormat { Ndjson, Csv };

class RowWriter {
public:
  // `keys` name the cells after those of `same`. An array is one cell in CSV, separated by ';'.
  RowWriter(RowFormat format, Group same, std::vector<std::string> keys, Sink sink);
  // False: the sink stopped it.
  bool row(const std::vector<Value> &cells);
  bool finish();

private:
  bool flush();

  RowFormat format_;
  Group same_;
  std::vector<std::string> keys_;
  Sink sink_;
  std::string out_;
};

// False: the sink stopped it.
bool write_rows(const Table &table, RowFormat format, const Group &same, const Sink &sink);
// The section's table. False: the sink stopped it, or the document has no such table.
bool write_rows(const Document &document, std::string_view section, RowFormat format,
                const Group &same, const Sink &sink);

// The columns of a row for an event, and its cells. `realtime_ns`: its time since 1970.
std::vector<std::string> event_row_keys();
std::vector<Value> event_row(const roce_event &event, uint64_t realtime_ns);

} // namespace xr::report
