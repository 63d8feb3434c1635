// SPDX-License-Identifier: Apache-2.0
// No header of libbpf here: its bpf_insn is not that of libpcap.
#include "generator/record_file.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>
#include <pcap/pcap.h>

#include "base/clock.h"
#include "base/fd.h"
#include "capture/pcapng_writer.h"
#include "packet/fcs.h"

namespace xr::generator {

namespace {

constexpr uint32_t kWhole = 262'144; // bytes of a frame that is not cut

// From the clock of stations to the time of day.
uint64_t to_real() { return clock_ns(CLOCK_REALTIME) - monotonic_ns(); }

struct WithFcs {
  std::vector<uint8_t> bytes; // as many as the snap length leaves
  uint32_t length = 0;
};

WithFcs with_fcs(const station::RecordedFrame &frame, uint32_t snaplen) {
  WithFcs made{frame.bytes, frame.length + packet::kFcsBytes};
  if (frame.bytes.size() == frame.length) {
    const auto fcs = packet::fcs_of(frame.bytes);
    made.bytes.insert(made.bytes.end(), fcs.begin(), fcs.end());
    made.bytes.resize(std::min<size_t>(made.bytes.size(), snaplen ? snaplen : kWhole));
  }
  return made;
}

// The type of link says that frames end with an FCS of two words of 16 bits, which libpcap reads
// and does not write (https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap).
Status say_fcs(int fd) {
  constexpr off_t kLinkAt = 20;
  constexpr uint32_t kPresent = 1u << 26, kWords = packet::kFcsBytes / 2;
  const uint32_t link = DLT_EN10MB | kPresent | kWords << 28;
  return pwrite(fd, &link, sizeof(link), kLinkAt) == sizeof(link)
             ? Status{}
             : errno_error(errno, "cannot write the capture");
}

Status write_pcap(int fd, const station::FrameRecord &record, const RecordFile &what) {
  FILE *file = fdopen(dup(fd), "wb");
  pcap_t *format = pcap_open_dead_with_tstamp_precision(
      DLT_EN10MB, static_cast<int>(what.snaplen ? what.snaplen : kWhole),
      PCAP_TSTAMP_PRECISION_NANO);
  pcap_dumper_t *out = file && format ? pcap_dump_fopen(format, file) : nullptr;
  const uint64_t real = to_real();
  for (size_t i = what.first; out && i < what.first + what.count; i++) {
    const station::RecordedFrame &frame = record.frames()[i];
    const uint64_t time = frame.time_ns + real;
    pcap_pkthdr header{};
    header.ts.tv_sec = static_cast<time_t>(time / 1'000'000'000);
    header.ts.tv_usec = static_cast<suseconds_t>(time % 1'000'000'000); // ns, as the file's
    const WithFcs whole = with_fcs(frame, what.snaplen);
    header.caplen = static_cast<bpf_u_int32>(whole.bytes.size());
    header.len = whole.length;
    pcap_dump(reinterpret_cast<u_char *>(out), &header, whole.bytes.data());
  }
  const bool done = out && pcap_dump_flush(out) == 0;
  if (out)
    pcap_dump_close(out); // and the file
  else if (file)
    fclose(file);
  if (format)
    pcap_close(format);
  return done ? say_fcs(fd) : Error{"there is no memory for the capture"};
}

Status write_pcapng(int fd, const station::FrameRecord &record, const RecordFile &what) {
  auto writer =
      XR_TRY(PcapngWriter::create(fmt::format("/proc/self/fd/{}", fd),
                                  {.name = what.name, .filter = {}, .snap = what.snaplen}));
  const uint64_t real = to_real();
  uint64_t begin = 0, end = 0;
  for (size_t i = what.first; i < what.first + what.count; i++) {
    const station::RecordedFrame &frame = record.frames()[i];
    end = frame.time_ns + real;
    begin = begin ? begin : end;
    const WithFcs whole = with_fcs(frame, what.snaplen);
    XR_TRY(writer.packet({.time_ns = end,
                          .data = whole.bytes.data(),
                          .captured = static_cast<uint32_t>(whole.bytes.size()),
                          .length = whole.length,
                          .fcs = packet::kFcsBytes}));
  }
  return writer.finish({.start_ns = begin,
                        .end_ns = end,
                        .received = record.received(),
                        .accepted = record.matched(),
                        .dropped = record.lost(),
                        .delivered = what.count});
}

Result<std::string> content(int fd) {
  std::string bytes(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got <= 0)
      return errno_error(errno, "cannot read the capture back");
    at += static_cast<size_t>(got);
  }
  return bytes;
}

} // namespace

Result<std::string> record_file(const station::FrameRecord &record, const RecordFile &file) {
  const Fd fd(memfd_create("capture", MFD_CLOEXEC));
  if (!fd)
    return errno_error(errno, "there is no memory for the capture");
  XR_TRY(file.pcapng ? write_pcapng(fd.get(), record, file) : write_pcap(fd.get(), record, file));
  return content(fd.get());
}

} // namespace xr::generator
