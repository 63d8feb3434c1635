# SPDX-License-Identifier: Apache-2.0
set(XR_DEBIAN_ARCHITECTURE amd64)
set(XR_TRIPLE x86_64-linux-gnu)
set(XR_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/static.cmake)
