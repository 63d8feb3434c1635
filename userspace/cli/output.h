// SPDX-License-Identifier: Apache-2.0
// Prints reports to standard output, and errors, warnings and notes to standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/document.h"
#include "report/json.h"
#include "report/text.h"

namespace xr::cli {

inline constexpr int kVerdictFailed = 3; // exit status: an expectation or a check

class Output {
public:
  explicit Output(bool json, int fd = 1);

  // False: the reader closed the pipe, or the write failed; see finish(). JSON ends with the block
  // `run` (results/provenance.h), but for lines: of many reports it would be the same in each.
  bool print(const report::Document &document, report::JsonStyle style = report::JsonStyle::Pretty);
  // Prints one of several reports: JSON as one line, text with an empty line in between.
  bool print_next(const report::Document &document);
  // Prints text as it is, also in JSON mode. False as print().
  bool print_text(std::string_view text);
  // Prints a line of text, also in JSON mode.
  bool print_line(const std::string &text);

  // Whether the reader closed the pipe; checked without writing.
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

// False if NO_COLOR is set and not empty.
bool colour_wanted();
// A positive number from environment variable `variable` (COLUMNS, LINES), else `otherwise`.
size_t number_in(const char *variable, size_t otherwise);

// Prints `xdp-roce: CONTEXT: message` and the hint. Returns exit status 1, or 2 if the command line
// is wrong (Error::usage).
int fail(const std::string &context, const Error &error);
// Prints an error of a wrong command line. Returns exit status 2.
int refuse(const std::string &context, const Error &error);
// Prints `xdp-roce: CONTEXT: message`; the command continues.
void warn(const std::string &context, const std::string &message);
// Prints `note: CONTEXT: message`.
void note(const std::string &context, const std::string &message);
// Prints the notes from index `from` on. Returns the number of notes.
size_t tell_notes(const std::string &context, const std::vector<std::string> &notes,
                  size_t from = 0);

} // namespace xr::cli
