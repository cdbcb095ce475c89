# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# mxv_export_library(TARGET NAME): public headers in the layer's include/ folder, installed and
# exported as mxverify::NAME. A layer without an include folder exports no headers of its own.
function(mxv_export_library target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  install(TARGETS ${target} EXPORT mxverifyTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include/mxverify")
    install(DIRECTORY include/mxverify DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
      FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
  endif()
endfunction()
