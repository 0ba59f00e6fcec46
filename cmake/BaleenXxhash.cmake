# `baleen_xxhash`: libxxhash. Where the library picks the vectors of the processor that runs it (on x86), programs are told
# by BALEEN_XXHASH_DISPATCHES; the hash is the same.
include_guard(GLOBAL)
find_package(PkgConfig REQUIRED)
pkg_check_modules(BALEEN_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::BALEEN_XXHASH)
check_cxx_source_compiles("#include <xxh_x86dispatch.h>
int main(int count, char** words) { return XXH3_64bits(words[0], static_cast<size_t>(count)) == 0; }" BALEEN_XXHASH_DISPATCHES)
unset(CMAKE_REQUIRED_LIBRARIES)
add_library(baleen_xxhash INTERFACE)
target_link_libraries(baleen_xxhash INTERFACE PkgConfig::BALEEN_XXHASH)
if(BALEEN_XXHASH_DISPATCHES)
  target_compile_definitions(baleen_xxhash INTERFACE BALEEN_XXHASH_DISPATCHES)
endif()
