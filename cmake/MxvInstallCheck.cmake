# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# The first step of an installation, so included before every folder: in a tree that is not built
# whole (./bootstrap run builds the program alone) it stops before a file is written. Targets that a
# configuration does not have are none to wait for.
set(mxv_installed_files "")
foreach(target mxverify mxv_formats mxv_ref mxv_plain mxv_analysis mxv_cuda mxv_emulate cuda_bench)
  string(APPEND mxv_installed_files " [==[$<$<TARGET_EXISTS:${target}>:$<TARGET_FILE:${target}>>]==]")
endforeach()
install(CODE "
  foreach(file IN ITEMS ${mxv_installed_files})
    if(file AND NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"nothing is installed: \${file} is not built; run ./bootstrap, or \"
        [==[cmake --build ${CMAKE_BINARY_DIR}]==] \", first\")
    endif()
  endforeach()")
