# baleen_add_plugin(KIND optimizer NAME adamw SOURCES adamw.cpp [LINK ...] [LIBCXX])
#
# One shared library `baleen_<kind>_<name>.so` that exports one symbol. Serves plugins of Baleen's own tree and of any
# other alike. C and C++ sources may be mixed. LIBCXX links libc++ statically (for clang++ -stdlib=libc++), so that two
# C++ runtimes never meet in one process.

set(BALEEN_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/plugin.map CACHE INTERNAL "")

# How a plugin's sources are compiled.
function(baleen_compile_as_plugin target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON DEFINE_SYMBOL "")
  # Without this flag a symbol of an inline variable is unique in the process, RTLD_LOCAL or not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
endfunction()

function(baleen_add_plugin)
  cmake_parse_arguments(A "LIBCXX" "KIND;NAME" "SOURCES;LINK" ${ARGN})
  if(NOT A_KIND OR NOT A_NAME OR NOT A_SOURCES)
    message(FATAL_ERROR "baleen_add_plugin needs KIND, NAME and SOURCES")
  endif()
  set(target baleen_${A_KIND}_${A_NAME})
  add_library(${target} MODULE ${A_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" LINK_DEPENDS ${BALEEN_PLUGIN_MAP})
  baleen_compile_as_plugin(${target})
  target_link_options(${target} PRIVATE -Wl,--version-script=${BALEEN_PLUGIN_MAP})
  if(NOT BALEEN_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(A_LIBCXX)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-stdlib=libc++>)
    target_link_options(${target} PRIVATE -nostdlib++)
    target_link_libraries(${target} PRIVATE -Wl,-Bstatic -lc++ -lc++abi -Wl,-Bdynamic)
  endif()
  target_link_libraries(${target} PRIVATE baleen::sdk ${A_LINK})
  if(TARGET baleen_options)
    target_link_libraries(${target} PRIVATE baleen_options)
  endif()
  if(COMMAND baleen_precompile_plugin AND NOT A_LIBCXX)
    baleen_precompile_plugin(${target})  # of Baleen's own tree
  endif()
  if(BALEEN_PLUGIN_OUTPUT)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${BALEEN_PLUGIN_OUTPUT})
    install(TARGETS ${target} LIBRARY DESTINATION ${BALEEN_PLUGIN_INSTALL} COMPONENT plugins)
    set_property(GLOBAL APPEND PROPERTY BALEEN_PLUGINS ${target})
  endif()
endfunction()

# baleen_add_reductions(TARGET): links `best_reduction` of reduction.hpp into a plugin. The inner loops are compiled
# once per instruction set, and always optimised, so that debug builds stay usable; the undefined-behaviour sanitizer
# would take vector code apart.
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/source)
  set(BALEEN_SDK_SOURCES ${CMAKE_CURRENT_LIST_DIR}/source CACHE INTERNAL "")  # where it is installed
else()
  set(BALEEN_SDK_SOURCES ${CMAKE_CURRENT_LIST_DIR}/../source CACHE INTERNAL "")
endif()

function(baleen_add_reductions target)
  set(isas baseline)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND isas avx2 avx512)
  endif()
  set(flags_avx2 -march=x86-64-v3)
  set(flags_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  foreach(isa ${isas})
    set(objects baleen_reduction_${isa})
    if(NOT TARGET ${objects})
      add_library(${objects} OBJECT ${BALEEN_SDK_SOURCES}/reduce.cpp)
      set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      target_compile_definitions(${objects} PRIVATE BALEEN_REDUCTION_ISA=${isa})
      target_compile_options(${objects} PRIVATE -O3 -fopenmp-simd -fno-trapping-math -ffp-contract=off
        -fvisibility=hidden -fno-sanitize=undefined ${flags_${isa}})
      target_link_libraries(${objects} PRIVATE baleen::sdk)
      if(TARGET baleen_options)
        target_link_libraries(${objects} PRIVATE baleen_options)
      endif()
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  target_sources(${target} PRIVATE ${BALEEN_SDK_SOURCES}/best_reduction.cpp)
endfunction()
