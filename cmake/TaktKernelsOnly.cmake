# The kernels, what they stand on, and their tests. Of other libraries only headers and sources are used, which are the same for every architecture:
# spdlog, fmt and toml++ as headers, GoogleTest from Debian's sources (package googletest).
add_library(takt_spdlog_headers INTERFACE)
target_compile_definitions(takt_spdlog_headers INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
add_library(spdlog::spdlog ALIAS takt_spdlog_headers)
add_library(takt_toml_headers INTERFACE)
add_library(tomlplusplus::tomlplusplus ALIAS takt_toml_headers)

set(TAKT_GOOGLETEST_SOURCES /usr/src/googletest CACHE PATH "Sources of GoogleTest")
set(BUILD_GMOCK OFF CACHE BOOL "")
set(INSTALL_GTEST OFF CACHE BOOL "")
add_subdirectory("${TAKT_GOOGLETEST_SOURCES}" "${CMAKE_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL)
if(NOT TARGET GTest::gtest_main)
  add_library(GTest::gtest_main ALIAS gtest_main)
endif()
include(GoogleTest)

add_subdirectory(src/base)
add_subdirectory(src/kernels)
add_subdirectory(tests/unit/kernels)
