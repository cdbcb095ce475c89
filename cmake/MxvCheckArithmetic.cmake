# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Stops the configuration when float arithmetic under the flags in use is not plain IEEE 754
# binary32/binary64 to nearest even: FMA contraction, excess precision (x87), reassociation, or
# subnormals flushed at start-up (what linking with -ffast-math does).
set(mxv_arithmetic_key "${CMAKE_C_COMPILER}|${CMAKE_C_FLAGS}|${CMAKE_BUILD_TYPE}|${CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}}")
if(NOT MXV_ARITHMETIC_CHECKED STREQUAL mxv_arithmetic_key)
  set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
  try_run(mxv_run_status mxv_compiled
    "${CMAKE_BINARY_DIR}/CMakeFiles/arithmetic" "${CMAKE_CURRENT_LIST_DIR}/check_arithmetic.c"
    COMPILE_DEFINITIONS ${MXV_ARITHMETIC_FLAGS}
    CMAKE_FLAGS -DCMAKE_C_STANDARD=11 -DCMAKE_C_EXTENSIONS=OFF
    COMPILE_OUTPUT_VARIABLE mxv_compile_output RUN_OUTPUT_VARIABLE mxv_run_output)
  if(NOT mxv_compiled)
    message(FATAL_ERROR "the arithmetic check does not compile:\n${mxv_compile_output}")
  elseif(NOT mxv_run_status STREQUAL "0")
    message(FATAL_ERROR "float arithmetic is not plain IEEE 754 with these flags:\n"
      "${mxv_run_output}\nRemove options such as -ffast-math or -mfpmath=387 from CFLAGS.")
  endif()
  message(STATUS "Float arithmetic: plain IEEE binary32/binary64, no contraction")
  set(MXV_ARITHMETIC_CHECKED "${mxv_arithmetic_key}" CACHE INTERNAL "flags that passed the check")
endif()
