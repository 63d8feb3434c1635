// SPDX-License-Identifier: Apache-2.0
// Reports to stdout, all else to stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/document.h"
#include "report/json.h"
#include "report/text.h"

namespace xr::cli {

class Output {
public:
  explicit Output(bool json, int fd = 1);

  // False: nobody reads any more, or nothing can be written; see finish().
  bool print(const report::Document &document, report::JsonStyle style = report::JsonStyle::Pretty);
  // One of several reports: in JSON a line each, in text with an empty line between.
  bool print_next(const report::Document &document);
  // A line of text, whatever the form of reports is.
  bool print_line(const std::string &text);

  // Has the reader of a pipe gone away? Tells without writing.
  bool reader_gone() const;
  // The exit status: `status`, unless the output could not be written. A closed pipe is no error.
  int finish(int status = 0) const;

private:
  bool write(std::string_view text);
  bool flush();

  bool json_;
  int fd_;
  report::TextStyle style_;
  std::string buffer_;
  bool printed_ = false;
  int error_ = 0; // errno of a failed write
};

// NO_COLOR is not set.
bool colour_wanted();
// A positive number in the environment, as COLUMNS and LINES are; else `otherwise`.
size_t number_in(const char *variable, size_t otherwise);

// `xdp-roce: CONTEXT: message` and the hint. Returns exit status 1.
int fail(const std::string &context, const Error &error);
// The same of a command line that is wrong. Returns exit status 2.
int refuse(const std::string &context, const Error &error);
// The same without ending anything.
void warn(const std::string &context, const std::string &message);
void note(const std::string &context, const std::string &message);
// Those from that place on. Returns where the next ones begin.
size_t tell_notes(const std::string &context, const std::vector<std::string> &notes,
                  size_t from = 0);

} // namespace xr::cli
