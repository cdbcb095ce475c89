# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Decides MXV_CUDA_ENABLED from MXV_CUDA and says in one status line what was decided. The device
# headers, which only the tests' second oracle reads, are looked for whatever the decision is.
include(CheckLanguage)

# Sets result to what keeps CUDA code from being compiled, or to nothing. sm_100a and sm_120a need
# the toolkit's 12.8 or later.
function(mxv_cuda_problem result)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${result} "no working nvcc was found" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --version OUTPUT_VARIABLE text)
  string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" text "${text}")
  set(${result} "" PARENT_SCOPE)
  if(CMAKE_MATCH_1 VERSION_LESS 12.8)
    set(${result} "${CMAKE_CUDA_COMPILER} is release ${CMAKE_MATCH_1}, and 12.8 is needed"
      PARENT_SCOPE)
  endif()
endfunction()

set(MXV_CUDA_ENABLED OFF)
file(GLOB mxv_cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/gpu/*.cu")
if(NOT MXV_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MXV_CUDA is '${MXV_CUDA}': use AUTO, ON or OFF")
elseif(MXV_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off (MXV_CUDA=OFF)")
elseif(MXV_CUDA STREQUAL "AUTO" AND NOT mxv_cuda_sources)
  message(STATUS "CUDA: off (MXV_CUDA=AUTO; gpu/ holds no .cu file)")
else()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Thirty attention kernels an architecture: AUTO compiles for the one that results were measured
    # on, ON (preset cuda) for all.
    set(CMAKE_CUDA_ARCHITECTURES 90a-real)
    if(MXV_CUDA STREQUAL "ON")
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 100a-real 120a-real)
    endif()
  endif()
  mxv_cuda_problem(mxv_problem)
  if(NOT mxv_problem)
    enable_language(CUDA)
    set(MXV_CUDA_ENABLED ON)
    message(STATUS "CUDA: on (MXV_CUDA=${MXV_CUDA}; nvcc ${CMAKE_CUDA_COMPILER_VERSION}; "
      "${CMAKE_CUDA_ARCHITECTURES})")
  elseif(MXV_CUDA STREQUAL "ON")
    message(FATAL_ERROR "MXV_CUDA=ON, but ${mxv_problem}. Put the CUDA Toolkit's bin folder on PATH, "
      "or set CUDACXX=/path/to/nvcc, or build without GPU code: -DMXV_CUDA=OFF")
  else()
    message(STATUS "CUDA: off (MXV_CUDA=AUTO; ${mxv_problem})")
  endif()
endif()

find_program(MXV_NVCC nvcc HINTS ENV CUDA_PATH PATH_SUFFIXES bin PATHS /usr/local/cuda)
mark_as_advanced(MXV_NVCC)
if(MXV_NVCC)
  get_filename_component(mxv_nvcc_dir "${MXV_NVCC}" REALPATH)
  get_filename_component(mxv_nvcc_dir "${mxv_nvcc_dir}" DIRECTORY)
endif()
find_path(MXV_CUDA_INCLUDE_DIR cuda_fp8.h
  HINTS "${mxv_nvcc_dir}/../include" ENV CUDA_PATH PATH_SUFFIXES include PATHS /usr/local/cuda)
mark_as_advanced(MXV_CUDA_INCLUDE_DIR)
