# baleen_add_plugin(KIND optimizer NAME adamw SOURCES adamw.cpp [LINK ...] [LIBCXX])
#
# One shared library `baleen_<kind>_<name>.so` that exports one symbol. Serves plugins of Baleen's own tree and of any
# other alike. C and C++ sources may be mixed. LIBCXX links libc++ statically (for clang++ -stdlib=libc++), so that two
# C++ runtimes never meet in one process.

set(BALEEN_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/plugin.map CACHE INTERNAL "")

function(baleen_add_plugin)
  cmake_parse_arguments(A "LIBCXX" "KIND;NAME" "SOURCES;LINK" ${ARGN})
  if(NOT A_KIND OR NOT A_NAME OR NOT A_SOURCES)
    message(FATAL_ERROR "baleen_add_plugin needs KIND, NAME and SOURCES")
  endif()
  set(target baleen_${A_KIND}_${A_NAME})
  add_library(${target} MODULE ${A_SOURCES})
  set_target_properties(${target} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${BALEEN_PLUGIN_MAP})
  # Without this flag a symbol of an inline variable is unique in the process, RTLD_LOCAL or not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
  endif()
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
  if(BALEEN_PLUGIN_OUTPUT)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${BALEEN_PLUGIN_OUTPUT})
    install(TARGETS ${target} LIBRARY DESTINATION ${BALEEN_PLUGIN_INSTALL} COMPONENT plugins)
    set_property(GLOBAL APPEND PROPERTY BALEEN_PLUGINS ${target})
  endif()
endfunction()
