// SPDX-License-Identifier: Apache-2.0
// make_seeds TARGET CAPTURES FOLDER: the beginnings of all captures, as the target wants its input.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "capture/reader.h"
#include "capture_writer.h"
#include "roce/parse.h"
#include "unit/tunnels.h"

using namespace xr;
using xr::test::FileBytes;
using xr::test::PcapngWriter;
using xr::test::PcapWriter;
using xr::test::Writer;

namespace {

constexpr size_t kFrames = 24;    // of a seed
constexpr size_t kCaptured = 144; // of a frame: all headers

struct Frame {
  FileBytes bytes;
  uint32_t length;
};

// Frames from the `skip`th on.
std::vector<Frame> frames_of(const std::string &path, size_t skip) {
  std::vector<Frame> frames;
  Result<Reader> reader = Reader::open(path);
  CapturedFrame frame;
  if (!reader)
    return frames;
  for (size_t n = 0; frames.size() < kFrames && reader->next(frame) == Next::Frame; n++) {
    if (n < skip)
      continue;
    const size_t captured = std::min<size_t>(frame.captured, kCaptured);
    frames.push_back({FileBytes(frame.data, frame.data + captured), frame.length});
  }
  return frames;
}

void save(const std::filesystem::path &path, const FileBytes &bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

FileBytes sequence(const std::vector<Frame> &frames) {
  Writer out;
  for (const Frame &frame : frames) {
    const auto captured = static_cast<uint16_t>(frame.bytes.size());
    out.u16(captured).u16(static_cast<uint16_t>(frame.length - captured)).raw(frame.bytes);
  }
  return out.bytes;
}

FileBytes pcap(const std::vector<Frame> &frames, bool big, uint32_t magic) {
  PcapWriter out(big, 1, magic);
  for (const Frame &frame : frames)
    out.packet(frame.bytes, 1, 2, frame.length);
  return out.bytes;
}

FileBytes pcapng(const std::vector<Frame> &frames, bool big) {
  PcapngWriter out(big);
  out.interface(1, 0, {{9, {9}}, {13, {4}}});
  for (const Frame &frame : frames)
    out.packet(frame.bytes, 1, 0, frame.length, {{2, {0, 0, 0, 0}}});
  if (!frames.empty())
    out.simple_packet(frames[0].bytes, frames[0].length).old_packet(frames[0].bytes);
  return out.bytes;
}

// The reader's input has the size of a piece in front.
FileBytes with_chunk(const FileBytes &file, uint16_t chunk) {
  return Writer().u16(chunk).raw(file).bytes;
}

// The records of a file: the target makes the header, of what `kind` says.
FileBytes with_range(const FileBytes &file, uint16_t range, uint8_t kind) {
  constexpr size_t kHeader = 24;
  return Writer().u16(range).u8(kind).raw({file.begin() + kHeader, file.end()}).bytes;
}

// Lines of words, an empty line, then events.
FileBytes link_events(const std::string &lines, size_t length) {
  FileBytes bytes(lines.begin(), lines.end());
  uint32_t state = 1;
  for (size_t i = 0; i < length; i++) {
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<uint8_t>(state >> 24));
  }
  return bytes;
}

// The MADs of a capture, each after a byte of time and one of direction.
FileBytes mads_of(const std::string &path) {
  FileBytes all;
  Result<Reader> reader = Reader::open(path);
  CapturedFrame frame;
  while (reader && reader->next(frame) == Next::Frame) {
    roce_packet packet{};
    const int class_ =
        roce_parse(frame.data, frame.data + frame.captured, roce_swap16(ROCE_UDP_PORT), &packet);
    const size_t mad = packet.bth + ROCE_BTH_LEN + ROCE_DETH_LEN;
    if (!roce_is_roce(class_) || packet.opcode != ROCE_OPCODE_UD_SEND_ONLY ||
        packet.payload != ROCE_MAD_LEN || mad + ROCE_MAD_LEN > frame.captured)
      continue;
    all.insert(all.end(), {1, static_cast<uint8_t>(all.size() & 1)});
    all.insert(all.end(), frame.data + mad, frame.data + mad + ROCE_MAD_LEN);
  }
  return all;
}

// Each frame in another tunnel.
std::vector<Frame> in_tunnels(std::vector<Frame> frames) {
  uint32_t number = 0;
  for (Frame &frame : frames) {
    const auto &ways = xr::test::tunnel::ways();
    const auto &way = ways[number % ways.size()];
    const size_t cut = frame.length - frame.bytes.size(), skip = way.of_network ? 14 : 0;
    if (frame.bytes.size() > skip)
      frame.bytes = way.wrap(
          {frame.bytes.begin() + static_cast<ptrdiff_t>(skip), frame.bytes.end()}, number++);
    frame.length = static_cast<uint32_t>(frame.bytes.size() + cut);
  }
  return frames;
}

constexpr const char *kLinks[] = {
    "rate 10gbit delay 20us buffer 30k\nrate 1gbit l1 red 1k 10k 50% weight 0.1\n\n",
    "rate 2gbit class 3 strict class 4 weight 5 share 20% step 1k at enqueue\ntrace t\n\n",
    "rate 3gbit buffer 40k pfc xoff 5k xon 2k headroom 10k alpha 0.5 priorities 2-5\ndelay 1ms\n\n",
    "rate 1gbit flap 20us every 100us count 9 map 0-9:2,48:3 mtu 1200\nblue over 3k drop\n\n",
};

// The three files with NUL between them.
FileBytes hpcc_files(const std::filesystem::path &folder) {
  FileBytes bytes;
  for (const char *name : {"config.txt", "topology.txt", "flow.txt"}) {
    std::ifstream file(folder / name, std::ios::binary);
    if (!bytes.empty())
      bytes.push_back(0);
    bytes.insert(bytes.end(), std::istreambuf_iterator<char>(file), {});
  }
  return bytes;
}

// A connection matrix and its topology.
constexpr std::string_view
    kMatrix("Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 0 size 9 recv_done_trigger 1\n"
            "2->3 id 2 trigger 1 size 9\ntrigger id 1 barrier count 1\n"
            "\0" // between the two
            "Nodes 4\nTiers 2\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 10\n"
            "Radix_Down 2\nRadix_Up 2\nTier 1\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 10\n"
            "Radix_Down 2\n",
            306);

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "make_seeds TARGET CAPTURES FOLDER\n");
    return 2;
  }
  const std::string target = argv[1];
  const std::filesystem::path folder = argv[3];
  size_t seeds = 0;

  std::filesystem::create_directories(folder);
  if (target == "link_fuzz") {
    for (const char *lines : kLinks)
      save(folder / std::to_string(seeds++), link_events(lines, 2000));
    return 0;
  }
  if (target == "matrix_fuzz") {
    save(folder / "two", FileBytes(kMatrix.begin(), kMatrix.end()));
    return 0;
  }
  if (target == "job_fuzz") {
    const std::string goal =
        "gnum_ranks 2\nrank 0 {\na: send 8b to 1 tag 2 nic 1\nb: calc 5 cpu 1\n"
        "b irequires a\n}\nrank 1 {\nrecv 8b from 0 tag 2\n}\n";
    // a rank's trace: metadata, then an all-reduce of 8 bytes
    std::string trace("c\3\x0a\1v\x22\x08\1\x18\7\x52\x0d\x0a\x09"
                      "comm_type\x48\0\x52\x0d\x0a\x09"
                      "comm_size\x48\x08",
                      40);
    const std::string workload =
        "sHYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 "
        "all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm 0\n1\n"
        "a -1 1 ALLREDUCE 8 1 NONE 0 1 ALLGATHER 8 1\n";
    for (const std::string &seed : {goal, trace, workload})
      save(folder / std::to_string(seeds++), FileBytes(seed.begin(), seed.end()));
    return 0;
  }
  if (target == "hpcc_fuzz") {
    save(folder / "star", hpcc_files(std::filesystem::path(argv[2]) / "hpcc"));
    return 0;
  }
  if (target == "otg_fuzz") {
    for (const auto &entry :
         std::filesystem::directory_iterator(std::filesystem::path(argv[2]) / "otg"))
      if (entry.path().extension() == ".json")
        std::filesystem::copy_file(entry.path(), folder / entry.path().filename(),
                                   std::filesystem::copy_options::overwrite_existing),
            seeds++;
    return seeds ? 0 : 1;
  }
  for (const auto &entry : std::filesystem::directory_iterator(argv[2])) {
    const std::string name = entry.path().filename();
    if (name.find(".pcap") == std::string::npos)
      continue;
    if (target == "frames_fuzz") {
      for (size_t part = 0; part < 3; part++)
        if (const auto frames = frames_of(entry.path(), part * kFrames); !frames.empty())
          save(folder / (name + "-" + std::to_string(part)), sequence(frames)), seeds++;
      if (const auto frames = frames_of(entry.path(), 0); !frames.empty())
        save(folder / (name + "-tunnels"), sequence(in_tunnels(frames))), seeds++;
      continue;
    }
    if (target == "cm_fuzz") {
      if (const FileBytes mads = mads_of(entry.path()); !mads.empty())
        save(folder / name, mads), seeds++;
      continue;
    }
    if (target == "endpoint_fuzz") {
      if (const auto frames = frames_of(entry.path(), 0); !frames.empty())
        save(folder / name, sequence(frames)), seeds++;
      continue;
    }
    auto frames = frames_of(entry.path(), 8);
    if (target == "ranges_fuzz") {
      const auto range = static_cast<uint16_t>(40 + seeds);
      save(folder / name, with_range(pcap(frames, false, 0xa1b2c3d4), range, 4)), seeds++;
      save(folder / (name + "-big"), with_range(pcap(frames, true, 0xa1b23c4d), range, 3)), seeds++;
      continue;
    }
    frames.resize(std::min<size_t>(frames.size(), 4));
    const FileBytes plain = pcap(frames, false, 0xa1b2c3d4), blocks = pcapng(frames, false);
    const std::pair<const char *, FileBytes> files[] = {
        {"-pcap", plain},
        {"-pcap-big", pcap(frames, true, 0xa1b23c4d)},
        {"-pcap-patched", pcap(frames, false, 0xa1b2cd34)},
        {"-pcapng", blocks},
        {"-pcapng-big", pcapng(frames, true)},
        {"-pcap-gz", xr::test::gzip(plain)},
        {"-pcapng-gz", xr::test::gzip(blocks)}};
    for (const auto &[suffix, bytes] : files)
      save(folder / (name + suffix), with_chunk(bytes, static_cast<uint16_t>(40 + seeds))), seeds++;
  }
  return seeds ? 0 : 1;
}
