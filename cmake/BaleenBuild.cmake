# What every target of this tree shares: warnings, sanitizers, the compiler cache, the linker, and adding each folder that
# has a CMakeLists.txt.

# What was compiled in one checkout serves another: paths below the root are relative to the cache, and sources that begin
# with precompiled headers are not passed over.
find_program(BALEEN_CCACHE ccache)
set(BALEEN_CCACHE_SETTINGS CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
  CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
if(BALEEN_CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env ${BALEEN_CCACHE_SETTINGS} ${BALEEN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# The fastest linker there is; all make the same program.
include(CheckLinkerFlag)
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} BALEEN_LINKS_WITH_${linker})
  if(BALEEN_LINKS_WITH_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

add_library(baleen_options INTERFACE)
target_compile_options(baleen_options INTERFACE
  -Wall -Wextra -Wpedantic $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wno-sign-conversion>)
# GCC 12 sees overlapping copies in `"(" + text` where there are none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(baleen_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(BALEEN_WARNINGS_AS_ERRORS)
  target_compile_options(baleen_options INTERFACE -Werror)
endif()
if(BALEEN_SANITIZE)
  add_compile_options(-fsanitize=${BALEEN_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${BALEEN_SANITIZE})
  if(BALEEN_SANITIZE_EXCEPT)
    add_compile_options(-fno-sanitize=${BALEEN_SANITIZE_EXCEPT})
  endif()
endif()

# Where the built plugins and the program lie, in the build tree as in an installation: bin/baleen finds
# ../lib/baleen/plugins and ../share/baleen/lua.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(BALEEN_PLUGIN_OUTPUT ${PROJECT_BINARY_DIR}/lib/baleen/plugins)
set(BALEEN_PLUGIN_INSTALL ${CMAKE_INSTALL_LIBDIR}/baleen/plugins)

# Adds every direct subfolder that has a CMakeLists.txt, in alphabetical order.
function(baleen_add_folders)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(SORT found)
  foreach(file ${found})
    get_filename_component(folder ${file} DIRECTORY)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# baleen_precompile(TARGET FROM): uses the headers that the target FROM has precompiled (cmake/precompiled).
function(baleen_precompile target from)
  if(NOT BALEEN_PRECOMPILE)
    return()
  endif()
  if(NOT target STREQUAL from)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
  if(BALEEN_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without this, ccache gives up on every source that begins with precompiled headers.
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  # GCC keeps quiet about its own library's headers, but not where they are precompiled: it sees writes beyond the ends of
  # strings there that are none.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread>)
  endif()
endfunction()

# baleen_precompile_plugin(TARGET): the same for a plugin of this tree that has only C++ sources.
function(baleen_precompile_plugin target)
  get_target_property(sources ${target} SOURCES)
  if(TARGET baleen_precompiled_plugins AND NOT sources MATCHES "\\.c(;|$)")
    baleen_precompile(${target} baleen_precompiled_plugins)
  endif()
endfunction()

# baleen_compile_as_core(TARGET): options for sources that plan, start and wait: what -O3 adds would only be compiled.
function(baleen_compile_as_core target)
  target_link_libraries(${target} PRIVATE baleen_options)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${BALEEN_CORE_OPTIMISATION}>)
  baleen_precompile(${target} baleen_precompiled_core)
endfunction()

# baleen_add_core(NAME log SOURCES ... [LINK ...]): the library `baleen_<name>` of core, compiler or frontend.
function(baleen_add_core)
  cmake_parse_arguments(A "" "NAME" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(baleen_${A_NAME} STATIC ${A_SOURCES})
  target_include_directories(baleen_${A_NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(baleen_${A_NAME} PUBLIC baleen::sdk ${A_LINK} PRIVATE ${A_PRIVATE_LINK})
  baleen_compile_as_core(baleen_${A_NAME})
endfunction()

if(BALEEN_JOIN_SOURCES)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # what is local to a source is a header's to GCC then
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endif()

# baleen_compile_apart(SOURCES...): sources of this folder that are not joined with others, since each has local names that
# others have too.
function(baleen_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# baleen_test_kind(VARIABLE): the kind of the tests in this folder, which is its first part below tests/ ("unit").
function(baleen_test_kind variable)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" kind ${path})
  set(${variable} ${kind} PARENT_SCOPE)
endfunction()

# baleen_compile_as_test(TARGET): options for sources that compile once and run once, mostly waiting for others: without
# optimisation and with precompiled headers they take less than half the time.
function(baleen_compile_as_test target)
  target_link_libraries(${target} PRIVATE baleen_options)
  target_compile_options(${target} PRIVATE -O0)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "OBJECT_LIBRARY")  # of a program, as the precompiled headers are
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
  baleen_precompile(${target} baleen_precompiled_tests)
endfunction()

# baleen_compile_as_harness(TARGET): options for what tests share that computes much: references, simulated ranks.
function(baleen_compile_as_harness target)
  baleen_compile_as_core(${target})
endfunction()

# baleen_test_path(graph.text NAME path): defines NAME in the test as the path, which must lie below the folder of the
# build; the definition is the same in every checkout.
function(baleen_test_path test name path)
  file(RELATIVE_PATH path ${PROJECT_BINARY_DIR} ${path})
  target_compile_definitions(test_${test} PRIVATE "${name}=::baleen::test::built(\"${path}\")")
endfunction()

# baleen_add_test_plugin([FOLDER folder] KIND ... as baleen_add_plugin): a plugin that tests alone open, neither among the
# real ones nor installed. It lies in FOLDER; default: this folder of the build.
function(baleen_add_test_plugin)
  cmake_parse_arguments(A "" "FOLDER;KIND;NAME" "" ${ARGN})
  unset(BALEEN_PLUGIN_OUTPUT)
  baleen_add_plugin(KIND ${A_KIND} NAME ${A_NAME} ${A_UNPARSED_ARGUMENTS})
  if(NOT A_FOLDER)
    set(A_FOLDER ${CMAKE_CURRENT_BINARY_DIR})
  endif()
  set_target_properties(baleen_${A_KIND}_${A_NAME} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${A_FOLDER})
  target_include_directories(baleen_${A_KIND}_${A_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endfunction()

# How cases share the machine (scripts/testing/run.py): one that computes takes ten places, of ten a processor and eight; one
# that mostly waits takes two and one of four lanes, so that up to four wait beside those that compute.
set(BALEEN_PLACES_COMPUTING 10)
set(BALEEN_PLACES_WAITING 2)

# baleen_add_test(NAME graph.autodiff SOURCES ... LINK ... [LABELS ...] [OPTIMISED] [WAITS | ALONE] [SAMPLE k] [TIMEOUT seconds]): a
# GoogleTest program, its cases in ctest. Each case has the label of its kind besides the given ones, and the target
# tests_<kind> builds the program.
# OPTIMISED: a unit or error suite that the release build runs at each landing; all others are run by the sanitizers' build
# only. WAITS: its cases mostly wait. ALONE: nothing else runs beside. SAMPLE: of every k cases scripts/test.sh runs one, and
# a landing one of every k * THINS (scripts/testing/plan.py), another one the next time.
# NUMERIC: the cases of a unit suite whose names match compute much, which takes twenty times as long with sanitizers: the
# release build runs them all at each landing, and the sanitizers' build one of eight.
function(baleen_add_test)
  cmake_parse_arguments(A "OPTIMISED;WAITS;ALONE" "NAME;TIMEOUT;SAMPLE;NUMERIC" "SOURCES;LINK;LABELS;DEPENDS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(test_${A_NAME} ${A_SOURCES})
  set_target_properties(test_${A_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_include_directories(test_${A_NAME} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(test_${A_NAME} PRIVATE baleen::sdk ${A_LINK} baleen_test_places GTest::gtest GTest::gtest_main)
  baleen_compile_as_test(test_${A_NAME})
  foreach(needed ${A_DEPENDS})
    # A member's folder may be taken away; what tests it is skipped then.
    if(TARGET ${needed} OR NOT needed MATCHES "^baleen_strategy_")
      add_dependencies(test_${A_NAME} ${needed})
    endif()
  endforeach()
  baleen_test_kind(kind)
  set(labels ${kind} ${A_LABELS})
  if(A_SAMPLE)
    list(APPEND labels sample_${A_SAMPLE})
  endif()
  if(kind MATCHES "^(unit|error)$" AND NOT A_OPTIMISED)
    list(APPEND labels sanitized)
  endif()
  if(TARGET tests_landing AND (A_NUMERIC OR NOT "sanitized" IN_LIST labels))
    add_dependencies(tests_landing test_${A_NAME})
  endif()
  if(NOT TARGET tests_${kind})
    add_custom_target(tests_${kind})
  endif()
  add_dependencies(tests_${kind} test_${A_NAME})
  # A library's hooks in the system's calls for memory and those of the thread sanitizer do not live together.
  set(environment)
  if(BALEEN_SANITIZE MATCHES "thread")
    set(environment ENVIRONMENT UCX_MEM_EVENTS=n)
    target_sources(test_${A_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/thread_sanitizer.cpp)
  endif()
  baleen_case_properties(properties "${kind}" "${A_TIMEOUT}")
  gtest_discover_tests(test_${A_NAME} TEST_PREFIX "${A_NAME}/" DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties} ${environment})
  # gtest_discover_tests passes no lists, so these are set where ctest reads the discovered names.
  set(file ${CMAKE_CURRENT_BINARY_DIR}/test_${A_NAME}_cases.cmake)
  file(WRITE ${file} "")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
  baleen_label_cases(NAME ${A_NAME} MATCHING "." LABELS ${labels})
  if(A_NUMERIC)
    baleen_label_cases(NAME ${A_NAME} MATCHING "${A_NUMERIC}" LABELS numeric_8)
  endif()
  if(A_WAITS)
    baleen_waiting_cases(NAME ${A_NAME} MATCHING ".")
  endif()
  if(A_ALONE)
    file(APPEND ${file} "foreach(name IN LISTS test_${A_NAME}_TESTS)\n"
      "  set_tests_properties(\${name} PROPERTIES RUN_SERIAL ON)\nendforeach()\n")
  endif()
endfunction()

# baleen_case_properties(VARIABLE kind timeout): the limit, the places and the order of cases. What fails most often comes
# first, and what waits long begins early.
function(baleen_case_properties variable kind timeout)
  if(NOT timeout)
    set(timeout 60)
    if(kind STREQUAL "parity")
      set(timeout 120)
    endif()
    if(BALEEN_SANITIZE)
      math(EXPR timeout "${timeout} * 2")
    endif()
  endif()
  set(order unit error golden interop conformance parity fault)
  list(FIND order ${kind} place)
  math(EXPR cost "100 - 10 * ${place}")
  set(${variable} TIMEOUT ${timeout} PROCESSORS ${BALEEN_PLACES_COMPUTING} COST ${cost} PARENT_SCOPE)
endfunction()

# Notes a pattern for scripts/testing, which complains of one that is of no case.
file(WRITE ${CMAKE_BINARY_DIR}/case_patterns.txt "")
function(baleen_note_pattern suite pattern)
  file(APPEND ${CMAKE_BINARY_DIR}/case_patterns.txt "${suite} ${pattern}\n")
endfunction()

# baleen_label_cases(NAME graph.autodiff MATCHING regex LABELS ...): gives those cases these labels too.
function(baleen_label_cases)
  cmake_parse_arguments(A "" "NAME;MATCHING" "LABELS" ${ARGN})
  baleen_note_pattern(${A_NAME} "${A_MATCHING}")
  file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/test_${A_NAME}_cases.cmake
    "foreach(name IN LISTS test_${A_NAME}_TESTS)\n  if(name MATCHES [==[${A_MATCHING}]==])\n"
    "    list(APPEND labels_of_\${name} ${A_LABELS})\n"
    "    set_tests_properties(\${name} PROPERTIES LABELS \"\${labels_of_\${name}}\")\n  endif()\nendforeach()\n")
endfunction()

# baleen_waiting_cases(NAME fault.hosts MATCHING regex): those cases mostly wait.
function(baleen_waiting_cases)
  cmake_parse_arguments(A "" "NAME;MATCHING" "" ${ARGN})
  baleen_note_pattern(${A_NAME} "${A_MATCHING}")
  file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/test_${A_NAME}_cases.cmake
    "foreach(name IN LISTS test_${A_NAME}_TESTS)\n  if(name MATCHES [==[${A_MATCHING}]==])\n"
    "    string(MD5 lane \"\${name}\")\n    string(SUBSTRING \"\${lane}\" 0 1 lane)\n"
    "    math(EXPR lane \"0x\${lane} % 4\")\n"
    "    set_tests_properties(\${name} PROPERTIES PROCESSORS ${BALEEN_PLACES_WAITING} COST 200"
    " RESOURCE_LOCK waiting_\${lane})\n  endif()\nendforeach()\n")
endfunction()

# baleen_limit_cases(NAME graph.autodiff MATCHING regex TIMEOUT seconds): the limit of those cases alone.
function(baleen_limit_cases)
  cmake_parse_arguments(A "" "NAME;MATCHING;TIMEOUT" "" ${ARGN})
  baleen_note_pattern(${A_NAME} "${A_MATCHING}")
  file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/test_${A_NAME}_cases.cmake
    "foreach(name IN LISTS test_${A_NAME}_TESTS)\n  if(name MATCHES [==[${A_MATCHING}]==])\n"
    "    set_tests_properties(\${name} PROPERTIES TIMEOUT ${A_TIMEOUT})\n  endif()\nendforeach()\n")
endfunction()

# baleen_add_command_test(NAME structure/X COMMAND ... [LABELS ...] [TIMEOUT seconds]): a command that exits with 0, or with 77
# where it says why it was skipped.
function(baleen_add_command_test)
  cmake_parse_arguments(A "" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  add_test(NAME ${A_NAME} COMMAND ${A_COMMAND})
  baleen_test_kind(kind)
  baleen_case_properties(properties "${kind}" "${A_TIMEOUT}")
  set_tests_properties(${A_NAME} PROPERTIES ${properties} SKIP_RETURN_CODE 77 LABELS "${kind};${A_LABELS}")
endfunction()

# baleen_is_threaded(NAME graph.autodiff MATCHING regex): those cases run ranks as threads of one process. They have the
# label `threads`, and the target tests_threads builds them: what the thread sanitizer runs on.
function(baleen_is_threaded)
  cmake_parse_arguments(A "" "NAME;MATCHING" "" ${ARGN})
  baleen_label_cases(NAME ${A_NAME} MATCHING "${A_MATCHING}" LABELS threads)
  if(NOT TARGET tests_threads)
    add_custom_target(tests_threads)
  endif()
  add_dependencies(tests_threads test_${A_NAME})
endfunction()
