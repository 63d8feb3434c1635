// SPDX-License-Identifier: Apache-2.0
// Writes valid and invalid capture files byte by byte; helpers for files in tests.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <zlib.h>

namespace xr::test {

using FileBytes = std::vector<uint8_t>;

// Integers in the order of the machine that wrote the file.
class Writer {
public:
  explicit Writer(bool big_endian = false) : big_(big_endian) {}

  Writer &u8(uint8_t v) { return bytes.push_back(v), *this; }
  Writer &u16(uint16_t v) { return number(v, 2); }
  Writer &u32(uint32_t v) { return number(v, 4); }
  Writer &u64(uint64_t v) { return number(v, 8); }
  Writer &raw(const FileBytes &v) {
    bytes.insert(bytes.end(), v.begin(), v.end());
    return *this;
  }
  Writer &pad4() {
    while (bytes.size() % 4)
      u8(0);
    return *this;
  }

  FileBytes bytes;

protected:
  bool big_;

private:
  Writer &number(uint64_t v, int n) {
    for (int i = 0; i < n; i++)
      u8(static_cast<uint8_t>(v >> 8 * (big_ ? n - 1 - i : i)));
    return *this;
  }
};

class PcapWriter : public Writer {
public:
  explicit PcapWriter(bool big_endian = false, uint32_t linktype = 1, uint32_t magic = 0xa1b2c3d4,
                      uint32_t snap = 262144, uint16_t minor = 4)
      : Writer(big_endian) {
    u32(magic).u16(2).u16(minor).u32(0).u32(0).u32(snap).u32(linktype);
  }
  PcapWriter &packet(const FileBytes &data, uint32_t seconds = 0, uint32_t fraction = 0,
                     int64_t length = -1) {
    u32(seconds).u32(fraction).u32(static_cast<uint32_t>(data.size()));
    u32(length < 0 ? static_cast<uint32_t>(data.size()) : static_cast<uint32_t>(length));
    return raw(data), *this;
  }
};

class PcapngWriter : public Writer {
public:
  using Options = std::vector<std::pair<uint16_t, FileBytes>>;

  explicit PcapngWriter(bool big_endian = false) : Writer(big_endian) { section(big_endian); }
  PcapngWriter &section(bool big_endian, uint16_t major = 1) {
    big_ = big_endian;
    Writer body(big_);
    body.u32(0x1a2b3c4d).u16(major).u16(0).u64(~0ull);
    return block(0x0a0d0d0a, body);
  }
  PcapngWriter &interface(uint16_t linktype = 1, uint32_t snap = 0, const Options &options = {}) {
    Writer body(big_);
    body.u16(linktype).u16(0).u32(snap);
    return block(1, add(body, options));
  }
  // Enhanced packet block.
  PcapngWriter &packet(const FileBytes &data, uint64_t time = 0, uint32_t interface = 0,
                       int64_t length = -1, const Options &options = {}) {
    Writer body(big_);
    body.u32(interface).u32(static_cast<uint32_t>(time >> 32)).u32(static_cast<uint32_t>(time));
    return block(6, add(sized(body, data, length), options));
  }
  PcapngWriter &old_packet(const FileBytes &data, uint64_t time = 0) {
    Writer body(big_);
    body.u16(0).u16(0xffff);
    body.u32(static_cast<uint32_t>(time >> 32)).u32(static_cast<uint32_t>(time));
    return block(2, sized(body, data, -1));
  }
  PcapngWriter &simple_packet(const FileBytes &data, uint32_t length) {
    Writer body(big_);
    body.u32(length).raw(data).pad4();
    return block(3, body);
  }
  PcapngWriter &block(uint32_t type, const Writer &body) {
    const auto total = static_cast<uint32_t>(body.bytes.size()) + 12;
    u32(type).u32(total).raw(body.bytes).u32(total);
    return *this;
  }
  Writer number() const { return Writer(big_); }

private:
  static Writer &sized(Writer &body, const FileBytes &data, int64_t length) {
    body.u32(static_cast<uint32_t>(data.size()));
    body.u32(length < 0 ? static_cast<uint32_t>(data.size()) : static_cast<uint32_t>(length));
    body.raw(data).pad4();
    return body;
  }
  static Writer &add(Writer &body, const Options &options) {
    for (const auto &[code, value] : options)
      body.u16(code).u16(static_cast<uint16_t>(value.size())).raw(value).pad4();
    if (!options.empty())
      body.u32(0);
    return body;
  }
};

inline FileBytes gzip(const FileBytes &bytes) {
  z_stream z{};
  FileBytes out(compressBound(bytes.size()) + 64);
  deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = const_cast<uint8_t *>(bytes.data());
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// A file's bytes, unpacked when it is gzip.
inline FileBytes read_whole(const std::string &path) {
  FileBytes bytes(8 << 20);
  gzFile file = gzopen(path.c_str(), "r");
  const int n = file ? gzread(file, bytes.data(), static_cast<unsigned>(bytes.size())) : 0;
  if (file)
    gzclose(file);
  bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return bytes;
}

// A file that is gone with its test.
class TemporaryFile {
public:
  explicit TemporaryFile(const FileBytes &bytes) {
    const int fd = mkstemp(path_.data());
    if (fd >= 0)
      close(fd);
    write(bytes);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  void write(const FileBytes &bytes) const { put(bytes, std::ios::binary | std::ios::trunc); }
  void append(const FileBytes &bytes) const { put(bytes, std::ios::binary | std::ios::app); }
  const std::string &path() const { return path_; }

private:
  void put(const FileBytes &bytes, std::ios::openmode mode) const {
    std::ofstream file(path_, mode);
    file.write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string path_ = "/tmp/xr-test-XXXXXX";
};

} // namespace xr::test
