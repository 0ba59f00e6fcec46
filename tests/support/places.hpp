/// \file Where the sources and the build under test lie. Functions, not definitions on the compiler's command line: a
/// test that is compiled in another checkout is then the same to a compiler cache.
#pragma once
#include <string>
#include <vector>

namespace baleen::test {

/// The root of the sources; absolute, as all these.
std::string source_dir();

/// The folder of the build.
std::string build_dir();

/// `path` below the folder of the build.
inline std::string built(const std::string& path) { return build_dir() + "/" + path; }

/// Whether this tree is configured with a plugin, as CMake says: a member's folder may be taken away. A plugin that the
/// build should have made and has not is no reason to skip a test.
bool has_plugin(const std::string& kind, const std::string& name);

/// The names of a kind's plugins that this tree is configured with, sorted.
std::vector<std::string> built_members(const std::string& kind);

/// The folder of the emulated CUDA libraries (support/emulated_cuda).
inline std::string emulated_folder() { return built("emulated_cuda"); }

}  // namespace baleen::test
