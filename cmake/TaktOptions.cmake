# Compiler, warnings and sanitizers: the same for every target.
option(TAKT_BUILD_TESTS "Build the tests" ON)
option(TAKT_BUILD_BENCH "Build the benchmarks" OFF)
option(TAKT_KERNELS_ONLY "Build the kernels and their tests alone: for machines that the rest's libraries are not there for" OFF)
option(TAKT_FUZZ "Build the fuzz targets (needs clang)" OFF)
option(TAKT_CHECK_INVARIANTS "Check the engine's invariants after every step" OFF)
set(TAKT_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined | thread")

find_program(TAKT_CCACHE ccache)
if(TAKT_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${TAKT_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TAKT_CCACHE}")
endif()

find_package(Threads REQUIRED)

add_library(takt_flags INTERFACE)
target_include_directories(takt_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(takt_flags INTERFACE Threads::Threads)
# A fused multiply-add is written where it is meant (docs/numerics.md): the compiler must not make its own.
target_compile_options(takt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror -ffp-contract=off -fno-math-errno)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # As it is there.
  target_compile_options(takt_flags INTERFACE -fsigned-char)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about its own inlined std::string code at -O2 and above (GCC bug 105651).
  target_compile_options(takt_flags INTERFACE -Wno-restrict)
  if(CMAKE_UNITY_BUILD)
    # In a unity build every source looks like a header to this warning.
    target_compile_options(takt_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(TAKT_CHECK_INVARIANTS)
  target_compile_definitions(takt_flags INTERFACE TAKT_CHECK_INVARIANTS=1)
endif()
if(TAKT_SANITIZE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False alarms of GCC 12 in sanitized code (GCC bug 105562).
    target_compile_options(takt_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_compile_options(takt_flags INTERFACE -fsanitize=${TAKT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(takt_flags INTERFACE -fsanitize=${TAKT_SANITIZE})
  if(TAKT_SANITIZE MATCHES "undefined")
    target_compile_options(takt_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
