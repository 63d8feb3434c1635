// SPDX-License-Identifier: Apache-2.0
// A temporary directory tree in place of /proc, /sys and /boot.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "host/files.h"

class Tree : public ::testing::Test {
protected:
  Tree() : root_(std::filesystem::temp_directory_path() / ("xr-tree-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  ~Tree() override {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  xr::host::Files files() const { return xr::host::Files(root_); }

  void put(const std::string &path, const std::string &text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void put_link(const std::string &path, const std::string &target) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }

  // A port of an RDMA device with a GID of each type; `driver` is its PCI device's, "" for rxe.
  void put_rdma(const std::string &device, const std::string &driver, const std::string &ifname,
                const std::string &address = "10.77.0.1") const {
    const std::string base = "/sys/class/infiniband/" + device, port = base + "/ports/1";
    put(base + "/node_type", "1: CA");
    if (driver.empty()) {
      put(base + "/parent", ifname);
    } else {
      const std::string pci = "/sys/devices/pci0000:3a/0000:3b:00.0";
      std::filesystem::create_directories(root_ + pci);
      put_link(pci + "/driver", "../../../bus/pci/drivers/" + driver);
      put_link(base + "/device", "../../../devices/pci0000:3a/0000:3b:00.0");
    }
    put(port + "/gid_attrs/ndevs/0", ifname);
    put(port + "/gid_attrs/ndevs/1", ifname);
    put(port + "/gid_attrs/types/0", "IB/RoCE v1");
    put(port + "/gid_attrs/types/1", "RoCE v2");
    put(port + "/gids/0", "fe80:0000:0000:0000:0000:00ff:fe00:0001");
    put(port + "/gids/1", "::ffff:" + address);
  }
  // The kernel's texts: "4: ACTIVE", "5: LinkUp".
  void put_state(const std::string &device, const std::string &state,
                 const std::string &physical) const {
    const std::string base = "/sys/class/infiniband/" + device, port = base + "/ports/1";
    put(port + "/state", state);
    put(port + "/phys_state", physical);
    put(port + "/rate", "100 Gb/sec (4X EDR)");
    put(base + "/fw_ver", "16.35.2000");
  }
  void put_link_layer(const std::string &device, const std::string &layer) const {
    put("/sys/class/infiniband/" + device + "/ports/1/link_layer", layer);
  }
  void put_iwarp(const std::string &device) const {
    put("/sys/class/infiniband/" + device + "/node_type", "4: RNIC");
  }
  void put_counter(const std::string &device, const std::string &name, uint64_t value) const {
    put("/sys/class/infiniband/" + device + "/ports/1/hw_counters/" + name, std::to_string(value));
  }
  void put_cm(const std::string &device, const std::string &mode, int tos) const {
    const std::string port = "/sys/kernel/config/rdma_cm/" + device + "/ports/1";
    put(port + "/default_roce_mode", mode);
    put(port + "/default_roce_tos", std::to_string(tos));
  }

  const std::string root_;
};
