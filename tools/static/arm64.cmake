# SPDX-License-Identifier: Apache-2.0
set(XR_DEBIAN_ARCHITECTURE arm64)
set(XR_TRIPLE aarch64-linux-gnu)
set(XR_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/static.cmake)
