// SPDX-License-Identifier: Apache-2.0
// Jobs in files of others, by their formats.
// To add a format: its row in kFormats (files.cpp), docs/experiments.md, job_files_test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// Keys of `jobs`, and of run --import.
std::vector<std::string_view> file_formats();

// A job of one step, the ranks without hosts. `path` is a file, or of chakra a directory. Errors
// name the file.
Result<Job> read_job(std::string_view format, const std::string &path, const std::string &name);

} // namespace xr::job
