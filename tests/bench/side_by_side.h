// SPDX-License-Identifier: Apache-2.0
// A minimal forwarder from a0 to b1 and a wire from c0 to d1, in one namespace. Programs of the
// yardsticks at b1 and d1 note what arrives.
#pragma once

#include "endpoint/wire.h"
#include "forwarder.h"
#include "wire_traffic.h"
#include "yards.h"

namespace xr::bench {

class SideBySide {
  struct Ports {
    Wires wires{{"a", "b", "c", "d"}};
    yardsticks *forwarded = open_yard(), *wired = open_yard();

    explicit Ports(bpf_program *(*arrive)(const yardsticks *)) {
      put_on("a1", forwarded->progs.to_socket);
      put_on("b1", arrive(forwarded));
      put_on("d1", arrive(wired));
    }
    Ports(const Ports &) = delete;
    Ports &operator=(const Ports &) = delete;
    ~Ports() {
      yardsticks__destroy(forwarded);
      yardsticks__destroy(wired);
    }
  } ports_;

public:
  Forwarder forwarder{ports_.forwarded, "a1", "b0"};
  endpoint::WireRun run;

  // `arrive`: the program at the far ends.
  SideBySide(bpf_program *(*arrive)(const yardsticks *), uint64_t memory)
      : ports_(arrive), run(open_wire("c1", "d0", memory)) {}
  ~SideBySide() {
    if (auto done = run.close(); !done)
      fail(done.error().message);
  }

  const yardsticks *forwarded() const { return ports_.forwarded; }
  const yardsticks *wired() const { return ports_.wired; }
};

} // namespace xr::bench
