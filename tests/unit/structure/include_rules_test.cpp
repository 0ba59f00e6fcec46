/// \file The tree keeps to its include rules, and the scanner that says so sees what it should.
#include "include_rules.hpp"

#include <gtest/gtest.h>

#include "support/places.hpp"

namespace baleen::structure {
namespace {

namespace fs = std::filesystem;
using test::source_dir;

bool allowed(const std::string& file, const std::string& path, bool angled, bool is_own = false) {
  return !violation(file, {path, angled, 1}, is_own);
}

/// Whether a quoted path names a file beside the including one, or in any folder of its own folder.
bool names_own_file(const std::string& file, const Include& include) {
  if (include.angled) return false;
  const fs::path folder = fs::path(source_dir()) / own_folder(file);
  if (fs::exists(folder / include.path)) return true;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_directory() && fs::exists(entry.path() / include.path)) return true;
  return false;
}

TEST(Includes, TheTreeKeepsToTheRules) {
  const fs::path root = source_dir();
  int seen = 0;
  for (const char* top : {"sdk", "core", "compiler", "frontend", "plugins", "optimizers", "strategies", "transports",
                          "tests", "examples"}) {
    for (const fs::path& path : sources_below(root / top)) {
      const std::string file = path.lexically_relative(root).generic_string();
      for (const Include& include : read_file(path).includes) {
        ++seen;
        const auto wrong = violation(file, include, names_own_file(file, include));
        EXPECT_FALSE(wrong) << file << ":" << include.line << ": includes " << include.path << ", which " << *wrong;
      }
    }
  }
  EXPECT_GT(seen, 100) << "the scan found next to nothing under " << root;
}

/// Whether a file under tests/ includes the program's inside, itself or through tests/support.
bool reaches_inside(const fs::path& path) {
  for (const Include& include : read_file(path).includes) {
    if (is_room(include.path.substr(0, include.path.find('/')))) return true;
    const fs::path next = fs::path(source_dir()) / "tests" / include.path;
    if (include.path.starts_with("support/") && next != path && reaches_inside(next)) return true;
  }
  return false;
}

TEST(Includes, NoOtherKindOfTestReachesTheInsideThroughSupport) {
  const fs::path tests = fs::path(source_dir()) / "tests";
  for (const char* kind : {"conformance", "parity", "error", "fault", "golden", "interop"})
    for (const fs::path& path : sources_below(tests / kind))
      EXPECT_FALSE(reaches_inside(path)) << path.lexically_relative(tests) << " sees the program's inside";
  EXPECT_TRUE(reaches_inside(tests / "unit/frontend/toml/manifest_test.cpp")) << "the walk sees nothing";
}

TEST(Includes, EveryFolderOfARoomHasALayer) {
  for (const std::string room : {"core", "compiler", "frontend"})
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir()) / room)) {
      if (!entry.is_directory()) continue;
      const std::string file = room + "/" + entry.path().filename().string() + "/x.cpp";
      EXPECT_TRUE(allowed(file, "baleen/result.hpp", false)) << file;
    }
}

TEST(Includes, TheRoomsIncludeDownwardsOnly) {
  EXPECT_TRUE(allowed("compiler/plan/plan.cpp", "compiler/graph/graph.hpp", false));
  EXPECT_TRUE(allowed("compiler/plan/plan.cpp", "compiler/plan/plan.hpp", false));
  EXPECT_FALSE(allowed("compiler/graph/graph.cpp", "compiler/plan/plan.hpp", false));
  EXPECT_FALSE(allowed("compiler/graph/graph.cpp", "compiler/plan/plan.hpp", true));
  EXPECT_FALSE(allowed("frontend/toml/manifest.cpp", "core/plugin/plugin.hpp", false)) << "neither is below the other";
  EXPECT_FALSE(allowed("core/log/log.cpp", "core/misc/misc.hpp", false)) << "a folder without a layer";
  EXPECT_FALSE(allowed("core/misc/misc.cpp", "core/log/log.hpp", false)) << "a folder without a layer";
  EXPECT_FALSE(allowed("compiler/plan/plan.cpp", "plugins/compute/x/x.hpp", false));
}

TEST(Includes, TheKernelAndTheCompilerDoNotSeeTheFrontEnd) {
  EXPECT_FALSE(allowed("core/runtime/session.cpp", "frontend/toml/manifest.hpp", false)) << "though it is lower";
  EXPECT_FALSE(allowed("compiler/plan/plan.cpp", "frontend/toml/manifest.hpp", false));
  EXPECT_TRUE(allowed("frontend/cli/main.cpp", "frontend/toml/manifest.hpp", false));
  EXPECT_FALSE(allowed("compiler/codegen/lower.cpp", "core/execute/program.hpp", false)) << "it needs no device";
}

TEST(Includes, ALibraryStaysInItsRoom) {
  EXPECT_TRUE(allowed("core/log/log.cpp", "spdlog/logger.h", true));
  EXPECT_FALSE(allowed("frontend/cli/main.cpp", "spdlog/spdlog.h", true));
  EXPECT_TRUE(allowed("frontend/toml/toml_document.cpp", "toml++/toml.h", true));
  EXPECT_FALSE(allowed("core/plugin/plugin.cpp", "toml++/toml.h", true));
  EXPECT_FALSE(allowed("frontend/cli/main.cpp", "boost/dll/shared_library.hpp", true));
  EXPECT_FALSE(allowed("core/runtime/session.cpp", "lua5.4/lua.hpp", true));
  EXPECT_FALSE(allowed("plugins/data/x/x.cpp", "lua.h", true));
  EXPECT_FALSE(allowed("frontend/lua/script.cpp", "CLI/CLI.hpp", true));
  EXPECT_TRUE(allowed("frontend/engine/processors.cpp", "hwloc.h", true));
  EXPECT_TRUE(allowed("plugins/compute/cpu/core_order.cpp", "hwloc.h", true));
  EXPECT_FALSE(allowed("transports/shm/transport.cpp", "hwloc.h", true));
  EXPECT_TRUE(allowed("plugins/offload/nvme/uring_io.cpp", "liburing.h", true));
  EXPECT_FALSE(allowed("plugins/offload/host/store.cpp", "liburing.h", true));
  EXPECT_TRUE(allowed("tests/unit/plugins/launchers/x/x_test.cpp", "openssl/ssl.h", true)) << "it tests that folder";
  EXPECT_TRUE(allowed("transports/ucx/tls_channel.cpp", "openssl/ssl.h", true)) << "it encrypts what ranks send";
  EXPECT_TRUE(allowed("tests/unit/transports/ucx/x_test.cpp", "openssl/ssl.h", true));
  EXPECT_FALSE(allowed("tests/unit/transports/x/x_test.cpp", "openssl/ssl.h", true));
  EXPECT_TRUE(allowed("transports/ucx/gcm.cpp", "intel-ipsec-mb.h", true));
  EXPECT_FALSE(allowed("transports/shm/transport.cpp", "intel-ipsec-mb.h", true));
  EXPECT_FALSE(allowed("transports/shm/transport.cpp", "openssl/ssl.h", true));
}

TEST(Includes, TheProgramOpensNoSockets) {
  EXPECT_FALSE(allowed("core/launch/rank_link.cpp", "sys/socket.h", true));
  EXPECT_FALSE(allowed("core/execute/communicator.cpp", "netinet/tcp.h", true));
  EXPECT_FALSE(allowed("frontend/cli/main.cpp", "netdb.h", true));
  EXPECT_FALSE(allowed("core/launch/launcher.cpp", "openssl/ssl.h", true));
  EXPECT_TRUE(allowed("core/launch/launcher.cpp", "sys/wait.h", true));
  EXPECT_TRUE(allowed("plugins/launchers/x/x.cpp", "sys/socket.h", true));
}

TEST(Includes, MembersOfAFamilyMayShareAFolder) {
  EXPECT_TRUE(allowed("plugins/launchers/x/x.cpp", "common/store.hpp", false));
  EXPECT_FALSE(allowed("plugins/launchers/x/x.cpp", "other/store.hpp", false));
  EXPECT_FALSE(allowed("transports/x/x.cpp", "common/store.hpp", false)) << "which this family does not";
}

TEST(Includes, APluginSeesTheSdkAndItself) {
  EXPECT_TRUE(allowed("optimizers/x/x.cpp", "baleen/optimizer.hpp", false));
  EXPECT_TRUE(allowed("optimizers/x/x.cpp", "parts.hpp", false, true));
  EXPECT_TRUE(allowed("plugins/compute/x/x.cpp", "vendor/blas.h", true));
  EXPECT_FALSE(allowed("optimizers/x/x.cpp", "core/log/log.hpp", false));
  EXPECT_FALSE(allowed("optimizers/x/x.cpp", "core/log/log.hpp", true));
  EXPECT_FALSE(allowed("optimizers/x/x.cpp", "../y/parts.hpp", false, true));
  EXPECT_FALSE(allowed("transports/x/x.cpp", "plugins/data/y/y.hpp", false));
}

TEST(Includes, AMembersFolderIsItsOwnAtAnyDepth) {
  EXPECT_EQ(own_folder("plugins/compute/x/kernels/y.cpp"), "plugins/compute/x");
  EXPECT_EQ(own_folder("optimizers/x/y.cpp"), "optimizers/x");
  EXPECT_EQ(own_folder("plugins/ops/y.cpp"), "plugins/ops") << "a family whose members are files";
  EXPECT_EQ(own_folder("compiler/graph/y.cpp"), "compiler/graph");
}

TEST(Includes, TheSdkStandsOnTheStandardLibraries) {
  EXPECT_TRUE(allowed("sdk/include/baleen/base.h", "stdint.h", true));
  EXPECT_TRUE(allowed("sdk/include/baleen/result.hpp", "string_view", true));
  EXPECT_FALSE(allowed("sdk/include/baleen/result.hpp", "nlohmann/json.hpp", true));
  EXPECT_FALSE(allowed("sdk/include/baleen/result.hpp", "core/log/log.hpp", false));
}

TEST(Includes, OnlyUnitTestsAndBenchmarksSeeTheInside) {
  EXPECT_TRUE(allowed("tests/unit/compiler/graph/x_test.cpp", "compiler/graph/graph.hpp", false));
  EXPECT_TRUE(allowed("tests/bench/ops/x.cpp", "compiler/graph/graph.hpp", false));
  EXPECT_TRUE(allowed("tests/fuzz/manifest/x_target.cpp", "frontend/toml/manifest.hpp", false));
  EXPECT_FALSE(allowed("tests/conformance/data/x_test.cpp", "compiler/graph/graph.hpp", false));
  EXPECT_FALSE(allowed("tests/golden/x_test.cpp", "compiler/graph/graph.hpp", false));
}

TEST(SourceText, FindsIncludesAndLiteralsButNotThoseInComments) {
  const SourceText text = read_text(
      "// #include <no1>\n/* #include <no2>\n */ #  include \"a/b.hpp\"  // \"no3\"\n"
      "auto x = \"one \\\" two\"; int n = 1'000; char q = '\"', r = '\\'';\n"
      "auto y = R\"-(three \"quoted\")-\" \"four\";\n#define Z \"five\"\n#include <c>\n");
  ASSERT_EQ(text.includes.size(), 2u);
  EXPECT_EQ(text.includes[0].path, "a/b.hpp");
  EXPECT_FALSE(text.includes[0].angled);
  EXPECT_EQ(text.includes[0].line, 3);
  EXPECT_EQ(text.includes[1].path, "c");
  EXPECT_TRUE(text.includes[1].angled);
  EXPECT_EQ(text.includes[1].line, 7);
  ASSERT_EQ(text.literals.size(), 4u);
  EXPECT_EQ(text.literals[0].text, "one \\\" two");
  EXPECT_EQ(text.literals[1].text, "three \"quoted\"");
  EXPECT_EQ(text.literals[2].text, "four");
  EXPECT_EQ(text.literals[3].text, "five");
  EXPECT_EQ(text.literals[3].line, 6);
}

}  // namespace
}  // namespace baleen::structure
