// SPDX-License-Identifier: Apache-2.0
// The XDP program through BPF_PROG_TEST_RUN: verdict, counters, streams and events. In addition to
// a row's expectation, the program and the native compilation must agree on all of them.
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>

#include "bpf/program_object.h"
#include "native/native_datapath.h"
#include "roce/config.h"
#include "unit/frames.h"
#include "unit/tunnels.h"

namespace xr::test {
namespace {

struct Setup {
  bool track = true;
  uint32_t streams = 64;
  uint16_t port = ROCE_UDP_PORT;
  bool frags = true;
  uint32_t features = 0, uses = 0;
  uint32_t decap = 0; // with ROCE_FEATURE_DECAP
};

class Program {
public:
  explicit Program(const Setup &setup) {
    libbpf_set_print(nullptr);
    skel_ = open_program();
    if (!skel_)
      return;
    roce_config &config = config_of(*skel_);
    config.track = setup.track;
    config.frags = config.frags && setup.frags;
    config.features = setup.features | (setup.decap ? ROCE_FEATURE_DECAP : 0);
    config.decap = setup.decap;
    config.uses = setup.uses;
    config.udp_port_be = roce_swap16(setup.port);
    config.streams = setup.streams;
    config.buckets = ROCE_BUCKETS_FOR(setup.streams);
    config.hash_seed = 7;
    bpf_map__set_max_entries(skel_->maps.streams, setup.streams);
    bpf_map__set_max_entries(skel_->maps.buckets, ROCE_BUCKETS_FOR(setup.streams));
    if (setup.decap) {
      bpf_map__set_max_entries(skel_->maps.mirrors, ROCE_MIRRORS);
      bpf_map__set_max_entries(skel_->maps.mirrored, setup.streams);
      decap_ = setup.decap;
    }
    error_ = load_program(*skel_);
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() { xdp_roce__destroy(skel_); }

  int error() const { return skel_ ? error_ : ENOMEM; }

  // The verdict; a frame that the program changed fails the test.
  uint32_t run(const Frame &frame) {
    std::vector<uint8_t> out(frame.bytes.size() + 64);
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame.bytes.data(), .data_out = out.data(),
                .data_size_in = static_cast<__u32>(frame.bytes.size()),
                .data_size_out = static_cast<__u32>(out.size()), .repeat = 1);
    EXPECT_EQ(0, bpf_prog_test_run_opts(bpf_program__fd(skel_->progs.xdp_roce), &opts))
        << std::strerror(errno);
    out.resize(opts.data_size_out);
    EXPECT_EQ(frame.bytes, out);
    return opts.retval;
  }

  Snapshot snapshot() const {
    Snapshot s;
    for (uint32_t i = 0; i < ROCE_OPCODE_COUNTS; i++)
      for (const auto &c : per_cpu<roce_opcode_count>(skel_->maps.opcodes, i)) {
        for (int e = 0; e < 4; e++)
          s.opcodes[i].packets[e] += c.packets[e];
        s.opcodes[i].bytes += c.bytes;
      }
    for (const auto &t : per_cpu<roce_totals>(skel_->maps.totals, 0)) {
      auto *into = reinterpret_cast<__u64 *>(&s.totals);
      const auto *from = reinterpret_cast<const __u64 *>(&t);
      for (size_t i = 0; i < sizeof(t) / sizeof(*from); i++)
        into[i] += from[i];
    }
    roce_shared shared{};
    uint32_t zero = 0;
    bpf_map__lookup_elem(skel_->maps.shared, &zero, 4, &shared, sizeof(shared), 0);
    for (uint32_t id = 0; id < shared.streams_used; id++) {
      roce_stream stream{};
      bpf_map__lookup_elem(skel_->maps.streams, &id, 4, &stream, sizeof(stream), 0);
      if (!roce_stream_packets(&stream))
        continue;
      s.streams.push_back(stream);
      if (decap_)
        s.mirrored.push_back(at<roce_mirrored>(skel_->maps.mirrored, id));
    }
    for (uint32_t i = 0; decap_ && i < ROCE_MIRRORS; i++)
      if (const auto mirror = at<roce_mirror>(skel_->maps.mirrors, i); mirror.check)
        s.mirrors.push_back(mirror);
    return s;
  }

  std::vector<roce_event> events() {
    std::vector<roce_event> all;
    auto take = [](void *ctx, void *data, size_t size) {
      EXPECT_EQ(sizeof(roce_event), size);
      static_cast<std::vector<roce_event> *>(ctx)->push_back(*static_cast<roce_event *>(data));
      return 0;
    };
    ring_buffer *ring = ring_buffer__new(bpf_map__fd(skel_->maps.events), take, &all, nullptr);
    ring_buffer__consume(ring);
    ring_buffer__free(ring);
    return all;
  }

private:
  template <typename T> static std::vector<T> per_cpu(const bpf_map *map, uint32_t key) {
    std::vector<T> values(static_cast<size_t>(libbpf_num_possible_cpus()));
    EXPECT_EQ(0, bpf_map__lookup_elem(map, &key, sizeof(key), values.data(),
                                      values.size() * sizeof(T), 0));
    return values;
  }

  template <typename T> static T at(const bpf_map *map, uint32_t key) {
    T value{};
    EXPECT_EQ(0, bpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0));
    return value;
  }

  xdp_roce *skel_ = nullptr;
  int error_ = 0;
  uint32_t decap_ = 0;
};

#define LOAD_OR_SKIP(program)                                                                      \
  if ((program).error() == EPERM)                                                                  \
    GTEST_SKIP() << "no privilege to load BPF programs";                                           \
  ASSERT_EQ(0, (program).error()) << std::strerror((program).error())

std::string events_of(const std::vector<roce_event> &events) {
  static const char *names[ROCE_EVENT_TYPES] = {"gap", "rewind", "nak", "rnr",
                                                "cnp", "ce",     "new", "forgotten"};
  std::string s;
  for (const roce_event &e : events)
    s.append(s.empty() ? "" : " ").append(e.type < ROCE_EVENT_TYPES ? names[e.type] : "?");
  return s;
}

// A stream's state without how it came about: by the fast path or by the slow one.
roce_stream folded(roce_stream s) {
  s.packets = roce_stream_packets(&s);
  s.bytes = roce_stream_bytes(&s);
  if (s.word & ROCE_WORD_FAST)
    s.last = s.word & ROCE_WORD_PSN;
  s.base = 0;
  s.word &= 0xffffffff;
  s.event_window = 0; // the clocks differ
  return s;
}

void expect_same(const Snapshot &native, const Snapshot &kernel) {
  EXPECT_EQ(0, std::memcmp(native.opcodes.data(), kernel.opcodes.data(), sizeof(native.opcodes)));
  EXPECT_EQ(0, std::memcmp(&native.totals, &kernel.totals, sizeof(native.totals)));
  ASSERT_EQ(native.streams.size(), kernel.streams.size());
  for (size_t i = 0; i < native.streams.size(); i++) {
    const roce_stream a = folded(native.streams[i]), b = folded(kernel.streams[i]);
    EXPECT_EQ(0, std::memcmp(&a, &b, sizeof(a))) << "stream " << i;
  }
  ASSERT_EQ(native.mirrored.size(), kernel.mirrored.size());
  for (size_t i = 0; i < native.mirrored.size(); i++)
    EXPECT_EQ(0, std::memcmp(&native.mirrored[i], &kernel.mirrored[i], sizeof(roce_mirrored)));
  ASSERT_EQ(native.mirrors.size(), kernel.mirrors.size());
  for (size_t i = 0; i < native.mirrors.size(); i++)
    EXPECT_EQ(0, std::memcmp(&native.mirrors[i], &kernel.mirrors[i], sizeof(roce_mirror)));
}

uint64_t packets(const Snapshot &s, uint32_t index) {
  uint64_t n = 0;
  for (uint64_t p : s.opcodes[index].packets)
    n += p;
  return n;
}

uint64_t counter(const Snapshot &s, size_t stream, int which) {
  return stream < s.streams.size() ? roce_stream_counter(&s.streams[stream], which) : ~0ull;
}

using B = FrameBuilder;

struct Row {
  const char *what;
  std::vector<Frame> in;
  const char *events;
  std::function<void(const Snapshot &)> expect;
  Setup setup = {};
};

std::vector<Frame> sends(std::initializer_list<uint32_t> psns) {
  std::vector<Frame> frames;
  for (uint32_t psn : psns)
    frames.push_back(B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).build());
  return frames;
}

Frame whole(Bytes bytes) {
  Frame frame;
  frame.bytes = std::move(bytes);
  frame.length = static_cast<uint32_t>(frame.bytes.size());
  return frame;
}

// Sends inside tunnels of each kind, one PSN after the other.
std::vector<Frame> in_each_tunnel() {
  std::vector<Frame> frames;
  uint32_t number = 0;
  for (const tunnel::Way &way : tunnel::ways()) {
    const Frame f = B(ROCE_RC_SEND_MIDDLE).psn(number).payload(1024).build();
    const Bytes inside = way.of_network ? Bytes(f.bytes.begin() + f.l3, f.bytes.end()) : f.bytes;
    frames.push_back(whole(way.wrap(inside, number++)));
  }
  return frames;
}

// What a mirror (ERSPAN II) sends of PSNs, each with its number; `cut` to so many bytes, 0: whole.
std::vector<Frame> mirrored(std::initializer_list<std::pair<uint32_t, uint32_t>> numbers_and_psns,
                            size_t cut = 0) {
  std::vector<Frame> frames;
  for (const auto &[number, psn] : numbers_and_psns) {
    Bytes inside = B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).build().bytes;
    inside.resize(cut ? cut : inside.size());
    frames.push_back(whole(tunnel::ethernet(
        0x0800,
        tunnel::ip(47, tunnel::gre(0x88be, tunnel::erspan2(7, inside), {.sequence = number})))));
  }
  return frames;
}

// PSNs by two sessions in turn, which lose nothing but the number 2 of the first, with PSN 6. The
// network lost PSN 2.
std::vector<Frame> by_two_sessions() {
  std::vector<Frame> frames;
  for (const auto &[session, number, psn] : std::initializer_list<std::array<uint32_t, 3>>{
           {1, 0, 0}, {2, 0, 1}, {1, 1, 3}, {2, 1, 4}, {2, 2, 5}, {2, 3, 7}, {1, 3, 8}}) {
    const Bytes inside = B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).build().bytes;
    frames.push_back(whole(tunnel::ethernet(
        0x0800, tunnel::ip(47, tunnel::gre(0x88be, tunnel::erspan2(session, inside),
                                           {.sequence = number})))));
  }
  return frames;
}

const std::vector<Row> &rows() {
  static const std::vector<Row> table = {
      {"a send",
       {B(ROCE_RC_SEND_ONLY).psn(5).ecn(2).payload(64).build()},
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, s.opcodes[ROCE_RC_SEND_ONLY].packets[2]);
         EXPECT_EQ(14u + 20 + 8 + 12 + 64 + 4, s.opcodes[ROCE_RC_SEND_ONLY].bytes);
         ASSERT_EQ(1u, s.streams.size());
         EXPECT_EQ(5u, s.streams[0].first_psn);
         EXPECT_EQ(1u, s.streams[0].messages);
       }},
      {"in order, with a wrap", sends({0xfffffe, 0xffffff, 0, 1}), "new",
       [](const Snapshot &s) {
         EXPECT_EQ(4u, roce_stream_packets(&s.streams.at(0)));
         EXPECT_EQ(0u, counter(s, 0, ROCE_GAPS));
         EXPECT_EQ(2u, s.streams[0].word & ROCE_WORD_PSN);
       }},
      {"a gap", sends({10, 11, 14, 15}), "new gap",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, counter(s, 0, ROCE_GAPS));
         EXPECT_EQ(2u, counter(s, 0, ROCE_SKIPPED));
         EXPECT_EQ(2u, counter(s, 0, ROCE_JUMPED));
       }},
      {"a gap filled late", sends({10, 12, 11, 13}), "new gap",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, counter(s, 0, ROCE_FILLED));
         EXPECT_EQ(1u, counter(s, 0, ROCE_REORDERED));
         EXPECT_EQ(0u, counter(s, 0, ROCE_DUPLICATES));
       }},
      {"go-back-N", sends({10, 11, 13, 14, 12, 13, 14, 15}), "new gap rewind",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, counter(s, 0, ROCE_REWINDS));
         EXPECT_EQ(1u, counter(s, 0, ROCE_FILLED));
         EXPECT_EQ(2u, counter(s, 0, ROCE_DUPLICATES));
         EXPECT_EQ(0u, counter(s, 0, ROCE_REORDERED));
       }},
      {"more holes than are remembered",
       sends({0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 1, 35}),
       "new gap gap gap gap gap gap gap gap gap gap gap gap gap gap gap gap gap gap rewind",
       [](const Snapshot &s) {
         EXPECT_EQ(18u, counter(s, 0, ROCE_GAPS));
         EXPECT_EQ(2u, counter(s, 0, ROCE_HOLES_FORGOTTEN));
         EXPECT_EQ(1u, counter(s, 0, ROCE_DUPLICATES)); // PSN 1: its hole was forgotten
         EXPECT_EQ(1u, counter(s, 0, ROCE_FILLED));
       }},
      {"another life of the QPN", sends({10, 11, 500000, 500001}), "new",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, counter(s, 0, ROCE_RESYNCS));
         EXPECT_EQ(0u, counter(s, 0, ROCE_GAPS));
       }},
      {"a READ takes its PSNs",
       {B(ROCE_RC_SEND_FIRST).psn(0).payload(1024).build(),
        B(ROCE_RC_SEND_LAST).psn(1).payload(4).build(),
        B(ROCE_RC_RDMA_READ_REQUEST).psn(2).dma_len(4000).build(),
        B(ROCE_RC_SEND_ONLY).psn(6).build()},
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(0u, counter(s, 0, ROCE_GAPS));
         EXPECT_EQ(7u, s.streams.at(0).word & ROCE_WORD_PSN);
       }},
      {"the responder shows the PMTU of a READ",
       {B(ROCE_RC_RDMA_READ_REQUEST).psn(2).dma_len(4000).build(),
        B(ROCE_RC_RDMA_READ_RESPONSE_FIRST).from(2).to(1).qp(0x12).psn(2).payload(1024).build(),
        B(ROCE_RC_SEND_ONLY).psn(7).build()},
       "new new gap",
       [](const Snapshot &s) { EXPECT_EQ(1u, counter(s, 0, ROCE_SKIPPED)); }},
      {"acknowledgements",
       {B(ROCE_RC_ACKNOWLEDGE).syndrome(0x1f).build(), B(ROCE_RC_ACKNOWLEDGE).syndrome(5).build(),
        B(ROCE_RC_ACKNOWLEDGE).syndrome(0x60).build(),
        B(ROCE_RC_ACKNOWLEDGE).syndrome(0x2c).build(),
        B(ROCE_RC_ATOMIC_ACKNOWLEDGE).syndrome(0x1f).build()},
       "new nak rnr",
       [](const Snapshot &s) {
         EXPECT_EQ(3u, s.totals.aeth[ROCE_AETH_ACK]);
         EXPECT_EQ(1u, s.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR]);
         EXPECT_EQ(1u, s.totals.aeth[ROCE_AETH_RNR_NAK]);
         EXPECT_EQ(5u, roce_stream_packets(&s.streams.at(0)));
       }},
      {"a CNP and CE marks",
       {B(ROCE_OPCODE_CNP).payload(16).build(), B(ROCE_RC_SEND_ONLY).psn(0).ecn(3).build(),
        B(ROCE_RC_SEND_ONLY).psn(1).ecn(3).build(), B(ROCE_RC_SEND_ONLY).psn(2).ecn(2).build(),
        B(ROCE_RC_SEND_ONLY).psn(3).ecn(3).build()},
       "new cnp new ce ce",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, counter(s, 0, ROCE_STREAM_CNPS));
         EXPECT_EQ(3u, counter(s, 1, ROCE_STREAM_CE));
       }},
      {"a datagram knows its sender",
       {B(ROCE_UD_SEND_ONLY).qp(9).src_qp(0x1234).build()},
       "new",
       [](const Snapshot &s) { EXPECT_EQ(0x1234u, s.streams.at(0).src_qp); }},
      {"IPv6, extension headers, two tags",
       {B(ROCE_RC_SEND_ONLY).ipv6().psn(0).build(),
        B(ROCE_RC_SEND_ONLY).ipv6().extension(0).extension(60, 1).psn(1).build(),
        B(ROCE_RC_SEND_ONLY).ipv6().vlan(0x88a8).vlan(0x8100).psn(2).build(),
        B(ROCE_RC_SEND_ONLY).ipv6().vlan(0x8100).psn(3).build()},
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(4u, packets(s, ROCE_RC_SEND_ONLY));
         EXPECT_EQ(4u, roce_stream_packets(&s.streams.at(0)));
       }},
      {"IPv4 options and tags",
       {B(ROCE_RC_SEND_ONLY).ip_options(10).psn(0).build(),
        B(ROCE_RC_SEND_ONLY).vlan(0x8100).psn(1).build(),
        B(ROCE_RC_SEND_ONLY).vlan(0x8100).vlan(0x8100).psn(2).build()},
       "new",
       [](const Snapshot &s) { EXPECT_EQ(3u, roce_stream_packets(&s.streams.at(0))); }},
      {"RoCEv1",
       {B(ROCE_RC_SEND_ONLY).v1().psn(0).build(), B(ROCE_RC_SEND_ONLY).v1().psn(2).build()},
       "new gap",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, packets(s, ROCE_OPCODE_COUNT_V1 + ROCE_RC_SEND_ONLY));
         EXPECT_EQ(0u, packets(s, ROCE_RC_SEND_ONLY));
       }},
      {"what is no RoCE",
       {B(4).port(4790).build(), B(4).ip_fragment(0x2000).build(), B(4).ip_fragment(100).build(),
        B(4).tver(1).build(), B(4).claim(4).build(), B(4).udp_length(20).build(),
        B(4).ethertype(0x0806).build()},
       "",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, s.totals.frames[ROCE_CLASS_OTHER]);
         EXPECT_EQ(2u, s.totals.frames[ROCE_CLASS_FRAGMENT]);
         EXPECT_EQ(3u, s.totals.frames[ROCE_CLASS_MALFORMED]);
         EXPECT_EQ(0u, packets(s, ROCE_RC_SEND_ONLY));
       }},
      {"reserved opcodes belong to no stream",
       {B(0x18).build(), B(0xc5).build()},
       "",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, packets(s, 0x18));
         EXPECT_EQ(1u, packets(s, 0xc5));
       }},
      {"another port",
       {B(ROCE_RC_SEND_ONLY).port(5000).build(), B(ROCE_RC_SEND_ONLY).build()},
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(1u, packets(s, ROCE_RC_SEND_ONLY));
         EXPECT_EQ(1u, s.totals.frames[ROCE_CLASS_OTHER]);
       },
       {.port = 5000}},
      {"--no-track counts, and only that",
       {B(ROCE_RC_SEND_ONLY).psn(0).build(), B(ROCE_RC_SEND_ONLY).psn(9).build(),
        B(ROCE_RC_ACKNOWLEDGE).syndrome(0x60).build()},
       "",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, packets(s, ROCE_RC_SEND_ONLY));
         EXPECT_EQ(1u, s.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR]);
         EXPECT_TRUE(s.streams.empty());
       },
       {.track = false, .streams = 1}},
      {"a full table",
       {B(4).qp(1).build(), B(4).qp(2).build(), B(4).qp(3).build(), B(4).qp(3).psn(1).build(),
        B(4).qp(1).psn(1).build()},
       "new new",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, s.totals.streams_full);
         EXPECT_EQ(5u, packets(s, ROCE_RC_SEND_ONLY));
         EXPECT_EQ(2u, roce_stream_packets(&s.streams.at(0)));
       },
       {.streams = 2}},
      {"a frame in several buffers",
       {B(ROCE_RC_RDMA_WRITE_FIRST).psn(0).payload(4096).build(),
        B(ROCE_RC_RDMA_WRITE_MIDDLE).psn(1).payload(4096).build(),
        B(ROCE_RC_RDMA_WRITE_LAST).psn(2).payload(8900).build()},
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(0u, s.totals.frames[ROCE_CLASS_MALFORMED]);
         EXPECT_EQ(3u, roce_stream_packets(&s.streams.at(0)));
         EXPECT_EQ(14u + 20 + 8 + 12 + 8900 + 4, s.opcodes[ROCE_RC_RDMA_WRITE_LAST].bytes);
       }},
      {"each tunnel",
       in_each_tunnel(),
       "new",
       [](const Snapshot &s) {
         const size_t count = tunnel::ways().size();
         ASSERT_EQ(1u, s.streams.size());
         EXPECT_EQ(count, roce_stream_packets(&s.streams[0]));
         EXPECT_EQ(count * (14 + 20 + 8 + 12 + 1024 + 4), roce_stream_bytes(&s.streams[0]));
         EXPECT_EQ(0u, counter(s, 0, ROCE_GAPS));
         for (int t = 0; t < ROCE_TUNNEL_QINQ; t++)
           EXPECT_GT(s.totals.tunnels[t], 0u);
       },
       {.decap = ROCE_TUNNELS_ALL}},
      {"tunnels without --decap", in_each_tunnel(), "new",
       [](const Snapshot &s) { EXPECT_EQ(1u, roce_stream_packets(&s.streams.at(0))); }},
      {"other frames with --decap",
       {B(4).port(4790).build(), B(4).ip_fragment(0x2000).build(), B(4).tver(1).build(),
        B(4).claim(4).build(), B(4).ethertype(0x0806).build(),
        B(ROCE_RC_SEND_ONLY).vlan(0x88a8).vlan(0x8100).v1().build(),
        B(ROCE_UD_SEND_ONLY).qp(ROCE_QPN_GSI).payload(ROCE_MAD_LEN).build(), whole(Bytes(20)),
        B(ROCE_RC_SEND_ONLY).ipv6().extension(60).build()},
       "new new new",
       [](const Snapshot &s) {
         EXPECT_EQ(3u, s.totals.frames[ROCE_CLASS_OTHER]);
         EXPECT_EQ(2u, s.totals.frames[ROCE_CLASS_MALFORMED]);
         EXPECT_EQ(1u, s.totals.tunnels[ROCE_TUNNEL_QINQ]);
       },
       {.decap = ROCE_TUNNELS_ALL}},
      {"a mirror and its losses",
       mirrored({{10, 0}, {10, 1}, {11, 4}, {14, 7}, {13, 6}, {15, 8}, {900000, 9}}),
       "new gap gap",
       [](const Snapshot &s) {
         ASSERT_EQ(1u, s.mirrors.size());
         EXPECT_EQ(2u, s.mirrors[0].skipped);
         EXPECT_EQ(1u, s.mirrors[0].late);
         EXPECT_EQ(1u, s.mirrors[0].repeated);
         EXPECT_EQ(1u, s.mirrors[0].restarts);
         EXPECT_EQ(roce_swap32(0xc6336401), s.mirrors[0].src[3]);
         EXPECT_EQ(7u, roce_mirror_frames(&s.mirrors[0]));
         EXPECT_EQ(1u, s.mirrored.at(0).network);
         EXPECT_EQ(2u, s.mirrored.at(0).mirror);
       },
       {.decap = ROCE_TUNNELS_ALL}},
      {"a stream by two mirror sessions",
       by_two_sessions(),
       "new gap gap",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, s.mirrors.size());
         EXPECT_EQ(1u, s.mirrored.at(0).network);
         EXPECT_EQ(1u, s.mirrored.at(0).mirror);
         EXPECT_EQ(0u, s.mirrored.at(0).waiting);
       },
       {.decap = ROCE_TUNNELS_ALL}},
      {"a mirror that cuts frames",
       mirrored({{10, 0}, {11, 1}, {12, 2}}, 64),
       "new",
       [](const Snapshot &s) {
         EXPECT_EQ(3u, s.totals.truncated);
         EXPECT_EQ(3u * (14 + 20 + 8 + 12 + 1024 + 4), roce_stream_bytes(&s.streams.at(0)));
       },
       {.decap = ROCE_TUNNELS_ALL}},
      {"a mirror, without streams",
       mirrored({{10, 0}, {11, 3}}),
       "",
       [](const Snapshot &s) {
         EXPECT_EQ(2u, packets(s, ROCE_RC_SEND_MIDDLE));
         EXPECT_EQ(1u, s.mirrors.size());
       },
       {.track = false, .streams = 1, .decap = ROCE_TUNNELS_ALL}},
      {"loaded for a kernel without frags",
       sends({0, 1, 3}),
       "new gap",
       [](const Snapshot &s) { EXPECT_EQ(1u, counter(s, 0, ROCE_GAPS)); },
       {.frags = false}},
  };
  return table;
}

// Whatever is compiled in, the verifier takes it: stack and paths are near its limits.
class ProgramLoads : public testing::TestWithParam<uint32_t> {};

// In parts, for several processors.
constexpr uint32_t kParts = 8;

TEST_P(ProgramLoads, WithAnyFeatures) {
  constexpr uint32_t kAll = 2 * ROCE_FEATURE_CAPTURE;
  constexpr uint32_t kMost = ROCE_FEATURES_OF_RULES & ~ROCE_FEATURES_OF_BRIDGES;
  uint32_t sets = 0;
  for (uint32_t features = 0; features < kAll; features++)
    for (const bool track : {true, false})
      for (const uint32_t uses : {0u, ~0u}) {
        const uint32_t rules = features & ROCE_FEATURES_OF_RULES;
        if (!(features & ROCE_FEATURE_RULES) ? rules || uses : !uses && features % 3)
          continue; // the others come with rules only; without tables for a third of them
        if (features & ROCE_FEATURE_SOCKETS &&
            (features & ROCE_FEATURE_FORWARD || (rules && rules != kMost)))
          continue; // a bridge has no sockets; of the rest, none and all are enough
        if (features & ROCE_FEATURE_CAPTURE && rules && (rules & kMost) != kMost)
          continue;
        if (sets++ % kParts != GetParam())
          continue;
        const bool frags = (features ^ uses ^ track) & 1;
        Program program({.track = track, .frags = frags, .features = features, .uses = uses});
        LOAD_OR_SKIP(program);
      }
  EXPECT_GT(sets, kParts);
}

// Tunnels are taken off on ports without rules only.
TEST(ProgramLoadsToo, WithDecap) {
  for (const uint32_t others :
       {0u, uint32_t{ROCE_FEATURE_CAPTURE}, uint32_t{ROCE_FEATURE_SOCKETS},
        uint32_t{ROCE_FEATURE_SOCKETS | ROCE_FEATURE_CAPTURE | ROCE_FEATURE_PASSING}})
    for (const bool track : {true, false})
      for (const bool frags : {true, false})
        for (const uint32_t decap : {ROCE_TUNNELS_ALL, 1u << ROCE_TUNNEL_ERSPAN}) {
          Program program({.track = track, .frags = frags, .features = others, .decap = decap});
          LOAD_OR_SKIP(program);
        }
}

INSTANTIATE_TEST_SUITE_P(Parts, ProgramLoads, testing::Range(0u, kParts));

class ProgramTest : public testing::TestWithParam<size_t> {};

TEST_P(ProgramTest, Row) {
  const Row &row = rows()[GetParam()];
  SCOPED_TRACE(row.what);
  Program program(row.setup);
  LOAD_OR_SKIP(program);
  NativeDatapath native({.udp_port = row.setup.port,
                         .track = row.setup.track,
                         .streams = row.setup.streams,
                         .hash_seed = 7,
                         .decap = row.setup.decap});
  for (const Frame &frame : row.in) {
    EXPECT_EQ(2u, program.run(frame)) << "XDP_PASS";
    native.frame({frame.bytes.data(), static_cast<uint32_t>(frame.bytes.size()), frame.length, 0});
  }
  const Snapshot kernel = program.snapshot();
  row.expect(kernel);
  EXPECT_EQ(row.events, events_of(program.events()));
  Snapshot same;
  native.snapshot(same);
  expect_same(same, kernel);
}

INSTANTIATE_TEST_SUITE_P(Table, ProgramTest, testing::Range<size_t>(0, rows().size()),
                         [](const auto &info) { return "row" + std::to_string(info.param); });

TEST(ProgramEvents, SayWhatHappened) {
  Program program({});
  LOAD_OR_SKIP(program);
  for (const Frame &frame : sends({10, 11, 14}))
    program.run(frame);
  const std::vector<roce_event> events = program.events();
  ASSERT_EQ(2u, events.size());
  const roce_event &gap = events[1];
  EXPECT_EQ(ROCE_EVENT_GAP, gap.type);
  EXPECT_EQ(14u, gap.psn);
  EXPECT_EQ(12u, gap.expected);
  EXPECT_EQ(2u, gap.skipped);
  EXPECT_EQ(0x11u, roce_key_qp(&gap.key));
  EXPECT_EQ(roce_swap32(0xc0000201), gap.key.src[3]);
  EXPECT_EQ(ROCE_MAPPED_PREFIX, gap.key.src[2]);
  EXPECT_GT(gap.time_ns, events[0].time_ns);
}

TEST(ProgramEvents, OneStreamCannotFloodTheRing) {
  Program program({});
  LOAD_OR_SKIP(program);
  for (uint32_t i = 0; i < 3 * ROCE_EVENTS_PER_WINDOW; i++)
    program.run(B(ROCE_RC_SEND_ONLY).psn(2 * i).build());
  const size_t told = program.events().size();
  const Snapshot s = program.snapshot();
  EXPECT_EQ(3u * ROCE_EVENTS_PER_WINDOW - 1, counter(s, 0, ROCE_GAPS));
  EXPECT_GT(s.totals.events_limited, 0u);
  EXPECT_EQ(0u, s.totals.events_dropped);
  EXPECT_EQ(3u * ROCE_EVENTS_PER_WINDOW, told + s.totals.events_limited); // with the first, `new`
}

} // namespace
} // namespace xr::test
