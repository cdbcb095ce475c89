# SPDX-FileCopyrightText: 2026 The mxverify authors
# SPDX-License-Identifier: Apache-2.0
#
# mxv_embed_texts(TARGET FILE...): builds text files into TARGET. dir/page.css becomes the array
# `const unsigned char mxv_embedded_page_css[]`, ended by a NUL. An edited file is embedded anew.
function(mxv_embed_texts target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} identifier)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    file(READ "${CMAKE_CURRENT_SOURCE_DIR}/${file}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/embedded_${identifier}.c")
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
      "extern const unsigned char mxv_embedded_@identifier@[];\nconst unsigned char mxv_embedded_@identifier@[] = {\n@bytes@0};\n")
    target_sources(${target} PRIVATE ${source})
  endforeach()
endfunction()
