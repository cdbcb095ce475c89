# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# mxv_simd_sources(VAR): files named *_avx2.c, *_avx512.c and *_vnni.c are compiled for those
# instructions (formats/include/mxverify/simd.h); on other processors they leave the list.
set(MXV_SIMD_AVX2 -mavx2 -mfma -mf16c -mbmi2)
set(MXV_SIMD_AVX512 ${MXV_SIMD_AVX2} -mavx512f -mavx512bw -mavx512cd -mavx512dq -mavx512vl)
set(MXV_SIMD_VNNI ${MXV_SIMD_AVX512} -mavx512vnni -mavx512vbmi)

function(mxv_simd_sources variable)
  set(kept)
  foreach(source IN LISTS ${variable})
    if(source MATCHES "_(avx2|avx512|vnni)\\.c$")
      string(TOUPPER "${CMAKE_MATCH_1}" level)
      if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        continue()
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${MXV_SIMD_${level}}")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()
