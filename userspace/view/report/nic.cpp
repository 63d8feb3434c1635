// SPDX-License-Identifier: Apache-2.0
#include "report/nic.h"

#include "report/cells.h"

#include <utility>

#include <fmt/format.h>

namespace xr::report {

namespace {

double difference(const NicEquation &e) {
  return e.nic >= *e.wire ? static_cast<double>(e.nic - *e.wire)
                          : -static_cast<double>(*e.wire - e.nic);
}

Value difference_text(const NicEquation &e) {
  if (!e.wire)
    return {};
  return fmt::format("{}{}",
                     e.nic > *e.wire   ? "+"
                     : e.nic < *e.wire ? "-"
                                       : "",
                     e.nic > *e.wire ? e.nic - *e.wire : *e.wire - e.nic);
}

Table equation_rows(const NicReport &nic) {
  Rows rows;
  for (const NicEquation &e : nic.equations)
    rows.push_back({e.equation, maybe(e.wire), e.nic, e.wire ? Value{difference(e)} : Value{},
                    difference_text(e), e.verdict, e.note});
  return make_table(
      {{"equation", "EQUATION"},
       {"wire", "WIRE", Format::Count},
       {"nic", "NIC", Format::Count},
       {"difference", "", Format::Number, Hide::Never, Tone::Plain, Where::Json},
       {"difference_text", "DIFFERENCE", Format::Number, Hide::Never, Tone::Plain, Where::Text},
       {"verdict", "VERDICT"},
       {"note", "NOTE", Format::Text, Hide::Zero}},
      std::move(rows));
}

} // namespace

void add_nic(Document &document, const NicReport &nic) {
  Nested nested;
  nested.group = {{{"device", ""}, nic.device},
                  {{"driver", ""}, known(nic.driver)},
                  {{"seconds", ""}, nic.seconds},
                  {{"note", ""}, nic.note}};
  nested.key = "equations";
  nested.table = equation_rows(nic);
  const std::string title =
      fmt::format("WIRE AND {} ({}), {}", nic.device, nic.driver.empty() ? "?" : nic.driver,
                  nic.seconds > 0 ? fmt::format("over {:.2f} s", nic.seconds)
                                  : std::string("each since its own start"));
  Section text{"nic_text", title, nested.table, Where::Text};
  text.note = "xdp-roce knows none of its counters";
  document.sections.push_back({"nic", "", std::move(nested), Where::Json});
  document.sections.push_back(std::move(text));
  if (!nic.note.empty())
    document.sections.push_back({"nic_note", "note", Value{nic.note}, Where::Text});
}

} // namespace xr::report
