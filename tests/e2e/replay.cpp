// SPDX-License-Identifier: Apache-2.0
// Sends RoCE frames on an interface of this network namespace, each exactly once, and prints their
// number: a capture, or streams of RC SEND MIDDLE fed by several CPUs at the same time.
//
// Exactly once: veth answers ENOBUFS for a frame that it dropped, and no other loss is possible
// between two ends of a veth pair; such a frame is sent again. The queueing discipline is left out,
// so that a frame goes by the queue of the CPU that sends it.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using Frame = std::vector<uint8_t>;

constexpr uint32_t kPcapMagic = 0xa1b2c3d4, kPcapMagicNs = 0xa1b23c4d, kSnapLength = 262144;
constexpr size_t kBatch = 64;

struct Options {
  std::string file, ifname, write;
  int repeat = 1, cpu = -1, vlan = -1;
  bool stream = false, ipv6 = false;
  uint64_t packets = 1000;
  uint32_t flows = 1, first_qp = 0x100, payload = 1024, skip_every = 0, turn = 0, rate = 0;
  std::vector<int> cpus;
};

struct Tally {
  uint64_t packets = 0, bytes = 0, retries = 0;
};

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(errno ? what + ": " + std::strerror(errno) : what);
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
    fail("cannot run on CPU " + std::to_string(cpu));
}

class Port {
public:
  explicit Port(const std::string &ifname) : fd_(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
    sockaddr_ll at{};
    int on = 1, room = 4 << 20;

    if (fd_ < 0)
      fail("cannot open a packet socket");
    at.sll_family = AF_PACKET;
    at.sll_ifindex = static_cast<int>(if_nametoindex(ifname.c_str()));
    if (!at.sll_ifindex || bind(fd_, reinterpret_cast<sockaddr *>(&at), sizeof(at)))
      fail("cannot send on " + ifname);
    setsockopt(fd_, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
  }
  Port(const Port &) = delete;
  Port &operator=(const Port &) = delete;
  ~Port() { close(fd_); }

  void send(const Frame *frames, size_t count, Tally &tally) const {
    std::array<mmsghdr, kBatch> messages{};
    std::array<iovec, kBatch> parts{};

    for (size_t i = 0; i < count; i++) {
      parts[i] = {const_cast<uint8_t *>(frames[i].data()), frames[i].size()};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      tally.bytes += frames[i].size();
    }
    for (size_t done = 0; done < count;) {
      int n = sendmmsg(fd_, &messages[done], static_cast<unsigned>(count - done), 0);
      if (n > 0) {
        done += static_cast<size_t>(n);
        continue;
      }
      if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
        fail("cannot send a frame of " + std::to_string(frames[done].size()) + " bytes");
      tally.retries++;
      sched_yield();
    }
    tally.packets += count;
  }

private:
  int fd_;
};

// Legacy pcap of Ethernet frames, whole or gzipped.
class CaptureIn {
public:
  explicit CaptureIn(const std::string &path) : file_(gzopen(path.c_str(), "rb")) {
    std::array<uint32_t, 6> header{};

    if (!file_ || gzread(file_, header.data(), sizeof(header)) != sizeof(header) ||
        (header[0] != kPcapMagic && header[0] != kPcapMagicNs) || header[5] != 1)
      fail(path + " is no pcap file of Ethernet frames in this machine's byte order");
  }
  CaptureIn(const CaptureIn &) = delete;
  CaptureIn &operator=(const CaptureIn &) = delete;
  ~CaptureIn() { gzclose(file_); }

  bool next(Frame &frame) const {
    std::array<uint32_t, 4> record{};

    if (gzread(file_, record.data(), sizeof(record)) != sizeof(record))
      return false;
    if (record[2] > kSnapLength || record[2] != record[3])
      throw std::runtime_error("a frame of the capture is not whole");
    frame.resize(record[2]);
    return gzread(file_, frame.data(), record[2]) == static_cast<int>(record[2]);
  }

private:
  gzFile file_;
};

std::vector<Frame> read_capture(const Options &o) {
  CaptureIn in(o.file);
  std::vector<Frame> frames;

  for (Frame frame; in.next(frame);) {
    if (o.vlan >= 0) {
      const uint8_t tag[] = {0x81, 0x00, static_cast<uint8_t>(o.vlan >> 8),
                             static_cast<uint8_t>(o.vlan)};
      frame.insert(frame.begin() + 2 * ETH_ALEN, std::begin(tag), std::end(tag));
    }
    frames.push_back(frame);
  }
  return frames;
}

void write_capture(const std::string &path, const std::vector<Frame> &frames) {
  const uint32_t header[] = {kPcapMagic, 0x00040002, 0, 0, kSnapLength, 1};
  FILE *out = std::fopen(path.c_str(), "wb");

  if (!out)
    fail("cannot write " + path);
  std::fwrite(header, sizeof(header), 1, out);
  for (const Frame &f : frames) {
    const auto size = static_cast<uint32_t>(f.size());
    const uint32_t record[] = {0, 0, size, size};
    std::fwrite(record, sizeof(record), 1, out);
    std::fwrite(f.data(), f.size(), 1, out);
  }
  if (std::ferror(out) | std::fclose(out))
    fail("cannot write " + path);
}

void put16(uint8_t *at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}
void put24(uint8_t *at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 16);
  put16(at + 1, value);
}

void put_ipv4(uint8_t *ip, uint32_t length) {
  const uint8_t addresses[] = {192, 0, 2, 1, 192, 0, 2, 2};
  uint32_t sum = 0;

  ip[0] = 0x45;
  put16(ip + 2, length);
  ip[6] = 0x40;
  ip[8] = 64;
  ip[9] = IPPROTO_UDP;
  std::memcpy(ip + 12, addresses, sizeof(addresses));
  for (int i = 0; i < 20; i += 2)
    sum += static_cast<uint32_t>(ip[i]) << 8 | ip[i + 1];
  while (sum >> 16)
    sum = (sum & 0xffff) + (sum >> 16);
  put16(ip + 10, ~sum & 0xffff);
}

void put_ipv6(uint8_t *ip, uint32_t length) {
  ip[0] = 0x60;
  put16(ip + 4, length - 40);
  ip[6] = IPPROTO_UDP;
  ip[7] = 64;
  inet_pton(AF_INET6, "2001:db8::1", ip + 8);
  inet_pton(AF_INET6, "2001:db8::2", ip + 24);
}

// An RC SEND MIDDLE without QPN and PSN; its iCRC is 0, which means "none".
Frame send_middle(const Options &o, size_t &bth) {
  const size_t ip_bytes = o.ipv6 ? 40 : 20, udp = ETH_HLEN + ip_bytes;
  const uint8_t macs[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};

  bth = udp + 8;
  Frame f(bth + 12 + o.payload + 4);
  std::memcpy(f.data(), macs, sizeof(macs));
  put16(&f[12], o.ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
  (o.ipv6 ? put_ipv6 : put_ipv4)(&f[ETH_HLEN], static_cast<uint32_t>(f.size() - ETH_HLEN));
  put16(&f[udp], 0xc000);
  put16(&f[udp + 2], 4791);
  put16(&f[udp + 4], static_cast<uint32_t>(f.size() - udp));
  f[bth] = 0x01;
  put16(&f[bth + 2], 0xffff);
  return f;
}

// Packet number `index` of the whole run: flows take turns, each flow's PSNs go up by one, with one
// left out after every skip_every.
class Streams {
public:
  explicit Streams(const Options &o) : o_(o), pattern_(send_middle(o, bth_)) {}

  uint64_t total() const { return o_.packets * o_.flows; }
  Frame pattern() const { return pattern_; }
  void number(uint64_t index, Frame &frame) const {
    const uint64_t nth = index / o_.flows;

    put24(&frame[bth_ + 5], o_.first_qp + static_cast<uint32_t>(index % o_.flows));
    put24(&frame[bth_ + 9],
          static_cast<uint32_t>(nth + (o_.skip_every ? nth / o_.skip_every : 0)) & 0xffffff);
  }

private:
  const Options &o_;
  size_t bth_ = 0;
  Frame pattern_;
};

// All threads draw from one counter, so that each stream comes from all of them at the same time.
void feed(const Options &o, const Streams &streams, std::atomic<uint64_t> &next, int cpu,
          Tally &tally) {
  const Port port(o.ifname);
  std::vector<Frame> batch(kBatch, streams.pattern());
  const uint64_t step = o.turn ? std::min<uint64_t>(o.turn, kBatch) : kBatch;

  pin_to(cpu);
  for (;;) {
    const uint64_t first = next.fetch_add(step);
    if (first >= streams.total())
      return;
    const uint64_t count = std::min(step, streams.total() - first);
    for (uint64_t i = 0; i < count; i++)
      streams.number(first + i, batch[i]);
    port.send(batch.data(), count, tally);
    if (o.rate)
      usleep(static_cast<useconds_t>(1000000 * count / o.rate));
  }
}

Tally run_streams(const Options &o) {
  const Streams streams(o);
  const std::vector<int> cpus = o.cpus.empty() ? std::vector<int>{o.cpu} : o.cpus;
  std::vector<Tally> tallies(cpus.size());
  std::vector<std::string> errors(cpus.size());
  std::atomic<uint64_t> next{0};
  std::vector<std::thread> threads;
  Tally sum;

  for (size_t i = 0; i < cpus.size(); i++)
    threads.emplace_back([&, i] {
      try {
        feed(o, streams, next, cpus[i], tallies[i]);
      } catch (const std::exception &e) {
        errors[i] = e.what();
      }
    });
  for (std::thread &t : threads)
    t.join();
  for (size_t i = 0; i < cpus.size(); i++) {
    if (!errors[i].empty())
      throw std::runtime_error(errors[i]);
    sum.packets += tallies[i].packets;
    sum.bytes += tallies[i].bytes;
    sum.retries += tallies[i].retries;
  }
  return sum;
}

Tally run_capture(const Options &o) {
  const std::vector<Frame> frames = read_capture(o);
  Tally tally;

  if (!o.write.empty()) {
    write_capture(o.write, frames);
    return tally;
  }
  const Port port(o.ifname);
  pin_to(o.cpu);
  for (int round = 0; round < o.repeat; round++)
    for (size_t i = 0; i < frames.size(); i += kBatch) {
      const size_t count = std::min(kBatch, frames.size() - i);
      port.send(&frames[i], count, tally);
      if (o.rate)
        usleep(static_cast<useconds_t>(1000000 * count / o.rate));
    }
  return tally;
}

void command_line(CLI::App &app, Options &o) {
  app.add_option("file", o.file, "Capture to send: pcap of Ethernet frames, may be gzipped");
  app.add_option("--ifname", o.ifname, "Interface to send on");
  app.add_option("--write", o.write, "Send nothing, write what would be sent to this file");
  app.add_option("--repeat", o.repeat, "Send the capture this many times");
  app.add_option("--cpu", o.cpu, "Send from this CPU");
  app.add_option("--vlan", o.vlan, "Tag every frame of the capture")->check(CLI::Range(0, 4095));
  app.add_option("--rate", o.rate, "About this many frames a second; 0: as fast as possible");
  app.add_flag("--stream", o.stream, "Make RC SEND MIDDLE packets instead of reading a capture");
  app.add_option("--packets", o.packets, "Packets of each flow");
  app.add_option("--flows", o.flows, "Flows, distinguished by DestQP")->check(CLI::PositiveNumber);
  app.add_option("--first-qp", o.first_qp, "DestQP of the first flow");
  app.add_option("--payload", o.payload, "Payload bytes")->check(CLI::Range(0u, 9000u));
  app.add_option("--skip-every", o.skip_every, "Leave out a PSN after this many packets");
  app.add_option("--cpus", o.cpus, "A sending thread on each of these CPUs")->delimiter(',');
  app.add_option("--turn", o.turn, "Packets that a thread draws at a time, at most 64");
  app.add_flag("--ipv6", o.ipv6, "IPv6 instead of IPv4");
}

} // namespace

int main(int argc, char **argv) {
  Options o;
  CLI::App app{"Puts RoCE frames on an interface, each exactly once", "replay"};

  command_line(app, o);
  try {
    app.parse(argc, argv);
    if (o.stream != o.file.empty() || (o.ifname.empty() && (o.write.empty() || o.stream)))
      throw std::runtime_error("say a capture or --stream, and --ifname or (captures) --write");
    errno = 0;
    const Tally t = o.stream ? run_streams(o) : run_capture(o);
    std::printf("{\"packets\": %llu, \"bytes\": %llu, \"retries\": %llu}\n",
                static_cast<unsigned long long>(t.packets),
                static_cast<unsigned long long>(t.bytes),
                static_cast<unsigned long long>(t.retries));
  } catch (const CLI::ParseError &e) {
    return app.exit(e) ? 2 : 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "replay: %s\n", e.what());
    return 1;
  }
}
