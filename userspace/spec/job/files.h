// SPDX-License-Identifier: Apache-2.0
// Jobs in files of others, by their formats.
// To add a format: its row in kFormats (files.cpp), docs/importers.md, job_files_test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// Keys of `jobs`, and of run --import.
std::vector<std::string_view> file_formats();

struct JobFileOptions {
  uint32_t hosts =
      0; // of the experiment: the ranks of a file that does not say how many; 0: unknown
  unsigned first_layer = 0, last_layer = 0; // of simai: those alone, counted from 1; 0: all
};
// A job of one step, the ranks without hosts. `path` is a file, or of chakra a directory. Errors
// name the file.
Result<Job> read_job(std::string_view format, const std::string &path, const std::string &name,
                     const JobFileOptions &options = {});

struct JobSize {
  uint32_t ranks = 0;
  uint64_t operations = 0;
  std::string part; // keys of its entry in `jobs` for as much of it as can run; "": all of it can
};
Result<JobSize> measure_job(std::string_view format, const std::string &path,
                            const JobFileOptions &options);

} // namespace xr::job
