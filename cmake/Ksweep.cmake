# SPDX-License-Identifier: MIT
# Flags, external packages and the functions that declare modules, programs and tests.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

add_library(ks_flags INTERFACE)
target_compile_features(ks_flags INTERFACE c_std_11)
target_compile_definitions(ks_flags INTERFACE _GNU_SOURCE)
target_compile_options(ks_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wpointer-arith -fno-strict-aliasing
  $<$<BOOL:${KSWEEP_WERROR}>:-Werror>)
if(KSWEEP_SANITIZE)
  target_compile_options(ks_flags INTERFACE -fsanitize=${KSWEEP_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ks_flags INTERFACE -fsanitize=${KSWEEP_SANITIZE})
  target_compile_definitions(ks_flags INTERFACE KSWEEP_SANITIZED=1)
endif()
if(KSWEEP_COVERAGE)
  target_compile_options(ks_flags INTERFACE --coverage -O0)
  target_link_options(ks_flags INTERFACE --coverage)
  target_compile_definitions(ks_flags INTERFACE KSWEEP_COVERAGE=1)
endif()

if(NOT KSWEEP_WORKER_ONLY)
  find_package(PkgConfig REQUIRED)
  find_package(MPI REQUIRED COMPONENTS C)
  include(Mpi)
  ks_check_mpi(${MPI_C_INCLUDE_DIRS} ${MPI_C_HEADER_DIR})
  find_package(HDF5 REQUIRED COMPONENTS C HL)
  find_package(ZLIB REQUIRED)
  pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
  pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
  pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
  # Debian's package has neither a pkg-config file nor one for CMake where it is looked for.
  find_path(XGBOOST_INCLUDE_DIR xgboost/c_api.h)
  find_library(XGBOOST_LIBRARY xgboost)
  if(NOT XGBOOST_INCLUDE_DIR OR NOT XGBOOST_LIBRARY)
    message(FATAL_ERROR "XGBoost is missing: install libxgboost-dev (docs/install.md), or set "
      "XGBOOST_INCLUDE_DIR and XGBOOST_LIBRARY")
  endif()
endif()

# What --version and every result say of the program.
find_package(Git QUIET)
set(KSWEEP_REVISION unknown)
if(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --always --dirty
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described)
    set(KSWEEP_REVISION ${described})
  endif()
endif()
set(KSWEEP_BUILD_LINES "revision ${KSWEEP_REVISION}\\ncompiler ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}\\n")

# Sanitized, what does not compute for long is compiled without optimisation: that takes half the time.
# ks_hurries(target name)
function(ks_hurries target name)
  if(KSWEEP_SANITIZE AND name MATCHES
      "^(build|build_plain|spawn|runner|topo|profiler|mpi|analysis_(out|report|import|trace)|ksweep|ksweep-analyze)$")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# ks_module(name SOURCES a.c.. DEPS target..): one directory of src/ = one static library ks_name.
# PUBLIC so that a program's link line follows from its modules.
function(ks_module name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_library(ks_${name} STATIC ${A_SOURCES})
  target_include_directories(ks_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(ks_${name} PUBLIC ${A_DEPS} PRIVATE ks_flags)
  ks_hurries(ks_${name} ${name})
endfunction()

# ks_program(name SOURCES main.c.. DEPS target..)
function(ks_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ks_flags ${A_DEPS})
  ks_hurries(${name} ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# `cmake --build DIR --target tests` builds everything that tests/run.sh runs, `all` only the programs;
# with KSWEEP_TESTS `all` includes the tests.
if(BUILD_TESTING AND NOT KSWEEP_WORKER_ONLY)
  set(in_all)
  if(KSWEEP_TESTS)
    set(in_all ALL)
  endif()
  add_custom_target(tests ${in_all})
endif()

# ks_is_for_tests(target..): built by the target `tests`, not by `all`.
function(ks_is_for_tests)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    if(TARGET tests)
      add_dependencies(tests ${target})
    endif()
  endforeach()
endfunction()

# ks_use_kits(target source.. [DEPS target..]): adds the sources to a test program. Helpers of tests/ that
# several programs share are compiled once per tree, with the dependencies of their first user.
function(ks_use_kits target)
  cmake_parse_arguments(A "" "" "DEPS" ${ARGN})
  foreach(source IN LISTS A_UNPARSED_ARGUMENTS)
    if(NOT source MATCHES "^${CMAKE_SOURCE_DIR}/tests/(unit|fuzz)/")
      target_sources(${target} PRIVATE ${source})
      continue()
    endif()
    file(RELATIVE_PATH kit ${CMAKE_SOURCE_DIR}/tests ${source})
    string(MAKE_C_IDENTIFIER "kit_${kit}" kit)
    if(NOT TARGET ${kit})
      add_library(${kit} OBJECT EXCLUDE_FROM_ALL ${source})
      target_include_directories(${kit} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/kernels)
      target_link_libraries(${kit} PRIVATE ks_flags ${A_DEPS})
      target_compile_definitions(${kit} PRIVATE
        KS_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KS_BINARY_DIR="${CMAKE_BINARY_DIR}")
      target_compile_options(${kit} PRIVATE -O1)
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${kit}>)
  endforeach()
endfunction()

# Hundreds of test programs are linked: with the linker that takes the least time.
if(BUILD_TESTING)
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=gold KSWEEP_LINKS_WITH_GOLD)
endif()

# ks_links_fast(target)
function(ks_links_fast target)
  if(KSWEEP_LINKS_WITH_GOLD)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

# ks_test(name DEPS target..): tests/unit/test_<name>.c, a cmocka program, label `unit`, 60 s. Not in a
# sanitized tree where the test's file says so.
function(ks_test name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;ARGS" ${ARGN})
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/unit/test_${name}.c plain REGEX "^/\\* sanitized: no")
  if(NOT BUILD_TESTING OR KSWEEP_WORKER_ONLY OR (KSWEEP_SANITIZE AND plain))
    return()
  endif()
  add_executable(test_${name} ${CMAKE_SOURCE_DIR}/tests/unit/test_${name}.c)
  ks_use_kits(test_${name} ${A_SOURCES} DEPS ${A_DEPS})
  ks_links_fast(test_${name})
  ks_is_for_tests(test_${name})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(test_${name} PRIVATE ks_flags ${A_DEPS} cmocka m)
  target_compile_definitions(test_${name} PRIVATE
    KS_SOURCE_DIR="${CMAKE_SOURCE_DIR}" KS_BINARY_DIR="${CMAKE_BINARY_DIR}")
  # Most of a test's time is its compilation; what is tested keeps its flags.
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0 -g1>)
  if(KSWEEP_SANITIZE)
    target_compile_options(test_${name} PRIVATE -O0)
  endif()
  add_test(NAME unit.${name} COMMAND test_${name} ${A_ARGS})
  # Two of ctest's places, but one where the test's file says that it waits most of the time. The
  # longest begin first.
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/unit/test_${name}.c waits REGEX "^/\\* waits: yes")
  set(places 2)
  set(cost 0)
  if(waits)
    set(places 1)
    set(cost 2)
  elseif(name MATCHES "kernels|gpu_breaks")
    set(cost 1)
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 60 PROCESSORS ${places}
    COST ${cost} ENVIRONMENT "KSWEEP_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
endfunction()

# ks_test_faults(name [function..]): the allocations of test_<name> can be made to fail one by one
# (tests/unit/fault.h); further functions named here are wrapped for the test itself to define.
function(ks_test_faults name)
  if(NOT TARGET test_${name})
    return()
  endif()
  ks_use_kits(test_${name} ${CMAKE_SOURCE_DIR}/tests/unit/fault.c)
  foreach(f IN LISTS ARGN ITEMS malloc calloc realloc strdup)
    target_link_options(test_${name} PRIVATE -Wl,--wrap=${f})
  endforeach()
endfunction()

# ks_fuzz(name DEPS target.. [RUNS n]): tests/fuzz/fuzz_<name>.c with the mutation driver, started from
# tests/fuzz/corpus/<name>/, 20000 times unless RUNS says otherwise; label `fuzz`. Worth most with KSWEEP_SANITIZE=address,undefined.
function(ks_fuzz name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS;RUNS" ${ARGN})
  if(NOT BUILD_TESTING OR KSWEEP_WORKER_ONLY)
    return()
  endif()
  if(NOT A_RUNS)
    set(A_RUNS 20000)
  endif()
  set(dir ${CMAKE_SOURCE_DIR}/tests/fuzz)
  add_executable(fuzz_${name} ${dir}/fuzz_${name}.c)
  ks_use_kits(fuzz_${name} ${dir}/driver.c ${A_SOURCES} DEPS ${A_DEPS})
  ks_links_fast(fuzz_${name})
  ks_is_for_tests(fuzz_${name})
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE ks_flags ${A_DEPS})
  add_test(NAME fuzz.${name} COMMAND fuzz_${name} -n ${A_RUNS} -s 1 ${dir}/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
