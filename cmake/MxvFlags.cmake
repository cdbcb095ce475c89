# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# mxv_flags: compile and link options of every target of the project. Results may not depend on
# contraction, excess precision or reassociation, nor the files on the folder they were built in.
set(MXV_ARITHMETIC_FLAGS -ffp-contract=off -fno-fast-math)
set(MXV_WARNING_FLAGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # `omp simd` is a hint; at -O1 and below clang says of each that it was not taken.
  list(APPEND MXV_WARNING_FLAGS -Wno-pass-failed)
endif()
if(MXV_WERROR)
  list(APPEND MXV_WARNING_FLAGS -Werror)
endif()

add_library(mxv_flags INTERFACE)
target_compile_options(mxv_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:C>:${MXV_WARNING_FLAGS};${MXV_ARITHMETIC_FLAGS}>"
  "$<$<COMPILE_LANGUAGE:C>:-ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=>")

if(MXV_SANITIZE)
  target_compile_options(mxv_flags INTERFACE -fsanitize=${MXV_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(mxv_flags INTERFACE -fsanitize=${MXV_SANITIZE})
endif()
if(MXV_COVERAGE)
  target_compile_options(mxv_flags INTERFACE --coverage)
  target_link_options(mxv_flags INTERFACE --coverage)
endif()
if(MXV_FUZZERS)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MXV_FUZZERS needs clang: use `cmake --preset fuzz`, or -DMXV_FUZZERS=OFF")
  endif()
  target_compile_options(mxv_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
