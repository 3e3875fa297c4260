# One static library per folder of src/, one executable per test file group.
#
#   takt_library(kv SOURCES pool.cpp table.cpp DEPS takt_core LIBS xxhash)
#     makes takt_kv. A library without sources is header-only.
function(takt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  if(ARG_SOURCES)
    add_library(takt_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(takt_${name} PUBLIC takt_flags ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  else()
    add_library(takt_${name} INTERFACE)
    target_link_libraries(takt_${name} INTERFACE takt_flags ${ARG_DEPS} ${ARG_LIBS})
  endif()
endfunction()

# A target that builds a group: tsan_tests (what runs under ThreadSanitizer), release_tests (what runs optimised: golden, property and e2e
# tests), fuzz_targets.
function(takt_collect group name)
  if(NOT TARGET ${group})
    add_custom_target(${group})
  endif()
  add_dependencies(${group} ${name})
endfunction()

#   takt_test(unit_kv SOURCES kv_pool_test.cpp DEPS takt_kv LABELS unit)
#     makes one GoogleTest executable; every TEST in it is a ctest test of its own. Labels: the layer (unit, contract,
#   property, golden, e2e), and tsan where threads meet.
function(takt_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE takt_flags ${ARG_DEPS} ${ARG_LIBS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE TAKT_SOURCE_DIR="${CMAKE_SOURCE_DIR}" TAKT_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # One word: discovery hands properties on as a flat list, and ctest -L matches parts of a label.
  string(REPLACE ";" "-" label "${ARG_LABELS}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS ${label})
  if("tsan" IN_LIST ARG_LABELS)
    takt_collect(tsan_tests ${name})
  endif()
  if(ARG_LABELS MATCHES "golden|property|e2e")
    takt_collect(release_tests ${name})
  endif()
endfunction()

#   takt_fuzz(fuzz_gguf SOURCES fuzz_gguf.cpp DEPS takt_model)
function(takt_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE takt_flags ${ARG_DEPS} ${ARG_LIBS})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  takt_collect(fuzz_targets ${name})
endfunction()
