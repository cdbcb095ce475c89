# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# Installation: the program, the static libraries, the public headers, a CMake package with the
# targets mxverify::formats and mxverify::mxverify (everything), and mxverify.pc.
include(CMakePackageConfigHelpers)

add_library(mxv_all INTERFACE)
set_target_properties(mxv_all PROPERTIES EXPORT_NAME mxverify)
target_link_libraries(mxv_all INTERFACE mxv_analysis mxv_ref mxv_formats)
install(TARGETS mxv_all EXPORT mxverifyTargets)

set(mxv_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mxverify")
install(EXPORT mxverifyTargets NAMESPACE mxverify:: DESTINATION "${mxv_package_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/mxverifyConfig.cmake.in"
  "${CMAKE_BINARY_DIR}/mxverifyConfig.cmake" INSTALL_DESTINATION "${mxv_package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/mxverifyConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/mxverifyConfig.cmake"
  "${CMAKE_BINARY_DIR}/mxverifyConfigVersion.cmake" DESTINATION "${mxv_package_dir}")

# The .pc file finds its own prefix, so that a moved tree (DESTDIR, --prefix) still works.
file(RELATIVE_PATH mxv_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" mxv_pc_to_prefix "${mxv_pc_to_prefix}")
set(mxv_pc_plain "")
if(TARGET mxv_plain)
  set(mxv_pc_plain "-lmxv_plain ")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/mxverify.pc.in" "${CMAKE_BINARY_DIR}/mxverify.pc" @ONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/mxverify-formats.pc.in"
  "${CMAKE_BINARY_DIR}/mxverify-formats.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/mxverify.pc" "${CMAKE_BINARY_DIR}/mxverify-formats.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/LICENSES" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(folder cases real golden/h200)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/data/${folder}")
    get_filename_component(mxv_folder_above "mxverify/${folder}" DIRECTORY)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/data/${folder}" DESTINATION
      "${CMAKE_INSTALL_DATADIR}/${mxv_folder_above}" PATTERN "*.py" EXCLUDE)
  endif()
endforeach()
