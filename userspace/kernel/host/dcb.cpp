// SPDX-License-Identifier: Apache-2.0
#include "host/dcb.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <linux/dcbnl.h>
#include <sys/socket.h>

#include "host/netlink.h"

namespace xr::host {

Result<Pfc> parse_pfc(std::string_view body) {
  std::optional<ieee_pfc> ieee;
  if (body.size() >= sizeof(dcbmsg))
    each_attribute(body.substr(sizeof(dcbmsg)), [&](const Attribute &a) {
      if (a.type == DCB_ATTR_IEEE)
        each_attribute(a.data, [&](const Attribute &b) {
          if (b.type == DCB_ATTR_IEEE_PFC)
            ieee = b.as<ieee_pfc>();
        });
    });
  if (!ieee)
    return Error{"the driver does not report the state of PFC"};
  Pfc pfc;
  pfc.enabled = ieee->pfc_en;
  std::copy(std::begin(ieee->requests), std::end(ieee->requests), pfc.requests.begin());
  std::copy(std::begin(ieee->indications), std::end(ieee->indications), pfc.indications.begin());
  return pfc;
}

Result<Pfc> read_pfc(const std::string &ifname) {
  Result<Pfc> pfc = Error{"the kernel did not answer"};
  Request request(RTM_GETDCB, NLM_F_ACK, dcbmsg{AF_UNSPEC, DCB_CMD_IEEE_GET, 0});
  request.add(DCB_ATTR_IFNAME, ifname);
  const auto answer = ask(request, [&](uint16_t, std::string_view body) { pfc = parse_pfc(body); });
  if (answer.error)
    return errno_error(answer.error, "the driver does not report the state of PFC", answer.words);
  return pfc;
}

} // namespace xr::host
