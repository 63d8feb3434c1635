// SPDX-License-Identifier: Apache-2.0
// The pcap variants that libpcap reads: pcap before 2.4, Kuznetzov's and IXIA's. Only this file
// includes pcap.h, because its struct bpf_insn differs from that of <linux/bpf.h>.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <pcap/pcap.h>

#include "capture/capture_format.h"

namespace xr {

namespace {

ssize_t read_source(void *cookie, char *into, size_t room) {
  auto &source = *static_cast<ByteSource *>(cookie);
  if (!source.ensure(1)) {
    if (!source.failure())
      return 0;
    errno = EIO;
    return -1;
  }
  const size_t n = std::min(room, source.available());
  std::memcpy(into, source.data(), n);
  source.consume(n);
  return static_cast<ssize_t>(n);
}

// libpcap converts fractions to this unit: with microseconds, those of a file of microseconds stay
// as they are, and are taken as nanoseconds.
u_int precision_of(const uint8_t *begin, const ReadOptions &options) {
  const uint32_t magic = ByteOrder().u32(begin);
  const bool nano = magic == 0xa1b23c4d || magic == 0x4d3cb2a1;
  return options.fraction_ns && !nano ? PCAP_TSTAMP_PRECISION_MICRO : PCAP_TSTAMP_PRECISION_NANO;
}

class LibpcapFile final : public CaptureFormat {
public:
  LibpcapFile(ByteSource &source, pcap_t *pcap, Link link, bool fraction_ns)
      : CaptureFormat(source), pcap_(pcap), link_(link), fraction_ns_(fraction_ns) {}
  ~LibpcapFile() override { pcap_close(pcap_); }

  Next next(CapturedFrame &frame) override {
    pcap_pkthdr *header = nullptr;
    const int verdict = pcap_next_ex(pcap_, &header, &frame.data);
    if (verdict == PCAP_ERROR_BREAK)
      return ended("a packet");
    if (verdict != 1) {
      const std::string why = pcap_geterr(pcap_);
      if (source_.stopped() || source_.failure())
        return ended("a packet");
      return why.starts_with("truncated") ? truncated("a packet") : damaged(why);
    }
    frame.data = source_.kept(frame.data, header->caplen);
    set_lengths(frame, header->caplen, header->len, 0);
    frame.time_ns = static_cast<uint64_t>(header->ts.tv_sec) * 1000000000 +
                    static_cast<uint64_t>(header->ts.tv_usec); // in nanoseconds: see precision_of()
    large_fractions_ += header->ts.tv_usec >= 1000000000;
    frame.link = link_;
    packets_++;
    return Next::Frame;
  }

  CaptureNotes notes() const override {
    CaptureNotes notes;
    (fraction_ns_ ? notes.fractions_over_ns : notes.fractions_over_us) = large_fractions_;
    return notes;
  }

private:
  pcap_t *pcap_;
  Link link_;
  bool fraction_ns_;
  uint64_t large_fractions_ = 0;
};

struct Compressor {
  const char *name;
  const char *command;
  uint8_t magic[4];
};
constexpr Compressor kCompressors[] = {{"zstd", "zstd", {0x28, 0xb5, 0x2f, 0xfd}},
                                       {"xz", "xz", {0xfd, '7', 'z', 'X'}},
                                       {"lz4", "lz4", {0x04, 0x22, 0x4d, 0x18}}};

Error no_capture(const ByteSource &source, const uint8_t *begin) {
  for (const Compressor &compressor : kCompressors)
    if (!std::memcmp(begin, compressor.magic, sizeof(compressor.magic)))
      return {fmt::format("{}: compressed with {}, which xdp-roce does not read", source.name(),
                          compressor.name),
              fmt::format("{} -dc FILE | xdp-roce analyze -", compressor.command)};
  return {fmt::format("{}: not a capture file: it begins with {:02x} {:02x} {:02x} {:02x}",
                      source.name(), begin[0], begin[1], begin[2], begin[3]),
          "pcap and pcapng are read, plain or gzip"};
}

} // namespace

Result<std::unique_ptr<CaptureFormat>> open_libpcap(ByteSource &source,
                                                    const ReadOptions &options) {
  cookie_io_functions_t functions{};
  char why[PCAP_ERRBUF_SIZE] = {};
  uint8_t begin[4];

  std::memcpy(begin, source.data(), sizeof(begin));
  functions.read = read_source;
  FILE *file = fopencookie(&source, "r", functions);
  if (!file)
    return errno_error(errno, source.name());
  pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, precision_of(begin, options), why);
  if (!pcap) {
    static_cast<void>(fclose(file));
    if (std::strstr(why, "unknown file format"))
      return no_capture(source, begin);
    return Error{fmt::format("{}: {}", source.name(), why)};
  }
  // libpcap's number for raw IP differs from the one in files.
  const int dlt = pcap_datalink(pcap);
  const uint32_t linktype = dlt == DLT_RAW ? 101 : static_cast<uint32_t>(dlt);
  const std::optional<Link> link = known_link(linktype);
  auto format = std::make_unique<LibpcapFile>(source, pcap, link.value_or(Link::Ethernet),
                                              options.fraction_ns);
  if (!link)
    return unknown_link(source.name(), linktype);
  return std::unique_ptr<CaptureFormat>(std::move(format));
}

Error unknown_link(const std::string &name, uint32_t linktype) {
  const char *known = pcap_datalink_val_to_name(static_cast<int>(linktype));
  return {
      fmt::format("{}: link type {} ({}) is not read", name, linktype, known ? known : "unknown"),
      "Ethernet, Linux cooked (SLL, SLL2) and raw IP are"};
}

} // namespace xr
