// SPDX-License-Identifier: Apache-2.0
#include <bpf/libbpf.h>

#include "cli/app.h"
#include "cli/output.h"
#include "datapath/object.h"
#include "roce/config.h"

namespace xr::cli {

int print_version(bool json) {
  using report::Value;
  const report::StringList features = {"native and skb XDP", "frames in several buffers",
                                       "libxdp's dispatcher", "pcap, pcapng and gzip"};
  const auto field = [](const char *key, const char *heading, Value value) {
    return report::Field{{key, heading}, std::move(value)};
  };
  // libbpf: the version of the loaded library, with a "v". libxdp: only known at build time.
  const std::string libbpf = libbpf_version_string();
  report::Document document;
  document.title = "xdp-roce " XR_VERSION;
  document.sections.push_back({"schema", "", Value{uint64_t{1}}, report::Where::Json});
  document.sections.push_back({"version", "", Value{XR_VERSION}, report::Where::Json});
  document.sections.push_back(
      {"built_with", "",
       report::Group{field("libbpf", "libbpf", libbpf.substr(libbpf.starts_with("v"))),
                     field("libxdp", "libxdp", XR_LIBXDP_VERSION),
                     field("abi", "ABI", uint64_t{ROCE_ABI}),
                     field("features", "features", features)}});
  document.sections.push_back(
      {"maps", "", Value{datapath::object_map_names()}, report::Where::Json});
  Output output(json);
  output.print(document);
  return output.finish();
}

} // namespace xr::cli
