// SPDX-License-Identifier: Apache-2.0
#include "report/document.h"

#include <fmt/format.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace xr::report {

Field count(const char *key, const char *heading, uint64_t value, Hide hide, Tone tone) {
  return {{key, heading, Format::Count, hide, tone}, value};
}

Field lost(const char *key, const char *heading, uint64_t value) {
  return count(key, heading, value, Hide::Zero, Tone::Alarm);
}

bool is_zero(const Value &value) {
  return std::visit(
      [](const auto &v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, StringList> ||
                      std::is_same_v<T, NumberList>)
          return v.empty();
        else if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, NotApplicable>)
          return true;
        else
          return v == T{};
      },
      value);
}

Column json_only(const char *key) {
  return {key, "", Format::Text, Hide::Never, Tone::Plain, Where::Json};
}

Table make_table(std::vector<Column> columns, Rows rows) {
  const auto held = std::make_shared<const Rows>(std::move(rows));
  return {std::move(columns), held->size(),
          [held](size_t row, size_t column) { return (*held)[row][column]; }};
}

void limit_rows(Document &document, size_t first, size_t top) {
  for (size_t i = first; top && i < document.sections.size(); i++) {
    Section &section = document.sections[i];
    Table *table = std::get_if<Table>(&section.body);
    if (!table || table->rows <= top)
      continue;
    section.note = fmt::format("{} of {} rows", top, table->rows);
    table->rows = top;
  }
}

} // namespace xr::report
